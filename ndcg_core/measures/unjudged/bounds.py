"""The lowest and the highest difference of two systems over all grades of their unjudged results.

One query, two systems: c is what the judged documents add to the difference. The unjudged documents that either system
shows within the cutoff may each have any gain x of a grade of the judgments, or 0; all others gain nothing. Then

    D(x) = (c + sum of w_u x_u) / I(x),    w_u = weight of u's place for the candidate - that for the baseline

I(x) is the sum of all gains, known and assumed, best first. If I does not depend on x (dcg, precision, rbp; nDCG
against the highest grade in every place), every x_u is 0 or the highest gain, by the sign of w_u. Else D is largest at
the t for which max over x of c + w x - t I(x) is 0 (W. Dinkelbach, Management Science 13, 1967). I(x) depends only on
how many documents reach each level, so a larger w never gets a lower one, and x is a list of counts n_1 >= n_2 >= ...
of documents at each level or above. With the levels 0 = g_0 < g_1 < ..., W(i) the sum of the i largest w, S(i) that of
the first i discounts, K_j the known documents at level j or above,

    w x - t I(x) = sum over j of (g_j - g_(j-1)) * (W(n_j) - t S(min(K_j + n_j, end of the ideal)))

whose maximum is one pass over the levels. (A. Moffat, W. Webber and J. Zobel, SIGIR 2007, bound additive measures.)
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.registry import Divisor
from ndcg_core.measures.score import gain, highest_gain
from ndcg_core.measures.unjudged.expected_values import ShownPair, values_of_partners
from ndcg_core.measures.unjudged.place_sums import discount_sums, gains_of, place_weights, value_at_rank
from ndcg_core.measures.unjudged.places import FloatArray, IntArray, Judged, Places

CLOSE = 1e-13  # a smaller increase of a bound is rounding
MOST_LEVELS = 20  # of gains: more make the pass over the levels slow
NOWHERE = np.iinfo(np.int64).max  # the rank of a document that is not shown


class Bounds(NamedTuple):
    """The lowest and the highest difference of each query, (queries,) each, in the metric's unit."""

    low: FloatArray
    high: FloatArray


class Ideal(NamedTuple):
    """The ideal of known documents. steps: (levels,) what each level gains above the one below. counts: (queries,
    levels) known documents at a level or above. sums: of the first 0, 1, 2 ... discounts, up to the ideal's end."""

    steps: FloatArray
    counts: IntArray
    sums: FloatArray

    def reached(self, level: int, rows: IntArray, more: int) -> FloatArray:
        """Return (rows, more + 1) sums that a level adds to the ideal with 0, 1, ... more documents at it or above."""
        documents = self.counts[rows, level][:, None] + np.arange(more + 1)
        found: FloatArray = self.steps[level] * self.sums[np.minimum(documents, len(self.sums) - 1)]
        return found

    def known(self, rows: IntArray) -> FloatArray:
        """Return (rows,) ideals of the known documents alone."""
        parts = [self.reached(level, rows, 0)[:, 0] for level in range(len(self.steps))]
        found: FloatArray = np.sum(parts, axis=0)
        return found


def has_bounds(metric: Metric, judged: Judged) -> bool:
    """Return whether a metric has bounds: it is a sum over places with a fixed or global ideal, rr or accuracy."""
    if metric.unjudged == "condense" or metric.traits.divisor in (Divisor.SHOWN, Divisor.OTHER):
        return False
    if metric.traits.is_decided_by_first:
        return True
    if not metric.traits.is_additive or metric.traits.factors is not None or metric.has_own_ideal:
        return False
    if metric.traits.takes("ideal") and metric.ideal_cut == "returned":
        return False
    is_cut = metric.cutoff is not None or not (metric.has_endless_ideal or metric.traits.divisor is Divisor.LENGTH)
    return is_cut and len(positive_gains(metric, judged)) <= MOST_LEVELS


def difference_bounds(pair: ShownPair, values: FloatArray) -> Bounds:
    """Return the bounds of the difference of each query.

    values: (queries,) differences with unjudged results gaining nothing, 0 if nothing judged is relevant.
    Raises ValueError for a metric without bounds (`has_bounds`).
    """
    if not has_bounds(pair.metric, pair.judged):
        raise ValueError(f"metric {pair.metric.name}: its bounds have no closed form, must have one")
    if pair.metric.traits.is_decided_by_first:
        return Bounds(-_highest_of_first(pair, 1), _highest_of_first(pair, 0))
    low, high = (sign * _highest_of_sums(pair, sign * values, sign) for sign in (-1, 1))
    return Bounds(low, high)


