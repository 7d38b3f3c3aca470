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

from ndcg_core.measures import registry
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.registry import Divisor, RankedGains
from ndcg_core.measures.score import discount, gain

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class RankedResults(NamedTuple):
    """The results of one system as arrays with one row per result, sorted by query and rank.

    Attributes
    ----------
    query : (n,) array of int
        Index of the query.
    doc : (n,) array of int
        Number of the document; a document has the same number in the results of all systems.
    rank : (n,) array of int
        Rank, from 1.
    first_rank, size : (n,) array of int
        First rank and size of the group of equal scores if the metric averages ties; otherwise the rank, and 1.
    grade : (n,) array of float
        Judged grade; NaN if unjudged.
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
        """Return the rows that are selected by an array of indices or by a mask."""
        return RankedResults(*(values[rows] for values in self))  # type: ignore[arg-type]

    def within(self, depth: int | None) -> "RankedResults":
        """Return the rows whose group of equal scores begins within the top `depth` ranks.

        Return all rows if `depth` is None.
        """
        return self if depth is None else self.take(self.first_rank <= depth)


def empty_results() -> RankedResults:
    """Return a table of results without rows, for a system that returned nothing."""
    empty = np.zeros(0, dtype=np.int64)
    return RankedResults(empty, empty, empty, empty, empty, np.zeros(0))


class JudgedCounts(NamedTuple):
    """The number of judged documents by query and grade.

    Attributes
    ----------
    query, grade, documents : (m,) array
        Index of a query, a grade, and the number of documents of the query that have the grade. There is one row for
        each query and grade that occur together.
    queries : int
        Number of queries.
    grades : tuple of float
        All grades of the evaluation, rising.
    """

    query: IntArray
    grade: FloatArray
    documents: IntArray
    queries: int
    grades: tuple[float, ...]

    def count_documents(self, is_counted: BoolArray) -> FloatArray:
        """Return the (queries,) number of documents per query, over the rows that a mask selects."""
        return np.bincount(self.query, self.documents * is_counted, self.queries).astype(np.float64)


def rows_by_number(numbers: IntArray) -> list[IntArray]:
    """Return, for each of the numbers 0, 1, 2 …, the indices of the rows that have the number.

    The list ends with the highest number. numbers: (rows,) number of each row.
    """
    return np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers))[:-1])


Values = TypeVar("Values", FloatArray, IntArray)


def replace_rows(values: Values, rows: IntArray, new: Values) -> Values:
    """Return a copy of an array in which the values of some rows are replaced.

    rows: indices of the rows; an index of -1 means that the new value is ignored. new: one value for each of `rows`.
    """
    padded = np.append(values, values.dtype.type(0))
    padded[rows] = new
    return padded[:-1]


def gather(values: Values, rows: IntArray, otherwise: int) -> Values:
    """Return the values of the rows with these indices; the index -1 gives `otherwise`."""
    return np.append(values, values.dtype.type(otherwise))[rows]


class Gains(NamedTuple):
    """The gains of n results or documents: known if judged, random if unjudged.

    Attributes
    ----------
    mean, variance : (n,) array of float
        Expected gain and variance of the gain; the variance is 0 if judged.
    relevant, nonrelevant, pooled : (n,) array of float
        Probabilities, in [0, 1], that the document is relevant, is judged non-relevant, and is judged at all.
    """

    mean: FloatArray
    variance: FloatArray
    relevant: FloatArray
    nonrelevant: FloatArray
    pooled: FloatArray

    def take(self, rows: IntArray) -> "Gains":
        """Return the gains of the rows with these indices."""
        return Gains(*(values[rows] for values in self))

    def replace_rows(self, rows: IntArray, new: "Gains") -> "Gains":
        """Return a copy in which the gains of some rows are replaced.

        rows: indices of the rows; an index of -1 means that the new gains are ignored. new: one row for each of `rows`.
        """
        return Gains(*(replace_rows(values, rows, each) for values, each in zip(self, new, strict=True)))


def grade_gains(metric: Metric, grades: FloatArray) -> Gains:
    """Return the gains of results that have these grades.

    grades: (n,) grades; NaN for an unjudged result, which gains nothing.
    Raises MetricError if the metric's gain table lacks a grade.
    """
    distinct, at = np.unique(grades, return_inverse=True)
    worth = np.array([0.0 if np.isnan(grade) else gain(metric, grade) for grade in distinct.tolist()], dtype=np.float64)
    mean, is_judged = worth[at.ravel()], ~np.isnan(grades)
    chances = (mean > 0, is_judged & (mean == 0) & (grades >= 0), is_judged)
    return Gains(mean, np.zeros(len(mean)), *(each.astype(np.float64) for each in chances))


class ResultsWithGains(NamedTuple):
    """The results of one system with their gains, one row per result.

    Attributes
    ----------
    ranked : RankedResults
        The results.
    weight : (n,) array of float
        Factor by which each gain is multiplied; 0 if the measure is not a sum of gains times fixed weights.
    gains : Gains
        The gains of the results.
    """

    ranked: RankedResults
    weight: FloatArray
    gains: Gains

    def take(self, rows: IntArray) -> "ResultsWithGains":
        """Return the results of the rows with these indices."""
        return ResultsWithGains(self.ranked.take(rows), self.weight[rows], self.gains.take(rows))


class DocumentPool(NamedTuple):
    """The judged documents of all queries, and the unjudged documents that a system returned.

    Attributes
    ----------
    query, number : (rows,) array of int
        Index of the query, and number of documents in the row. All documents of a row have equal gains.
    gains : Gains
        Gain of one document of each row.
    queries : int
        Number of queries.
    highest : float
        Gain of the highest grade.
    """

    query: IntArray
    number: IntArray
    gains: Gains
    queries: int
    highest: float

    def sum_by_query(self, values: FloatArray) -> FloatArray:
        """Return the (queries,) sums of a value over the documents of each query.

        values: (rows,) value of one document of each row. A row counts as often as it has documents.
        """
        return np.bincount(self.query, self.number * values, self.queries).astype(np.float64)


def lacks_expected_value(metric: Metric) -> bool:
    """Return whether a metric has no closed form for the expected value over random grades.

    A metric has a closed form if it is rr or accuracy, if its value is a sum of gains times fixed weights, or if its
    factors are in `CONTRIBUTIONS`. A metric that another tool computes has none.
    """
    traits = metric.traits
    is_known = is_plain_sum(metric) or traits.is_decided_by_first or traits.factors in CONTRIBUTIONS
    return traits.divisor is Divisor.OTHER or not is_known


def has_grade_effect(metric: Metric) -> bool:
    """Return whether the effect of one more grade on a metric's value can be computed."""
    is_of_grades = not lacks_expected_value(metric) and metric.traits.divisor is not Divisor.SHOWN
    return is_of_grades and metric.unjudged != "condense"


