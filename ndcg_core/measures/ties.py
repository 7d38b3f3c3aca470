"""Compute how the order of tied scores can change a value: bounds over all orders, and the expected value.

The expected value is the value with ties = average: every document of a tie gets the mean gain of the tie. (F. McSherry
and M. Najork, Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores, ECIR
2008.)
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import Result, document_gains, order_score, score_query


class TieBounds(NamedTuple):
    """The lowest, expected and highest value of a metric over all orders of equal scores, in the metric's unit.

    Attributes
    ----------
    worst : float
        The lowest value; worst <= expected <= best up to rounding.
    expected : float or None
        The mean value over all orders; None for measures that are not sums over ranks (rr, accuracy).
    best : float
        The highest value.
    """

    worst: float
    expected: float | None
    best: float


@lru_cache
def with_ties(metric: Metric, ties: str) -> Metric:
    """Return a copy of the metric whose rule for the order of equal scores is `ties`."""
    return dataclasses.replace(metric, ties=ties)


def tie_bounds(
    metric: Metric,
    results: Sequence[Result],
    judgments: Mapping[str, float],
    highest_grade: float | None = None,
    ideal: float | None = None,
) -> TieBounds:
    """Compute the lowest, expected and highest value that the order of equal scores can give one query.

    Parameters
    ----------
    metric : Metric
        A metric whose ideal does not depend on the system's own documents.
    results : sequence of Result
        The results that the system returned, in any order; empty for an unanswered query.
    judgments : mapping of str to float
        Grades of all judged documents of the query, by doc_id; at least one.
    highest_grade : float, optional
        Highest grade in the whole evaluation, for ``ideal=max``. Default: the query's highest grade.
    ideal : float, optional
        The divisor of every ranking of the query, if already known.

    Returns
    -------
    TieBounds
        The lowest, the expected and the highest value; the expected one is None if the measure is no sum over ranks.
        All are 0 for a query that the metric leaves out.

    Raises
    ------
    MetricError
        If the metric refuses a grade.
    ValueError
        If the ideal depends on the order of ties, or if moving a document with a larger gain up can lower the value.
    """
    if metric.has_own_ideal:
        raise ValueError(f"metric {metric.name}: the order of ties moves its ideal, too")
    if not metric.traits.is_monotone:
        raise ValueError(f"metric {metric.name}: the best order of ties is not that of the gains")

    gains = document_gains(metric, (result.doc_id for result in results), judgments)
    worth = {result.doc_id: value for result, value in zip(results, gains, strict=True)}
    scored = [(order_score(result, metric), result.doc_id) for result in results]

    def score_with_ordered_ties(sign: float) -> float:
        """Return the value if documents with equal scores are ordered by gain.

        sign: 1 to put the best first, -1 to put the best last.
        """

        def key(row: tuple[float, str]) -> tuple[float, float, bytes]:
            score, doc_id = row
            return score, sign * worth[doc_id], doc_id.encode()

        ranked = sorted(scored, key=key, reverse=True)
        results_in_order = [Result(doc_id, None, rank) for rank, (_, doc_id) in enumerate(ranked, start=1)]
        return score_query(with_ties(metric, "given"), results_in_order, judgments, highest_grade, ideal=ideal) or 0.0

    if not can_order_change_value(metric, results, judgments):
        value = score_with_ordered_ties(1.0)
        return TieBounds(value, value if metric.traits.is_additive else None, value)
    expected = None
    if metric.traits.is_additive:
        by_rank = [Result(result.doc_id, None, result.rank_given) for result in results]
        tied = by_rank if metric.ties == "given" else results
        expected = score_query(with_ties(metric, "average"), tied, judgments, highest_grade, ideal=ideal) or 0.0
    return TieBounds(score_with_ordered_ties(-1.0), expected, score_with_ordered_ties(1.0))


def can_order_change_value(metric: Metric, results: Iterable[Result], judgments: Mapping[str, float]) -> bool:
    """Return whether documents with equal scores have different grades, so that their order can change the value.

    An unjudged document differs from a judged one.
    """
    grades: dict[float, float | None] = {}
    for result in results:
        grade = judgments.get(result.doc_id)
        if grades.setdefault(order_score(result, metric), grade) != grade:
            return True
    return False
