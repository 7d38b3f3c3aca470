"""Hold results and judgments as arrays, and compute the expected contribution of each result to a value.

Unjudged results have random, independent grades, so the expectation of a product is the product of expectations. Each
measure has a closed form: with an additive measure, a result adds its weight times its expected gain; with another
measure, an amount that depends on the expected results above it (`CONTRIBUTIONS`).
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ndcg_core.measures import factors
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.registry import Divisor, RankedGains
from ndcg_core.measures.score import discount, gain

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class RankedResults(NamedTuple):
    """The results of one system, one row each, by rising query and rank.

    query: number of the query, from 0. doc: number of the document, equal for all systems. rank: from 1.
    first_rank, size: first rank and size of the group of equal scores if ties are averaged; else the rank, and 1.
    grade: NaN if unjudged.
    """

    query: IntArray
    doc: IntArray
    rank: IntArray
    first_rank: IntArray
    size: IntArray
    grade: FloatArray

    @property
    def is_judged(self) -> BoolArray:
        return ~np.isnan(self.grade)

    def take(self, rows: IntArray | BoolArray) -> "RankedResults":
        """Return some of the rows, chosen by number or by a mask."""
        return RankedResults(*(values[rows] for values in self))  # type: ignore[arg-type]

    def within(self, depth: int | None) -> "RankedResults":
        """Return the rows whose group of equal scores begins within the first `depth` ranks; None keeps all."""
        return self if depth is None else self.take(self.first_rank <= depth)


def no_results() -> RankedResults:
    """Return the results of a system that returns nothing."""
    empty = np.zeros(0, dtype=np.int64)
    return RankedResults(empty, empty, empty, empty, empty, np.zeros(0))


class JudgedCounts(NamedTuple):
    """The number of judged documents by query and grade.

    query, grade, documents: (m,), one row for each pair of query and grade that occurs. queries: the number of queries.
    grades: every grade of the evaluation, rising, also those that no query in `query` has.
    """

    query: IntArray
    grade: FloatArray
    documents: IntArray
    queries: int
    grades: tuple[float, ...]

    def count_documents(self, is_counted: BoolArray) -> FloatArray:
        """Return, per query, the number of documents in the rows of the mask."""
        return np.bincount(self.query, self.documents * is_counted, self.queries).astype(np.float64)


def split_by(numbers: IntArray) -> list[IntArray]:
    """Return the rows that have the number 0, 1, 2 …, up to the highest number."""
    return np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers))[:-1])


Values = TypeVar("Values", FloatArray, IntArray)


def put(values: Values, rows: IntArray, new: Values) -> Values:
    """Return the values with new ones in some rows; a new value for the row -1 is ignored."""
    padded = np.append(values, values.dtype.type(0))
    padded[rows] = new
    return padded[:-1]


class Gains(NamedTuple):
    """The gains of results or documents, (n,) each; expectations for unjudged ones.

    mean, variance: of the gain. relevant, nonrelevant, pooled: probabilities, in [0, 1], of being relevant, of being
        judged non-relevant, and of being judged at all.
    """

    mean: FloatArray
    variance: FloatArray
    relevant: FloatArray
    nonrelevant: FloatArray
    pooled: FloatArray

    def take(self, rows: IntArray) -> "Gains":
        """Return the gains of some rows, by number."""
        return Gains(*(values[rows] for values in self))

    def put(self, rows: IntArray, new: "Gains") -> "Gains":
        """Return the gains with new ones in some rows; new gains for the row -1 are ignored."""
        return Gains(*(put(values, rows, each) for values, each in zip(self, new, strict=True)))


def gains_of(metric: Metric, grades: FloatArray) -> Gains:
    """Return the gains of grades; an unjudged result, whose grade is NaN, gains nothing."""
    distinct, at = np.unique(grades, return_inverse=True)
    worth = np.array([0.0 if np.isnan(grade) else gain(metric, grade) for grade in distinct.tolist()], dtype=np.float64)
    mean, is_judged = worth[at.ravel()], ~np.isnan(grades)
    chances = (mean > 0, is_judged & (mean == 0) & (grades >= 0), is_judged)
    return Gains(mean, np.zeros(len(mean)), *(each.astype(np.float64) for each in chances))


class ResultsWithGains(NamedTuple):
    """The results of one system with their gains, one row each.

    weight: factor of the gain of each result; 0 if the measure is not a plain sum.
    """

    ranked: RankedResults
    weight: FloatArray
    gains: Gains

    def take(self, rows: IntArray) -> "ResultsWithGains":
        """Return the results of some rows, by number."""
        return ResultsWithGains(self.ranked.take(rows), self.weight[rows], self.gains.take(rows))


class Pool(NamedTuple):
    """The judged documents and the shown unjudged ones; one row for `number` equal documents of a query.

    queries: number of queries. highest: gain of the highest grade.
    """

    query: IntArray
    number: IntArray
    gains: Gains
    queries: int
    highest: float

    def sum_by_query(self, values: FloatArray) -> FloatArray:
        """Return the (queries,) sums of a value per row, in which each row counts `self.number` times."""
        return np.bincount(self.query, self.number * values, self.queries).astype(np.float64)


def lacks_expected_value(metric: Metric) -> bool:
    """Return whether a metric has no expected value in closed form, because its measure was registered without one."""
    traits = metric.traits
    is_known = is_plain_sum(metric) or traits.is_decided_by_first or traits.factors in CONTRIBUTIONS
    return traits.divisor is Divisor.OTHER or not is_known


def is_plain_sum(metric: Metric) -> bool:
    """Return whether a metric's value is a sum of gains times fixed weights, up to a divisor."""
    return metric.traits.is_additive and metric.traits.factors is None


