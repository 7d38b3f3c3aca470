"""A system's values over queries in one number each."""

import math
from collections.abc import Sequence


def mean(values: Sequence[float]) -> float | None:
    """The arithmetic mean, from an exact sum: the same for any order of values; None of nothing."""
    return math.fsum(values) / len(values) if values else None


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float | None:
    """sum(weight * value) / sum(weight), from exact sums; weights above 0, one for each value; None of nothing."""
    if not values:
        return None
    return math.fsum(weight * value for value, weight in zip(values, weights, strict=True)) / math.fsum(weights)


def median(values: Sequence[float]) -> float | None:
    """The middle value, or the mean of the middle two; None of nothing."""
    ordered = sorted(values)
    half = len(ordered) // 2
    if not ordered:
        return None
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
