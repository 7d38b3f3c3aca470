"""The lowest and the highest value that grades of unjudged documents could give, for the difference of two systems.

One query, two systems: known is what the judged documents give; the unjudged ones that either system shows within the
cutoff may each have any gain x that a grade of the judgments has, or 0. Others are taken to gain nothing. Then

    D(x) = (c + sum of w_u x_u) / I(x),    w_u = factor of u's place for the candidate - that for the baseline

with c the known part of the difference of DCG, and I(x) the DCG of all gains, known and assumed, best first. Where I
does not depend on x (dcg, precision, rbp; nDCG against the highest grade in every place) every x_u is 0 or the highest
gain, by the sign of w_u. Else D is largest at the t where max over x of c + w x - t I(x) is 0 (W. Dinkelbach,
Management Science 13, 1967). I(x) depends only on how many documents reach each level, so a larger w never gets a lower
one, and an x is a list of counts n_1 >= n_2 >= ... of documents at each level or above. With the levels 0 = g_0 < g_1 <
..., W(i) the sum of the i largest w, S(i) the sum of the first i discounts, K_j the known documents at level j or
above,

    w x - t I(x) = sum over j of (g_j - g_(j-1)) * (W(n_j) - t S(min(K_j + n_j, end of the ideal)))

whose maximum is one pass over the levels. Queries are independent: the mean of bounds is the bound of the mean, and is
reached. The values of one system are those of its difference from nothing (w_u its factor).

(A. Moffat, W. Webber and J. Zobel, SIGIR 2007, bound additive measures in this way.)
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.registry import GAINS, Counted
from ndcg_core.measures.score import discount, gain, highest_gain

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
CLOSE = 1e-13  # an increase of a bound below this is rounding


class Places(NamedTuple):
    """The unjudged documents that one system shows, row by row; rows beyond the cutoff count for nothing.

    query: number of the query, from 0 on. doc: number of the document, the same for both systems. rank: from 1 on.
    first_rank, size: the first rank of its group of equal scores and how many stand in it, where ties are averaged;
        elsewhere its rank, and 1.
    """

    query: IntArray
    doc: IntArray
    rank: IntArray
    first_rank: IntArray
    size: IntArray


class Judged(NamedTuple):
    """What is judged.

    grades: every grade that the judgments hold. counts: (queries, grades) documents of each query with each.
    """

    grades: tuple[float, ...]
    counts: IntArray


class Bounds(NamedTuple):
    """low, high: one number for each query.

    documents: the unjudged documents that either system shows where its metric looks, over all queries.
    """

    low: FloatArray
    high: FloatArray
    documents: int


class Net(NamedTuple):
    """Of every unjudged document within a cutoff its factor for the candidate less that for the baseline, its query and
    its number; by rising query."""

    weight: FloatArray
    query: IntArray
    doc: IntArray


class Ideal(NamedTuple):
    """steps: (levels,) how much each level gains above the one below. counts: (queries, levels) known documents there
    or above. sums: of the first 0, 1, 2 ... discounts, as far as the ideal goes."""

    steps: FloatArray
    counts: IntArray
    sums: FloatArray

    def reached(self, level: int, rows: IntArray, more: int) -> FloatArray:
        """(rows, more + 1): what a level adds to the ideal with 0, 1, ... more documents there or above."""
        return self.added(level, self.counts[rows, level][:, None] + np.arange(more + 1))

    def added(self, level: int, documents: IntArray) -> FloatArray:
        """What a level adds to the ideal with so many documents there or above."""
        found: FloatArray = self.steps[level] * self.sums[np.minimum(documents, len(self.sums) - 1)]
        return found

    def known(self, rows: IntArray) -> FloatArray:
        """(rows,): the ideal of the known documents alone."""
        parts = [self.reached(level, rows, 0)[:, 0] for level in range(len(self.steps))]
        found: FloatArray = np.sum(parts, axis=0)
        return found


def why_unbounded(metric: Metric) -> str | None:
    """In words, why there are no bounds of a metric; None where there are, and they are exact."""
    if metric.unjudged == "condense":
        return "documents without a judgment are taken out of the ranking"
    rule = metric.effective_gain
    if isinstance(rule, str) and GAINS[rule].is_of_every_grade:
        return "it is the share that is judged"
    if metric.traits.factors is not None or not metric.traits.is_additive:
        return "a place counts by what stands above it"
    if metric.has_own_ideal:
        return "each system is divided by an ideal of its own results"
    if metric.traits.takes("ideal") and metric.ideal_cut == "returned":
        return "the ideal ends where a system's results end"
    if metric.cutoff is None and (metric.has_endless_ideal or below(metric, 1.0, 1) != below(metric, 1.0, 2)):
        return "without a cutoff it is divided by how much was returned"
    return None


def is_bounded_outside(metric: Metric) -> bool:
    """Whether there are bounds of a system's values alone, from which those of a difference follow as outer ones."""
    return metric.traits.grows and metric.unjudged != "condense"


