"""A ranking of three fields without a header: query, document, score."""

from ndcg_ab.sources.forms.form import RANKING, Form, Reading
from ndcg_ab.sources.forms.plausible import MOST_GRADES, fall, numbers
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.text.positional import column, read_places, rows_without_header


def sniff(sample: Sample) -> Reading | None:
    rows = rows_without_header(sample, 3)
    scores = numbers(column(rows, 2))
    if scores is None:
        return None
    if all(score.is_integer() for score in scores) or not (
        fall(column(rows, 0), scores) or len(set(scores)) > MOST_GRADES
    ):
        return None
    return read_places(sample, RANKING, {"query_id": 0, "doc_id": 1, "score": 2}, 3)


FORM = Form("ranking without a header (query, document, score)", RANKING, "q1\td1\t2.5\nq1\td2\t1.25\n", sniff)
