"""Plan the number of queries of a comparison: power and detectable effects.

Power is stated for an effect that is chosen before the comparison (the smallest that would matter), never for the
effect that was found: such "observed power" is the p-value in another form and says nothing about more queries.

`queries_to_hold` finds the number of queries that a guardrail needs by a bootstrap: it draws samples of other sizes
from the observed differences, and tests them by Gaffke's bound (`hypothesis_tests.guardrails`). The p-values of all
samples are approximated by a saddle point; at the returned number, four of five samples pass.

Sources: H. S. Bloom, Minimum Detectable Effects, Evaluation Review 19 (1995) (the formula). T. Sakai, Laboratory
Experiments in Information Retrieval (2018), chapters 6 and 7 (choosing the number of queries). J. M. Hoenig and
D. M. Heisey, The Abuse of Power, The American Statistician 55 (2001) (against observed power). R. Lugannani and
S. Rice, Saddle point approximation for the distribution of the sum of independent random variables, Advances in Applied
Probability 12 (1980).
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ndcg_core.statistics.distributions import ndtr, ndtri, stdtr, stdtrit
from ndcg_core.statistics.estimates.mean_difference import Moments, minimal_detectable_effect

FEWEST = 2
MOST = 10**12
"""Largest number of queries that is tried."""
FloatArray = NDArray[np.float64]
SAMPLES = 300
SEED = 1935
MOST_VALUES = 64
"""Distinct differences to draw from at most; of more, neighbours are merged."""
MOST_QUERIES = 10_000_000
ROUNDS = 12
CLOSE = 0.01  # relative precision of a number of queries
NEWTON_STEPS = 40


def queries_needed(
    effect: float,
    standard_deviation: float,
    alpha: float = 0.05,
    power: float = 0.8,
    freedom: Callable[[int], float | None] = lambda n: None,
) -> int:
    """Return the smallest number of queries that detects a mean difference.

    Parameters
    ----------
    effect : float
        The mean difference to detect, > 0, in the metric's unit; chosen beforehand.
    standard_deviation : float
        Standard deviation of the differences of queries like those to come, >= 0; if it is 0, the result is 2.
    alpha : float, default 0.05
        Level of the two-sided test, in (0, 1).
    power : float, default 0.8
        Probability of finding the effect, in (alpha, 1): a test finds a difference with probability alpha even if there
        is none.
    freedom : callable of int to float or None, optional
        Degrees of freedom for n queries, not falling with n, if weights leave fewer than n - 1. Default: n - 1.

    Returns
    -------
    int
        The smallest n >= 2 whose minimal detectable effect is at most `effect`, exactly, by bisection.

    Raises
    ------
    ValueError
        If a value is out of range, or 10^12 queries are not enough.
    """
    if not 0 < effect < math.inf:
        raise ValueError(f"effect == {effect}, must be above 0 and finite")
    if power <= alpha:
        raise ValueError(f"power == {power}, must be above alpha == {alpha}")

    def is_enough(n: int) -> bool:
        detected = minimal_detectable_effect(n, standard_deviation, alpha, power, freedom(n))
        return standard_deviation == 0 or detected <= effect

    minimal_detectable_effect(FEWEST, standard_deviation, alpha, power)  # refuses what is out of range
    if not is_enough(MOST):
        at = f"standard_deviation == {standard_deviation}"
        raise ValueError(f"effect == {effect} needs more than 10^12 queries at {at}")
    return bisect_left(range(MOST + 1), True, lo=FEWEST, key=is_enough)


def queries_to_detect(moments: Moments, mde: float, effect: float, power: float = 0.8) -> int | None:
    """Return how many queries a family's test needs to detect `effect`; with the observed queries it detects `mde`.

    The adjustment for the family is expressed as the two-sided level at which a single test detects `mde`. For a family
    of one comparison this is the test's own alpha.

    moments: moments of the observed differences, with a deviation > 0.
    mde: minimal detectable effect, > 0, of the family's test with the observed queries.
    effect: mean difference to detect, > 0, in the metric's unit.
    Return None if 10^12 queries are not enough, or if no single test could detect `mde`.
    """
    reach = mde / moments.error - float(stdtrit(moments.freedom, power))
    level = 2 * (1 - float(stdtr(moments.freedom, reach)))
    if not 0 < level < power:
        return None
    share = moments.freedom / (moments.n - 1)
    try:
        return queries_needed(effect, moments.deviation, level, power, lambda n: share * (n - 1))
    except ValueError:
        return None


def power_curve(
    queries: Sequence[int],
    standard_deviation: float,
    alpha: float = 0.05,
    power: float = 0.8,
    freedom: Callable[[int], float | None] = lambda n: None,
) -> list[float]:
    """Return the mean difference that each number of queries detects.

    Parameters
    ----------
    queries : sequence of int
        Numbers of queries, each >= 2.
    standard_deviation : float
        Standard deviation of the differences, >= 0, in the metric's unit.
    alpha : float, default 0.05
        Level of the two-sided test, in (0, 1).
    power : float, default 0.8
        Probability of finding the effect, in (0, 1).
    freedom : callable of int to float or None, optional
        Degrees of freedom for n queries, if weights leave fewer than n - 1. Default: n - 1.

    Returns
    -------
    list of float
        Detectable mean differences, >= 0, in the metric's unit and in the order of `queries`. They fall roughly as
        1 / sqrt(n).

    Raises
    ------
    ValueError
        If a value is out of range.

    Notes
    -----
    The effect is (t(1 - alpha / 2, n - 1) + t(power, n - 1)) * standard_deviation / sqrt(n).

    References
    ----------
    H. S. Bloom, Minimum Detectable Effects, Evaluation Review 19 (1995).
    """
    return [minimal_detectable_effect(n, standard_deviation, alpha, power, freedom(n)) for n in queries]


def queries_to_hold(
    values: FloatArray, margin: float, largest_loss: float, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """Estimate the number of queries with which a guardrail is shown to hold with the probability `power`.

    values: (n,) observed differences, n >= 2, none below -largest_loss.
    margin: > 0, in the metric's unit. The guardrail holds if the mean difference is shown to be above -margin.
    largest_loss: the most that one query can lose, in the metric's unit.
    Return None if the observed mean is at or below -margin, or if ten million queries are not enough.
    """
    mean = float(values.mean())
    if mean <= -margin:
        return None
    x, shares = _bin_values(values + margin)
    loss = margin - largest_loss
    spread = math.sqrt(float(shares @ np.square(x - float(shares @ x))))
    quantiles = float(ndtri(1 - alpha)) + float(ndtri(power))
    root = min(quantiles * spread / (mean + margin), math.sqrt(MOST_QUERIES))
    count = min(max(root**2, -math.log(alpha) * largest_loss / (mean + margin), 2.0), float(MOST_QUERIES))

    def excess(n: float) -> float:
        """Return how clearly a share `power` of the samples of n queries pass the guardrail, in normal deviations.

        For each sample, the normal quantile of the p-value is subtracted from that of alpha. A share `power` of the
        samples have at least the result. It is 0 if exactly this share of the samples passes, above 0 if more do, and
        below 0 if fewer do. It rises about as sqrt(n).
        """
        counts = np.random.default_rng(SEED).multinomial(round(n), shares, size=SAMPLES)
        p_values = _chances_at_most_zero(x, counts, loss)
        return float(np.quantile(float(ndtri(alpha)) - ndtri(p_values), 1 - power))

    trials: list[tuple[float, float]] = []
    low, high = 2.0, float(MOST_QUERIES)
    for _ in range(ROUNDS):
        surplus = excess(count)
        low, high = (count, high) if surplus < 0 else (low, count)
        trials.append((math.sqrt(count), surplus))
        if high / low < 1 + CLOSE or count >= MOST_QUERIES:
            break
        (root, here), slope = trials[-1], quantiles / math.sqrt(count)
        if len(trials) > 1 and trials[-2][0] != root:
            slope = max((here - trials[-2][1]) / (root - trials[-2][0]), slope / 4)
        following = max(root - here / slope, root / 3) ** 2
        if abs(following - count) <= CLOSE * count:
            count = following
            break
        count = min(max(following, low), high)
    return None if count >= MOST_QUERIES else max(2, math.ceil(count))


def _bin_values(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct values, rising, and the share of each value.

    If there are more than MOST_VALUES distinct values, neighbours are merged into their mean.
    """
    x, counts = np.unique(values, return_counts=True)
    if len(x) <= MOST_VALUES:
        return x, counts / counts.sum()
    parts = np.array_split(np.sort(values), MOST_VALUES)
    return np.array([part.mean() for part in parts]), np.array([len(part) for part in parts]) / len(values)


