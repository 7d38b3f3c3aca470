"""The lowest and the highest value that grades of unjudged documents could give, for the difference of two systems.

One query, two systems: known is what the judged documents give; the unjudged ones that either system shows within the
cutoff may each have any gain x that a grade of the judgments has, or 0; if none of these grades gains anything, the
gain of the least grade that does (`add_possible_grade`). Others are taken to gain nothing. Then

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
from ndcg_core.measures.unjudged.many_completions import BY_RULE, is_cascade_measure
from ndcg_core.measures.unjudged.places import Bounds, FloatArray, IntArray, Judged, Places, no_places
from ndcg_core.measures.unjudged.walk_bounds import cascade_bounds

CLOSE = 1e-13  # an increase of a bound below this is rounding


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
    """In words, why there are no bounds of a metric; None where there are."""
    if not metric.traits.has_bounds:
        return f"the measure {metric.traits.name} does not declare that they can be computed (has_bounds)"
    if metric.unjudged == "condense":
        return "documents without a judgment are taken out of the ranking"
    rule = metric.effective_gain
    if isinstance(rule, str) and GAINS[rule].is_of_every_grade:
        return "it is the share that is judged"
    if metric.has_own_ideal:
        return "each system is divided by an ideal of its own results"
    if metric.traits.takes("ideal") and metric.ideal_cut == "returned":
        return "the ideal ends where a system's results end"
    if metric.cutoff is None and (metric.has_endless_ideal or sum_factor(metric, 1.0, 1) != sum_factor(metric, 1.0, 2)):
        return "without a cutoff it is divided by how much was returned"
    return None


def difference_bounds(
    metric: Metric,
    values: FloatArray,
    candidate: Places,
    baseline: Places | None,
    judged: Judged,
) -> Bounds:
    """Of the difference of each query, or without a baseline of the candidate's own value.

    values: as they are, while nobody judges what is unjudged. A query that nothing judged is relevant for has a
    difference of 0, and the value that `no_relevant` says.
    Raises ValueError for a metric that `why_unbounded` says something of.
    """
    if reason := why_unbounded(metric):
        raise ValueError(f"metric {metric.name}: no bounds, {reason}")
    judged = judged.add_possible_grade(metric)
    if is_cascade_measure(metric):
        return cascade_bounds(metric, values, candidate, baseline, judged)
    return sum_bounds(metric, values, candidate, baseline, judged)


def sum_bounds(
    metric: Metric, values: FloatArray, candidate: Places, baseline: Places | None, judged: Judged
) -> Bounds:
    """Of sums over places, divided or not.

    A query is *open* where nothing judged is relevant: it is worth what the rule says (`no_relevant`) until one of its
    documents gains something, and only from then on a sum.
    """
    levels = positive_gains(metric, judged)
    net = net_weights(metric, candidate, no_places() if baseline is None else baseline)
    found = Bounds(values.copy(), values.copy(), len(net.query), np.ones(len(values), dtype=bool))
    if not len(levels):
        return found
    is_open = relevant_counts(metric, judged) == 0
    rule = BY_RULE[metric.no_relevant] if baseline is None else 0.0
    known = np.where(is_open, 0.0, values)
    scale = fixed_factor(metric, judged)
    if scale is None:
        ideal = make_ideal(metric, levels, judged, net.query)
    for sign, ends in ((-1, found.low), (1, found.high)):
        if scale is None:
            most = greatest_quotients(sign * known, sign * net.weight, net.query, ideal, is_open)
        else:
            sums = greatest_sums(sign * net.weight, net.query, levels, is_open)
            most = sign * known + np.multiply(sums, scale, out=sums, where=np.isfinite(sums))
        ends[:] = sign * np.where(is_open, np.maximum(most, sign * rule), most)
    return found


def relevant_counts(metric: Metric, judged: Judged) -> IntArray:
    """(queries,): the documents whose judgment gains something."""
    is_relevant = np.array([gain(metric, grade) > 0 for grade in judged.grades])
    found: IntArray = (judged.counts * is_relevant).sum(axis=1)
    return found


def greatest_sums(weights: FloatArray, numbers: IntArray, levels: FloatArray, is_open: NDArray[np.bool_]) -> FloatArray:
    """(queries,): the largest sum that gains give; of an open query with one of them at least, and else -inf."""
    found = np.bincount(numbers, np.maximum(weights, 0.0) * levels[-1], len(is_open)).astype(np.float64)
    largest = np.full(len(is_open), -np.inf)
    np.maximum.at(largest, numbers, weights)
    return np.where(is_open & (largest <= 0), levels[0] * largest, found)


def greatest_quotients(
    values: FloatArray, weights: FloatArray, numbers: IntArray, ideal: Ideal, is_open: NDArray[np.bool_]
) -> FloatArray:
    """(queries,): the same of sums divided by an ideal that the gains raise; values: those of what is known."""
    known = ideal.known(np.arange(len(values)))
    found = np.where(is_open, -np.inf, values)
    for rows, sums in ordered_sums(weights, numbers):
        found[rows] = greatest_of_groups(values[rows] * known[rows], sums, ideal, rows, is_open[rows])
    return found


def positive_gains(metric: Metric, judged: Judged) -> FloatArray:
    """What a document can gain, above 0, rising."""
    return np.array(sorted({gain(metric, grade) for grade in judged.grades} - {0.0}), dtype=np.float64)


def fixed_factor(metric: Metric, judged: Judged) -> float | None:
    """What the sum over places is multiplied by, where no grade can change that; None where one can."""
    if metric.ideal_traits is not None and not metric.has_endless_ideal:
        return None
    best = highest_gain(metric, max(judged.grades)) if metric.has_endless_ideal else 0.0
    return sum_factor(metric, best * sum(discount(metric, rank) for rank in range(1, (metric.cutoff or 0) + 1)), 1)


def sum_factor(metric: Metric, ideal: float, returned: int) -> float:
    """What its measure makes of a sum of 1, of so many results: 1 / its divisor, and 0 where that is 0."""
    return metric.traits.quotient(Counted([1.0], 1.0, ideal, metric.cutoff, returned)).value


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
    candidate, baseline = (side.take(~side.is_judged) for side in (candidate, baseline))
    weights = np.concatenate([place_weights(metric, candidate), -place_weights(metric, baseline)])
    query, doc = (np.concatenate([getattr(candidate, name), getattr(baseline, name)]) for name in ("query", "doc"))
    seen = weights != 0
    query, doc = query[seen], doc[seen]
    keys, first, places = np.unique(query * (int(doc.max(initial=0)) + 1) + doc, return_index=True, return_inverse=True)
    found = np.asarray(np.bincount(places, weights=weights[seen], minlength=len(keys)), dtype=np.float64)
    return Net(found, query[first], doc[first])


def make_ideal(metric: Metric, levels: FloatArray, judged: Judged, numbers: IntArray) -> Ideal:
    gains = np.array([gain(metric, grade) for grade in judged.grades])
    at_level = np.zeros((len(judged.counts), len(levels)), dtype=np.int64)
    for column in np.flatnonzero(gains > 0):
        at_level[:, np.searchsorted(levels, gains[column])] += judged.counts[:, column]
    counts = at_level[:, ::-1].cumsum(axis=1)[:, ::-1]
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


def greatest_of_groups(
    above: FloatArray, sums: FloatArray, ideal: Ideal, rows: IntArray, is_open: NDArray[np.bool_]
) -> FloatArray:
    """The largest quotient of each query; above: its known numerator, sums: as `ordered_sums` gives them.

    Open queries, whose known ideal is 0, begin with one document that gains: nothing at all adds nothing, and is never
    better than what was found.
    """
    more = sums.shape[1] - 1
    reached = [ideal.reached(level, rows, more) for level in range(len(ideal.steps))]
    known = ideal.known(rows)
    found: FloatArray = np.where(is_open, sums[:, 1] / ideal.sums[1], 0.0)
    np.divide(above, known, out=found, where=known > 0)
    active = np.arange(len(above))
    while len(active):
        at = [each[active] for each in reached]
        counts = best_counts(found[active], sums[active], at, ideal.steps)
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
