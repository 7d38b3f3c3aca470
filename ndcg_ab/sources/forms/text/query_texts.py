"""Queries without a header, as MS MARCO has them: id, tab, text."""

from collections.abc import Iterable

from ndcg_ab.sources.forms.form import QUERIES, Form, Reading, Records
from ndcg_ab.sources.forms.sample import Sample


def sniff(sample: Sample) -> Reading | None:
    rows = [line.split("\t") for line in sample.lines if not sample.is_json]
    if sample.columns or not rows or any(len(row) != 2 for row in rows):
        return None
    ids, texts = zip(*rows, strict=True)
    are_ids = len(set(ids)) == len(ids) and all(each.split() == [each] for each in ids)
    return (
        Reading(QUERIES, "lines", records=read_lines)
        if are_ids and any(" " in text.strip() for text in texts)
        else None
    )


def read_lines(lines: Iterable[tuple[int, str]]) -> Records:
    """Yield the record of each line that is not blank."""
    for number, line in lines:
        if line.strip():
            query_id, _, text = line.rstrip("\r\n").partition("\t")
            yield f"line {number}", {"query_id": query_id, "text": text}


FORM = Form("queries without a header (id, text)", QUERIES, "1\tred shoes\n2\train coat\n", sniff)