def _chances_at_most_zero(x: FloatArray, counts: NDArray[np.int64], loss: float) -> FloatArray:
    """Compute, for each row of counts, the probability that a random sum is at most 0, by saddle point approximation.

    The sum is sum of G_i x_i + E * loss. G_i has a Gamma distribution with the shape count_i, and E an exponential
    distribution.
    x: (k,) values. counts: (rows, k) how often each value occurs. loss: a number < 0.
    """
    values = np.append(x, loss) / max(float(np.abs(x).max()), -loss)
    c = np.column_stack([counts, np.ones(len(counts))]).astype(np.float64)
    y = np.where(c > 0, values, 0.0)  # what a sample lacks: 1 - s y may be at or below 0 of it, and 0 * nan is no 0
    most, least = y.max(axis=1), y.min(axis=1)
    low = 1 / least * (1 - 1e-12)
    never = most <= 0
    high = np.where(never, 0.0, 1 / np.where(never, 1.0, most) * (1 - 1e-12))
    squares = np.maximum(np.einsum("ij,ij->i", c, np.square(y)), 1e-300)
    s = np.clip(-np.einsum("ij,ij->i", c, y) / squares, low / 2, high / 2)
    for _ in range(NEWTON_STEPS):
        ratios = y / (1 - s[:, None] * y)
        slope = np.einsum("ij,ij->i", c, ratios)
        bend = np.einsum("ij,ij->i", c, np.square(ratios))
        low, high = np.where(slope < 0, s, low), np.where(slope < 0, high, s)
        before, s = s, s - slope / bend
        s = np.where((s > low) & (s < high), s, (low + high) / 2)
        if np.all(np.abs(s - before) <= 1e-9):
            break
    cumulant = -np.einsum("ij,ij->i", c, np.log1p(-s[:, None] * y))
    ratios = y / (1 - s[:, None] * y)
    r = np.sign(s) * np.sqrt(np.maximum(-2 * cumulant, 0.0))
    u = s * np.sqrt(np.einsum("ij,ij->i", c, np.square(ratios)))
    near = np.abs(r) < 1e-4
    safe = np.where(near, 1.0, r)
    density = np.exp(-np.square(safe) / 2) / math.sqrt(2 * math.pi)
    tail = np.where(near, 0.5, ndtr(safe) + density * (1 / safe - 1 / np.where(near, 1.0, u)))
    return np.where(never, 1.0, np.clip(tail, 1e-300, 1 - 1e-16))