def difference_bounds(
    metric: Metric,
    differences: FloatArray,
    candidate: Places,
    baseline: Places,
    judged: Judged,
) -> Bounds:
    """Of the difference of each query; differences: as they are, unjudged documents gaining nothing.

    Of a query that nothing judged is relevant for, whose difference is 0, the bounds hold that 0.
    Raises ValueError for a metric that `why_unbounded` says something of.
    """
    if reason := why_unbounded(metric):
        raise ValueError(f"metric {metric.name}: no bounds, {reason}")
    levels = positive_gains(metric, judged)
    weights, numbers, _ = net_weights(metric, candidate, baseline)
    found = Bounds(differences.copy(), differences.copy(), len(numbers))
    if not len(levels):
        return found
    divisor = fixed_divisor(metric, judged)
    if divisor is not None:
        for sign, values in ((-1, found.low), (1, found.high)):
            gained = np.where(sign * weights > 0, weights, 0.0) * levels[-1] / divisor
            values += np.bincount(numbers, weights=gained, minlength=len(values))
        return found
    ideal = ideal_of(metric, levels, judged, numbers)
    known = ideal.known(np.arange(len(differences)))
    for sign, values in ((-1, found.low), (1, found.high)):
        for rows, sums in ordered_sums(sign * weights, numbers):
            values[rows] = sign * greatest(sign * differences[rows] * known[rows], sums, ideal, rows)
    return found


def positive_gains(metric: Metric, judged: Judged) -> FloatArray:
    """What a document can gain, above 0, rising."""
    return np.array(sorted({gain(metric, grade) for grade in judged.grades} - {0.0}), dtype=np.float64)


def fixed_divisor(metric: Metric, judged: Judged) -> float | None:
    """What the sum over places is divided by, where no grade can change that; None where one can."""
    if metric.ideal_traits is not None and not metric.has_endless_ideal:
        return None
    best = highest_gain(metric, max(judged.grades)) if metric.has_endless_ideal else 0.0
    return below(metric, best * sum(discount(metric, rank) for rank in range(1, (metric.cutoff or 0) + 1)), 1) or 1.0


def below(metric: Metric, ideal: float, returned: int) -> float | None:
    """What its measure divides by, of so many results."""
    return metric.traits.quotient(Counted([1.0], 1.0, ideal, metric.cutoff, returned)).below


def place_weights(metric: Metric, places: Places) -> FloatArray:
    """What a document's gain is multiplied by: its rank's discount; where ties are averaged, its group's mean one."""
    deepest = int((places.first_rank + places.size - 1).max(initial=0))
    factors = [discount(metric, rank) for rank in range(1, min(metric.cutoff or deepest, deepest) + 1)]
    sums = np.concatenate([[0.0], np.cumsum(factors)])
    if metric.ties != "average":
        within = np.concatenate([[0.0], factors, np.zeros(max(deepest - len(factors), 0))])
        found: FloatArray = within[places.rank]
        return found
    first, last = (
        np.minimum(end, len(factors)) for end in (places.first_rank - 1, places.first_rank - 1 + places.size)
    )
    mean: FloatArray = (sums[last] - sums[first]) / places.size
    return mean


