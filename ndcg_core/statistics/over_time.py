"""Evaluate repeatedly: spend alpha over repeated tests, and split the change of a mean between evaluations by cause.

Tests repeated night after night share their queries and depend on each other in unknown ways. A monitor of one
comparison spends a part of alpha on every repetition of the test (`spend_alpha`). The parts sum to alpha: the chance
that any repetition ever rejects a true null hypothesis is at most alpha, under any dependence (union bound).

At such small levels, Student's t and sign flips reject too often if differences are skewed. So p is never smaller than
that of Gaffke's bound (`hypothesis_tests.guardrails`), which allows for losses that the sample does not show.
Measured: docs/calibration.md.

A mean changes because of the ranking, the judgments, or the query set. Each of the three is old or new, which makes
eight means. The part of a cause is the change of the mean when this cause alone changes from old to new, averaged over
the six orders in which the three can change. The parts add up to the total change.

Source: L. S. Shapley, A value for n-person games, Contributions to the Theory of Games II (1953).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_core.statistics.averages import exact_sum
from ndcg_core.statistics.distributions import ndtri
from ndcg_core.statistics.estimates.mean_difference import minimal_detectable_effect
from ndcg_core.statistics.hypothesis_tests.guardrails import bounded_p_value

RESOLUTION = 20
"""Expected number of flips beyond a level, with fewer of which the t test replaces the flips at that level."""
YEAR = 365
"""Number of repetitions of a test, one a night, among which a year's part of alpha is divided evenly."""
ZETA = 2.612375348685488
"""1 + 1 / 2^1.5 + 1 / 3^1.5 + …"""
CLOSE = 1e-3  # relative precision of a detectable effect
Values = NDArray[np.float64]
State = tuple[int, ...]
CAUSES = ("ranking", "judgments", "queries")
SHARES = (2 / 6, 1 / 6, 2 / 6)  # of the six orders, by how many of the other two changed before; two ways to have one


@dataclass(frozen=True, slots=True)
class Evidence:
    """The p-values of one test in a series of repeated tests, before the level of the test is known.

    Attributes
    ----------
    p_adjusted : float
        p-value adjusted over the family of the evaluation.
    p_t : float or None
        p-value of the t test, not adjusted; None if unknown.
    family_size : int
        Number of comparisons that p_adjusted covers, >= 1.
    resamples : int
        Number of random flips from which p_adjusted was computed.
    p_bounded : float or None
        p-value of Gaffke's test, not adjusted; None if the largest loss of a query is unknown, if p_adjusted shows no
        difference, or if the evaluation did not store it.
    """

    p_adjusted: float
    p_t: float | None
    family_size: int
    resamples: int
    p_bounded: float | None = None

    def p_value_at(self, level: float) -> float:
        """Return the p-value to compare with a level, in (0, 1].

        It is the larger one of p_adjusted and, if known, the p-value of Gaffke's test. If the level and p_adjusted are
        both below `RESOLUTION` / (resamples + 1), which so few random flips cannot resolve, the p-value of the t test,
        if known, replaces p_adjusted. The p-values of the t test and of Gaffke's test are multiplied by the family size
        (Bonferroni); the result is at most 1.
        """
        bounded = 0.0 if self.p_bounded is None else self.family_size * self.p_bounded
        flips_can_show = max(level, self.p_adjusted) * (self.resamples + 1) >= RESOLUTION
        p_value = self.p_adjusted if self.p_t is None or flips_can_show else self.family_size * self.p_t
        return min(1.0, max(p_value, bounded))


def spend_alpha(alpha: float, test_number: int) -> float:
    """Return the level of one of a series of repeated tests; the levels of all tests sum to alpha.

    Half of alpha falls as 1 / number^1.5, so that early tests have nearly the power of a single evaluation. The other
    half is divided among years of 365 tests: year y gets 6 / (pi^2 y^2) of it, spread evenly over its tests.
    test_number: number of the test, from 1.
    """
    year = (test_number - 1) // YEAR + 1
    return alpha / 2 * (1 / (ZETA * test_number * math.sqrt(test_number)) + 6 / (math.pi * year) ** 2 / YEAR)


def monitor_tests(tests: Sequence[Evidence], alpha: float) -> list[tuple[float, float]]:
    """Return the (level, p-value) of each repeated test of one comparison.

    A test detects a difference if p-value <= level. If there is no difference, the probability that any of the tests
    detects one is at most alpha. tests: the evidence of the tests, in order of time.
    """
    levels = [spend_alpha(alpha, number) for number in range(1, len(tests) + 1)]
    return [(level, each.p_value_at(level)) for level, each in zip(levels, tests, strict=True)]


