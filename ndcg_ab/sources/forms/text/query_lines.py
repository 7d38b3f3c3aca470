"""Lines of queries, of judgments for learning to rank (grade, qid:N, # document) and of users, and of rankings."""

import csv
import re
from collections.abc import Iterable
from functools import partial

from ndcg_ab.sources.forms.form import JUDGMENTS, QUERIES, RANKING, Form, Reading, Records
from ndcg_ab.sources.forms.names import field_column, query_column
from ndcg_ab.sources.forms.sample import DELIMITERS, Sample

GRADED = re.compile(r"\s*(?P<grade>\S+)\s+qid:(?P<query_id>\S+)[^#]*#\s*(?:docid\s*=\s*)?(?P<doc_id>\S+)")
RATED = re.compile(r"(?P<query_id>[^:\s]+)::(?P<doc_id>[^:\s]+)::(?P<grade>[\d.]+)::\d{9,10}\s*$")


def sniff_lines(sample: Sample, line: re.Pattern[str]) -> Reading | None:
    lines = [each for each in sample.lines if not each.startswith("#")]
    if not lines or not all(map(line.match, lines)):
        return None
    return Reading(JUDGMENTS, "lines", records=partial(read_judged, line=line))


def read_judged(lines: Iterable[tuple[int, str]], line: re.Pattern[str]) -> Records:
    """Yield the record of each line that is neither blank nor a comment."""
    for number, text in lines:
        if text.strip() and not text.startswith("#"):
            found = line.match(text)
            unread = {"query_id": None, "doc_id": None, "grade": text.strip()}
            yield f"line {number}", found.groupdict() if found else unread


def sniff_lists(sample: Sample) -> Reading | None:
    for delimiter in DELIMITERS:
        head = sample.head(delimiter)
        is_id = len(head) == 2 and query_column(head[:1]) is not None
        if is_id and field_column("documents", head[1:]) is not None:
            lists = [row[1] for row in sample.cells(delimiter) if len(row) == 2][1:]
            sign = "," if all(map(has_commas, lists)) and any("," in cell for cell in lists) else None
            records = partial(read_lists, delimiter=delimiter, sign=sign)
            return Reading(RANKING, "lines", delimiter=delimiter, records=records)
    return None


def read_lists(lines: Iterable[tuple[int, str]], delimiter: str, sign: str | None) -> Records:
    """Yield a record for each document of each line after the first; the sign divides them, or white space."""
    for number, parts in enumerate(csv.reader((line for _, line in lines), delimiter=delimiter), 1):
        if number > 1 and parts:
            query_id, documents = (*parts, "")[:2]
            cell = documents.strip().removeprefix("[").removesuffix("]") if sign else documents
            for rank, doc_id in enumerate(cell.split(sign) if cell.strip() else (), 1):
                yield (
                    f"line {number}",
                    {"query_id": query_id, "doc_id": doc_id.strip(" \"'") if sign else doc_id, "rank": rank},
                )


def has_commas(cell: str) -> bool:
    """Return whether the ids of a cell are divided by commas, as CSV, JSON and Python write a list."""
    return all(word.endswith(",") for word in cell.split()[:-1])


GRADED_FORM = Form(
    "judgments for learning to rank (grade qid:query # document)",
    JUDGMENTS,
    "# qid:1: red shoes\n1\tqid:1\t1:0.5 # d1 a title\n0\tqid:1\t1:0.1 # d2 a title\n",
    partial(sniff_lines, line=GRADED),
)
RATED_FORM = Form(
    "ratings of users (user::item::rating::time): each user is a query",
    JUDGMENTS,
    "11::242::3::881250949\n12::302::4::891717742\n",
    partial(sniff_lines, line=RATED),
)
LISTS_FORM = Form("ranking with a line for each query", RANKING, "id,predictions\nq1,d1 d2\n", sniff_lists)


def sniff_texts(sample: Sample) -> Reading | None:
    rows = [line.split("\t") for line in sample.lines if not sample.is_json]
    if sample.columns or not rows or any(len(row) != 2 for row in rows):
        return None
    ids, texts = zip(*rows, strict=True)
    are_ids = len(set(ids)) == len(ids) and all(each.split() == [each] for each in ids)
    return (
        Reading(QUERIES, "lines", records=read_texts)
        if are_ids and any(" " in text.strip() for text in texts)
        else None
    )


def read_texts(lines: Iterable[tuple[int, str]]) -> Records:
    """Yield the record of each line that is not blank."""
    for number, line in lines:
        if line.strip():
            query_id, _, text = line.rstrip("\r\n").partition("\t")
            yield f"line {number}", {"query_id": query_id, "text": text}


TEXTS_FORM = Form("queries without a header (id, text)", QUERIES, "1\tred shoes\n2\train coat\n", sniff_texts)