def _highest_of_sums(pair: ShownPair, values: FloatArray, sign: int) -> FloatArray:
    """Return the highest `sign` times the difference, of sums over places. values: `sign` times the differences.

    A query without a relevant judgment is *open*: its difference is 0 until one of its documents gains something.
    """
    metric, judged = pair.metric, pair.judged
    levels = positive_gains(metric, judged)
    if not len(levels):
        return values
    weights, query = net_weights(pair)
    is_open = judged.count_documents(gains_of(metric, judged.grade) > 0) == 0
    known = np.where(is_open, 0.0, values)
    scale = _fixed_factor(metric, judged)
    if scale is not None:
        most = known + scale * np.bincount(query, np.maximum(sign * weights, 0.0) * levels[-1], len(values))
    else:
        most = _greatest_quotients(known, sign * weights, query, _make_ideal(metric, levels, judged, query), is_open)
    found: FloatArray = np.where(is_open, np.maximum(most, 0.0), most)
    return found


def _highest_of_first(pair: ShownPair, side: int) -> FloatArray:
    """Return the highest advantage of system 0 (candidate) or 1, if only the first relevant place decides.

    Unjudged documents that only this system shows are all taken as relevant, and of those that both show at most one.
    """
    metric, sides = pair.metric, (pair.candidate, pair.baseline)
    own, other = sides[side], sides[1 - side]
    rows, partner = pair.unjudged[side], pair.partners[side]
    first = [_first_relevant(metric, places, pair.judged.queries) for places in (own, other)]
    np.minimum.at(first[0], own.query[rows[partner < 0]], own.rank[rows[partner < 0]])
    found = _values(metric, first[0]) - _values(metric, first[1])
    shared, there = rows[partner >= 0], partner[partner >= 0]
    query = own.query[shared]
    ends = np.minimum(first[0][query], own.rank[shared]), np.minimum(first[1][query], other.rank[there])
    np.maximum.at(found, query, _values(metric, ends[0]) - _values(metric, ends[1]))
    return found


def _first_relevant(metric: Metric, places: Places, queries: int) -> IntArray:
    """Return (queries,) ranks of the first relevant judged result."""
    found = np.full(queries, NOWHERE)
    rows = places.is_judged & (gains_of(metric, np.nan_to_num(places.grade)) > 0)
    np.minimum.at(found, places.query[rows], places.rank[rows])
    return found


def _values(metric: Metric, ranks: IntArray) -> FloatArray:
    """Return the values of rankings whose first relevant results are at these ranks."""
    distinct, at = np.unique(ranks, return_inverse=True)
    return np.array([0.0 if rank == NOWHERE else value_at_rank(metric, rank) for rank in distinct.tolist()])[at.ravel()]


def positive_gains(metric: Metric, judged: Judged) -> FloatArray:
    """Return the gains above 0 that a document can have, rising."""
    return np.array(sorted({gain(metric, grade) for grade in judged.grades} - {0.0}), dtype=np.float64)


def net_weights(pair: ShownPair) -> tuple[FloatArray, IntArray]:
    """Return the weight of each shown unjudged document for the candidate less that for the baseline, and its query."""
    of_candidate, of_baseline = (place_weights(pair.metric, side) for side in (pair.candidate, pair.baseline))
    rows, partner = pair.unjudged[0], pair.partners[0]
    lone = pair.unjudged[1][pair.partners[1] < 0]
    net = of_candidate[rows] - values_of_partners(of_baseline, partner)
    weights = np.concatenate([net, -of_baseline[lone]])
    query = np.concatenate([pair.candidate.query[rows], pair.baseline.query[lone]])
    order = np.argsort(query, kind="stable")
    return weights[order], query[order]


def _fixed_factor(metric: Metric, judged: Judged) -> float | None:
    """Return the factor of the sum over places, or None if grades change it."""
    if metric.traits.divisor is Divisor.NOTHING:
        return 1.0
    if metric.traits.divisor is Divisor.LENGTH:
        return 1.0 / (metric.cutoff or 1)
    if not metric.has_endless_ideal:
        return None
    ideal = highest_gain(metric, max(judged.grades)) * float(discount_sums(metric, metric.cutoff or 0)[-1])
    return 1.0 / ideal if ideal > 0 else 0.0