def is_plain_sum(metric: Metric) -> bool:
    """Return whether a metric's value is a sum of gains times fixed weights, up to a divisor."""
    return metric.traits.is_additive and metric.traits.factors is None


def counts_results(metric: Metric) -> bool:
    """Return whether a metric's value depends on the number of results, including results that gain nothing."""
    is_open = metric.cutoff is None and (metric.traits.divisor is Divisor.LENGTH or metric.has_endless_ideal)
    ends_with_results = metric.ideal_cut == "returned"
    return is_open or ends_with_results or metric.traits.divisor is Divisor.SHOWN


def expected_contributions(metric: Metric, results: ResultsWithGains, pool: DocumentPool) -> FloatArray:
    """Return the (rows,) expected amounts that the results add to the metric's sum over ranks, before any division.

    The expectation is over the unknown grades of unjudged results.
    """
    if metric.traits.is_decided_by_first:
        worth = values_by_first_rank(metric, int(results.ranked.rank.max(initial=0)))[results.ranked.rank]
        return worth * results.gains.relevant * _chance_of_none_above(results, results.gains.relevant)
    if metric.traits.factors is None:
        return results.weight * results.gains.mean
    return CONTRIBUTIONS[metric.traits.factors](results, pool)


def rank_weights(metric: Metric, ranked: RankedResults) -> FloatArray:
    """Return the (rows,) discounts of the results.

    If the metric averages ties, the discount is averaged over the ranks of the group of equal scores. All discounts are
    0 if the measure is not a sum of gains times fixed weights.
    """
    if not is_plain_sum(metric):
        return np.zeros(len(ranked.rank))
    deepest = int((ranked.first_rank + ranked.size - 1).max(initial=0))
    sums = discount_sums(metric, min(metric.cutoff or deepest, deepest))
    before, last = (
        np.minimum(end, len(sums) - 1) for end in (ranked.first_rank - 1, ranked.first_rank - 1 + ranked.size)
    )
    return (sums[last] - sums[before]) / ranked.size


def discount_sums(metric: Metric, depth: int) -> FloatArray:
    """Return an array of length depth + 1: the sums of the top 0, 1, 2 … `depth` discounts."""
    return np.cumsum([0.0, *(discount(metric, rank) for rank in range(1, depth + 1))])


