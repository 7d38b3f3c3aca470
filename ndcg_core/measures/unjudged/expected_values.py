"""Compute the expected difference of two systems if their unjudged results have random grades.

A value is the expected sum over the results of a ranking (`expected_contributions`), divided by its expected divisor.
For a measure with an ideal, the divisor is the ideal of known and expected gains together, best first: a ratio of
expectations.

The effect of an unjudged document is how much its grade may change the difference D of its query:
sqrt(sum over g of p(g) (D(g) - D)^2), where p(g) is the probability of grade g, and D(g) the difference if the document
has that grade and everything else is as judged. It is large if the grade is uncertain and likely to count.
(B. Carterette, J. Allan and R. Sitaraman, SIGIR 2006, choose the documents of additive measures by their weight.)
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.registry import Divisor
from ndcg_core.measures.score import highest_gain
from ndcg_core.measures.unjudged.contributions import (
    DocumentPool,
    FloatArray,
    Gains,
    IntArray,
    JudgedCounts,
    RankedResults,
    ResultsWithGains,
    Values,
    counts_results,
    discount_sums,
    expected_contributions,
    grade_gains,
    rank_weights,
    replace_rows,
    rows_by_number,
)
from ndcg_core.measures.unjudged.grade_chances import GradeChances, estimate_chances, expect_gain, rank_band

NO_RELEVANT = {"exclude": 0.0, "zero": 0.0, "one": 1.0}  # the value of a query without a relevant document
MOST_GRADES = 20  # grades that are tried for each document; of more, each tried grade stands for its neighbours
NOWHERE = np.iinfo(np.int64).max  # the rank of a document that a system does not show


class UnjudgedDocuments(NamedTuple):
    """The n unjudged documents that at least one of two systems returned, sorted by query.

    Attributes
    ----------
    query, doc : (n,) array of int
        Index of the query, and number of the document.
    rows : pair of (n,) arrays of int
        Row of the document in the candidate's results and in the baseline's results; -1 if not returned.
    band : (n,) array of int
        Rank band of the better of the document's ranks.
    """

    query: IntArray
    doc: IntArray
    rows: tuple[IntArray, IntArray]
    band: IntArray


@dataclass(frozen=True, eq=False)
class SystemPair:
    """The ranked results of a candidate and a baseline for the same queries, with the judgments of these queries.

    Attributes
    ----------
    metric : Metric
        A metric for which unjudged results gain nothing.
    judged : JudgedCounts
        Number of judged documents by query and grade.
    candidate, baseline : RankedResults
        The results of each system within the metric's depth.
    """

    metric: Metric
    judged: JudgedCounts
    candidate: RankedResults
    baseline: RankedResults

    @property
    def systems(self) -> tuple[RankedResults, RankedResults]:
        """Return the results of the candidate and of the baseline."""
        return self.candidate, self.baseline

    @cached_property
    def unjudged(self) -> UnjudgedDocuments:
        """Return the unjudged documents that at least one of the systems returned."""
        width = 1 + max(int(ranked.doc.max(initial=0)) for ranked in self.systems)
        own: list[IntArray] = [np.flatnonzero(~ranked.is_judged) for ranked in self.systems]
        keys = [ranked.query[rows] * width + ranked.doc[rows] for ranked, rows in zip(self.systems, own, strict=True)]
        every = np.unique(np.concatenate(keys))
        first, second = (
            replace_rows(np.full(len(every), -1, np.int64), np.searchsorted(every, keys[at]), own[at]) for at in (0, 1)
        )
        rank = np.minimum(gather(self.candidate.rank, first, NOWHERE), gather(self.baseline.rank, second, NOWHERE))
        return UnjudgedDocuments(every // width, every % width, (first, second), rank_band(rank))

    @cached_property
    def chances(self) -> GradeChances:
        """Return the probability of each grade of an unjudged result, by rank band."""
        return estimate_chances(self.metric, self.judged, *self.systems)

    @cached_property
    def judged_gains(self) -> Gains:
        """Return the gains of the judged documents, one row per query and grade, in the order of `judged`."""
        return grade_gains(self.metric, self.judged.grade)

    @cached_property
    def relevant(self) -> FloatArray:
        """Return the (queries,) numbers of judged relevant documents."""
        return self.judged.count_documents(self.judged_gains.mean > 0)

    @cached_property
    def judged_results(self) -> tuple[ResultsWithGains, ResultsWithGains]:
        """Return the results of the candidate and of the baseline with gains; unjudged results gain 0."""
        first, second = (
            ResultsWithGains(ranked, rank_weights(self.metric, ranked), grade_gains(self.metric, ranked.grade))
            for ranked in self.systems
        )
        return first, second

    def expected_differences(self, candidate_factor: float, baseline_factor: float) -> tuple[FloatArray, FloatArray]:
        """Return the (queries,) expected differences and variances over random grades of the unjudged documents.

        The differences are candidate - baseline, in the metric's unit. The variances are 0 for measures that are not a
        sum of gains times fixed weights, because these have no closed form for the variance.

        candidate_factor: number >= 0 by which the probabilities of grades with a gain are multiplied, for unjudged
            documents that only the candidate returned. A factor of 1 makes these grades as probable as in judged
            results.
        baseline_factor: the factor for unjudged documents that only the baseline returned.
        The metric must have an expected value (`lacks_expected_value`).
        """
        by_kind = [expect_gain(self.metric, self.chances, each) for each in (1.0, candidate_factor, baseline_factor)]
        first, second = self.unjudged.rows
        kind = np.where(second < 0, 1, np.where(first < 0, 2, 0))
        return self._expect(Gains(*(np.stack(each)[kind, self.unjudged.band] for each in zip(*by_kind, strict=True))))

    @property
    def zero_gains(self) -> Gains:
        """Return gains of 0 for all unjudged documents."""
        return Gains(*np.zeros((len(Gains._fields), len(self.unjudged.query))))

    def differences_with_grade(self, documents: IntArray, grade: float) -> FloatArray:
        """Return the (queries,) differences if some unjudged documents had a given grade, and all others gained 0.

        documents: indices of the documents in `unjudged`.
        The metric must have an expected value (`lacks_expected_value`).
        """
        expected = self.zero_gains
        for values, value in zip(expected, grade_gains(self.metric, np.array([grade])), strict=True):
            values[documents] = value
        return self._expect(expected)[0]

    def _expect(self, expected: Gains) -> tuple[FloatArray, FloatArray]:
        """Return (queries,) expected differences and (queries,) variances.

        expected: the gains of the unjudged documents, in the order of `unjudged`.
        The metric must have an expected value (`lacks_expected_value`).
        """
        pool, query = self.pool(expected), self.unjudged.query
        with np.errstate(divide="ignore"):
            miss = np.exp(pool.sum_by_query(np.log1p(-np.minimum(pool.gains.relevant, 1.0))))  # no document is relevant
        values, weights = [], []
        for known, rows in zip(self.judged_results, self.unjudged.rows, strict=True):
            results = known._replace(gains=known.gains.replace_rows(rows, expected))
            if not (expected.pooled.all() or counts_results(self.metric)):
                results = results.take(np.flatnonzero(results.gains.pooled))
            divisor = self.sum_divisors(results, pool)
            share = np.divide(1.0, divisor, out=np.zeros(len(divisor)), where=divisor > 0)
            value = share * np.bincount(
                results.ranked.query, expected_contributions(self.metric, results, pool), self.judged.queries
            )
            values.append(miss * NO_RELEVANT[self.metric.no_relevant] + (1 - miss) * value)
            weights.append(share[query] * gather(known.weight, rows, 0))
        spread = np.square(weights[0] - weights[1]) * expected.variance
        return values[0] - values[1], np.bincount(query, spread, self.judged.queries).astype(np.float64)

    def pool(self, expected: Gains) -> DocumentPool:
        """Return the pool of the judged documents and the unjudged documents.

        expected: the gains of the unjudged documents, in the order of `unjudged`.
        """
        judged, query = self.judged, self.unjudged.query
        return DocumentPool(
            np.concatenate([judged.query, query]),
            np.concatenate([judged.documents, np.ones(len(query), dtype=np.int64)]),
            Gains(*map(np.concatenate, zip(self.judged_gains, expected, strict=True))),
            judged.queries,
            highest_gain(self.metric, max(judged.grades)),
        )

    def sum_divisors(self, results: ResultsWithGains, pool: DocumentPool) -> FloatArray:
        """Return the (queries,) numbers by which one system's sums over ranks are divided.

        Depending on the measure this is 1, the cutoff, the number of results, or the sum of the ideal ranking.
        """
        metric, queries = self.metric, self.judged.queries
        returned = np.bincount(results.ranked.query, minlength=queries)
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
            some = results.gains.mean * (results.ranked.rank <= (metric.ideal_depth or NOWHERE))
            return sum_in_best_order(metric, results.ranked.query, some, np.ones(len(some), dtype=np.int64), end)
        return sum_in_best_order(metric, pool.query, pool.gains.mean, pool.number, end)


def find_grade_effects(pair: SystemPair) -> tuple[FloatArray, FloatArray]:
    """Return what each grade of each unjudged document would do to the difference between the systems.

    Return two (n, grades) arrays, with one row per document in the order of `SystemPair.unjudged`. The first has the
    probability of each grade; each row sums to 1. The second has the difference, candidate - baseline, of the
    document's query if the document has this grade and all other unjudged documents gain 0. It is NaN if the query then
    has no relevant document.

    If there are more than `MOST_GRADES` grades, they are divided into `MOST_GRADES` groups of neighbours. The middle
    grade stands for its group. The metric must have an expected value.
    """
    groups = np.array_split(np.arange(len(pair.chances.grades)), min(MOST_GRADES, len(pair.chances.grades)))
    grades = pair.chances.grades[[int(group[len(group) // 2]) for group in groups]]
    chances = np.stack([pair.chances.chances[:, group].sum(axis=1) for group in groups], axis=1)
    query = pair.unjudged.query
    effects = np.zeros((len(query), len(grades)))
    for documents in rows_by_number(np.arange(len(query)) - np.searchsorted(query, query)):  # at most one of each query
        for column, grade in enumerate(grades.tolist()):
            effects[documents, column] = pair.differences_with_grade(documents, grade)[query[documents]]
    effects[(pair.relevant[query] == 0)[:, None] & (grade_gains(pair.metric, grades).mean == 0)] = np.nan
    return chances[pair.unjudged.band], effects


def sum_in_best_order(
    metric: Metric, query: IntArray, gains: FloatArray, documents: IntArray, end: IntArray
) -> FloatArray:
    """Return the (queries,) sums of gain * discount if the documents of each query are sorted by gain, largest first.

    query, gains, documents: (m,) index of the query, gain, and number of documents with this gain.
    end: (queries,) number of documents after which each sum ends.
    """
    order = np.lexsort((-gains, query))
    order = order[gains[order] > 0]
    query, gains, documents = query[order], gains[order], documents[order]
    after = np.cumsum(documents)
    before = (after - documents)[np.searchsorted(query, query)]  # the documents of earlier queries
    first, last = (np.minimum(count - before, end[query]) for count in (after - documents, after))
    sums = discount_sums(metric, int(last.max(initial=0)))
    return np.bincount(query, gains * (sums[last] - sums[first]), len(end)).astype(np.float64)


def gather(values: Values, rows: IntArray, otherwise: int) -> Values:
    """Return the values of the rows with these indices; the index -1 gives `otherwise`."""
    return np.append(values, values.dtype.type(otherwise))[rows]
