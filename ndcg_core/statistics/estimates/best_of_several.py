"""The best-looking of several candidates: an estimate and an interval that allow for its having been chosen.

The largest of several means is too large on average: it was chosen for being so. Given that the others lie below it,
its distribution around the true mean is truncated; a bound that is no more than a simultaneous interval away keeps the
result finite.

Source: I. Andrews, T. Kitagawa and A. McCloskey, Inference on Winners, The Quarterly Journal of Economics 139 (2024),
sections 4 and 5 (conditional and hybrid). Student's t takes the place of their normal distribution, so that a winner
far ahead of the others has its usual interval. Measured coverage: docs/calibration.md.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ndcg_core.statistics.distributions import stdtr, stdtrit
from ndcg_core.statistics.estimates.mean_difference import Moments
from ndcg_core.statistics.hypothesis_tests.flips import TIE_TOLERANCE
from ndcg_core.statistics.paired import FloatArray, Paired, all_units, centre_units, units_table
from ndcg_core.statistics.verdicts.record import Selection

SHARE = 0.1
"""The part of alpha that the simultaneous interval takes, within which the result stays."""
STEPS = 48  # halvings of some eight errors


class Room(NamedTuple):
    """Where the best mean could have lain and still been the best, given all that does not depend on it."""

    low: float
    high: float


def select_best(paired: Sequence[Paired], of: Sequence[Moments], alpha: float) -> dict[int, Selection]:
    """Number of a column -> what allows for the choice; of the best column of each metric with several candidates.

    The candidates of a metric have one baseline and one slice. None is the best where the two largest means are equal.
    """
    groups: dict[tuple[str, str, str | None, str | None], list[int]] = {}
    for number, pairs in enumerate(paired):
        column = pairs.column
        groups.setdefault((column.baseline, column.metric, column.attribute, column.slice), []).append(number)
    found = {}
    for numbers in groups.values():
        if len(numbers) > 1:
            chosen = [paired[number] for number in numbers]
            means = [of[number] for number in numbers]
            best = max(range(len(numbers)), key=lambda place: means[place].mean)
            selection = make_selection(best, means, covariance_ratios(best, chosen, means), alpha)
            if selection is not None:
                found[numbers[best]] = selection
    return found


def covariance_ratios(best: int, paired: Sequence[Paired], of: Sequence[Moments]) -> FloatArray:
    """(k,) how far each mean goes with the best one: their covariance over the variance of the best; 1 for itself.

    The covariance is that of the units' residuals (clusters, weights), scaled to the errors of the means.
    """
    residuals = units_table(
        paired, [centre_units(pairs, each) for pairs, each in zip(paired, of, strict=True)], all_units(paired)
    )
    norms = np.sqrt(np.square(residuals).sum(axis=0))
    products = residuals.T @ residuals[:, best]
    along = np.divide(products, norms * norms[best], out=np.zeros_like(products), where=norms * norms[best] > 0)
    errors = np.array([each.error for each in of])
    found: FloatArray = np.divide(along * errors, errors[best], out=np.zeros_like(along), where=errors[best] > 0)
    return found


def make_selection(best: int, of: Sequence[Moments], ratio: FloatArray, alpha: float) -> Selection | None:
    """The hybrid estimate and interval at 1 - alpha; None where the best does not vary, or is not the only one."""
    chosen, means = of[best], np.array([each.mean for each in of])
    room = best_mean_bounds(best, means, ratio)
    if chosen.error == 0 or room is None:
        return None
    outer = SHARE * alpha
    reach = float(stdtrit(chosen.freedom, 1 - outer / (2 * len(of))))  # Bonferroni's, over the candidates
    inner = (alpha - outer) / (1 - outer)

    def share(mean: float) -> float:
        return truncated_share(chosen, mean, room, reach)

    levels = (1 - inner / 2, 0.5, inner / 2)
    low, estimate, high = (chosen.clip(_falling_to(share, level, chosen, reach)) for level in levels)
    return Selection(len(of), estimate, low, high)


def best_mean_bounds(best: int, means: FloatArray, ratio: FloatArray) -> Room | None:
    """The bounds of the best mean; None where another one is as large, without being the same candidate over again.

    A mean that goes with the best one by r < 1 lies below it from (other - r best) / (1 - r) on; by r > 1, up to there.
    """
    low, high = -np.inf, np.inf
    for place, (mean, along) in enumerate(zip(means.tolist(), ratio.tolist(), strict=True)):
        if place == best or abs(along - 1) < TIE_TOLERANCE:
            continue
        if means[best] - mean <= TIE_TOLERANCE:
            return None
        bound = (mean - along * means[best]) / (1 - along)
        low, high = (max(low, bound), high) if along < 1 else (low, min(high, bound))
    return Room(float(low), float(high))


def truncated_share(chosen: Moments, mean: float, room: Room, reach: float) -> float:
    """How much of the distribution around this mean lies below the one found, of what is in the room and in reach."""
    low, found, high = (
        (value - mean) / chosen.error
        for value in (
            max(room.low, mean - reach * chosen.error),
            chosen.mean,
            min(room.high, mean + reach * chosen.error),
        )
    )
    if low > 0:  # in the upper tail the shares above are the exact ones
        high, found, low = -low, -found, -high
        return 1 - _between(chosen.freedom, low, found) / max(_between(chosen.freedom, low, high), 1e-300)
    return _between(chosen.freedom, low, found) / max(_between(chosen.freedom, low, high), 1e-300)


def _between(freedom: float, low: float, high: float) -> float:
    return max(float(stdtr(freedom, high)) - float(stdtr(freedom, low)), 0.0)


def _falling_to(share: Callable[[float], float], level: float, chosen: Moments, reach: float) -> float:
    """The mean at which the share, which falls with it, comes down to the level."""
    short, far = chosen.mean - reach * chosen.error, chosen.mean + reach * chosen.error
    for _ in range(STEPS):
        middle = (short + far) / 2
        short, far = (middle, far) if share(middle) > level else (short, middle)
    return (short + far) / 2
