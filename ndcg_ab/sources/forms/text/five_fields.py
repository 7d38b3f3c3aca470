"""A ranking as TREC writes it, without the scores or without the tag."""

from ndcg_ab.sources.forms.form import RANKING, Form, Reading
from ndcg_ab.sources.forms.plausible import are_ranks, numbers
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.text.positional import column, read_places, rows_without_header

PLACES = {"query_id": 0, "doc_id": 2, "rank": 3}


def sniff(sample: Sample) -> Reading | None:
    rows = rows_without_header(sample, 5)
    if not rows or not are_ranks(column(rows, 0), column(rows, 3)) or len(set(column(rows, 1))) > 1:
        return None
    last = column(rows, 4)
    is_score = numbers(last) is not None and len(set(last)) > 1
    return read_places(sample, RANKING, PLACES | ({"score": 4} if is_score else {"tag": 4}), 5)


FORM = Form(
    "TREC ranking without scores or tag",
    RANKING,
    "q1 Q0 d1 1 bm25\nq1 Q0 d2 2 bm25\n",
    sniff,
)
