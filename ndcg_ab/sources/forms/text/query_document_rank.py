"""A ranking of three fields, as MS MARCO takes them: query, document, rank."""

from ndcg_ab.sources.forms.form import RANKING, Form, Reading
from ndcg_ab.sources.forms.plausible import are_ranks
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.text.positional import column, read_places, rows_without_header


def sniff(sample: Sample) -> Reading | None:
    rows = rows_without_header(sample, 3)
    if not rows or not are_ranks(column(rows, 0), column(rows, 2)):
        return None
    return read_places(sample, RANKING, {"query_id": 0, "doc_id": 1, "rank": 2}, 3)


FORM = Form("ranking without a header (query, document, rank)", RANKING, "q1\td1\t1\nq1\td2\t2\n", sniff)
