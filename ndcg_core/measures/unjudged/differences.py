"""Compute the expected, the lowest and the highest difference of two systems over the grades of their unjudged results.

The probability of each grade of an unjudged result is estimated from judged results at similar ranks
(`estimate_chances`). An expected value is the expected sum over the results of a ranking (`expected_contributions`),
divided by its expected divisor. For a measure with an ideal, the divisor is the ideal of known and expected gains
together, best first: a ratio of expectations.

The effect of an unjudged document is how much its grade may change the difference D of its query:
sqrt(sum over g of p(g) (D(g) - D)^2), where p(g) is the probability of grade g, and D(g) the difference if the document
has that grade and everything else is as judged. It is large if the grade is uncertain and likely to count.
(B. Carterette, J. Allan and R. Sitaraman, SIGIR 2006, choose the documents of additive measures by their weight.)

Bounds: each unjudged document that either system returns for a query may have the gain x of any grade of the judgments,
or 0:

    D(x) = (c + sum of w_u x_u) / I(x),    c: sum over judged documents; w_u: weight of u's rank, candidate - baseline

If the divisor I does not depend on x, every x_u is 0 or the highest gain, by the sign of w_u. Else I(x) is the sum of
all gains, best first, and D is largest at the t for which max over x of c + w x - t I(x) is 0 (W. Dinkelbach,
Management Science 13, 1967). I(x) depends only on how many documents reach each level, so x is a list of counts
n_1 >= n_2 >= ... of the documents with the largest w at each level or above. With the levels 0 = g_0 < g_1 < ..., W(i)
the sum of the i largest w, S(i) that of the first i discounts, K_j the known documents at level j or above,

    w x - t I(x) = sum over j of (g_j - g_(j-1)) * (W(n_j) - t S(min(K_j + n_j, end of the ideal)))

W and S are concave, and K_j falls with j. So if t >= 0, the best n_j of each level by itself falls with j, as it must;
if t < 0 it rises, and the best allowed counts are equal at all levels.
(A. Moffat, W. Webber and J. Zobel, SIGIR 2007, bound additive measures.)
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.registry import Divisor
from ndcg_core.measures.score import gain, highest_gain
from ndcg_core.measures.unjudged import contributions
from ndcg_core.measures.unjudged.contributions import BoolArray, FloatArray, Gains, IntArray, JudgedCounts

BANDS = (2, 5, 10, 20, 50)  # the last rank of each band but the last, which has no end
SHRINKAGE = 2.0  # results: the weight of the distribution over all bands in that of each band


class GradeChances(NamedTuple):
    """The probabilities of the grades of an unjudged result, by rank band.

    Attributes
    ----------
    grades : (g,) array of float
        The possible grades, rising.
    chances : (bands, g) array of float
        Probability of each grade in each rank band; each row sums to 1.
    """

    grades: FloatArray
    chances: FloatArray


def rank_band(rank: IntArray) -> IntArray:
    """Return the index of the rank band of each rank.

    The bands are ranks 1 to 2, 3 to 5, 6 to 10 and so on; the last band has no end.
    """
    return np.searchsorted(BANDS, rank, side="left").astype(np.int64)


def typical_gaining_grade(metric: Metric) -> float | None:
    """Return a grade that has a gain, for judgments among which no grade has one.

    The result is the first of these grades that has a gain and is at most `max_grade`: 1, `relevant_from`, `max_grade`;
    or the grades of the gain table, rising. Return None if none of them has a gain.
    """
    rule = metric.effective_gain
    rule_grades = (1.0, metric.relevant_from, metric.max_grade) if isinstance(rule, str) else sorted(dict(rule))
    highest = np.inf if metric.max_grade is None else metric.max_grade
    gaining = (grade for grade in rule_grades if grade is not None and grade <= highest and gain(metric, grade) > 0)
    return next(gaining, None)


def estimate_chances(metric: Metric, judged: JudgedCounts, *systems: contributions.RankedResults) -> GradeChances:
    """Estimate the probabilities of the grades of an unjudged result, by rank band.

    They are estimated from the judged results of all systems.
    The distribution over all bands is added to each band with the weight of two results. If no result is judged, every
    band has the distribution of the judgments. If no judged grade has a gain, one result with the grade
    `typical_gaining_grade` is added to the distribution over all bands. At least one document must be judged.
    """
    grades = np.array(judged.grades)
    least = None if any(gain(metric, grade) > 0 for grade in judged.grades) else typical_gaining_grade(metric)
    if least is not None:
        grades = np.array(sorted({*judged.grades, least}))
    counts = np.zeros((len(BANDS) + 1, len(grades)))
    for ranked in systems:
        rows = ranked.take(ranked.is_judged)
        np.add.at(counts, (rank_band(rows.rank), np.searchsorted(grades, rows.grade)), 1.0)
    overall = counts.sum(axis=0)
    if not overall.any():
        overall = np.bincount(np.searchsorted(grades, judged.grade), judged.documents, len(grades)).astype(np.float64)
    if least is not None:
        overall[grades == least] += 1.0
    chances = counts + SHRINKAGE * overall / overall.sum()
    return GradeChances(grades, chances / chances.sum(axis=1, keepdims=True))


def expect_gain(metric: Metric, chances: GradeChances, factor: float) -> Gains:
    """Return the expected gain of an unjudged result in each rank band, with its variance and probabilities.

    factor: number >= 0 by which the probabilities of the grades with a gain are multiplied. It is limited so that they
        sum to at most 1. With the remaining probability the result has no gain.
    Source: docs/labels.md, "Unjudged results".
    """
    gains = np.array([gain(metric, grade) for grade in chances.grades.tolist()])
    gaining = chances.chances * (gains > 0)
    relevant = gaining.sum(axis=1)
    scale = np.minimum(factor, np.divide(1.0, relevant, out=np.zeros_like(relevant), where=relevant > 0))
    mean = scale * (gaining @ gains)
    variance = np.maximum(scale * (gaining @ np.square(gains)) - np.square(mean), 0.0)
    return Gains(mean, variance, scale * relevant, 1.0 - scale * relevant, np.ones(len(relevant)))


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
    candidate, baseline : contributions.RankedResults
        The results of each system within the metric's depth.
    """

    metric: Metric
    judged: JudgedCounts
    candidate: contributions.RankedResults
    baseline: contributions.RankedResults

    @property
    def systems(self) -> tuple[contributions.RankedResults, contributions.RankedResults]:
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
            contributions.replace_rows(np.full(len(every), -1, np.int64), np.searchsorted(every, keys[at]), own[at])
            for at in (0, 1)
        )
        rank = np.minimum(
            contributions.gather(self.candidate.rank, first, NOWHERE),
            contributions.gather(self.baseline.rank, second, NOWHERE),
        )
        return UnjudgedDocuments(every // width, every % width, (first, second), rank_band(rank))

    @cached_property
    def chances(self) -> GradeChances:
        """Return the probability of each grade of an unjudged result, by rank band."""
        return estimate_chances(self.metric, self.judged, *self.systems)

    @cached_property
    def judged_gains(self) -> Gains:
        """Return the gains of the judged documents, one row per query and grade, in the order of `judged`."""
        return contributions.grade_gains(self.metric, self.judged.grade)

    @cached_property
    def relevant(self) -> FloatArray:
        """Return the (queries,) numbers of judged relevant documents."""
        return self.judged.count_documents(self.judged_gains.mean > 0)

    @cached_property
    def judged_results(self) -> tuple[contributions.ResultsWithGains, contributions.ResultsWithGains]:
        """Return the results of the candidate and of the baseline with gains; unjudged results gain 0."""
        first, second = (
            contributions.ResultsWithGains(
                ranked,
                contributions.rank_weights(self.metric, ranked),
                contributions.grade_gains(self.metric, ranked.grade),
            )
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
        for values, value in zip(expected, contributions.grade_gains(self.metric, np.array([grade])), strict=True):
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
            if not (expected.pooled.all() or contributions.counts_results(self.metric)):
                results = results.take(np.flatnonzero(results.gains.pooled))
            divisor = self.sum_divisors(results, pool)
            share = np.divide(1.0, divisor, out=np.zeros(len(divisor)), where=divisor > 0)
            value = share * np.bincount(
                results.ranked.query,
                contributions.expected_contributions(self.metric, results, pool),
                self.judged.queries,
            )
            values.append(miss * NO_RELEVANT[self.metric.no_relevant] + (1 - miss) * value)
            weights.append(share[query] * contributions.gather(known.weight, rows, 0))
        spread = np.square(weights[0] - weights[1]) * expected.variance
        return values[0] - values[1], np.bincount(query, spread, self.judged.queries).astype(np.float64)

    def pool(self, expected: Gains) -> contributions.DocumentPool:
        """Return the pool of the judged documents and the unjudged documents.

        expected: the gains of the unjudged documents, in the order of `unjudged`.
        """
        judged, query = self.judged, self.unjudged.query
        return contributions.DocumentPool(
            np.concatenate([judged.query, query]),
            np.concatenate([judged.documents, np.ones(len(query), dtype=np.int64)]),
            Gains(*map(np.concatenate, zip(self.judged_gains, expected, strict=True))),
            judged.queries,
            highest_gain(self.metric, max(judged.grades)),
        )

    def sum_divisors(self, results: contributions.ResultsWithGains, pool: contributions.DocumentPool) -> FloatArray:
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
            ends_with_results = metric.ideal_cut == "returned" or (metric.has_endless_ideal and metric.cutoff is None)
            end = np.minimum(metric.cutoff or end, returned if ends_with_results else end)
        if metric.has_endless_ideal:
            return np.asarray(
                pool.highest * contributions.discount_sums(metric, int(end.max(initial=0)))[end], dtype=np.float64
            )
        if metric.has_own_ideal:
            gains = results.gains.mean * (results.ranked.rank <= (metric.ideal_depth or NOWHERE))
            return sum_in_best_order(metric, results.ranked.query, gains, np.ones_like(gains, dtype=np.int64), end)
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
    number_in_query = np.arange(len(query)) - np.searchsorted(query, query)
    for documents in contributions.rows_by_number(number_in_query):  # at most one document of each query
        for column, grade in enumerate(grades.tolist()):
            effects[documents, column] = pair.differences_with_grade(documents, grade)[query[documents]]
    effects[(pair.relevant[query] == 0)[:, None] & (contributions.grade_gains(pair.metric, grades).mean == 0)] = np.nan
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
    sums = contributions.discount_sums(metric, int(last.max(initial=0)))
    return np.bincount(query, gains * (sums[last] - sums[first]), len(end)).astype(np.float64)


CLOSE = 1e-13  # a smaller increase of a bound is rounding
MOST_LEVELS = 20  # of gains: more make the pass over the levels slow


def has_bounds(metric: Metric, judged: JudgedCounts) -> bool:
    """Return whether `difference_bounds` can be computed for a metric.

    The metric must be rr or accuracy, or a sum of gains times fixed weights. For such a sum, the ideal, if there is
    one, must be "global" or "max", and the grades may have at most MOST_LEVELS different gains above 0. No metric has
    bounds if it condenses rankings, or if its value depends on the number of results.
    """
    if (
        metric.unjudged == "condense"
        or contributions.lacks_expected_value(metric)
        or contributions.counts_results(metric)
    ):
        return False
    if metric.traits.is_decided_by_first:
        return True
    return (
        contributions.is_plain_sum(metric)
        and not metric.has_own_ideal
        and len(positive_gains(metric, judged)) <= MOST_LEVELS
    )


def difference_bounds(pair: SystemPair, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two (queries,) arrays: the lowest and the highest possible difference of each query.

    All differences are candidate - baseline, in the metric's unit. They are possible if the unjudged results may have
    any of the grades.
    values: (queries,) differences if unjudged results gain nothing; 0 for a query without a relevant judgment.
    The metric must have bounds (`has_bounds`).
    """
    if pair.metric.traits.is_decided_by_first:
        return -_largest_first_rank_difference(pair, 1), _largest_first_rank_difference(pair, 0)
    low, high = (sign * _largest_sum_difference(pair, sign * values, sign) for sign in (-1, 1))
    return low, high


def positive_gains(metric: Metric, judged: JudgedCounts) -> FloatArray:
    """Return the distinct gains above 0 of the grades in the evaluation, in rising order."""
    return np.array(sorted({gain(metric, grade) for grade in judged.grades} - {0.0}), dtype=np.float64)


def _largest_first_rank_difference(pair: SystemPair, side: int) -> FloatArray:
    """Return, per query, the largest possible difference in favour of one system, for rr and accuracy.

    The difference is largest if every unjudged document that only the favoured system returns is relevant. Of the
    unjudged documents that both systems return, one is relevant if that increases the difference; the others are not.
    side: 0 if the candidate is favoured, 1 if the baseline is.
    """
    deepest = max(int(ranked.rank.max(initial=0)) for ranked in pair.systems)
    worth = contributions.values_by_first_rank(pair.metric, deepest)
    query, order = pair.unjudged.query, (side, 1 - side)
    own, other = (contributions.gather(pair.systems[at].rank, pair.unjudged.rows[at], NOWHERE) for at in order)
    first, first_of_other = (np.full(pair.judged.queries, deepest + 1) for _ in order)
    for at, ranks in zip(order, (first, first_of_other), strict=True):
        relevant = pair.judged_results[at].gains.relevant > 0
        np.minimum.at(ranks, pair.systems[at].query[relevant], pair.systems[at].rank[relevant])
    is_alone, is_shared = other == NOWHERE, (own != NOWHERE) & (other != NOWHERE)
    np.minimum.at(first, query[is_alone], own[is_alone])
    largest: FloatArray = worth[first] - worth[first_of_other]
    query, own, other = query[is_shared], own[is_shared], other[is_shared]
    with_one = worth[np.minimum(first[query], own)] - worth[np.minimum(first_of_other[query], other)]
    np.maximum.at(largest, query, with_one)
    return largest


def _largest_sum_difference(pair: SystemPair, values: FloatArray, sign: int) -> FloatArray:
    """Return, per query, the highest value of `sign` times the difference over all grades of unjudged documents.

    The metric must be a sum over ranks. A query without a relevant judgment has the difference 0 until one of its
    unjudged documents gains something.
    values: (queries,) `sign` times the differences if unjudged results gain nothing. sign: 1 or -1.
    """
    levels = positive_gains(pair.metric, pair.judged)
    if not len(levels):
        return values
    query, rows = pair.unjudged.query, pair.unjudged.rows
    of_candidate, of_baseline = (
        contributions.gather(side.weight, at, 0) for side, at in zip(pair.judged_results, rows, strict=True)
    )
    weights = sign * (of_candidate - of_baseline)
    lacks_relevant = pair.relevant == 0
    base = np.where(lacks_relevant, 0.0, values)
    if pair.metric.traits.divisor is not Divisor.IDEAL or pair.metric.has_endless_ideal:
        largest_gain = np.bincount(query, np.maximum(weights, 0.0) * levels[-1], len(values))
        divisor = pair.sum_divisors(pair.judged_results[0], pair.pool(pair.zero_gains))
        most = base + np.divide(largest_gain, divisor, out=np.zeros(len(values)), where=divisor > 0)
    else:
        most = _greatest_quotients(pair, base, weights, levels, lacks_relevant)
    return np.where(lacks_relevant, np.maximum(most, 0.0), most)


def _greatest_quotients(
    pair: SystemPair, numerators: FloatArray, weights: FloatArray, levels: FloatArray, lacks_relevant: BoolArray
) -> FloatArray:
    """Return the largest differences over all gains of unjudged documents, if these gains also change the ideal.

    The result has the shape (queries,).

    numerators: (queries,) differences if unjudged documents gain nothing.
    weights: weight of each unjudged document, candidate - baseline.
    levels: possible gains, rising.
    lacks_relevant: (queries,) True if the query has no relevant judgment.
    """
    metric, judged, query = pair.metric, pair.judged, pair.unjudged.query
    weights = weights[np.lexsort((-weights, query))]
    documents = np.bincount(query, minlength=judged.queries)
    starts = np.cumsum(documents) - documents
    reached = np.stack([judged.count_documents(pair.judged_gains.mean >= level) for level in levels]).astype(np.int64)
    longest = int(reached.max(initial=0)) + int(documents.max(initial=0))
    is_cut = metric.traits.takes("ideal") and metric.ideal_cut == "cutoff"
    sums = contributions.discount_sums(metric, min(metric.cutoff or longest, longest) if is_cut else longest)
    step = np.diff(levels, prepend=0.0)[:, None, None]
    quotients = numerators.copy()
    magnitude = np.frexp(documents)[1].astype(np.int64)  # equal for queries with about as many documents; 0 for none
    for rows in contributions.rows_by_number(magnitude)[1:]:
        if not len(rows):
            continue
        counts = np.arange(1 + documents[rows].max())
        of_count = weights[np.minimum(starts[rows, None] + counts[:-1], len(weights) - 1)]
        best = np.zeros((len(rows), len(counts)))
        best[:, 1:] = np.cumsum(np.where(counts[:-1] < documents[rows, None], of_count, -np.inf), axis=1)
        ideal = step * sums[np.minimum(reached[:, rows, None] + counts, len(sums) - 1)]
        above = numerators[rows] * ideal[:, :, 0].sum(axis=0)
        start = np.where(lacks_relevant[rows], best[:, 1] / sums[1], numerators[rows])
        quotients[rows] = _raise_quotients(start, above, step * best, ideal)
    return quotients


def _raise_quotients(quotients: FloatArray, above: FloatArray, sums: FloatArray, ideal: FloatArray) -> FloatArray:
    """Return the (queries,) largest possible quotients, found by Dinkelbach's iteration.

    quotients: (queries,) starting values, not above the result.
    above: (queries,) numerators from judged documents.
    sums, ideal: (levels, queries, n) amounts that each level of gain adds to the numerator and to the ideal if 0, 1, 2
        … unjudged documents have at least this gain.
    """
    while True:
        worth = sums - quotients[:, None] * ideal
        counts = np.where(quotients < 0, worth.sum(axis=0).argmax(axis=1), worth.argmax(axis=2))[:, :, None]
        upper, lower = (np.take_along_axis(each, counts, axis=2)[:, :, 0].sum(axis=0) for each in (sums, ideal))
        raised = np.divide(above + upper, lower, out=quotients.copy(), where=lower > 0)
        if (raised <= quotients + CLOSE).all():
            return quotients
        quotients = np.maximum(raised, quotients)
