"""What each place of a ranking is expected to add to its value, if unjudged results have grades by chance.

Grades are independent, so the expectation of a product is the product of expectations, and each measure has a closed
form: a place of an additive measure adds its weight times its expected gain, and a place of other measures what it adds
with the expected results above it (`PLACE_VALUES`).
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ndcg_core.measures import factors
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.registry import Counted, Divisor
from ndcg_core.measures.score import discount, gain
from ndcg_core.measures.unjudged.places import FloatArray, IntArray, Places, split_by


class Results(NamedTuple):
    """The results of one system with expected gains, one row each.

    weight: what the gain of a place is multiplied by; 0 if the measure is not a plain sum. gain: expected gain.
    relevant, nonrelevant: chance to be relevant, or judged not relevant, in [0, 1].
    """

    places: Places
    weight: FloatArray
    gain: FloatArray
    relevant: FloatArray
    nonrelevant: FloatArray


class Pool(NamedTuple):
    """The judged documents and the shown unjudged ones, one row for `number` documents of a query that are alike.

    gain, relevant, nonrelevant: as in `Results`. queries: how many there are. highest: the gain of the highest grade.
    """

    query: IntArray
    number: IntArray
    gain: FloatArray
    relevant: FloatArray
    nonrelevant: FloatArray
    queries: int
    highest: float

    def sum_by_query(self, values: FloatArray) -> FloatArray:
        """Return (queries,) sums of a value of each document."""
        return np.bincount(self.query, self.number * values, self.queries).astype(np.float64)


def lacks_expected_value(metric: Metric) -> bool:
    """Return whether a metric has no expected value in closed form, because its measure came without one."""
    traits = metric.traits
    is_known = is_plain_sum(metric) or traits.is_decided_by_first or traits.factors in PLACE_VALUES
    return traits.divisor is Divisor.OTHER or not is_known


def is_plain_sum(metric: Metric) -> bool:
    """Return whether a value is a sum of gains times fixed weights, up to a divisor."""
    return metric.traits.is_additive and metric.traits.factors is None


def counts_results(metric: Metric) -> bool:
    """Return whether a value depends on how many results there are, also on those that gain nothing."""
    is_open = metric.cutoff is None and (metric.traits.divisor is Divisor.LENGTH or metric.has_endless_ideal)
    ends_with_results = metric.traits.takes("ideal") and metric.ideal_cut == "returned"
    return is_open or ends_with_results or metric.traits.divisor is Divisor.SHOWN


def place_values(metric: Metric, results: Results, pool: Pool) -> FloatArray:
    """Return (rows,) what each result is expected to add to the sum over the places of its ranking."""
    if metric.traits.is_decided_by_first:
        worth = first_values(metric, int(results.places.rank.max(initial=0)))[results.places.rank]
        return worth * results.relevant * _none_above(results, results.relevant)
    if metric.traits.factors is None:
        return results.weight * results.gain
    return PLACE_VALUES[metric.traits.factors](results, pool)


def place_weights(metric: Metric, places: Places) -> FloatArray:
    """Return the discount of each rank, or the mean discount of a group of equal scores if the metric averages ties."""
    if not is_plain_sum(metric):
        return np.zeros(len(places.rank))
    deepest = int((places.first_rank + places.size - 1).max(initial=0))
    sums = discount_sums(metric, min(metric.cutoff or deepest, deepest))
    before, last = (
        np.minimum(end, len(sums) - 1) for end in (places.first_rank - 1, places.first_rank - 1 + places.size)
    )
    return (sums[last] - sums[before]) / places.size


def discount_sums(metric: Metric, depth: int) -> FloatArray:
    """Return (depth + 1,) sums of the first 0, 1, 2 … discounts."""
    return np.cumsum([0.0, *(discount(metric, rank) for rank in range(1, depth + 1))])


def gains_of(metric: Metric, grades: FloatArray) -> FloatArray:
    """Return the gain of each grade."""
    distinct, at = np.unique(grades, return_inverse=True)
    return np.array([gain(metric, grade) for grade in distinct.tolist()], dtype=np.float64)[at.ravel()]


@lru_cache
def first_values(metric: Metric, deepest: int) -> FloatArray:
    """Return (deepest + 2,) values of a ranking whose first relevant result is at each rank; 0 below the deepest."""
    counted = (Counted([0.0] * (rank - 1) + [1.0], 1.0, 0.0, metric.cutoff, rank) for rank in range(1, deepest + 1))
    return np.array([0.0, *(metric.traits.quotient(each).value for each in counted), 0.0])


def _go_down(results: Results, values: FloatArray, combine: np.ufunc, start: float) -> FloatArray:
    """Return, for each result, `combine` over the values of the results above it in its ranking."""
    query = results.places.query
    found, so_far = np.full(len(values), start), np.full(int(query.max(initial=0)) + 1, start)
    for rows in split_by(results.places.rank):
        found[rows] = so_far[query[rows]]
        so_far[query[rows]] = combine(found[rows], values[rows])
    return found


def _above(results: Results, values: FloatArray) -> FloatArray:
    """Return the sum of the values above each result."""
    return _go_down(results, values, np.add, 0.0)


def _none_above(results: Results, chances: FloatArray) -> FloatArray:
    """Return the chance that nothing above each result happens."""
    return _go_down(results, 1.0 - chances, np.multiply, 1.0)


def _precisions(results: Results, _: Pool) -> FloatArray:
    return results.relevant * (1.0 + _above(results, results.relevant)) / results.places.rank


def _stops(results: Results, pool: Pool) -> FloatArray:
    satisfied = results.gain / (pool.highest + 1.0)
    return satisfied * _none_above(results, satisfied) / results.places.rank


def _within_relevant(results: Results, pool: Pool) -> FloatArray:
    places = results.places
    inside = np.clip(pool.sum_by_query(pool.relevant)[places.query] - places.first_rank + 1, 0, places.size)
    return results.gain * inside / places.size


def _preferences(results: Results, pool: Pool) -> FloatArray:
    relevant, nonrelevant = (
        pool.sum_by_query(each)[results.places.query] for each in (pool.relevant, pool.nonrelevant)
    )
    above, least = np.minimum(_above(results, results.nonrelevant), relevant), np.minimum(nonrelevant, relevant)
    return results.relevant * (1.0 - np.divide(above, least, out=np.zeros_like(above), where=least > 0))


def _inferred_precisions(results: Results, _: Pool) -> FloatArray:
    relevant, nonrelevant = _above(results, results.relevant), _above(results, results.nonrelevant)
    pooled = relevant + nonrelevant + _above(results, (results.places.grade < 0).astype(np.float64))
    likely = (relevant + factors.INFERRED) / (relevant + nonrelevant + 2 * factors.INFERRED)
    return results.relevant * (1.0 + pooled * likely) / results.places.rank


PLACE_VALUES: dict[Callable[[factors.Walk], list[float]], Callable[[Results, Pool], FloatArray]] = {
    factors.precision_factors: _precisions,
    factors.stopping_factors: _stops,
    factors.within_relevant_factors: _within_relevant,
    factors.preference_factors: _preferences,
    factors.inferred_precision_factors: _inferred_precisions,
}
"""The factors of a measure -> what each place is expected to add to the sum of gain * factor."""