@lru_cache
def values_by_first_rank(metric: Metric, deepest: int) -> FloatArray:
    """Return the metric's value for each rank of the first relevant result, as an array of length deepest + 2.

    The index is the rank, from 1 to `deepest`. The values at index 0 and at the last index are 0.
    """
    ranked = (RankedGains([0.0] * (rank - 1) + [1.0], 1.0, 0.0, metric.cutoff, rank) for rank in range(1, deepest + 1))
    return np.array([0.0, *(metric.traits.quotient(each).value for each in ranked), 0.0])


def _accumulate_above(results: ResultsWithGains, values: FloatArray, combine: np.ufunc, start: float) -> FloatArray:
    """Return, for each result, the combination of the values of all results above it in the ranking.

    combine: a numpy function of two arrays, such as `np.add`.
    start: the combination of no values, which a result at rank 1 gets.
    """
    query = results.ranked.query
    states, so_far = np.full(len(values), start), np.full(int(query.max(initial=0)) + 1, start)
    for rows in rows_by_number(results.ranked.rank):
        states[rows] = so_far[query[rows]]
        so_far[query[rows]] = combine(states[rows], values[rows])
    return states


def _sum_above(results: ResultsWithGains, values: FloatArray) -> FloatArray:
    """Return, for each result, the sum of the values of the results above it."""
    return _accumulate_above(results, values, np.add, 0.0)


def _chance_of_none_above(results: ResultsWithGains, chances: FloatArray) -> FloatArray:
    """Return, for each result, the probability that an event happens at no result above it.

    chances: (rows,) probability of the event at each result.
    """
    return _accumulate_above(results, 1.0 - chances, np.multiply, 1.0)


def _contribute_to_ap(results: ResultsWithGains, _: DocumentPool) -> FloatArray:
    """Return the expected amount that each result adds to the sum of ap.

    The expectation is over the unknown grades of unjudged results. The amount is the probability that the result is
    relevant, times the expected precision at its rank if it is relevant.
    """
    return results.gains.relevant * (1.0 + _sum_above(results, results.gains.relevant)) / results.ranked.rank


def _contribute_to_err(results: ResultsWithGains, pool: DocumentPool) -> FloatArray:
    """Return the expected amount that each result adds to err.

    The expectation is over the unknown grades of unjudged results. The amount is the probability that the result
    satisfies the user and no result above it does, divided by the rank.
    """
    satisfied = results.gains.mean / (pool.highest + 1.0)
    return satisfied * _chance_of_none_above(results, satisfied) / results.ranked.rank


def _contribute_to_rprec(results: ResultsWithGains, pool: DocumentPool) -> FloatArray:
    """Return the expected amount that each result adds to the sum of rprec.

    The amount is the expected gain if the rank is at most R, else 0. R is the expected number of relevant documents of
    the query. With averaged ties, and at the rank that a fractional R reaches only in part, the amount is a share of
    the gain.
    """
    ranked = results.ranked
    inside = np.clip(pool.sum_by_query(pool.gains.relevant)[ranked.query] - ranked.first_rank + 1, 0, ranked.size)
    return results.gains.mean * inside / ranked.size


def _contribute_to_bpref(results: ResultsWithGains, pool: DocumentPool) -> FloatArray:
    """Return the expected amount that each result adds to the sum of bpref.

    The expectation is over the unknown grades of unjudged results. The factor of bpref is computed from
    expected numbers of documents.
    """
    relevant, nonrelevant = (
        pool.sum_by_query(each)[results.ranked.query] for each in (pool.gains.relevant, pool.gains.nonrelevant)
    )
    above = np.minimum(_sum_above(results, results.gains.nonrelevant), relevant)
    least = np.minimum(nonrelevant, relevant)
    return results.gains.relevant * (1.0 - np.divide(above, least, out=np.zeros_like(above), where=least > 0))


def _contribute_to_infap(results: ResultsWithGains, _: DocumentPool) -> FloatArray:
    """Return the expected amount that each result adds to the sum of infap.

    The expectation is over the unknown grades of unjudged results. The factor of infap is computed from
    expected numbers of documents.
    """
    relevant, nonrelevant = _sum_above(results, results.gains.relevant), _sum_above(results, results.gains.nonrelevant)
    likely = (relevant + registry.INFERRED) / (relevant + nonrelevant + 2 * registry.INFERRED)
    return results.gains.relevant * (1.0 + _sum_above(results, results.gains.pooled) * likely) / results.ranked.rank


CONTRIBUTIONS: dict[Callable[..., list[float]], Callable[[ResultsWithGains, DocumentPool], FloatArray]] = {
    registry.precision_at_ranks: _contribute_to_ap,
    registry.stopping_factors: _contribute_to_err,
    registry.within_relevant_factors: _contribute_to_rprec,
    registry.preference_factors: _contribute_to_bpref,
    registry.inferred_precision_factors: _contribute_to_infap,
}
"""The function of a measure's factors -> the function that returns the expected gain * factor of each result."""
