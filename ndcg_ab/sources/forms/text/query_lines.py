"""Lines of judgments for learning to rank (grade, qid:N, features, # document), and of rankings (query, documents)."""

import csv
import re
from collections.abc import Iterable
from functools import partial

from ndcg_ab.sources.forms.form import JUDGMENTS, RANKING, Form, Reading, Records
from ndcg_ab.sources.forms.names import field_column, query_column
from ndcg_ab.sources.forms.sample import DELIMITERS, Sample

LINE = re.compile(r"\s*(\S+)\s+qid:(\S+)[^#]*#\s*(?:docid\s*=\s*)?(\S+)")


def sniff_graded(sample: Sample) -> Reading | None:
    lines = [line for line in sample.lines if not line.startswith("#")]
    if not lines or not all(map(LINE.match, lines)):
        return None
    return Reading(JUDGMENTS, "lines", records=read_graded)


def read_graded(lines: Iterable[tuple[int, str]]) -> Records:
    """Yield the record of each line that is neither blank nor a comment."""
    for number, line in lines:
        if line.strip() and not line.startswith("#"):
            found = LINE.match(line)
            grade, query_id, doc_id = found.groups() if found else (line.strip(), None, None)
            yield f"line {number}", {"query_id": query_id, "doc_id": doc_id, "grade": grade}


def sniff_lists(sample: Sample) -> Reading | None:
    for delimiter in DELIMITERS:
        head = sample.head(delimiter)
        is_id = len(head) == 2 and query_column(head[:1]) is not None
        if is_id and field_column("documents", head[1:]) is not None:
            return Reading(RANKING, "lines", delimiter=delimiter, records=partial(read_lists, delimiter=delimiter))
    return None


def read_lists(lines: Iterable[tuple[int, str]], delimiter: str) -> Records:
    """Yield a record for each document of each line after the first."""
    for number, parts in enumerate(csv.reader((line for _, line in lines), delimiter=delimiter), 1):
        if number > 1 and parts:
            query_id, documents = (*parts, "")[:2]
            for rank, doc_id in enumerate(documents.split(), 1):
                yield f"line {number}", {"query_id": query_id, "doc_id": doc_id, "rank": rank}


GRADED_FORM = Form(
    "judgments for learning to rank (grade qid:query # document)",
    JUDGMENTS,
    "# qid:1: red shoes\n1\tqid:1\t1:0.5 # d1 a title\n0\tqid:1\t1:0.1 # d2 a title\n",
    sniff_graded,
)
LISTS_FORM = Form("ranking with a line for each query", RANKING, "id,predictions\nq1,d1 d2\n", sniff_lists)
