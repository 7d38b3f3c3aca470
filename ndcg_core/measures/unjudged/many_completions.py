"""The values of one system under many sets of grades at once, of measures that are no sum over places.

The formulas are those of `ndcg_core.measures.factors`, over arrays of (queries, places, completions); the rules around
them (what counts as relevant, what a query without anything relevant is worth) stand here once: what bounds, likely
grades and `judge-next` say of such a measure is about one function of the grades, the metric itself. The tests hold it
against `score_query`.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_core.measures import factors
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.registry import Counted
from ndcg_core.measures.score import gain, highest_gain
from ndcg_core.measures.unjudged.places import FloatArray, IntArray, Judged, Places

BY_RULE = {"exclude": 0.0, "zero": 0.0, "one": 1.0}
"""What a query is worth without anything relevant; one that is left out has a difference of 0."""
UNJUDGED = 0  # the code of a document that nobody judged
CELLS = 1_000_000  # places x completions at a time
BEYOND = np.iinfo(np.int64).max  # the rank of nothing


class Walks(NamedTuple):
    """gains: (queries, places, completions), by rising rank. is_nonrelevant, is_below: whether a document is judged so,
    with a grade >= 0 or below. rank, first_rank, size: (queries, places, 1), of the places and their groups of equal
    scores. relevant, nonrelevant: (queries, completions), documents judged so in all. highest: the gain of the highest
    grade."""

    gains: FloatArray
    is_nonrelevant: NDArray[np.bool_]
    is_below: NDArray[np.bool_]
    rank: IntArray
    first_rank: IntArray
    size: IntArray
    relevant: FloatArray
    nonrelevant: FloatArray
    highest: float

    @property
    def is_relevant(self) -> NDArray[np.bool_]:
        return self.gains > 0


def relevant_share(walks: Walks, found: FloatArray) -> FloatArray:
    """What the relevant places add, of all relevant documents."""
    share: FloatArray = np.divide(found, walks.relevant, out=np.zeros_like(found), where=walks.relevant > 0)
    return share


def count_above(counted: NDArray[Any]) -> FloatArray:
    """How many of them are above each place."""
    found: FloatArray = counted.cumsum(axis=1, dtype=np.float64) - counted
    return found


def precision_factors(walks: Walks) -> FloatArray:
    is_relevant = walks.is_relevant
    return relevant_share(walks, (is_relevant * is_relevant.cumsum(axis=1) / walks.rank).sum(axis=1))


def stopping_factors(walks: Walks) -> FloatArray:
    satisfied = walks.gains / (walks.highest + 1.0)
    going_on = np.ones_like(satisfied)
    going_on[:, 1:] = np.cumprod(1.0 - satisfied[:, :-1], axis=1)
    found: FloatArray = (satisfied * going_on / walks.rank).sum(axis=1)
    return found


def within_relevant_factors(walks: Walks) -> FloatArray:
    """Of a group of equal scores, where ties are averaged, the share that is at the first R places."""
    inside = np.clip(walks.relevant[:, None] - walks.first_rank + 1, 0, walks.size) / walks.size
    return relevant_share(walks, (walks.gains * inside).sum(axis=1))


def preference_factors(walks: Walks) -> FloatArray:
    relevant = walks.relevant[:, None]
    least = np.minimum(walks.nonrelevant[:, None], relevant)
    share = np.minimum(count_above(walks.is_nonrelevant), relevant) / np.maximum(least, 1.0)
    return relevant_share(walks, (walks.is_relevant * (1.0 - share)).sum(axis=1))


def inferred_precision_factors(walks: Walks) -> FloatArray:
    relevant, nonrelevant, undrawn = (
        count_above(each) for each in (walks.is_relevant, walks.is_nonrelevant, walks.is_below)
    )
    judged = relevant + nonrelevant
    likely = (relevant + factors.INFERRED) / (judged + 2 * factors.INFERRED)
    return relevant_share(walks, (walks.is_relevant * (1.0 + (judged + undrawn) * likely) / walks.rank).sum(axis=1))


OF_MANY: dict[Callable[..., list[float]], Callable[[Walks], FloatArray]] = {
    factors.precision_factors: precision_factors,
    factors.stopping_factors: stopping_factors,
    factors.within_relevant_factors: within_relevant_factors,
    factors.preference_factors: preference_factors,
    factors.inferred_precision_factors: inferred_precision_factors,
}
"""The factors of one ranking -> the values of many with them."""


@lru_cache(maxsize=4096)
def value_at_rank(metric: Metric, rank: int) -> float:
    """Of a ranking whose first relevant document is there; for measures of which it alone decides."""
    gains = [0.0] * (rank - 1) + [1.0]
    return metric.traits.quotient(Counted(gains, 1.0, 0.0, metric.cutoff, rank)).value


def values_at_ranks(metric: Metric, ranks: IntArray) -> FloatArray:
    """The same of many; 0 where nothing is relevant (`BEYOND`)."""
    distinct, at = np.unique(ranks, return_inverse=True)
    found = [0.0 if rank == BEYOND else value_at_rank(metric, rank) for rank in distinct.tolist()]
    return np.array(found)[at].reshape(ranks.shape)


class Side:
    """The rows of one system that its metric looks at, by rising query and rank.

    code: of each row, as `Grades.codes_of` gives it. doc: -1 for what is judged.
    """

    def __init__(self, places: Places, codes: NDArray[Any], queries: int) -> None:
        order = np.lexsort((places.rank, places.query))
        self.places = places.take(order)
        self.code = codes[order]
        self.doc = np.where(self.code == UNJUDGED, self.places.doc, -1)
        self.length = np.bincount(places.query, minlength=queries)
        self.start = np.cumsum(self.length) - self.length

    def table(self, rows: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
        """(queries, places): the numbers of the rows of these queries, and whether there is one."""
        width = int(self.length[rows].max(initial=0))
        steps = np.arange(width)
        is_there = steps < self.length[rows][:, None]
        return np.where(is_there, self.start[rows][:, None] + steps, 0), is_there


class Grades:
    """What every grade means to one metric: its code stands for it, 0 for no judgment.

    levels: the grades that the judgments hold, and 0, rising; a document may have any of them. gains: by code.
    relevant, nonrelevant: (queries,) documents that are judged so.
    Raises MetricError for grades that the metric refuses.
    """

    def __init__(self, metric: Metric, judged: Judged) -> None:
        self.metric, self.judged = metric, judged
        self.levels = np.array(sorted({0.0, *judged.grades}))
        own = [gain(metric, grade) if grade in judged.grades else 0.0 for grade in self.levels.tolist()]
        self.gains = np.array([0.0, *own])
        self.is_nonrelevant = np.array([False, *((self.levels >= 0) & (self.gains[1:] == 0))])
        self.is_below = np.array([False, *(self.levels < 0)])
        codes = self.codes_of(np.array(judged.grades))
        self.relevant = (judged.counts * (self.gains[codes] > 0)).sum(axis=1)
        self.nonrelevant = (judged.counts * self.is_nonrelevant[codes]).sum(axis=1)

    @cached_property
    def highest(self) -> float:
        return highest_gain(self.metric, max(self.judged.grades)) if "max_grade" in self.metric.traits.choices else 0.0

    @cached_property
    def kind_of(self) -> IntArray:
        """(codes,): the lowest code that means the same to the metric, which for many is that of no judgment."""
        seen = [self.gains]
        if self.metric.traits.counts_nonrelevant:
            seen += [self.is_nonrelevant, self.is_below]
        _, first, number = np.unique(np.stack(seen, axis=1), axis=0, return_index=True, return_inverse=True)
        found: IntArray = first[number.ravel()]
        return found

    @cached_property
    def kinds(self) -> list[int]:
        """What a document may get, each kind once."""
        return sorted({*self.kind_of[1:].tolist()})

    @cached_property
    def nothing(self) -> int:
        """The kind of grade 0."""
        return int(self.kind_of[1 + np.searchsorted(self.levels, 0.0)])

    @cached_property
    def rising(self) -> list[int]:
        """The kinds that gain something, by rising gain."""
        return sorted((kind for kind in self.kinds if self.gains[kind] > 0), key=self.gains.__getitem__)

    def codes_of(self, grades: FloatArray) -> NDArray[Any]:
        """1 + the place of each among the levels; 0 for NaN."""
        found = np.where(np.isnan(grades), UNJUDGED, 1 + np.searchsorted(self.levels, grades))
        return found.astype(np.min_scalar_type(len(self.levels)))

    def side(self, places: Places) -> Side:
        """What the metric looks at: unjudged documents, and the judged ones that make a difference to it."""
        codes = self.codes_of(places.grade)
        counts = (codes == UNJUDGED) | (self.gains[codes] > 0) | self.metric.traits.counts_nonrelevant
        seen = counts & (places.rank <= (self.metric.cutoff or BEYOND))
        return Side(places.take(seen), codes[seen], len(self.relevant))

    def values(
        self,
        side: Side,
        rows: IntArray,
        codes: Callable[[IntArray], NDArray[Any]],
        relevant: FloatArray,
        nonrelevant: FloatArray,
    ) -> FloatArray:
        """(queries, completions) values; rows: numbers of the queries.

        codes: gives the (queries, places, completions) codes of (queries, places) numbers of unjudged documents.
        relevant, nonrelevant: (queries, completions) documents judged so in all.
        """
        at, is_there = side.table(rows)
        if at.shape[1] == 0:
            found = np.zeros(relevant.shape)
        else:
            doc = np.where(is_there, side.doc[at], -1)
            known = np.where(is_there, side.code[at], UNJUDGED)[:, :, None]
            filled = np.where(doc[:, :, None] >= 0, codes(np.maximum(doc, 0)), known)
            found = self._measured(side, at, filled, relevant, nonrelevant)
        return np.where(relevant > 0, found, BY_RULE[self.metric.no_relevant])

    def _measured(
        self, side: Side, at: IntArray, filled: NDArray[Any], relevant: FloatArray, nonrelevant: FloatArray
    ) -> FloatArray:
        gains = self.gains[filled]
        rank, first_rank, size = (each[at][:, :, None] for each in side.places[2:5])
        if self.metric.traits.factors is None:
            return values_at_ranks(self.metric, np.where(gains > 0, rank, BEYOND).min(axis=1))
        is_nonrelevant, is_below = gains < 0, gains < 0
        if self.metric.traits.counts_nonrelevant:
            is_nonrelevant, is_below = self.is_nonrelevant[filled], self.is_below[filled]
        of_many = OF_MANY[self.metric.traits.factors]
        return of_many(
            Walks(gains, is_nonrelevant, is_below, rank, first_rank, size, relevant, nonrelevant, self.highest)
        )


def is_cascade_measure(metric: Metric) -> bool:
    """Whether a place counts by what is above it: its values are made here, and need the judged places."""
    return metric.traits.factors is not None or metric.traits.is_decided_by_first


def split_queries(rows: IntArray, cells: int) -> Iterator[IntArray]:
    """Queries in parts; cells: places x completions that one takes."""
    step = max(CELLS // max(cells, 1), 1)
    for start in range(0, len(rows), step):
        yield rows[start : start + step]
