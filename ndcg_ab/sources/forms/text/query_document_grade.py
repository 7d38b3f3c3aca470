"""Judgments of three fields without a header: query, document, grade."""

import dataclasses

from ndcg_ab.sources.forms.form import JUDGMENTS, Form, Reading
from ndcg_ab.sources.forms.plausible import are_grades, are_ranks, fall, numbers, vary
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.text.positional import column, read_places, rows_without_header


def sniff(sample: Sample) -> Reading | None:
    rows = rows_without_header(sample, 3)
    grades = column(rows, 2)
    is_graded = bool(rows) and numbers(grades) is not None and are_grades(grades) and vary(column(rows, 1))
    if not is_graded or are_ranks(column(rows, 0), grades):
        return None
    values = numbers(grades) or []
    is_doubtful = fall(column(rows, 0), values) and not all(value.is_integer() for value in values)
    found = read_places(sample, JUDGMENTS, {"query_id": 0, "doc_id": 1, "grade": 2}, 3)
    return dataclasses.replace(found, is_doubtful=is_doubtful)


FORM = Form("judgments without a header (query, document, grade)", JUDGMENTS, "q1,d1,1\nq1,d2,0\n", sniff)
