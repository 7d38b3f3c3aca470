"""What requests cost (time, tokens, price): means and quantiles over queries, and their paired differences.

A quantile is `averages.quantile`: the smallest value that at least the share q of the queries do not exceed.

The interval of one quantile is that of order statistics: it holds for every distribution, and has no upper end while
q^n > the tail, since with that chance all n queries lie below the quantile. For the difference of two quantiles of the
same queries both are drawn together: the shares of the population between neighbouring values are Dirichlet(1, …, 1),
n + 1 exponential numbers over their sum, one for each query and one for what lies beyond all of them. For the upper end
of a difference that one is above all of the candidate's values and below all of the baseline's; for the lower end the
other way round. Each system's own quantile then has exactly the interval of order statistics.

Sources: W. J. Conover, Practical Nonparametric Statistics (1999), section 3.2 (order statistics); D. B. Rubin, The
Bayesian bootstrap, Annals of Statistics 9 (1981); Y. Cui and J. Hannig, Biometrika 106 (2019) (lower and upper draws).
That the interval of a difference holds is measured, not proved (docs/calibration.md). Means: Student's t.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_core.statistics.estimates.mean_difference import (
    Interval,
    compute_moments,
    interval_from_moments,
    relative_weights,
)

FloatArray = NDArray[np.float64]
STREAM = 2  # of the seed sequence: the flips' have none, the bootstrap's is 1
BLOCK = 2_048  # draws of one stream, of few queries
AT_ONCE = 2**21  # numbers that are drawn at once
AT_MOST, LEAST = 10**8, 1_000  # numbers that are drawn for an interval, and draws of however many queries


class Tails(NamedTuple):
    """The chance that an interval lies above what it is of (low), or below (high); each in (0, 0.5)."""

    low: float
    high: float


class Sample(NamedTuple):
    """How the queries were sampled. weights: (n,) above 0. members: (n,) the number of each query's cluster, from 0."""

    weights: FloatArray | None = None
    members: NDArray[np.intp] | None = None


PLAIN = Sample()
"""Every query counts alike and stands for itself."""


def least_queries(share: float, tail: float) -> int:
    """Return the fewest queries whose interval of a quantile has an upper end: q^n <= tail (72 of p95 at .025)."""
    return math.ceil(math.log(tail) / math.log(share) - 1e-12)


def draw_quantiles(
    values: FloatArray, shares: Sequence[float], *, draws: int, seed: int, sample: Sample = PLAIN
) -> tuple[FloatArray, FloatArray]:
    """Draw two (draws x systems x shares) arrays of quantiles: what lies beyond all queries is below, or above them.

    values: (n x systems), rows sorted by query_id; the systems share their draws. -inf and inf if the quantile is
    beyond all values. draws: fewer of many queries: at most AT_MOST numbers, at least LEAST draws. The result depends
    on the numbers, seed and draws alone: each block of draws has a generator of its own.
    """
    count, systems = values.shape
    share = np.ones(count) if sample.weights is None else relative_weights(sample.weights, count)
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


def _weights_beyond(share: FloatArray, wanted: float) -> tuple[float, float]:
    """Return the mean weight of the queries up to a quantile, and of those from it on: what lies beyond weighs as much.

    share: (n,) weights over their mean, in the order of the values.
    """
    place = min(int(np.searchsorted(np.cumsum(share), wanted * share.sum())), len(share) - 1)
    return float(share[: place + 1].mean()), float(share[place:].mean())


def interval_from_draws(low: FloatArray, high: FloatArray, tails: Tails) -> Interval:
    """Return the interval of (draws,) lower and upper draws: at most so large a share of them lies beyond each end."""
    below, above = (math.floor(tail * len(low)) for tail in tails)
    return Interval(float(np.sort(low)[below]), float(np.sort(high)[len(high) - 1 - above]))


def mean_interval(values: FloatArray, tails: Tails, sample: Sample = PLAIN) -> Interval:
    """Return Student's interval of a mean (difference); from -inf to inf for fewer than two queries or clusters."""
    units = len(values) if sample.members is None else int(sample.members.max()) + 1
    if min(len(values), units) < 2:
        return Interval(-math.inf, math.inf)
    of = compute_moments(values, sample.weights, sample.members)
    ends = (interval_from_moments(of, 1 - 2 * tail) for tail in tails)
    return Interval(next(ends).low, next(ends).high)
