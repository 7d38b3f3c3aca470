"""Draw queries for judging with known probabilities, more often if the rankings disagree more, and plan how many.

Every query has a size x, and a permanent random number u determined by a seed and the query's id. The n queries with
the lowest u / x are drawn. With t the u / x of the first query that is not drawn, a query is drawn exactly if u < t x:
with the probability min(1, t x), given the numbers of the other queries. Sums weighted by 1 / probability are unbiased
for any x. They vary with t; the mean difference is therefore estimated as a ratio (docs/draw.md):

    mean = A * sum(w d) / sum(w a),   w = f / probability,   A = sum(f a) / sum(f) over the whole log

Here d is the difference of a query (candidate - baseline), f its frequency in the log, and a its relative disagreement,
which is 0 if the systems return the same results. The mean is the weighted mean of the values A d / a with weights w a,
whose error is that of any weighted mean (`mean_difference.compute_moments`); if no drawn query was certain, the weights
are equal. There is no correction for a finite log: the interval is about queries like those of the log, as it is if all
of them are judged.

Before anything is judged, `queries_to_decide` plans which differences drawn queries can detect. Only the spread of the
differences has to be assumed: the square of a query's difference is expected to be proportional to the cube of its
disagreement. That gives the standard error of the mean difference for every number of drawn queries, and for a plain
random sample.

With the same seed a larger sample contains the smaller one. An earlier sample can be included even if its sizes were
different: a query is in one of the two samples if u is below the larger of its two limits, so its probability is the
larger of its two probabilities.

Sources: N. Duffield, C. Lund and M. Thorup, Priority Sampling for Estimation of Arbitrary Subset Sums, Journal of the
ACM 54 (2007) (the probabilities given the limit). E. Ohlsson, Sequential Poisson Sampling, Journal of Official
Statistics 14 (1998) (the same draw with fixed probabilities; permanent random numbers). S. K. Thompson, Sampling
(2012), chapters 6 (weights) and 7 (the ratio estimator under unequal probabilities). J. A. Aslam, V. Pavlu and
E. Yilmaz, A Statistical Method for System Evaluation Using Incomplete Judgments, SIGIR (2006) (judgments drawn with
unequal probabilities).
"""

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ndcg_core.statistics.estimates.mean_difference import minimal_detectable_effect
from ndcg_core.statistics.estimates.power import FEWEST

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

UNIFORM = 0.5
"""The share of a query's size that does not depend on its disagreement. With .5 no query weighs more than twice as much
as in a plain sample of the changed queries, which limits the effect of one rare loss. With .2 the variance of the mean
would be 6 % smaller in the median (docs/calibration.md), but the loss that a guardrail can rule out would be two and a
half times as large."""
ALIKE = 1e-9
"""Relative error of a probability that was written as text."""


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """The drawn queries of a log, with the probabilities of drawing them.

    Attributes
    ----------
    is_drawn : (N,) array of bool
        True for the queries of the log that are drawn.
    probability : (N,) array of float
        Probability of drawing each query of the log, in (0, 1], whether or not it was drawn; 0 for a query that cannot
        be drawn, because its size is 0.
    """

    is_drawn: BoolArray
    probability: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class EarlierDraw:
    """The queries of an earlier draw, which a new draw includes.

    Attributes
    ----------
    probability : (N,) array of float
        Probability with which each query was drawn earlier, in (0, 1]; 0 for queries that were not drawn.
    sizes : (N,) array of float
        The sizes from which the earlier draw was made, >= 0: relative disagreement * weight. A larger size means a
        higher probability. 0 for queries that could not be drawn.
    """

    probability: FloatArray
    sizes: FloatArray


def permanent_numbers(query_ids: Sequence[str], seed: int) -> FloatArray:
    """Return (N,) pseudo-random numbers in (0, 1). A number depends only on the seed and the query's id.

    The numbers are made of 53 bits of a BLAKE2b hash.
    """
    digests = (hashlib.blake2b(f"{seed}\n{query_id}".encode(), digest_size=8).digest() for query_id in query_ids)
    return np.array([((int.from_bytes(digest, "big") >> 11) + 0.5) / 2**53 for digest in digests], dtype=np.float64)


def relative_disagreements(disagreements: FloatArray, is_changed: BoolArray) -> FloatArray:
    """Return (N,) relative disagreements of the queries' rankings.

    They are 0 for queries whose rankings do not differ, and have a mean of 1 over the other queries, the changed ones.
    Each changed query gets `UNIFORM` (.5), so that it has a chance to be drawn, and a part in proportion to its
    disagreement. The results times the weights of the queries are the sizes for `draw_queries`.

    disagreements: (N,) numbers >= 0, proportional to the expected size of a query's difference.
    is_changed: (N,) True if the rankings of a query differ.
    """
    relative = np.zeros(len(disagreements))
    changed = disagreements[is_changed]
    if len(changed):
        mean = float(changed.mean())
        relative[is_changed] = UNIFORM + (1 - UNIFORM) * changed / mean if mean > 0 else 1.0
    return relative


