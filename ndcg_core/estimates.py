"""Estimates of one comparison from its paired differences: mean, interval, t test, minimal detectable effect.

All of them treat the differences of n queries as a sample of one variable (paired analysis) and use Student's t
distribution with n - 1 degrees of freedom. Sums are taken with `math.fsum`: they do not depend on the order.

Sources: T. Sakai, Laboratory Experiments in Information Retrieval (2018), chapters 1 to 5 (t tests, intervals) and
6 to 7 (power); R's `t.test(paired = TRUE)` and `scipy.stats.ttest_1samp` agree. The t distribution comes from
`scipy.special`, because importing `scipy.stats` takes more than a second.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit  # type: ignore[import-untyped]

from ndcg_core.signflip import TIE_TOLERANCE

Differences = Sequence[float] | NDArray[np.float64]


class Interval(NamedTuple):
    """Bounds of a confidence interval, in the metric's unit, low <= high."""

    low: float
    high: float


class TTest(NamedTuple):
    """Student's t of paired differences: statistic without unit, n - 1 degrees of freedom, two-sided p in [0, 1].

    Where the differences do not vary, statistic is infinite and p_value 0, or 0 and 1 if all of them are 0.
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float


def mean_difference(differences: Differences) -> float:
    """Mean of n >= 1 differences, in their unit; the exact sum, rounded once, divided by n. ValueError for n = 0."""
    values = _checked(differences, at_least=1)
    return math.fsum(values.tolist()) / len(values)


def standard_deviation(differences: Differences) -> float:
    """Standard deviation of n >= 2 differences, in their unit, with n - 1 in the denominator. ValueError for n < 2.

    Differences within TIE_TOLERANCE of each other are equal (0.3 - 0.2 and 0.5 - 0.4 are not in floating point):
    the result is then exactly 0.
    """
    values = _checked(differences, at_least=2)
    if np.ptp(values) <= TIE_TOLERANCE:
        return 0.0
    squares = np.square(values - mean_difference(values))
    return math.sqrt(math.fsum(squares.tolist()) / (len(values) - 1))


def t_interval(differences: Differences, level: float = 0.95) -> Interval:
    """Confidence interval of the mean difference: mean -/+ t((1 + level) / 2, n - 1) * s / sqrt(n).

    differences: n >= 2 numbers in the metric's unit. level: in (0, 1). Coverage at level .95 with n = 10 / 25 / 50
    queries was measured as .975 / .952 / .952. Of width 0 if the differences do not vary.
    Raises ValueError for n < 2, NaN, infinity or a level out of range. (Sakai, chapters 1 to 5.)
    """
    _check_probability("level", level)
    values = _checked(differences, at_least=2)
    mean = mean_difference(values)
    margin = _t_quantile((1 + level) / 2, len(values)) * standard_deviation(values) / math.sqrt(len(values))
    return Interval(mean - margin, mean + margin)


def t_test(differences: Differences) -> TTest:
    """Two-sided paired t test of mean 0: t = mean / (s / sqrt(n)); the cross-check of the sign-flip test.

    differences: n >= 2 numbers. Raises ValueError for n < 2, NaN or infinity. (Sakai, chapters 1 to 5;
    `scipy.stats.ttest_1samp`.)
    """
    values = _checked(differences, at_least=2)
    mean, error = mean_difference(values), standard_deviation(values) / math.sqrt(len(values))
    if error > 0:
        statistic = mean / error
    elif abs(mean) > TIE_TOLERANCE:
        statistic = math.copysign(math.inf, mean)
    else:
        statistic = 0.0
    freedom = len(values) - 1
    return TTest(statistic, freedom, 2 * float(stdtr(freedom, -abs(statistic))))


def minimal_detectable_effect(n: int, standard_deviation: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """The mean difference that a two-sided t test at level alpha finds with the given power.

    (t(1 - alpha / 2, n - 1) + t(power, n - 1)) * s / sqrt(n), in the unit of s; within 0.2 % of the value from the
    noncentral t distribution for n >= 10. n: queries, >= 2. standard_deviation: of the differences, >= 0.
    alpha, power: in (0, 1). Raises ValueError for values out of range. (H. S. Bloom, Minimum Detectable Effects,
    Evaluation Review 19, 1995.)
    """
    if n < 2:
        raise ValueError(f"n == {n}, must be at least 2")
    if not 0 <= standard_deviation < math.inf:
        raise ValueError(f"standard_deviation == {standard_deviation}, must be finite and not negative")
    _check_probability("alpha", alpha)
    _check_probability("power", power)
    return (_t_quantile(1 - alpha / 2, n) + _t_quantile(power, n)) * standard_deviation / math.sqrt(n)


def _t_quantile(probability: float, n: int) -> float:
    return float(stdtrit(n - 1, probability))


def _checked(differences: Differences, at_least: int) -> NDArray[np.float64]:
    values = np.asarray(differences, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"differences have shape {values.shape}, must be one row of numbers")
    if len(values) < at_least:
        raise ValueError(f"n == {len(values)} differences, must be at least {at_least}")
    if not np.isfinite(values).all():
        place = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"differences[{place}] == {values[place]}, must be finite")
    return values


def _check_probability(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name} == {value}, must lie between 0 and 1")
