"""The bias-corrected and accelerated bootstrap interval of the mean difference: an option, not the default.

Sources: B. Efron, Better Bootstrap Confidence Intervals, Journal of the American Statistical Association 82 (1987);
B. Efron and R. J. Tibshirani, An Introduction to the Bootstrap (1993), chapter 14. R's `boot::boot.ci(type = "bca")`
and `scipy.stats.bootstrap(method = "BCa")` agree within the error of drawing; the jackknife of the latter takes O(n^2).
"""

import numpy as np
from numpy.typing import NDArray

from ndcg_core.statistics.distributions import ndtr, ndtri
from ndcg_core.statistics.estimates.mean_difference import Differences, Interval, compute_moments, relative_weights
from ndcg_core.statistics.hypothesis_tests.flips import DEFAULT_RESAMPLES, DEFAULT_SEED, TIE_TOLERANCE

LEAST_OTHERS = 1e-9  # of the heaviest weight: less is a rounding error
_BATCH = 2**19  # queries drawn together: 4 MB for each array of them


def bca_interval(
    differences: Differences,
    *,
    level: float = 0.95,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
    weights: Differences | None = None,
) -> Interval:
    """BCa interval of the mean of n >= 2 differences, or of sum(w d) / sum(w) where weights > 0 are given.

    level: in (0, 1). resamples: >= 1, each of n queries drawn with replacement, a difference with its weight.
    seed: >= 0; with the settings and the differences in their order it fixes the result. Draws belong to row numbers:
    only of rows that the caller has sorted by query_id does the result not depend on the order.
    Of width 0 if the differences do not vary. A resampled mean within TIE_TOLERANCE of the observed one counts half
    in the bias correction. Raises ValueError for n < 2, NaN, infinity, wrong weights and settings out of range.

    Coverage at level .95 with n = 10 / 25 / 50 queries was measured as .863 / .894 / .936, against
    .975 / .952 / .952 of `estimates.mean_difference.t_interval`: that is why t is the default.
    """
    _check_settings(level, resamples, seed)
    values = np.asarray(differences, dtype=np.float64)
    of = compute_moments(values, weights)
    if of.deviation == 0:
        return Interval(of.mean, of.mean)
    share = None if weights is None else relative_weights(weights, of.n)
    means = _resampled_means(values, share, resamples, seed)
    bias = _bias(means, of.mean)
    acceleration = _acceleration(values, share)
    tail = float(ndtri((1 + level) / 2))
    probabilities = [_moved(bias - tail, bias, acceleration), _moved(bias + tail, bias, acceleration)]
    low, high = np.quantile(means, probabilities).tolist()
    return Interval(low, high)


def _resampled_means(
    values: NDArray[np.float64], share: NDArray[np.float64] | None, resamples: int, seed: int
) -> NDArray[np.float64]:
    """(resamples,) means, weighted where shares are given. They do not depend on the size of a batch."""
    n = len(values)
    generator = np.random.SFC64(seed)
    parts = values if share is None else share * values
    means = np.empty(resamples)
    rows = max(1, _BATCH // n)
    for start in range(0, resamples, rows):
        batch = means[start : start + rows]
        drawn = _drawn(generator, len(batch), n)
        batch[:] = parts[drawn].sum(axis=1)
        batch /= n if share is None else share[drawn].sum(axis=1)
    return means


def _drawn(generator: "np.random.SFC64", rows: int, n: int) -> NDArray[np.intp]:
    """(rows, n) row numbers below n: floor(n u / 2^32) of whole numbers u below 2^32, each as likely within n / 2^32.

    From raw words, because numpy may change how `Generator.integers` uses them. A row takes whole words of its own.
    """
    words = np.asarray(generator.random_raw(rows * -(-n // 2)), dtype="<u8")
    halves = words.view("<u4").reshape(rows, -1)[:, :n].astype(np.uint64)
    halves *= np.uint64(n)
    halves >>= np.uint64(32)
    return halves.astype(np.intp)


def _bias(means: NDArray[np.float64], mean: float) -> float:
    """z0: the normal quantile of the share of resampled means below the observed one, finite by half a resample."""
    below = int(np.count_nonzero(means < mean - TIE_TOLERANCE))
    not_above = int(np.count_nonzero(means <= mean + TIE_TOLERANCE))
    halves = min(max(below + not_above, 1), 2 * len(means) - 1)
    return float(ndtri(halves / (2 * len(means))))


def _acceleration(values: NDArray[np.float64], share: NDArray[np.float64] | None) -> float:
    """a = sum(u^3) / (6 sum(u^2)^1.5), u_i = mean of the means that leave one query out - the mean without query i."""
    weight = np.ones(len(values)) if share is None else share
    parts = weight * values
    without = (parts.sum() - parts) / np.maximum(weight.sum() - weight, LEAST_OTHERS * weight.max())
    influence = without.mean() - without
    largest = float(np.abs(influence).max())
    if largest == 0:
        return 0.0
    influence /= largest  # so that cubes of small values are not 0
    return float((influence**3).sum() / (6 * np.square(influence).sum() ** 1.5))


def _moved(position: float, bias: float, acceleration: float) -> float:
    """The share of resampled means below a bound: ndtr(z0 + z / (1 - a z)); the far end where 1 - a z <= 0."""
    room = 1 - acceleration * position
    return float(ndtr(bias + position / room)) if room > 0 else float(position > 0)


def _check_settings(level: float, resamples: int, seed: int) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level == {level}, must lie between 0 and 1")
    if resamples < 1:
        raise ValueError(f"resamples == {resamples}, must be at least 1")
    if seed < 0:
        raise ValueError(f"seed == {seed}, must be at least 0")
