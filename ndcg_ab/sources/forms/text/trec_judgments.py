"""Judgments as TREC writes them."""

from ndcg_ab.sources.forms.form import JUDGMENTS, Form, Reading
from ndcg_ab.sources.forms.plausible import are_grades, numbers, vary
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.text.positional import column, read_places, rows_without_header

PLACES = {"query_id": 0, "doc_id": 2, "grade": 3}


def sniff(sample: Sample) -> Reading | None:
    rows = rows_without_header(sample, 4)
    grades = column(rows, 3)
    if not rows or not vary(column(rows, 2)) or numbers(grades) is None or not are_grades(grades):
        return None
    return read_places(sample, JUDGMENTS, PLACES, 4)


FORM = Form("TREC judgments", JUDGMENTS, "q1 0 d1 1\nq1 0 d2 0\n", sniff)
