"""Compute the lowest and the highest difference of two systems over all grades of their unjudged results.

Each unjudged document that either system returns for a query may have the gain x of any grade of the judgments, or 0:

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

import numpy as np

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.registry import Divisor
from ndcg_core.measures.score import gain
from ndcg_core.measures.unjudged.contributions import (
    BoolArray,
    FloatArray,
    JudgedCounts,
    counts_results,
    discount_sums,
    is_plain_sum,
    lacks_expected_value,
    rows_by_number,
    values_by_first_rank,
)
from ndcg_core.measures.unjudged.expected_values import NOWHERE, SystemPair, gather

CLOSE = 1e-13  # a smaller increase of a bound is rounding
MOST_LEVELS = 20  # of gains: more make the pass over the levels slow


def has_bounds(metric: Metric, judged: JudgedCounts) -> bool:
    """Return whether `difference_bounds` can be computed for a metric.

    The metric must be rr or accuracy, or a sum of gains times fixed weights. For such a sum, the ideal, if there is
    one, must be "global" or "max", and the grades may have at most MOST_LEVELS different gains above 0. No metric has
    bounds if it condenses rankings, or if its value depends on the number of results.
    """
    if metric.unjudged == "condense" or lacks_expected_value(metric) or counts_results(metric):
        return False
    if metric.traits.is_decided_by_first:
        return True
    return is_plain_sum(metric) and not metric.has_own_ideal and len(positive_gains(metric, judged)) <= MOST_LEVELS


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
    worth = values_by_first_rank(pair.metric, deepest)
    query, order = pair.unjudged.query, (side, 1 - side)
    own, other = (gather(pair.systems[at].rank, pair.unjudged.rows[at], NOWHERE) for at in order)
    first, first_of_other = (np.full(pair.judged.queries, deepest + 1) for _ in order)
    for at, ranks in zip(order, (first, first_of_other), strict=True):
        relevant = pair.judged_results[at].gains.relevant > 0
        np.minimum.at(ranks, pair.systems[at].query[relevant], pair.systems[at].rank[relevant])
    is_alone, is_shared = other == NOWHERE, (own != NOWHERE) & (other != NOWHERE)
    np.minimum.at(first, query[is_alone], own[is_alone])
    gain: FloatArray = worth[first] - worth[first_of_other]
    query, own, other = query[is_shared], own[is_shared], other[is_shared]
    with_one = worth[np.minimum(first[query], own)] - worth[np.minimum(first_of_other[query], other)]
    np.maximum.at(gain, query, with_one)
    return gain


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
    of_candidate, of_baseline = (gather(side.weight, at, 0) for side, at in zip(pair.judged_results, rows, strict=True))
    weights = sign * (of_candidate - of_baseline)
    is_open = pair.relevant == 0
    base = np.where(is_open, 0.0, values)
    if pair.metric.traits.divisor is not Divisor.IDEAL or pair.metric.has_endless_ideal:
        largest_gain = np.bincount(query, np.maximum(weights, 0.0) * levels[-1], len(values))
        divisor = pair.sum_divisors(pair.judged_results[0], pair.pool(pair.zero_gains))
        most = base + np.divide(largest_gain, divisor, out=np.zeros(len(values)), where=divisor > 0)
    else:
        most = _greatest_quotients(pair, base, weights, levels, is_open)
    return np.where(is_open, np.maximum(most, 0.0), most)


def _greatest_quotients(
    pair: SystemPair, numerators: FloatArray, weights: FloatArray, levels: FloatArray, is_open: BoolArray
) -> FloatArray:
    """Return the largest differences over all gains of unjudged documents, if these gains also change the ideal.

    The result has the shape (queries,).

    numerators: (queries,) differences if unjudged documents gain nothing.
    weights: weight of each unjudged document, candidate - baseline.
    levels: possible gains, rising.
    is_open: (queries,) True if the query has no relevant judgment.
    """
    metric, judged, query = pair.metric, pair.judged, pair.unjudged.query
    weights = weights[np.lexsort((-weights, query))]
    documents = np.bincount(query, minlength=judged.queries)
    starts = np.cumsum(documents) - documents
    reached = np.stack([judged.count_documents(pair.judged_gains.mean >= level) for level in levels]).astype(np.int64)
    longest = int(reached.max(initial=0)) + int(documents.max(initial=0))
    is_cut = metric.traits.takes("ideal") and metric.ideal_cut == "cutoff"
    sums = discount_sums(metric, min(metric.cutoff or longest, longest) if is_cut else longest)
    step = np.diff(levels, prepend=0.0)[:, None, None]
    quotients = numerators.copy()
    for rows in rows_by_number(np.frexp(documents)[1].astype(np.int64))[1:]:  # queries with about as many documents
        if not len(rows):
            continue
        counts = np.arange(1 + documents[rows].max())
        of_count = weights[np.minimum(starts[rows, None] + counts[:-1], len(weights) - 1)]
        best = np.zeros((len(rows), len(counts)))
        best[:, 1:] = np.cumsum(np.where(counts[:-1] < documents[rows, None], of_count, -np.inf), axis=1)
        ideal = step * sums[np.minimum(reached[:, rows, None] + counts, len(sums) - 1)]
        above = numerators[rows] * ideal[:, :, 0].sum(axis=0)
        start = np.where(is_open[rows], best[:, 1] / sums[1], numerators[rows])
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