def draw_queries(sizes: FloatArray, numbers: FloatArray, count: int, earlier_draw: EarlierDraw | None = None) -> Draw:
    """Draw `count` queries, with probabilities that rise with their sizes.

    All queries with a size above 0 are drawn if there are no more than `count`.

    sizes: (N,) numbers >= 0; a query of size 0 is not drawn.
    numbers: (N,) random numbers in (0, 1), from `permanent_numbers`.
    count: number of queries, including those of the earlier draw.
    earlier_draw: a draw with the same numbers, whose queries are drawn again; None if there is none.
    Raises ValueError if the earlier draw has more than `count` queries, or has a query that these numbers cannot have
    drawn.
    """
    earlier = np.zeros(len(sizes)) if earlier_draw is None else earlier_draw.probability
    is_kept = earlier > 0
    new_count = count - int(is_kept.sum())
    if new_count < 0:
        raise ValueError(f"count == {count}, must be at least the {count - new_count} that are kept")
    if (strangers := np.flatnonzero(is_kept & (numbers > earlier * (1 + ALIKE)))).size:
        raise ValueError(f"query {int(strangers[0])} was drawn with other numbers")
    open_ones = np.flatnonzero((sizes > 0) & ~is_kept)
    order = open_ones[np.argsort(numbers[open_ones] / sizes[open_ones], kind="stable")]
    is_drawn = is_kept.copy()
    is_drawn[order[:new_count]] = True
    of_new = np.full(len(sizes), draw_ratio_at(order, new_count, sizes, numbers))
    if earlier_draw is not None:
        of_new[is_kept] = draw_ratio_at(without_next_query(order, earlier_draw, numbers), new_count - 1, sizes, numbers)
    of_new[sizes == 0] = 0.0
    return Draw(is_drawn, np.maximum(np.minimum(1.0, of_new * np.where(sizes > 0, sizes, 1.0)), earlier))


def draw_ratio_at(order: NDArray[np.intp], index: int, sizes: FloatArray, numbers: FloatArray) -> float:
    """Return the ratio number / size of the query at a position of `order`.

    Return infinity for an index beyond the end of `order`, and 0 for a negative index.
    order: indices of queries. index: position in `order`.
    """
    if index < 0:
        return 0.0
    return float(numbers[order[index]] / sizes[order[index]]) if index < len(order) else np.inf


def without_next_query(order: NDArray[np.intp], earlier: EarlierDraw, numbers: FloatArray) -> NDArray[np.intp]:
    """Return `order` without the query that an earlier draw would have drawn next, if it had drawn one query more.

    order: indices of the queries that the earlier draw lacks, in the order in which they are drawn now.
    """
    undrawn = np.flatnonzero((earlier.sizes > 0) & (earlier.probability == 0))
    if not len(undrawn):
        return order
    first = undrawn[np.argmin(numbers[undrawn] / earlier.sizes[undrawn])]
    shortened: NDArray[np.intp] = order[order != first]
    return shortened


def mean_disagreement(disagreements: FloatArray, frequencies: FloatArray | None = None) -> float:
    """Return the mean relative disagreement of all queries of a log or slice.

    disagreements: (N,) relative disagreements, 0 for unchanged queries.
    frequencies: (N,) weights > 0 of the queries; None for equal weights.
    The result is 0 if there are no queries.
    """
    return float(np.average(disagreements, weights=frequencies)) if len(disagreements) else 0.0


def scale_and_weights(
    disagreements: FloatArray, weights: FloatArray, mean: float
) -> tuple[FloatArray, FloatArray | None]:
    """Return the factors by which n differences are scaled, and the weights of the scaled differences.

    With the relative disagreement a and the weight w of a query, the factor is mean / a and the new weight is w * a.
    The weights are None if they are all equal up to `ALIKE`.

    disagreements: (n,) relative disagreements a > 0.
    weights: (n,) weights w > 0.
    mean: mean relative disagreement of the log (`mean_disagreement`).
    """
    of_products = weights * disagreements
    are_alike = len(of_products) == 0 or float(np.ptp(of_products)) <= ALIKE * float(of_products.max())
    return mean / disagreements, None if are_alike else of_products


