"""A ranking with one line for each query: its id, and its documents between spaces."""

import csv
from collections.abc import Iterable
from functools import partial

from ndcg_ab.sources.forms.form import RANKING, Form, Reading, Records
from ndcg_ab.sources.forms.names import field_column, query_column
from ndcg_ab.sources.forms.sample import DELIMITERS, Sample


def sniff(sample: Sample) -> Reading | None:
    for delimiter in DELIMITERS:
        head = sample.head(delimiter)
        is_id = len(head) == 2 and query_column(head[:1]) is not None
        if is_id and field_column("documents", head[1:]) is not None:
            return Reading(RANKING, "lines", delimiter=delimiter, records=partial(read_lines, delimiter=delimiter))
    return None


def read_lines(lines: Iterable[tuple[int, str]], delimiter: str) -> Records:
    """Yield a record for each document of each line after the first."""
    for number, parts in enumerate(csv.reader((line for _, line in lines), delimiter=delimiter), 1):
        if number > 1 and parts:
            query_id, documents = (*parts, "")[:2]
            for rank, doc_id in enumerate(documents.split(), 1):
                yield f"line {number}", {"query_id": query_id, "doc_id": doc_id, "rank": rank}


FORM = Form("ranking with a line for each query", RANKING, "id,predictions\nq1,d1 d2\n", sniff)
