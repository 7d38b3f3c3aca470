"""Judgments as tools of learning to rank keep them: grade, qid:N, features, and the document in the comment."""

import re
from collections.abc import Iterable

from ndcg_ab.sources.forms.form import JUDGMENTS, Form, Reading, Records
from ndcg_ab.sources.forms.sample import Sample

LINE = re.compile(r"\s*(\S+)\s+qid:(\S+)[^#]*#\s*(?:docid\s*=\s*)?(\S+)")


def sniff(sample: Sample) -> Reading | None:
    lines = [line for line in sample.lines if not line.startswith("#")]
    if not lines or not all(map(LINE.match, lines)):
        return None
    return Reading(JUDGMENTS, "lines", records=read_lines)


def read_lines(lines: Iterable[tuple[int, str]]) -> Records:
    """Yield the record of each line that is neither blank nor a comment."""
    for number, line in lines:
        if line.strip() and not line.startswith("#"):
            found = LINE.match(line)
            grade, query_id, doc_id = found.groups() if found else (line.strip(), None, None)
            yield f"line {number}", {"query_id": query_id, "doc_id": doc_id, "grade": grade}


FORM = Form(
    "judgments for learning to rank (grade qid:query # document)",
    JUDGMENTS,
    "# qid:1: red shoes\n1\tqid:1\t1:0.5 # d1 a title\n0\tqid:1\t1:0.1 # d2 a title\n",
    sniff,
)