def detectable_at(
    level: float, queries: int, deviation: float, largest_loss: float | None, power: float = 0.8
) -> float | None:
    """Return the mean difference that a test at a level detects with a given power.

    Return None if even a difference of largest_loss is not detected.

    queries: number of queries, >= 2.
    deviation: standard deviation of the queries' differences, > 0.
    largest_loss: the most that one query can lose; None if unknown.

    If the largest loss is known, the difference must also be large enough for `bounded_p_value` to detect it in an
    unlucky sample: one whose mean is so low that only a share 1 - power of the samples have a lower mean. Half of the
    sample's values are taken to be one deviation above its mean, and half one deviation below.
    """
    by_t = minimal_detectable_effect(queries, deviation, level, power)
    if largest_loss is None:
        return by_t
    unlucky = float(ndtri(power)) * deviation / math.sqrt(queries)
    signs = np.where(np.arange(queries) % 2, deviation, -deviation)

    def is_detected(effect: float) -> bool:
        values = np.clip(effect - unlucky + signs, -largest_loss, largest_loss)
        return float(values.sum()) > 0 and bounded_p_value(values, largest_loss) <= level

    low, high = 0.0, largest_loss
    if not is_detected(high):
        return None
    while high - low > CLOSE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if is_detected(middle) else (middle, high)
    return max(by_t, high)


class Split(NamedTuple):
    """The change of a mean between two evaluations, split by cause.

    Attributes
    ----------
    before, now : float
        The two means.
    parts : tuple of float
        The change due to each of `CAUSES`, in that order; the parts sum to now - before.
    of_queries : (causes x queries) array of float
        Contribution of each query to each part.
    """

    before: float
    now: float
    parts: tuple[float, ...]
    of_queries: Values


class CombinedMean:
    """A mean that combines the old or new ranking, the old or new judgments, and the old or new query set.

    There are eight such means.

    Parameters
    ----------
    values, weights : (queries,) array of float
        Value and weight of each query; the weight is 0 if the query is not in the set.
    is_shared : (queries,) array of bool
        True if the query is in the old and in the new set.

    Attributes
    ----------
    total : float
        Sum of the weights.
    value : float
        The weighted mean.
    """

    def __init__(self, values: Values, weights: Values, is_shared: NDArray[np.bool_]) -> None:
        self.values, self.weights, self.is_shared = values, weights, is_shared
        self.total = exact_sum(weights)
        self.value = exact_sum(weights * values) / self.total

    def contributions(self, cause: str, middle: float) -> Values:
        """Return the (queries,) contributions of the queries to the mean minus `middle`.

        cause: the cause, one of `CAUSES`, for which the contributions are used. If it is the query set, a query in only
        one of the two sets contributes its difference from the mean of the shared queries. Shared queries then
        contribute nothing to the change as long as their weights keep their proportions.
        """
        shared = np.where(self.is_shared, self.weights, 0.0)
        total = exact_sum(shared)
        if cause != CAUSES[2] or total == 0:
            return self.weights * (self.values - middle) / self.total
        of_shared = exact_sum(shared * self.values) / total
        unshared = (self.weights - shared) * (self.values - of_shared) / self.total
        return shared * (self.values - middle) / total + unshared


def split_change(values: Values, weights: Values) -> Split | None:
    """Split the change of a mean between two evaluations by cause: new rankings, new judgments and new queries.

    Return None if one of the eight combinations of old and new has no query.

    values: (2 rankings x 2 judgments x queries), index 0 for old and 1 for new; NaN if the ranking has no value by the
        judgments. For a query in only one of the sets, only the value of that evaluation is used, so that its effect
        belongs to the query set.
    weights: (2 query sets x queries); 0 if the query is not in the set.
    """
    unshared = [values[0, 0], values[1, 1]]
    is_shared = (weights[0] > 0) & (weights[1] > 0)
    changes: dict[State, CombinedMean] = {}
    for state in product((0, 1), repeat=len(CAUSES)):
        ranking, judgments, queries = state
        weights_used = np.where(is_shared, values[ranking, judgments], unshared[queries])
        weighing = np.where(np.isnan(weights_used), 0.0, weights[queries])
        if not weighing.any():
            return None
        changes[state] = CombinedMean(np.where(weighing > 0, weights_used, 0.0), weighing, is_shared)
    before, now = changes[0, 0, 0].value, changes[1, 1, 1].value
    middle = (before + now) / 2
    parts: list[float] = []
    of_queries = np.zeros((len(CAUSES), values.shape[2]))
    for at, cause in enumerate(CAUSES):
        part = 0.0
        for state, old in changes.items():
            if state[at]:
                continue
            new, share = changes[*state[:at], 1, *state[at + 1 :]], SHARES[sum(state)]
            part += share * (new.value - old.value)
            of_queries[at] += share * (new.contributions(cause, middle) - old.contributions(cause, middle))
        parts.append(part)
    return Split(before, now, tuple(parts), of_queries)
