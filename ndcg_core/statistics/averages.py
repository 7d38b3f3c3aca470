"""Compute means, medians and quantiles from exact sums that are rounded once."""

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

MEAN = "mean"
STATISTICS = (MEAN, "p50", "p95", "p99")
"""Statistics of a cost that are always shown."""
ROUNDING = 1e-12  # share of the weight that is taken for a rounding error


def mean(values: Sequence[float]) -> float | None:
    """Return the arithmetic mean, from an exact sum; None for an empty sequence."""
    return math.fsum(values) / len(values) if values else None


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float | None:
    """Return sum(weight * value) / sum(weight), from exact sums, with weights > 0; None for empty sequences."""
    if not values:
        return None
    return math.fsum(weight * value for value, weight in zip(values, weights, strict=True)) / math.fsum(weights)


def median(values: Sequence[float]) -> float | None:
    """Return the middle value, or the mean of the middle two; None for an empty sequence."""
    return float(np.median(values)) if values else None


def quantile_share(statistic: str) -> float | None:
    """Return the share of a percentile, such as .95 for "p95"; None for "mean".

    Raises ValueError for other names.
    """
    if statistic == MEAN:
        return None
    if not re.fullmatch(r"p\d{1,2}(\.\d{1,3})?", statistic) or not float(statistic[1:]) > 0:
        raise ValueError(f"{statistic!r}: must be mean or a percentile from p1 to p99.999, as p95")
    return float(Decimal(statistic[1:]) / 100)


def quantile(values: Sequence[float], share: float, weights: Sequence[float] | None = None) -> float:
    """Return a quantile: the smallest value such that this and smaller values have at least a share of the weight.

    values: at least one number. share: in (0, 1). weights: > 0; None for equal weights.
    Raises ValueError if there are no values.

    This is type 1 of R. J. Hyndman and Y. Fan, Sample quantiles in statistical packages, The American Statistician 50
    (1996); `numpy.quantile(method="inverted_cdf")` agrees. A rounding error of `ROUNDING` of the weight is tolerated,
    so that 95 of 100 equal values are a share of .95.
    """
    if not len(values):
        raise ValueError("there are no values, must be one at least")
    pairs = sorted(zip(values, [1.0] * len(values) if weights is None else weights, strict=True))
    wanted = (share - ROUNDING) * math.fsum(weight for _, weight in pairs)
    below = accumulate(weight for _, weight in pairs)
    return next(value for (value, _), total in zip(pairs, below, strict=True) if total >= wanted)


def exact_sum(values: NDArray[np.float64]) -> float:
    """Return the correctly rounded sum of finite numbers, whatever the order of the numbers."""
    return math.fsum(values.tolist())
