"""A ranking of three fields without a header: query, document, score."""

from itertools import pairwise

from ndcg_ab.sources.forms.form import RANKING, Form, Reading
from ndcg_ab.sources.forms.plausible import MOST_GRADES, numbers
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.text.positional import column, read_places, rows_without_header


def sniff(sample: Sample) -> Reading | None:
    rows = rows_without_header(sample, 3)
    scores = numbers(column(rows, 2))
    if scores is None:
        return None
    falls = all(
        after[1] <= before[1]
        for before, after in pairwise(zip(column(rows, 0), scores, strict=True))
        if before[0] == after[0]
    )
    if not (falls or len(set(scores)) > MOST_GRADES) or all(score.is_integer() for score in scores):
        return None
    return read_places(sample, RANKING, {"query_id": 0, "doc_id": 1, "score": 2}, 3)


FORM = Form("ranking without a header (query, document, score)", RANKING, "q1\td1\t2.5\nq1\td2\t1.25\n", sniff)