def net_weights(metric: Metric, candidate: Places, baseline: Places) -> Net:
    weights = np.concatenate([place_weights(metric, candidate), -place_weights(metric, baseline)])
    query, doc = (np.concatenate([getattr(candidate, name), getattr(baseline, name)]) for name in ("query", "doc"))
    seen = weights != 0
    query, doc = query[seen], doc[seen]
    keys, first, places = np.unique(query * (int(doc.max(initial=0)) + 1) + doc, return_index=True, return_inverse=True)
    found = np.asarray(np.bincount(places, weights=weights[seen], minlength=len(keys)), dtype=np.float64)
    return Net(found, query[first], doc[first])


def ideal_of(metric: Metric, levels: FloatArray, judged: Judged, numbers: IntArray) -> Ideal:
    gains = np.array([gain(metric, grade) for grade in judged.grades])
    counts = np.stack([judged.counts[:, gains >= level].sum(axis=1) for level in levels], axis=1)
    longest = int(counts.max(initial=0)) + int(np.bincount(numbers).max(initial=0))
    is_cut = metric.traits.takes("ideal") and metric.ideal_cut == "cutoff"
    end = min(metric.cutoff or longest, longest) if is_cut else longest
    sums = np.concatenate([[0.0], np.cumsum([discount(metric, rank) for rank in range(1, end + 1)])])
    return Ideal(np.diff(levels, prepend=0.0), counts, sums)


def ordered_sums(weights: FloatArray, numbers: IntArray) -> list[tuple[IntArray, FloatArray]]:
    """Queries in groups of like size: their numbers, and the sums of their 0, 1, 2 ... largest weights.

    A sum of more weights than a query has is minus infinity.
    """
    order = np.lexsort((-weights, numbers))
    weights, numbers = weights[order], numbers[order]
    counts = np.bincount(numbers)
    places = np.arange(len(numbers)) - np.repeat(np.cumsum(counts) - counts, counts)
    found = []
    most = 1
    while most < 2 * int(counts.max(initial=0)):
        rows = np.flatnonzero((counts > most // 2) & (counts <= most))
        if len(rows):
            line = np.full(len(counts), -1)
            line[rows] = np.arange(len(rows))
            mine = line[numbers] >= 0
            width = int(counts[rows].max())
            table = np.full((len(rows), width + 1), -np.inf)
            table[:, 0] = 0.0
            table[line[numbers[mine]], places[mine] + 1] = weights[mine]
            found.append((rows, np.cumsum(table, axis=1)))
        most *= 2
    return found


def greatest(above: FloatArray, sums: FloatArray, ideal: Ideal, rows: IntArray) -> FloatArray:
    """The largest quotient of each query; above: its known numerator, sums: as `ordered_sums` gives them."""
    more = sums.shape[1] - 1
    reached = [ideal.reached(level, rows, more) for level in range(len(ideal.steps))]
    known = ideal.known(rows)
    found: FloatArray = np.divide(above, known, out=np.zeros_like(above), where=known > 0)
    active = np.arange(len(above))
    while len(active):
        counts = best_counts(found[active], sums[active], [each[active] for each in reached], ideal.steps)
        upper, lower = above[active], np.zeros(len(active))
        for step, each, count in zip(ideal.steps, reached, counts, strict=True):
            upper = upper + step * sums[active, count]
            lower += each[active, count]
        value = np.divide(upper, lower, out=found[active], where=lower > 0)
        is_better = value > found[active] + CLOSE
        active = active[is_better]
        found[active] = value[is_better]
    return found


def best_counts(
    at: FloatArray, sums: FloatArray, reached: Sequence[FloatArray], steps: FloatArray
) -> list[NDArray[np.intp]]:
    """How many documents reach each level where sum - at * ideal is largest, the lowest level first."""
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
