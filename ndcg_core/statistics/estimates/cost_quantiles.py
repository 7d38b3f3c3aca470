"""Estimate means and quantiles of request costs (time, tokens, price) over queries, and their paired differences.

A quantile is `averages.quantile`: the smallest value that at least the share q of the queries do not exceed.

The interval of one quantile is that of order statistics: it holds for every distribution, and has no upper end while
q^n > the tail, since with that chance all n queries lie below the quantile. For the difference of two quantiles of the
same queries, the two are drawn together: the shares of the population between neighbouring values are
Dirichlet(1, …, 1), n + 1 exponential numbers over their sum, one for each query and one for what lies beyond all of
them. For the upper end of a difference the last one is above all of the candidate's values and below all of the
baseline's; for the lower end the other way round. Each system's own quantile then has exactly the interval of order
statistics.

Sources: W. J. Conover, Practical Nonparametric Statistics (1999), section 3.2 (order statistics); D. B. Rubin, The
Bayesian bootstrap, Annals of Statistics 9 (1981); Y. Cui and J. Hannig, Biometrika 106 (2019) (lower and upper draws).
That the interval of a difference holds is measured, not proved (docs/calibration.md). Means: Student's t.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_core.statistics.estimates import mean_difference as estimates
from ndcg_core.statistics.estimates.mean_difference import Interval

FloatArray = NDArray[np.float64]
STREAM = 2  # added to the seed sequence: the flips' has no such number, the bootstrap's has 1
BLOCK = 2_048  # draws of one random stream, for few queries
AT_ONCE = 2**21  # numbers that are drawn at once
AT_MOST, LEAST = 10**8, 1_000  # numbers that are drawn for an interval, and draws of however many queries


class Tails(NamedTuple):
    """The two error probabilities of an interval, each in (0, 0.5).

    Attributes
    ----------
    low : float
        Probability that the whole interval lies above the true value.
    high : float
        Probability that the whole interval lies below the true value.
    """

    low: float
    high: float


class Sample(NamedTuple):
    """The weights and the clusters of a sample of n queries.

    Attributes
    ----------
    weights : (n,) array of float or None
        Weight of each query, > 0; None for equal weights.
    members : (n,) array of int or None
        Index of the cluster of each query; None without clusters.
    """

    weights: FloatArray | None = None
    members: NDArray[np.intp] | None = None


PLAIN = Sample()
"""Equal weights, and no clusters."""


def least_queries(share: float, tail: float) -> int:
    """Return the smallest number of queries at which the interval of a quantile has a finite upper bound.

    This is the smallest n with share^n <= tail; for p95 and a tail of .025 it is 72.
    share: the quantile, in (0, 1). tail: probability that the whole interval lies below the true quantile.
    """
    return math.ceil(math.log(tail) / math.log(share) - 1e-12)


def draw_quantile_bounds(
    values: FloatArray, shares: Sequence[float], *, draws: int, seed: int, sample: Sample = PLAIN
) -> tuple[FloatArray, FloatArray]:
    """Draw random lower and upper bounds of quantiles, and return them as two (draws x systems x shares) arrays.

    A draw gives random weights to the queries and to a part of the population that no query represents. This part lies
    below all values for the lower bounds, and above all values for the upper bounds. A quantile in that part is -inf or
    inf. The result depends only on the values, shares, sample, seed and number of draws.

    values: (n x systems) values, rows sorted by query_id. A query has equal random weights in all systems.
    shares: the quantiles, in (0, 1).
    draws: number of draws. It is reduced for many queries: to at most AT_MOST random numbers, but at least LEAST draws.
    sample: weights and clusters of the queries.
    """
    count, systems = values.shape
    share = np.ones(count) if sample.weights is None else estimates.relative_weights(sample.weights, count)
    units = count if sample.members is None else int(sample.members.max()) + 1
    draws = min(draws, max(LEAST, AT_MOST // count))
    width = min(BLOCK, max(1, AT_ONCE // count))
    orders = [np.argsort(values[:, at], kind="stable") for at in range(systems)]
    ends = [np.array([-np.inf, *values[order, at], np.inf]) for at, order in enumerate(orders)]
    heavy = [[_weights_beyond(share[order], wanted) for wanted in shares] for order in orders]
    low, high = (np.empty((draws, systems, len(shares))) for _ in range(2))
    for block, start in enumerate(range(0, draws, width)):
        stop = min(start + width, draws)
        generator = np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, STREAM, block])))
        gaps = generator.standard_exponential((units + 1, width))[:, : stop - start]
        beyond = gaps[units] * (count / units)  # as heavy as a unit is in the mean
        mass = (gaps[:units] if sample.members is None else gaps[sample.members]) * share[:, None]
        for at, order in enumerate(orders):
            below = np.cumsum(mass[order], axis=0)
            for which, wanted in enumerate(shares):
                lighter, heavier = (beyond * each for each in heavy[at][which])
                high[start:stop, at, which] = ends[at][1 + (below < wanted * (below[-1] + heavier)).sum(axis=0)]
                target = wanted * (below[-1] + lighter)
                under = 1 + (below <= target - lighter).sum(axis=0)
                low[start:stop, at, which] = ends[at][np.where(lighter > target, 0, under)]
    return low, high


def _weights_beyond(share: FloatArray, quantile: float) -> tuple[float, float]:
    """Return two mean weights: of the queries up to a quantile, and of the queries from the quantile on.

    The part of the population beyond the observed queries gets these weights.
    share: (n,) weights over their mean, in the order of the queries' values. quantile: in (0, 1).
    """
    index = min(int(np.searchsorted(np.cumsum(share), quantile * share.sum())), len(share) - 1)
    return float(share[: index + 1].mean()), float(share[index:].mean())


def interval_from_draws(low: FloatArray, high: FloatArray, tails: Tails) -> Interval:
    """Return the interval from a low quantile of the lower bounds to a high quantile of the upper bounds.

    low, high: (draws,) random lower and upper bounds. The quantiles are `tails.low` and 1 - `tails.high`.
    """
    below, above = (math.floor(tail * len(low)) for tail in tails)
    return Interval(float(np.sort(low)[below]), float(np.sort(high)[len(high) - 1 - above]))


def mean_interval(values: FloatArray, tails: Tails, sample: Sample = PLAIN) -> Interval:
    """Return Student's confidence interval of the mean of (n,) values.

    Return (-inf, inf) if there are fewer than two queries or clusters.
    """
    units = len(values) if sample.members is None else int(sample.members.max()) + 1
    if min(len(values), units) < 2:
        return Interval(-math.inf, math.inf)
    of = estimates.compute_moments(values, sample.weights, sample.members)
    ends = (estimates.interval_from_moments(of, 1 - 2 * tail) for tail in tails)
    return Interval(next(ends).low, next(ends).high)