def _make_ideal(metric: Metric, levels: FloatArray, judged: Judged, query: IntArray) -> Ideal:
    reached = gains_of(metric, judged.grade)[:, None] >= levels
    counts = np.stack([judged.count_documents(reached[:, level]) for level in range(len(levels))], axis=1).astype(
        np.int64
    )
    longest = int(counts.max(initial=0)) + int(np.bincount(query).max(initial=0))
    is_cut = metric.traits.takes("ideal") and metric.ideal_cut == "cutoff"
    end = min(metric.cutoff or longest, longest) if is_cut else longest
    return Ideal(np.diff(levels, prepend=0.0), counts, discount_sums(metric, end))


def _greatest_quotients(
    values: FloatArray, weights: FloatArray, query: IntArray, ideal: Ideal, is_open: NDArray[np.bool_]
) -> FloatArray:
    """Return (queries,) largest quotients; values: the quotients of the judged documents."""
    known = ideal.known(np.arange(len(values)))
    found = np.where(is_open, -np.inf, values)
    for rows, sums in _ordered_sums(weights, query):
        found[rows] = _greatest_of_groups(values[rows] * known[rows], sums, ideal, rows, is_open[rows])
    return found


def _ordered_sums(weights: FloatArray, query: IntArray) -> list[tuple[IntArray, FloatArray]]:
    """Return groups of queries of like size: their numbers, and the sums of their 0, 1, 2 ... largest weights.

    A sum of more weights than a query has is minus infinity.
    """
    order = np.lexsort((-weights, query))
    weights, query = weights[order], query[order]
    counts = np.bincount(query)
    places = np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)
    found = []
    most = 1
    while most < 2 * int(counts.max(initial=0)):
        rows = np.flatnonzero((counts > most // 2) & (counts <= most))
        if len(rows):
            line = np.full(len(counts), -1)
            line[rows] = np.arange(len(rows))
            mine = line[query] >= 0
            table = np.full((len(rows), int(counts[rows].max()) + 1), -np.inf)
            table[:, 0] = 0.0
            table[line[query[mine]], places[mine] + 1] = weights[mine]
            found.append((rows, np.cumsum(table, axis=1)))
        most *= 2
    return found


def _greatest_of_groups(
    above: FloatArray, sums: FloatArray, ideal: Ideal, rows: IntArray, is_open: NDArray[np.bool_]
) -> FloatArray:
    """Return the largest quotient of each query. above: its known numerator. sums: those of `_ordered_sums`.

    Open queries, whose known ideal is 0, begin with one document that gains.
    """
    more = sums.shape[1] - 1
    reached = [ideal.reached(level, rows, more) for level in range(len(ideal.steps))]
    known = ideal.known(rows)
    found: FloatArray = np.where(is_open, sums[:, 1] / ideal.sums[1], 0.0)
    np.divide(above, known, out=found, where=known > 0)
    active = np.arange(len(above))
    while len(active):
        at = [each[active] for each in reached]
        counts = _best_counts(found[active], sums[active], at, ideal.steps)
        upper, lower = above[active], np.zeros(len(active))
        for step, each, count in zip(ideal.steps, reached, counts, strict=True):
            upper = upper + step * sums[active, count]
            lower += each[active, count]
        value = np.divide(upper, lower, out=found[active], where=lower > 0)
        is_better = value > found[active] + CLOSE
        active = active[is_better]
        found[active] = value[is_better]
    return found


def _best_counts(
    at: FloatArray, sums: FloatArray, reached: Sequence[FloatArray], steps: FloatArray
) -> list[NDArray[np.intp]]:
    """Return how many documents reach each level so that sum - at * ideal is largest, the lowest level first."""
    worth: list[FloatArray] = []
    best: list[FloatArray] = []
    for step, each in zip(steps[::-1], reached[::-1], strict=True):
        value = step * sums - at[:, None] * each
        if best:
            value += best[-1]
        worth.append(value)
        best.append(np.maximum.accumulate(value, axis=1))
    found = [np.argmax(worth[-1], axis=1)]
    lines = np.arange(len(at))
    for value, so_far in zip(worth[-2::-1], best[-2::-1], strict=True):
        found.append(np.argmax(value == so_far[lines, found[-1]][:, None], axis=1))
    return found