def counts_results(metric: Metric) -> bool:
    """Return whether a metric's value depends on the number of results, including results that gain nothing."""
    is_open = metric.cutoff is None and (metric.traits.divisor is Divisor.LENGTH or metric.has_endless_ideal)
    ends_with_results = metric.traits.takes("ideal") and metric.ideal_cut == "returned"
    return is_open or ends_with_results or metric.traits.divisor is Divisor.SHOWN


def expected_contributions(metric: Metric, results: ResultsWithGains, pool: Pool) -> FloatArray:
    """Return (rows,) expected additions of each result to the sum over the ranks of its ranking."""
    if metric.traits.is_decided_by_first:
        worth = first_values(metric, int(results.ranked.rank.max(initial=0)))[results.ranked.rank]
        return worth * results.gains.relevant * _none_above(results, results.gains.relevant)
    if metric.traits.factors is None:
        return results.weight * results.gains.mean
    return CONTRIBUTIONS[metric.traits.factors](results, pool)


def rank_weights(metric: Metric, ranked: RankedResults) -> FloatArray:
    """Return the discount of each rank, or the mean discount of a group of equal scores if the metric averages ties."""
    if not is_plain_sum(metric):
        return np.zeros(len(ranked.rank))
    deepest = int((ranked.first_rank + ranked.size - 1).max(initial=0))
    sums = discount_sums(metric, min(metric.cutoff or deepest, deepest))
    before, last = (
        np.minimum(end, len(sums) - 1) for end in (ranked.first_rank - 1, ranked.first_rank - 1 + ranked.size)
    )
    return (sums[last] - sums[before]) / ranked.size


def discount_sums(metric: Metric, depth: int) -> FloatArray:
    """Return (depth + 1,) sums of the first 0, 1, 2 … discounts."""
    return np.cumsum([0.0, *(discount(metric, rank) for rank in range(1, depth + 1))])


@lru_cache
def first_values(metric: Metric, deepest: int) -> FloatArray:
    """Return (deepest + 2,) values of a ranking whose first relevant result is at each rank; 0 below the deepest."""
    ranked = (RankedGains([0.0] * (rank - 1) + [1.0], 1.0, 0.0, metric.cutoff, rank) for rank in range(1, deepest + 1))
    return np.array([0.0, *(metric.traits.quotient(each).value for each in ranked), 0.0])


def _accumulate_down(results: ResultsWithGains, values: FloatArray, combine: np.ufunc, start: float) -> FloatArray:
    """Combine, for each result, the values of all results above the result in one ranking.

    combine: the numpy function, such as `np.add`. start: the value for results at rank 1.
    """
    query = results.ranked.query
    states, so_far = np.full(len(values), start), np.full(int(query.max(initial=0)) + 1, start)
    for rows in split_by(results.ranked.rank):
        states[rows] = so_far[query[rows]]
        so_far[query[rows]] = combine(states[rows], values[rows])
    return states


def _above(results: ResultsWithGains, values: FloatArray) -> FloatArray:
    """Return the sum of the values above each result."""
    return _accumulate_down(results, values, np.add, 0.0)


def _none_above(results: ResultsWithGains, chances: FloatArray) -> FloatArray:
    """Return the probability that the event does not happen at any result above each result."""
    return _accumulate_down(results, 1.0 - chances, np.multiply, 1.0)


def _precisions(results: ResultsWithGains, _: Pool) -> FloatArray:
    return results.gains.relevant * (1.0 + _above(results, results.gains.relevant)) / results.ranked.rank


def _stops(results: ResultsWithGains, pool: Pool) -> FloatArray:
    satisfied = results.gains.mean / (pool.highest + 1.0)
    return satisfied * _none_above(results, satisfied) / results.ranked.rank


def _within_relevant(results: ResultsWithGains, pool: Pool) -> FloatArray:
    ranked = results.ranked
    inside = np.clip(pool.sum_by_query(pool.gains.relevant)[ranked.query] - ranked.first_rank + 1, 0, ranked.size)
    return results.gains.mean * inside / ranked.size


def _preferences(results: ResultsWithGains, pool: Pool) -> FloatArray:
    relevant, nonrelevant = (
        pool.sum_by_query(each)[results.ranked.query] for each in (pool.gains.relevant, pool.gains.nonrelevant)
    )
    above, least = np.minimum(_above(results, results.gains.nonrelevant), relevant), np.minimum(nonrelevant, relevant)
    return results.gains.relevant * (1.0 - np.divide(above, least, out=np.zeros_like(above), where=least > 0))


def _inferred_precisions(results: ResultsWithGains, _: Pool) -> FloatArray:
    relevant, nonrelevant = _above(results, results.gains.relevant), _above(results, results.gains.nonrelevant)
    likely = (relevant + factors.INFERRED) / (relevant + nonrelevant + 2 * factors.INFERRED)
    return results.gains.relevant * (1.0 + _above(results, results.gains.pooled) * likely) / results.ranked.rank


CONTRIBUTIONS: dict[Callable[[factors.Walk], list[float]], Callable[[ResultsWithGains, Pool], FloatArray]] = {
    factors.precision_at_ranks: _precisions,
    factors.stopping_factors: _stops,
    factors.within_relevant_factors: _within_relevant,
    factors.preference_factors: _preferences,
    factors.inferred_precision_factors: _inferred_precisions,
}
"""The factors of a measure -> what each result is expected to add to the sum of gain * factor."""
