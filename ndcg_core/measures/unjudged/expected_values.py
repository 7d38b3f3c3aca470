"""The expected difference of two systems, if their unjudged results have grades by chance.

A value is the expected sum over the places of a ranking (`place_values`) over its expected divisor. The ideal of a
measure that divides by one is that of known and expected gains together, best first: a ratio of expectations.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.registry import Divisor
from ndcg_core.measures.score import highest_gain
from ndcg_core.measures.unjudged.grade_chances import ExpectedGain, GradeChances, band_of, estimate_chances, expect_gain
from ndcg_core.measures.unjudged.place_values import (
    Pool,
    Results,
    discount_sums,
    gains_of,
    lacks_expected_value,
    place_values,
    place_weights,
)
from ndcg_core.measures.unjudged.places import FloatArray, IntArray, Judged, Places

NO_RELEVANT = {"exclude": 0.0, "zero": 0.0, "one": 1.0}  # the value of a query without a relevant document
Values = TypeVar("Values", FloatArray, IntArray)
NOWHERE = np.iinfo(np.int64).max  # the rank of a document that a system does not show


class UnjudgedDocuments(NamedTuple):
    """The unjudged documents that either system shows, (n,) each, by rising query.

    query, doc: their numbers. rows: the document's row in the candidate's results and in the baseline's, -1 if it is
    not shown. band: the rank band of the better of the two ranks.
    """

    query: IntArray
    doc: IntArray
    rows: tuple[IntArray, IntArray]
    band: IntArray


@dataclass(frozen=True, eq=False)
class ShownPair:
    """The results of two systems of the same queries, and the judgments of these queries.

    metric: one whose unjudged results gain nothing. judged: counts of the judgments. candidate, baseline: the results
    within the metric's depth, without those that no rank of the metric reaches.
    """

    metric: Metric
    judged: Judged
    candidate: Places
    baseline: Places

    @property
    def systems(self) -> tuple[Places, Places]:
        """The results of the candidate and of the baseline."""
        return self.candidate, self.baseline

    @cached_property
    def unjudged(self) -> UnjudgedDocuments:
        """The unjudged documents that either system shows."""
        width = 1 + max(int(places.doc.max(initial=0)) for places in self.systems)
        own: list[IntArray] = [np.flatnonzero(~places.is_judged) for places in self.systems]
        keys = [places.query[rows] * width + places.doc[rows] for places, rows in zip(self.systems, own, strict=True)]
        every = np.unique(np.concatenate(keys))
        first, second = (
            put(np.full(len(every), -1, np.int64), np.searchsorted(every, keys[at]), own[at]) for at in (0, 1)
        )
        rank = np.minimum(pick(self.candidate.rank, first, NOWHERE), pick(self.baseline.rank, second, NOWHERE))
        return UnjudgedDocuments(every // width, every % width, (first, second), band_of(rank))

    @cached_property
    def chances(self) -> GradeChances:
        """The chance of each grade of an unjudged result, by rank band."""
        return estimate_chances(self.metric, self.judged, *self.systems)

    @cached_property
    def judged_gains(self) -> FloatArray:
        """The gain of each row of `judged`."""
        return gains_of(self.metric, self.judged.grade)

    @cached_property
    def relevant(self) -> FloatArray:
        """The number of relevant judged documents of each query, (queries,)."""
        return self.judged.count_documents(self.judged_gains > 0)

    @cached_property
    def known(self) -> tuple[Results, Results]:
        """The results of the candidate and of the baseline, with unjudged ones gaining nothing."""
        return self._known(self.candidate), self._known(self.baseline)

    def _known(self, places: Places) -> Results:
        judged = np.flatnonzero(places.is_judged)
        gains = put(np.zeros(len(places.rank)), judged, gains_of(self.metric, places.grade[judged]))
        relevant, nonrelevant = gains > 0, (gains == 0) & (places.grade >= 0)
        weight = place_weights(self.metric, places)
        return Results(places, weight, gains, relevant.astype(float), nonrelevant.astype(float))

    def expect(self, candidate_factor: float, baseline_factor: float) -> tuple[FloatArray, FloatArray]:
        """Return (queries,) expected differences, and the variance of each through the grades by chance.

        candidate_factor, baseline_factor: >= 0, by what the chances of grades that gain are multiplied for unjudged
        results that only the candidate, or only the baseline, shows; 1 leaves them as those of judged results.
        The variances of a measure that is no plain sum have no closed form here and are 0.
        Raises ValueError if the metric has no expected value (`lacks_expected_value`).
        """
        by_kind = [expect_gain(self.metric, self.chances, each) for each in (1.0, candidate_factor, baseline_factor)]
        first, second = self.unjudged.rows
        kind = np.where(second < 0, 1, np.where(first < 0, 2, 0))
        return self._expect(
            ExpectedGain(*(np.stack(each)[kind, self.unjudged.band] for each in zip(*by_kind, strict=True)))
        )

    def measure(self) -> FloatArray:
        """Return the (queries,) differences with unjudged results gaining nothing.

        Raises ValueError if the metric has no expected value (`lacks_expected_value`).
        """
        return self._expect(self.nothing)[0]

    @property
    def nothing(self) -> ExpectedGain:
        """The gains of the unjudged documents, if these gain nothing."""
        return ExpectedGain(*np.zeros((4, len(self.unjudged.query))))

    def _expect(self, expected: ExpectedGain) -> tuple[FloatArray, FloatArray]:
        """Return expected differences and their variances. expected: of the unjudged documents."""
        if lacks_expected_value(self.metric):
            raise ValueError(f"metric {self.metric.name}: its measure has no expected value, must have one")
        pool, query = self.pool(expected), self.unjudged.query
        with np.errstate(divide="ignore"):
            none = np.exp(pool.sum_by_query(np.log1p(-np.minimum(pool.relevant, 1.0))))  # no document is relevant
        values, weights = [], []
        for known, rows in zip(self.known, self.unjudged.rows, strict=True):
            results = known._replace(
                gain=put(known.gain, rows, expected.gain),
                relevant=put(known.relevant, rows, expected.relevant),
                nonrelevant=put(known.nonrelevant, rows, expected.nonrelevant),
            )
            divisor = self.divisors(results, pool)
            share = np.divide(1.0, divisor, out=np.zeros(len(divisor)), where=divisor > 0)
            value = share * np.bincount(
                results.places.query, place_values(self.metric, results, pool), self.judged.queries
            )
            values.append(none * NO_RELEVANT[self.metric.no_relevant] + (1 - none) * value)
            weights.append(share[query] * pick(known.weight, rows, 0))
        spread = np.square(weights[0] - weights[1]) * expected.variance
        return values[0] - values[1], np.bincount(query, spread, self.judged.queries).astype(np.float64)

    def pool(self, expected: ExpectedGain) -> Pool:
        """Return the judged documents, and the unjudged ones with what is expected of them."""
        judged, gains = self.judged, self.judged_gains
        return Pool(
            np.concatenate([judged.query, self.unjudged.query]),
            np.concatenate([judged.documents, np.ones(len(expected.gain), dtype=np.int64)]),
            np.concatenate([gains, expected.gain]),
            np.concatenate([gains > 0, expected.relevant]),
            np.concatenate([(gains == 0) & (judged.grade >= 0), expected.nonrelevant]),
            judged.queries,
            highest_gain(self.metric, max(judged.grades)),
        )

    def divisors(self, results: Results, pool: Pool) -> FloatArray:
        """Return (queries,) divisors of the sums over the places of one system."""
        metric, queries = self.metric, self.judged.queries
        returned = np.bincount(results.places.query, minlength=queries)
        if metric.traits.divisor is Divisor.NOTHING:
            return np.ones(queries)
        if metric.traits.divisor is Divisor.LENGTH:
            return np.full(queries, metric.cutoff or returned, dtype=np.float64)
        if metric.traits.divisor is Divisor.SHOWN:
            return np.maximum(returned, 1).astype(np.float64)
        end = np.full(queries, np.iinfo(np.int32).max)
        if metric.traits.takes("ideal") and metric.ideal_cut != "none":
            is_open = metric.ideal_cut == "returned" or (metric.has_endless_ideal and metric.cutoff is None)
            end = np.minimum(metric.cutoff or end, returned if is_open else end)
        if metric.has_endless_ideal:
            return np.asarray(pool.highest * discount_sums(metric, int(end.max(initial=0)))[end], dtype=np.float64)
        if metric.has_own_ideal:
            some = results.gain * (results.places.rank <= (metric.ideal_depth or NOWHERE))
            return sum_best(metric, results.places.query, some, np.ones(len(some), dtype=np.int64), end)
        return sum_best(metric, pool.query, pool.gain, pool.number, end)


def sum_best(metric: Metric, query: IntArray, gains: FloatArray, documents: IntArray, end: IntArray) -> FloatArray:
    """Return, per query, the discounted sum of gains in their best order, cut after `end` documents.

    query, gains, documents: (m,), one row for `documents` of a query that gain as much. end: (queries,).
    """
    order = np.lexsort((-gains, query))
    order = order[gains[order] > 0]
    query, gains, documents = query[order], gains[order], documents[order]
    after = np.cumsum(documents)
    before = (after - documents)[np.searchsorted(query, query)]  # the documents of earlier queries
    first, last = (np.minimum(count - before, end[query]) for count in (after - documents, after))
    sums = discount_sums(metric, int(last.max(initial=0)))
    return np.bincount(query, gains * (sums[last] - sums[first]), len(end)).astype(np.float64)


def pick(values: Values, rows: IntArray, otherwise: int) -> Values:
    """Return the values of rows, `otherwise` for the row -1."""
    return np.append(values, values.dtype.type(otherwise))[rows]


def put(values: Values, rows: IntArray, new: Values) -> Values:
    """Return the values with new ones in some rows; what is meant for the row -1 is left out."""
    found = np.append(values, values.dtype.type(0))
    found[rows] = new
    return found[:-1]
