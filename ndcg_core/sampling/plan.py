"""Plan how many queries to draw: compute, before anything is judged, the differences that drawn queries can detect.

Only the spread of the differences has to be assumed. The square of a query's difference is expected to be proportional
to the cube of its disagreement. That gives the standard error of the mean difference for every number of drawn queries,
and for a plain random sample (docs/draw.md).

Sources: S. K. Thompson, Sampling (2012), chapter 6 (the variance of a weighted sum). `estimates.power` for the rest.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ndcg_core.statistics.estimates.mean_difference import minimal_detectable_effect
from ndcg_core.statistics.estimates.power import FEWEST

FloatArray = NDArray[np.float64]

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
