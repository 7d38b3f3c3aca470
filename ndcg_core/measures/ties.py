"""What the order of equal scores can do to a value: its bounds over all orders, and its expectation.

The expectation is the value with ties = average: every place of a tie gets the mean gain of the tie (F. McSherry and
M. Najork, Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores, ECIR 2008).
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import Result, document_gains, order_score, score_query


class TieBounds(NamedTuple):
    """A value over all orders of equal scores, in the metric's unit; worst <= expected <= best up to rounding.

    expected: None for measures that are no sums over places (rr, accuracy).
    """

    worst: float
    expected: float | None
    best: float


@lru_cache
def with_ties(metric: Metric, ties: str) -> Metric:
    """The metric with another order of equal scores."""
    return dataclasses.replace(metric, ties=ties)


def tie_bounds(
    metric: Metric,
    results: Sequence[Result],
    judgments: Mapping[str, float],
    highest_grade: float | None = None,
    ideal: float | None = None,
) -> TieBounds:
    """The lowest, the expected and the highest value that the order of equal scores can give one query.

    Arguments and errors as for `score_query`; a query that is left out has 0 everywhere.  Raises ValueError for an
    ideal of the system's own documents: there the order of ties moves the ideal, too; and for a measure whose value can
    rise where a document that gains more moves down.
    """
    if metric.has_own_ideal:
        raise ValueError(f"metric {metric.name}: the order of ties moves its ideal, too")
    if not metric.traits.is_monotone:
        raise ValueError(f"metric {metric.name}: the best order of ties is not that of the gains")

    gains = document_gains(metric, (result.doc_id for result in results), judgments)
    worth = {result.doc_id: value for result, value in zip(results, gains, strict=True)}
    scored = [(order_score(result, metric), result.doc_id) for result in results]

    def ordered(sign: float) -> float:
        """The value when ties are ordered by gain: best first (sign 1) or last (-1)."""

        def key(each: tuple[float, str]) -> tuple[float, float, bytes]:
            score, doc_id = each
            return score, sign * worth[doc_id], doc_id.encode()

        ranked = sorted(scored, key=key, reverse=True)
        placed = [Result(doc_id, None, rank) for rank, (_, doc_id) in enumerate(ranked, start=1)]
        return score_query(with_ties(metric, "given"), placed, judgments, highest_grade, ideal=ideal) or 0.0

    if not is_order_seen(metric, results, judgments):
        value = ordered(1.0)
        return TieBounds(value, value if metric.traits.is_additive else None, value)
    expected = None
    if metric.traits.is_additive:
        by_rank = [Result(result.doc_id, None, result.rank_given) for result in results]
        tied = by_rank if metric.ties == "given" else results
        expected = score_query(with_ties(metric, "average"), tied, judgments, highest_grade, ideal=ideal) or 0.0
    return TieBounds(ordered(-1.0), expected, ordered(1.0))


def is_order_seen(metric: Metric, results: Iterable[Result], judgments: Mapping[str, float]) -> bool:
    """Whether documents of equal scores differ in their grades; else the value is one, whatever their order."""
    grades: dict[float, float | None] = {}
    for result in results:
        grade = judgments.get(result.doc_id)
        if grades.setdefault(order_score(result, metric), grade) != grade:
            return True
    return False
