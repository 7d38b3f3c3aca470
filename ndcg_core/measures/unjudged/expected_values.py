"""The expected difference of two systems if their unjudged results have grades by chance.

Grades are independent, so that every measure has its expected value in closed form: sums over places are sums of
expected gains, products of the chances that nothing above is relevant are products. A measure that divides by an ideal
is the ratio of two expectations: the ideal is that of known and expected gains together, best first.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.registry import Divisor
from ndcg_core.measures.score import highest_gain
from ndcg_core.measures.unjudged.grade_chances import (
    ExpectedGain,
    GradeChances,
    band_of,
    estimate_chances,
    expect_gain,
)
from ndcg_core.measures.unjudged.place_sums import (
    EXPECTED_SUMS,
    Documents,
    Rows,
    discount_sums,
    gains_of,
    place_weights,
    sum_best,
    sum_by_query,
)
from ndcg_core.measures.unjudged.places import FloatArray, IntArray, Judged, Places

NO_RELEVANT = {"exclude": 0.0, "zero": 0.0, "one": 1.0}  # the value of a query without a relevant document


class Expected(NamedTuple):
    """Expected differences of two systems, (queries,) each.

    differences: candidate - baseline, in the metric's unit. variances: of the difference through the grades by chance;
    0 for measures that are not additive, of which no closed form is used.
    """

    differences: FloatArray
    variances: FloatArray


def lacks_expected_value(metric: Metric) -> bool:
    """Return whether a metric has no expected value in closed form: it is of a measure that came without one."""
    traits = metric.traits
    if traits.divisor is Divisor.OTHER:
        return True
    if traits.factors is not None:
        return traits.factors not in EXPECTED_SUMS
    return not (traits.is_additive or traits.is_decided_by_first)


def counts_results(metric: Metric) -> bool:
    """Return whether a value depends on how many results there are, also on those that gain nothing."""
    is_open = metric.cutoff is None and (metric.traits.divisor is Divisor.LENGTH or metric.has_endless_ideal)
    ends_with_results = metric.traits.takes("ideal") and metric.ideal_cut == "returned"
    return is_open or ends_with_results or metric.traits.divisor is Divisor.SHOWN


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

    @cached_property
    def unjudged(self) -> tuple[IntArray, IntArray]:
        """The numbers of the rows with unjudged results, of the candidate and of the baseline."""
        return np.flatnonzero(~self.candidate.is_judged), np.flatnonzero(~self.baseline.is_judged)

    @cached_property
    def partners(self) -> tuple[IntArray, IntArray]:
        """For each unjudged row of one system the row of its document in the other system, -1 if it has none."""
        sides = (self.candidate, self.baseline)
        width = 1 + max((int(side.doc.max(initial=0)) for side in sides), default=0)
        keys = [side.query[rows] * width + side.doc[rows] for side, rows in zip(sides, self.unjudged, strict=True)]
        return (
            _find_rows(keys[0], keys[1], self.unjudged[1]),
            _find_rows(keys[1], keys[0], self.unjudged[0]),
        )

    @cached_property
    def count_unjudged(self) -> int:
        """The number of unjudged documents, over all queries, that either system shows."""
        return len(self.unjudged[0]) + int((self.partners[1] < 0).sum())

    @cached_property
    def bands(self) -> tuple[IntArray, IntArray]:
        """The rank band of each unjudged row, by the better of the two ranks."""
        found = []
        sides = (self.candidate, self.baseline)
        for side, other, rows, partner in zip(sides, sides[::-1], self.unjudged, self.partners, strict=True):
            rank = side.rank[rows]
            there = partner >= 0
            rank[there] = np.minimum(rank[there], other.rank[partner[there]])
            found.append(band_of(rank))
        return found[0], found[1]

    @cached_property
    def chances(self) -> GradeChances:
        """The chance of each grade of an unjudged result, by rank band."""
        return estimate_chances(self.metric, self.judged, self.candidate, self.baseline)

    @cached_property
    def judged_gains(self) -> FloatArray:
        """The gain of each row of `judged`."""
        return gains_of(self.metric, self.judged.grade)

    def expect(self, candidate_factor: float, baseline_factor: float) -> Expected:
        """Return the expected differences, if results that one system alone shows are better or worse than judged ones.

        candidate_factor, baseline_factor: >= 0, by what the chances of grades that gain are multiplied for unjudged
        results that only the candidate, or only the baseline, shows; 1 leaves them as those of judged results.
        Raises ValueError if the metric has no expected value (`lacks_expected_value`).
        """
        both, *alone = (
            expect_gain(self.metric, self.chances, each) for each in (1.0, candidate_factor, baseline_factor)
        )
        return self._expect([self._rows(number, (both, alone[number])) for number in (0, 1)])

    def measure(self) -> FloatArray:
        """Return the (queries,) differences with unjudged results gaining nothing.

        Raises ValueError if the metric has no expected value (`lacks_expected_value`).
        """
        return self._expect([self._rows(number, None) for number in (0, 1)]).differences

    def _expect(self, sides: list[Rows]) -> Expected:
        """Return the expected differences of the results of both systems."""
        if lacks_expected_value(self.metric):
            raise ValueError(f"metric {self.metric.name}: its measure has no expected value, must have one")
        pool = self._pool(sides)
        values, weights = zip(*(self._side_values(side, pool) for side in sides), strict=True)
        return Expected(values[0] - values[1], self._variances(sides, weights))

    def _rows(self, number: int, expected: tuple[ExpectedGain, ExpectedGain] | None) -> Rows:
        """Return the results of the candidate (0) or the baseline (1) with their expected gains.

        expected: of unjudged results that both systems show, and that one alone shows; None: they gain nothing.
        """
        places = (self.candidate, self.baseline)[number]
        grade = np.where(places.is_judged, places.grade, 0.0)
        gains = gains_of(self.metric, grade)
        found = Rows(
            places,
            gains,
            np.zeros(len(gains)),
            (gains > 0).astype(np.float64),
            ((gains == 0) & (grade >= 0)).astype(np.float64),
            grade < 0,
        )
        rows, is_alone, band = self.unjudged[number], self.partners[number] < 0, self.bands[number]
        if expected is None:
            found.nonrelevant[rows] = 0.0
            return found
        both, alone = expected
        for name in ("gain", "variance", "relevant"):
            getattr(found, name)[rows] = np.where(is_alone, getattr(alone, name)[band], getattr(both, name)[band])
        found.nonrelevant[rows] = 1.0 - found.relevant[rows]
        return found

    def _pool(self, sides: list[Rows]) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
        """Return each shown unjudged document once: query, expected gain, chances to be relevant and not relevant."""
        rows = (self.unjudged[0], self.unjudged[1][self.partners[1] < 0])
        pairs = list(zip(sides, rows, strict=True))
        query = np.concatenate([side.places.query[at] for side, at in pairs])
        gains, relevant, nonrelevant = (
            np.concatenate([getattr(side, name)[at] for side, at in pairs])
            for name in ("gain", "relevant", "nonrelevant")
        )
        return query, gains, relevant, nonrelevant

    def _documents(self, pool: tuple[IntArray, FloatArray, FloatArray, FloatArray]) -> Documents:
        query, _, relevant, nonrelevant = pool
        is_nonrelevant = (self.judged_gains == 0) & (self.judged.grade >= 0)
        known = self.judged.count_documents(self.judged_gains > 0), self.judged.count_documents(is_nonrelevant)
        return Documents(
            *(
                count + np.bincount(query, more, self.judged.queries)
                for count, more in zip(known, (relevant, nonrelevant), strict=True)
            )
        )

    def _side_values(
        self, side: Rows, pool: tuple[IntArray, FloatArray, FloatArray, FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the expected values of one system, and (rows,) the weight of a gain at each row in its value."""
        queries, metric = self.judged.queries, self.metric
        documents = self._documents(pool)
        divisor = self._divisors(side, pool)
        weight = place_weights(metric, side.places)
        if metric.traits.is_additive and metric.traits.factors is None:
            total = np.bincount(side.places.query, weight * side.gain, queries).astype(np.float64)
        else:
            total = sum_by_query(metric, side, documents, self.judged)
        found = np.divide(total, divisor, out=np.zeros(queries), where=divisor > 0)
        known = self.judged.count_documents(self.judged_gains > 0)
        if (known == 0).any():
            nothing = np.exp(_sum_logs(pool[0], pool[2], queries))
            found = np.where(known > 0, found, nothing * NO_RELEVANT[metric.no_relevant] + (1 - nothing) * found)
        below = divisor[side.places.query]
        return found, np.divide(weight, below, out=np.zeros_like(weight), where=below > 0)

    def _divisors(self, side: Rows, pool: tuple[IntArray, FloatArray, FloatArray, FloatArray]) -> FloatArray:
        """Return (queries,) divisors of the sums over places."""
        queries, metric = self.judged.queries, self.metric
        returned = np.bincount(side.places.query, minlength=queries)
        match metric.traits.divisor:
            case Divisor.NOTHING:
                return np.ones(queries)
            case Divisor.LENGTH:
                return np.full(queries, float(metric.cutoff)) if metric.cutoff else returned.astype(np.float64)
            case Divisor.SHOWN:
                return np.maximum(returned, 1).astype(np.float64)
            case Divisor.IDEAL:
                return self._ideals(side, pool, returned)
            case Divisor.OTHER:
                raise ValueError(f"metric {metric.name}: its divisor is not known here, must be one of the others")

    def _ideals(
        self, side: Rows, pool: tuple[IntArray, FloatArray, FloatArray, FloatArray], returned: IntArray
    ) -> FloatArray:
        metric, queries = self.metric, self.judged.queries
        end = np.full(queries, metric.cutoff or np.iinfo(np.int32).max)
        if not metric.traits.takes("ideal") or metric.ideal_cut == "none":
            end[:] = np.iinfo(np.int32).max
        elif metric.ideal_cut == "returned" or (metric.has_endless_ideal and metric.cutoff is None):
            end = np.minimum(end, returned)
        if metric.has_endless_ideal:
            best = highest_gain(metric, max(self.judged.grades))
            sums = discount_sums(metric, int(end.max(initial=0)))
            return np.asarray(best * sums[end], dtype=np.float64)
        if metric.has_own_ideal:
            deep = side.places.rank <= (metric.ideal_depth or np.iinfo(np.int64).max)
            return sum_best(metric, side.places.query[deep], side.gain[deep], np.ones(int(deep.sum())), end)
        query = np.concatenate([self.judged.query, pool[0]])
        gains = np.concatenate([self.judged_gains, pool[1]])
        return sum_best(metric, query, gains, np.concatenate([self.judged.documents, np.ones(len(pool[0]))]), end)

    def _variances(self, sides: list[Rows], weights: tuple[FloatArray, ...]) -> FloatArray:
        """Return (queries,) variances of the differences through the grades by chance, of an additive measure."""
        if not self.metric.traits.is_additive or self.metric.traits.factors is not None:
            return np.zeros(self.judged.queries)
        rows, partner = self.unjudged[0], self.partners[0]
        net = weights[0][rows] - values_of_partners(weights[1], partner)
        lone = self.unjudged[1][self.partners[1] < 0]
        query = np.concatenate([sides[0].places.query[rows], sides[1].places.query[lone]])
        spread = np.concatenate(
            [np.square(net) * sides[0].variance[rows], np.square(weights[1][lone]) * sides[1].variance[lone]]
        )
        return np.bincount(query, spread, self.judged.queries).astype(np.float64)


def values_of_partners(values: FloatArray, partner: IntArray) -> FloatArray:
    """Return the values of the other system's rows, 0 for -1: a document that the other system does not show."""
    return np.concatenate([values, [0.0]])[partner]


def _find_rows(keys: IntArray, among: IntArray, rows: IntArray) -> IntArray:
    """Return for each key the row of the equal key among others, -1 if there is none."""
    if not len(among):
        return np.full(len(keys), -1)
    order = np.argsort(among, kind="stable")
    at = np.minimum(np.searchsorted(among[order], keys), len(among) - 1)
    return np.where(among[order][at] == keys, rows[order][at], -1)


def _sum_logs(query: IntArray, relevant: FloatArray, queries: int) -> FloatArray:
    """Return (queries,) logarithms of the chance that no document is relevant."""
    with np.errstate(divide="ignore"):
        return np.bincount(query, np.log1p(-np.minimum(relevant, 1.0)), queries).astype(np.float64)
