"""A ranking of three fields without a header: query, document, score."""

import dataclasses

from ndcg_ab.sources.forms.form import RANKING, Form, Reading
from ndcg_ab.sources.forms.plausible import MOST_GRADES, fall, numbers
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.text.positional import column, read_places, rows_without_header


def sniff(sample: Sample) -> Reading | None:
    rows = rows_without_header(sample, 3)
    scores = numbers(column(rows, 2))
    if scores is None:
        return None
    has_fractions = any(not score.is_integer() for score in scores)
    is_falling = fall(column(rows, 0), scores)
    if not has_fractions and not is_falling:
        return None
    found = read_places(sample, RANKING, {"query_id": 0, "doc_id": 1, "score": 2}, 3)
    is_sure = has_fractions and (is_falling or len(set(scores)) > MOST_GRADES)
    return dataclasses.replace(found, is_doubtful=not is_sure)


FORM = Form("ranking without a header (query, document, score)", RANKING, "q1\td1\t2.5\nq1\td2\t1.25\n", sniff)
