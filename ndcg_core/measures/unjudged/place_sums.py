"""Expected sums over the places of rankings whose unjudged results have grades by chance.

Additive measures are sums of expected gains (`place_weights`). The others count a place by what is above it: with
independent grades their expected sums have a closed form each (`EXPECTED_SUMS`).
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_core.measures import factors
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.registry import Counted
from ndcg_core.measures.score import discount, gain, highest_gain
from ndcg_core.measures.unjudged.places import FloatArray, IntArray, Judged, Places

CELLS = 1_000_000  # places of queries that are computed together


class Rows(NamedTuple):
    """The results of one system with expected gains, one row each.

    places: by rising query and rank. gain: expected gain. variance: of the gain. relevant, nonrelevant: chance to be
    relevant, or judged not relevant, in [0, 1]. undrawn: whether the grade is below 0.
    """

    places: Places
    gain: FloatArray
    variance: FloatArray
    relevant: FloatArray
    nonrelevant: FloatArray
    undrawn: NDArray[np.bool_]


class Documents(NamedTuple):
    """Expected numbers of documents by query, (queries,) each, judged ones and shown unjudged ones together."""

    relevant: FloatArray
    nonrelevant: FloatArray


def place_weights(metric: Metric, places: Places) -> FloatArray:
    """Return what the gain of each place is multiplied by: the discount of its rank, or its group's mean discount.

    The mean is that of a group of equal scores, if the metric averages ties.
    """
    deepest = int(np.maximum(places.rank, places.first_rank + places.size - 1).max(initial=0))
    kept = min(metric.cutoff or deepest, deepest)
    sums = discount_sums(metric, kept)
    if metric.ties != "average":
        within = np.concatenate([[0.0], np.diff(sums), np.zeros(max(deepest - kept, 0))])
        found: FloatArray = within[places.rank]
        return found
    first, last = (np.minimum(end, kept) for end in (places.first_rank - 1, places.first_rank - 1 + places.size))
    mean: FloatArray = (sums[last] - sums[first]) / places.size
    return mean


def sum_best(metric: Metric, query: IntArray, gains: FloatArray, documents: FloatArray, end: IntArray) -> FloatArray:
    """Return, per query, the discounted sum of gains in their best order, cut after `end` documents.

    query, gains, documents: (m,), one row for `documents` of a query that gain as much. end: (queries,).
    """
    some = gains > 0
    query, gains, documents = query[some], gains[some], documents[some].astype(np.int64)
    order = np.lexsort((-gains, query))
    query, gains, documents = query[order], gains[order], documents[order]
    after = np.cumsum(documents)
    first = np.searchsorted(query, query, side="left")
    before_query = np.concatenate([[0], after])[first] if len(query) else after
    last = np.minimum(after - before_query, end[query])
    begin = np.minimum(after - documents - before_query, end[query])
    sums = discount_sums(metric, int(last.max(initial=0)))
    return np.bincount(query, gains * (sums[last] - sums[begin]), len(end)).astype(np.float64)


def discount_sums(metric: Metric, depth: int) -> FloatArray:
    """Return (depth + 1,) sums of the first 0, 1, 2 … discounts."""
    return np.concatenate([[0.0], np.cumsum([discount(metric, rank) for rank in range(1, depth + 1)])])


def gains_of(metric: Metric, grades: FloatArray) -> FloatArray:
    """Return the gain of each grade."""
    distinct, at = np.unique(grades, return_inverse=True)
    return np.array([gain(metric, grade) for grade in distinct.tolist()], dtype=np.float64)[at.ravel()]


class Table(NamedTuple):
    """Some queries with their places, (queries, places), by rising rank; 0 where a query has fewer places.

    documents: of these queries. highest: the gain of the highest grade. gain, relevant, nonrelevant, undrawn: as in
    `Rows`. rank, first_rank, size: as in `Places`.
    """

    documents: Documents
    highest: float
    gain: FloatArray
    relevant: FloatArray
    nonrelevant: FloatArray
    undrawn: FloatArray
    rank: FloatArray
    first_rank: FloatArray
    size: FloatArray


def sum_by_query(metric: Metric, side: Rows, documents: Documents, judged: Judged) -> FloatArray:
    highest = highest_gain(metric, max(judged.grades)) if "max_grade" in metric.traits.choices else 0.0
    factors_of = metric.traits.factors
    kept = np.flatnonzero(side.places.rank <= (metric.cutoff or np.iinfo(np.int64).max))
    query = side.places.query[kept]
    starts = np.searchsorted(query, np.arange(judged.queries + 1))
    found = np.zeros(judged.queries)
    for rows in _split(np.diff(starts)):
        length = np.diff(starts)[rows]
        width = int(length.max(initial=0))
        steps = np.arange(width)
        is_there = steps < length[:, None]
        at = kept[np.where(is_there, starts[rows][:, None] + steps, 0)] if len(kept) else np.zeros((len(rows), 0), int)
        columns = (side.gain, side.relevant, side.nonrelevant, side.undrawn, *side.places[2:5])
        table = Table(
            Documents(documents.relevant[rows], documents.nonrelevant[rows]),
            highest,
            *(np.where(is_there, column[at], 0.0) for column in columns),
        )
        found[rows] = _first_relevant(metric, table) if factors_of is None else EXPECTED_SUMS[factors_of](table)
    return found


def _split(lengths: IntArray) -> Iterator[IntArray]:
    """Yield the numbers of queries in parts of at most `CELLS` places each."""
    step = max(CELLS // max(int(lengths.max(initial=0)), 1), 1)
    for start in range(0, len(lengths), step):
        yield np.arange(start, min(start + step, len(lengths)))


def _above(values: FloatArray) -> FloatArray:
    """Return the sum of the values above each place."""
    return np.cumsum(values, axis=1) - values


def _none_above(chances: FloatArray) -> FloatArray:
    """Return the chance that nothing above each place happens."""
    found = np.ones_like(chances)
    np.cumprod(1.0 - chances[:, :-1], axis=1, out=found[:, 1:])
    return found


def _first_relevant(metric: Metric, table: Table) -> FloatArray:
    worth = np.array([0.0, *(value_at_rank(metric, rank) for rank in range(1, int(table.rank.max(initial=0)) + 1))])
    return _sum(worth[table.rank.astype(np.int64)] * table.relevant * _none_above(table.relevant))


@lru_cache(maxsize=4096)
def value_at_rank(metric: Metric, rank: int) -> float:
    """Return the value of a ranking whose first relevant document is at a rank."""
    return metric.traits.quotient(Counted([0.0] * (rank - 1) + [1.0], 1.0, 0.0, metric.cutoff, rank)).value


def _precisions(table: Table) -> FloatArray:
    return _sum(_divide(table.relevant * (1.0 + _above(table.relevant)), table.rank))


def _stops(table: Table) -> FloatArray:
    satisfied = table.gain / (table.highest + 1.0)
    return _sum(_divide(satisfied * _none_above(satisfied), table.rank))


def _within_relevant(table: Table) -> FloatArray:
    inside = np.clip(table.documents.relevant[:, None] - table.first_rank + 1, 0, table.size)
    return _sum(_divide(table.gain * inside, table.size))


def _preferences(table: Table) -> FloatArray:
    relevant = table.documents.relevant[:, None]
    least = np.minimum(table.documents.nonrelevant[:, None], relevant)
    share = _divide(np.minimum(_above(table.nonrelevant), relevant), least + np.zeros_like(table.gain))
    return _sum(table.relevant * (1.0 - share))


def _inferred_precisions(table: Table) -> FloatArray:
    relevant, nonrelevant, undrawn = (_above(each) for each in (table.relevant, table.nonrelevant, table.undrawn))
    likely = (relevant + factors.INFERRED) / (relevant + nonrelevant + 2 * factors.INFERRED)
    pooled = relevant + nonrelevant + undrawn
    return _sum(_divide(table.relevant * (1.0 + pooled * likely), table.rank))


def _sum(values: FloatArray) -> FloatArray:
    """Return the sum over the places of each query."""
    found: FloatArray = values.sum(axis=1)
    return found


def _divide(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


EXPECTED_SUMS: dict[Callable[[factors.Walk], list[float]], Callable[[Table], FloatArray]] = {
    factors.precision_factors: _precisions,
    factors.stopping_factors: _stops,
    factors.within_relevant_factors: _within_relevant,
    factors.preference_factors: _preferences,
    factors.inferred_precision_factors: _inferred_precisions,
}
"""The factors of a measure -> the expected sum of gain * factor over the places."""
