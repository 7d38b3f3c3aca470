"""A ranking as TREC writes it."""

from ndcg_ab.sources.forms.form import RANKING, Form, Reading
from ndcg_ab.sources.forms.plausible import numbers
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.text.positional import column, read_places, rows_without_header

PLACES = {"query_id": 0, "doc_id": 2, "rank": 3, "score": 4, "tag": 5}


def sniff(sample: Sample) -> Reading | None:
    rows = rows_without_header(sample, 6)
    return read_places(sample, RANKING, PLACES, 6) if rows and numbers(column(rows, 4)) is not None else None


FORM = Form(
    "TREC ranking",
    RANKING,
    "q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 1.5 bm25\n",
    sniff,
)
