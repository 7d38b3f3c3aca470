"""Describe a comparison without deciding it: effect size, relative change, other p-values, main contributors.

Sources: T. Sakai, Laboratory Experiments in Information Retrieval (2018), chapter 5 (effect size);
W. G. Cochran, Sampling Techniques (1977), section 6.3 (the variance of a ratio); J. W. Pratt, Remarks on Zeros and
Ties in the Wilcoxon Signed Rank Procedures, Journal of the American Statistical Association 54 (1959);
E. E. Cureton, The Normal Approximation to the Signed-Rank Sampling Distribution When Zero Differences are Present,
Journal of the American Statistical Association 62 (1967). `scipy.stats.wilcoxon` agrees.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ndcg_core.statistics.distributions import ndtr
from ndcg_core.statistics.estimates import mean_difference as estimates
from ndcg_core.statistics.estimates.mean_difference import Moments
from ndcg_core.statistics.hypothesis_tests.flips import TIE_TOLERANCE
from ndcg_core.statistics.paired import Paired, weigh

CARRIERS = 10
"""Largest number of queries in `Descriptive.carriers`."""

_DECIMALS = 1e9  # magnitudes that agree to nine decimals are equal: 0.3 - 0.2 and 0.5 - 0.4 are not in floating point
_EXACT = 50  # differing queries: 2^50 patterns of signs are still counted exactly in float64


@dataclass(frozen=True, slots=True)
class Carrier:
    """One query with a large contribution to the mean difference.

    Attributes
    ----------
    query_id : str
        Id of the query.
    difference : float
        Candidate - baseline on the query, in the metric's unit.
    share : float
        The query's (weighted) difference over the sum of all (weighted) differences; > 0, can exceed 1.
    """

    query_id: str
    difference: float
    share: float


@dataclass(frozen=True, slots=True)
class Descriptive:
    """Descriptive statistics of n >= 2 paired differences.

    Attributes
    ----------
    effect_size : float or None
        d_z = mean / standard deviation of the differences, without unit; None if the differences do not vary.
    changed : float
        Share of the queries that differ, in [0, 1].
    relative : float or None
        Mean difference / |mean of the baseline's values|; None if the latter is unknown or 0.
    relative_low, relative_high : float or None
        Bounds of the interval of `relative` (delta method, t distribution); None if `relative` is None.
    p_t : float or None
        Two-sided p-value, in [0, 1], of the paired t test.
    p_wilcoxon : float or None
        Two-sided p-value, in [0, 1], of the signed-rank test, which ignores weights and clusters.
    top_share : float or None
        Share of the sum of (weighted) differences that the top 1 % of the queries (rounded up) contribute, in the
        direction of the mean difference; > 0, can exceed 1; None if the mean is 0.
    carriers : tuple of Carrier
        At most ten queries with the largest contributions in the direction of the mean difference, largest first, ties
        by query_id; empty if the mean is 0.
    """

    effect_size: float | None
    changed: float
    relative: float | None
    relative_low: float | None
    relative_high: float | None
    p_t: float | None
    p_wilcoxon: float | None
    top_share: float | None
    carriers: tuple[Carrier, ...]


def describe_differences(pairs: Paired, moments: Moments, level: float = 0.95) -> Descriptive:
    """Compute descriptive statistics of a column of n >= 2 paired differences.

    moments: moments of the differences, from `Paired.moments`.
    level: level of the interval of the relative change, in (0, 1).
    """
    relative, low, high = _relative_change(pairs, moments, level)
    spread = estimates.compute_moments(pairs.differences, pairs.shares) if pairs.is_clustered else moments
    top_share, carriers = _find_carriers(pairs, moments)
    return Descriptive(
        effect_size=moments.mean / spread.deviation if spread.deviation > 0 else None,
        changed=int(np.count_nonzero(pairs.differences)) / len(pairs.query_ids),
        relative=relative,
        relative_low=low,
        relative_high=high,
        p_t=estimates.t_p_value(moments),
        p_wilcoxon=wilcoxon(pairs.differences),
        top_share=top_share,
        carriers=carriers,
    )


def _relative_change(pairs: Paired, moments: Moments, level: float) -> tuple[float | None, float | None, float | None]:
    """Return the mean difference / |baseline's mean| with an interval, as (value, low, high).

    Return (None, None, None) if the baseline's values are unknown or their mean is 0. The standard error comes from the
    residuals d - (mean of d / mean of b) b of the differences d and the baseline's values b. If the metric is
    never negative, low is at least -1; if it is never positive, high is at most 1.
    """
    baseline, limits = pairs.baseline_values, pairs.column.value_range
    mean = 0.0 if baseline is None else float(weigh(baseline, pairs.shares).mean())
    if baseline is None or abs(mean) <= TIE_TOLERANCE:
        return None, None, None
    relative = moments.mean / abs(mean)  # so that more is better in the change, too
    residuals = pairs.differences - relative * math.copysign(1.0, mean) * baseline
    deviation = estimates.compute_moments(residuals, pairs.shares, pairs.units.members).deviation / abs(mean)
    relatively = moments._replace(mean=relative, deviation=deviation, widest=moments.widest / abs(mean))
    low, high = estimates.interval_from_moments(relatively, level)
    if limits is not None:  # nobody loses more than all there is
        low = max(low, min(-1.0, high)) if limits.low >= 0 else low
        high = min(high, max(1.0, low)) if limits.high <= 0 else high
    return relative, low, high


def _find_carriers(pairs: Paired, moments: Moments) -> tuple[float | None, tuple[Carrier, ...]]:
    """Return which queries contribute most to the mean difference: `top_share` and `carriers` of `Descriptive`.

    Return (None, ()) if the mean is 0. If the queries were drawn from a log, the differences in `carriers` are those
    before scaling.
    """
    if abs(moments.mean) <= TIE_TOLERANCE:
        return None, ()
    parts = weigh(pairs.differences, pairs.shares)
    toward = np.flatnonzero(parts > 0 if moments.mean > 0 else parts < 0)
    order = np.argsort(-np.rint(np.abs(parts[toward]) * _DECIMALS), kind="stable")
    hundredth = -(-len(parts) // 100)
    indices = toward[order[: max(CARRIERS, hundredth)]]
    shares = parts[indices] / (moments.mean * len(parts))
    differences = pairs.differences if pairs.scales is None else pairs.differences / pairs.scales
    rows = (array[:CARRIERS].tolist() for array in (indices, differences[indices], shares))
    carriers = tuple(Carrier(pairs.query_ids[index], value, part) for index, value, part in zip(*rows, strict=True))
    return float(shares[:hundredth].sum()), carriers


def wilcoxon(values: NDArray[np.float64]) -> float:
    """Compute the two-sided p-value, in [0, 1], of Wilcoxon's signed-rank test of n >= 0 differences.

    The p-value is 1 if all differences are 0. Ties are ranked, then dropped (Pratt 1959); magnitudes that agree to nine
    decimals share their average rank. Up to 50 differing queries, p is the share of all patterns of signs whose |W+ -
    its mean| is at least the observed one. Beyond, it is the normal approximation with tie correction, without
    continuity correction (Cureton 1967).

    values: (n,) differences; ties are exactly 0.

    Notes
    -----
    The test is descriptive only, since it does not test the mean: on real pairs recentred to mean 0 at n = 1,000 it
    rejects 40 %, t and sign-flip 6 %. `scipy.stats.wilcoxon` is not used: importing it takes more than a second, and it
    refuses exact p-values with ties.
    """
    differing = values[values != 0]
    if len(differing) == 0:
        return 1.0
    magnitudes = np.rint(np.abs(differing) * _DECIMALS)
    _, groups, sizes = np.unique(magnitudes, return_inverse=True, return_counts=True)
    n, ties = len(values), len(values) - len(differing)
    doubled_ranks = (2 * (ties + np.cumsum(sizes)) - sizes + 1)[groups]
    doubled = int(doubled_ranks[differing > 0].sum())
    if len(differing) <= _EXACT:
        return _exact_p_value(doubled_ranks, doubled)
    mean = (n * (n + 1) - ties * (ties + 1)) / 4
    equal = float((sizes**3 - sizes).sum())
    variance = (n * (n + 1) * (2 * n + 1) - ties * (ties + 1) * (2 * ties + 1) - equal / 2) / 24
    return 2 * float(ndtr(-abs(doubled / 2 - mean) / math.sqrt(variance)))


def _exact_p_value(doubled_ranks: NDArray[np.intp], doubled: int) -> float:
    """Return the exact two-sided p-value of the signed-rank test.

    It is the share of all patterns of signs whose rank sum is at least as far from its mean as the observed one.

    doubled_ranks: twice the ranks; doubling makes the fractional ranks of ties whole.
    doubled: twice the observed rank sum of the wins.
    """
    unit = int(np.gcd.reduce(doubled_ranks))
    ranks = (doubled_ranks // unit).tolist()
    smaller = min(doubled // unit, sum(ranks) - doubled // unit)
    patterns = np.zeros(smaller + 1)
    patterns[0] = 1
    for rank in ranks:
        patterns[rank:] += patterns[:-rank]
    return min(1.0, math.ldexp(float(patterns.sum()), 1 - len(ranks)))
