"""Ratings of users without a header, as MovieLens 100K has them: user, item, rating, time."""

from ndcg_ab.sources.forms.form import JUDGMENTS, Form, Reading
from ndcg_ab.sources.forms.plausible import are_grades, are_times, numbers, vary
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.text.positional import column, read_places, rows_without_header


def sniff(sample: Sample) -> Reading | None:
    rows = rows_without_header(sample, 4)
    ratings = column(rows, 2)
    if (
        not rows
        or not vary(column(rows, 1))
        or not are_times(column(rows, 3))
        or numbers(ratings) is None
        or not are_grades(ratings)
    ):
        return None
    return read_places(sample, JUDGMENTS, {"query_id": 0, "doc_id": 1, "grade": 2}, 4)


FORM = Form(
    "ratings of users (user, item, rating, time): each user is a query",
    JUDGMENTS,
    "11\t242\t3\t881250949\n12\t302\t4\t891717742\n",
    sniff,
)