DEVIATION = 0.16
"""Assumed standard deviation of a query's difference at a disagreement of 1, if there is no better estimate. It was
measured with nDCG@10 in pools of a hundred judged documents (docs/calibration.md)."""
STEEPNESS = 3
"""Exponent: the expected square of a query's difference is proportional to this power of its disagreement. On twelve
pairs of systems of five collections the planned variance of the mean is then within 15 % of the true one
(docs/calibration.md)."""


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """The queries of a log from which a sample is to be drawn for judging.

    A query is drawn with a probability proportional to its size, relative * weight, up to 1; a query of size 0 is never
    drawn.

    Attributes
    ----------
    disagreements : (N,) array of float
        Disagreement of the rankings of each query, >= 0.
    relative : (N,) array of float
        Relative disagreement of each query, from `relative_disagreements`.
    weights : (N,) array of float or None
        Weight of each query in the mean, > 0; None for equal weights.
    deviation : float
        Standard deviation of the difference of a query picked at random from the whole log, in the metric's unit.
    """

    disagreements: FloatArray
    relative: FloatArray
    weights: FloatArray | None
    deviation: float

    @property
    def sizes(self) -> FloatArray:
        """Return the (N,) sizes of the queries: relative disagreement * weight.

        The probabilities of drawing the queries are proportional to the sizes.
        """
        return self.relative if self.weights is None else self.relative * self.weights

    @property
    def spread(self) -> FloatArray:
        """Return the (N,) expected squares of the queries' differences, in the metric's unit squared."""
        expected = self.disagreements**STEEPNESS
        total = float(expected.mean()) if len(expected) else 0.0
        variance: FloatArray = expected * (self.deviation**2 / total if total > 0 else 1.0)
        return variance

    @property
    def normalised_weights(self) -> FloatArray:
        """Return (N,) weights of the queries in the mean, which sum to 1."""
        if self.weights is None:
            return np.full(len(self.relative), 1 / max(1, len(self.relative)))
        shares: FloatArray = self.weights / self.weights.sum()
        return shares


def unit_deviation(differences: Sequence[FloatArray], relative: FloatArray, disagreements: FloatArray) -> float:
    """Estimate the standard deviation of a query's difference at a disagreement of 1, from judged queries.

    For each candidate, the mean difference is subtracted first, in proportion to the queries' relative disagreements.

    differences: for each candidate, the (n,) differences of the judged queries, n >= 2.
    relative, disagreements: (n,) arrays as in `Population`; some numbers must be above 0.
    """
    residuals = [each - each.sum() / relative.sum() * relative for each in differences]
    n = int(np.count_nonzero(relative))
    squares = float(np.mean([np.square(each).sum() for each in residuals])) * n / max(1, n - 1)
    return float((squares / np.square(disagreements).sum()) ** 0.5)


def expected_probabilities(sizes: FloatArray, count: int) -> FloatArray:
    """Return the (N,) probabilities of drawing each query if `count` queries are drawn.

    They are min(1, t * size), with t such that they sum to `count`. If no more than `count` sizes are above 0, the
    queries with these sizes have the probability 1.
    """
    probabilities = np.zeros(len(sizes))
    indices = np.flatnonzero(sizes > 0)
    ordered = indices[np.argsort(-sizes[indices], kind="stable")]
    if count >= len(ordered):
        probabilities[indices] = 1.0
        return probabilities
    values = sizes[ordered]
    remaining = np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])
    certain = np.arange(len(values))
    limits = (count - certain) / remaining[:-1]  # were the first 0, 1, 2 … certain
    first = int(np.argmax(limits * values <= 1.0))
    probabilities[ordered] = np.minimum(1.0, limits[first] * values)
    probabilities[ordered[:first]] = 1.0
    return probabilities


def drawn_standard_error(population: Population, count: int) -> tuple[float, float]:
    """Estimate the standard error of the mean over the log from `count` queries that are drawn by size.

    Return (standard error in the metric's unit, degrees of freedom of the error).
    """
    probability = expected_probabilities(population.sizes, count)
    has_chance = probability > 0
    weights, probability = population.normalised_weights[has_chance], probability[has_chance]
    variance = float((np.square(weights) * population.spread[has_chance] / probability).sum())
    return variance**0.5, max(1.0, min(count, int(has_chance.sum())) - 1.0)


def random_standard_error(population: Population, count: int) -> tuple[float, float]:
    """Estimate the standard error of the mean over the log from `count` queries drawn with equal probabilities.

    Return (standard error in the metric's unit, degrees of freedom of the error).
    """
    weights = population.normalised_weights
    variance = float((np.square(weights) * population.spread).sum()) * len(weights) / count
    effective = count / (len(weights) * float(np.square(weights).sum()))
    return variance**0.5, max(1.0, effective - 1)


def queries_to_decide(
    population: Population,
    effect: float,
    error: Callable[[Population, int], tuple[float, float]],
    alpha: float = 0.05,
    power: float = 0.8,
) -> int | None:
    """Return the smallest number of queries to draw so that a mean difference of `effect` is detected.

    Return None if even all queries of the population are too few.

    effect: mean difference > 0, in the metric's unit.
    error: function that estimates the standard error: `drawn_standard_error` or `random_standard_error`.
    alpha: level of the two-sided test, in (0, 1).
    power: probability of detecting the effect, in (alpha, 1).
    """

    def is_enough(count: int) -> bool:
        standard_error, freedom = error(population, count)
        detected = minimal_detectable_effect(count, standard_error * count**0.5, alpha, power, freedom)
        return detected <= effect

    most = len(population.relative)
    if most < FEWEST or not is_enough(most):
        return None
    return bisect_left(range(most + 1), True, lo=FEWEST, key=is_enough)
