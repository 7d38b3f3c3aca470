"""The measures of one query in plain Python: the second opinion on what the SQL computes.

Nothing here is shared with `sql/`: order, gain, discount, ideal and every measure are written out again,
from one query's results and judgments, so that a slip in one of the two shows as a difference.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ndcg_core.metric import Metric, MetricError, number


class Result(NamedTuple):
    """One document that a system returned for a query.

    doc_id: compared as UTF-8 bytes.
    score: higher is better, finite; None in a ranking that has only ranks.
    rank_given: the ranking's own rank, lower is better; it orders only where there is no score.
    """

    doc_id: str
    score: float | None = None
    rank_given: int | None = None


def order(results: Sequence[Result]) -> list[str]:
    """doc_ids best first: by score, equal scores by doc_id descending (as trec_eval 9 and 10 do).

    Without scores by the rank given, equal ranks by doc_id descending.  Raises ValueError when a result
    has neither score nor rank, when only some have a score, and when a document comes twice.
    """
    if len({result.doc_id for result in results}) < len(results):
        raise ValueError("a document comes twice in the results of one query")
    scored = [result.score is not None for result in results]
    if any(scored) != all(scored):
        raise ValueError("some results have a score and some have none")

    def key(result: Result) -> tuple[float, bytes]:
        if result.score is not None:
            return result.score, result.doc_id.encode()
        if result.rank_given is None:
            raise ValueError(f"document {result.doc_id!r} has neither a score nor a rank")
        return -result.rank_given, result.doc_id.encode()

    return [result.doc_id for result in sorted(results, key=key, reverse=True)]


def gain(metric: Metric, grade: float) -> float:
    """What a document of this grade is worth, >= 0; a grade of 0 or below is worth 0.

    Raises MetricError when the metric's gain table lacks the grade.
    """
    if metric.measure == "judged":
        return 1.0
    if grade <= 0:
        return 0.0
    if metric.gain == "binary" or metric.measure not in ("ndcg", "dcg", "cg"):
        return 1.0 if metric.relevant_from is None or grade >= metric.relevant_from else 0.0
    if metric.gain == "linear":
        return float(grade)
    if metric.gain == "exponential":
        return float(2.0**grade) - 1.0
    table = dict(metric.gain) if not isinstance(metric.gain, str) else {}
    if grade not in table:
        raise MetricError(f"metric {metric.name}: the gain table has no entry for grade {number(grade)}")
    return table[grade]


def discount(metric: Metric, rank: int) -> float:
    """The factor of a rank (1, 2, 3 …), in (0, 1]."""
    if metric.measure not in ("ndcg", "dcg") or metric.discount == "none":
        return 1.0
    if metric.discount == "log2":
        return 1.0 / math.log2(rank + 1)
    if metric.discount == "reciprocal":
        return 1.0 / rank
    return 1.0 / max(1.0, math.log2(rank) / math.log2(metric.discount_base))


def discounted_sum(metric: Metric, gains: Sequence[float]) -> float:
    """DCG of gains in rank order (Järvelin and Kekäläinen 2002, section 2)."""
    return math.fsum(value * discount(metric, rank) for rank, value in enumerate(gains, start=1))


def is_scored(metric: Metric, judgments: Mapping[str, float]) -> bool:
    """Whether a query counts: something among its judgments has a gain (for `judged`: a grade above 0)."""
    if metric.measure == "judged":
        return any(grade > 0 for grade in judgments.values())
    return any(gain(metric, grade) > 0 for grade in judgments.values())


def ideal_gains(
    metric: Metric, returned: Sequence[float], judgments: Mapping[str, float], highest_grade: float
) -> list[float]:
    """The gains of the best order that this metric divides by, best first, cut where it ends."""
    places = len(returned) if metric.cutoff is None else metric.cutoff
    if metric.ideal == "max":
        return [gain(metric, highest_grade)] * places
    if metric.ideal == "local":
        return sorted(returned[: metric.cutoff], reverse=True)
    if metric.ideal == "recall":
        return sorted(returned, reverse=True)[: metric.cutoff]
    return sorted((gain(metric, grade) for grade in judgments.values()), reverse=True)[: metric.cutoff]


def score_query(
    metric: Metric, results: Sequence[Result], judgments: Mapping[str, float], highest_grade: float | None = None
) -> float | None:
    """The metric's value for one query of one system, or None where the query is left out for everybody.

    results: what the system returned, in any order; empty for an unanswered query, which scores 0.
    judgments: doc_id -> grade, all judgments of the query.
    highest_grade: the highest grade in the whole evaluation (ideal = max); by default that of the query.
    Values lie in [0, 1], except dcg and cg (>= 0).
    Agrees with pytrec_eval-terrier 0.5 (ndcg, ndcg_cut, P, recall, recip_rank, success) on the defaults.
    """
    if not is_scored(metric, judgments):
        return None
    if not results:
        return 0.0
    highest = max(judgments.values()) if highest_grade is None else highest_grade
    grades = [judgments.get(doc_id) for doc_id in order(results)]
    returned = [0.0 if grade is None else gain(metric, grade) for grade in grades]
    top = returned[: metric.cutoff]
    if metric.measure in ("dcg", "cg"):
        return discounted_sum(metric, top)
    if metric.measure == "ndcg":
        ideal = discounted_sum(metric, ideal_gains(metric, returned, judgments, highest))
        return discounted_sum(metric, top) / ideal if ideal > 0 else 0.0
    if metric.measure == "accuracy":
        return 1.0 if any(top) else 0.0
    if metric.measure == "precision":
        return sum(top) / (len(returned) if metric.cutoff is None else metric.cutoff)
    if metric.measure == "recall":
        return sum(top) / sum(gain(metric, grade) for grade in judgments.values())
    if metric.measure == "rr":
        return next((1.0 / rank for rank, value in enumerate(top, start=1) if value > 0), 0.0)
    return sum(top) / len(top)
