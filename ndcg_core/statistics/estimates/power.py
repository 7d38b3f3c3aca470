"""How many queries a comparison needs, and what a number of queries can show: power, planned beforehand.

Power is stated for an effect that is chosen before the comparison (the smallest that would matter), never for the
effect that was found: such "observed power" is the p-value in another form and says nothing about more queries.

Sources: H. S. Bloom, Minimum Detectable Effects, Evaluation Review 19 (1995) (the formula). T. Sakai, Laboratory
Experiments in Information Retrieval (2018), chapters 6 and 7 (choosing the number of queries). J. M. Hoenig and
D. M. Heisey, The Abuse of Power, The American Statistician 55 (2001) (against observed power).
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ndcg_core.statistics.distributions import stdtr, stdtrit
from ndcg_core.statistics.estimates.mean_difference import Moments, minimal_detectable_effect

FEWEST = 2
MOST = 10**12
"""Numbers of queries that are looked at."""


class Detectable(NamedTuple):
    """n: queries, >= 2. effect: the mean difference, >= 0 and in the metric's unit, that they detect."""

    n: int
    effect: float


def queries_needed(
    effect: float,
    standard_deviation: float,
    alpha: float = 0.05,
    power: float = 0.8,
    freedom: Callable[[int], float | None] = lambda n: None,
) -> int:
    """Return the smallest n >= 2 whose minimal detectable effect is not above `effect`; exact, by bisection.

    effect: > 0, chosen beforehand, in the metric's unit. standard_deviation: of the differences of queries like those
    to come, >= 0 (0 gives 2). alpha: in (0, 1), of the two-sided test. power: in (alpha, 1); at alpha the test is
    there without any effect. freedom: n -> degrees of freedom, not falling with n, where weights leave under n - 1.
    Raises ValueError for values out of range, or where 10^12 queries are not enough.
    """
    if not 0 < effect < math.inf:
        raise ValueError(f"effect == {effect}, must be above 0 and finite")
    if power <= alpha:
        raise ValueError(f"power == {power}, must be above alpha == {alpha}")

    def enough(n: int) -> bool:
        detected = minimal_detectable_effect(n, standard_deviation, alpha, power, freedom(n))
        return standard_deviation == 0 or detected <= effect

    minimal_detectable_effect(FEWEST, standard_deviation, alpha, power)  # refuses what is out of range
    if not enough(MOST):
        at = f"standard_deviation == {standard_deviation}"
        raise ValueError(f"effect == {effect} needs more than 10^12 queries at {at}")
    return bisect_left(range(MOST + 1), True, lo=FEWEST, key=enough)


def queries_to_detect(of: Moments, mde: float, effect: float, power: float = 0.8) -> int | None:
    """Return `queries_needed` for an effect in a family whose test detects `mde` with these queries; None beyond 10^12.

    of: moments of the differences observed, deviation > 0. mde: of the family, > 0. The family counts as the two-sided
    level at which one comparison alone detects as much: with one comparison it is the test's own alpha.
    """
    reach = mde / of.error - float(stdtrit(of.freedom, power))
    level = 2 * (1 - float(stdtr(of.freedom, reach)))
    if not 0 < level < power:
        return None
    share = of.freedom / (of.n - 1)
    try:
        return queries_needed(effect, of.deviation, level, power, lambda n: share * (n - 1))
    except ValueError:
        return None


def power_curve(
    queries: Sequence[int],
    standard_deviation: float,
    alpha: float = 0.05,
    power: float = 0.8,
    freedom: Callable[[int], float | None] = lambda n: None,
) -> list[Detectable]:
    """Return what each number of queries detects, in the order given; it falls as 1 / sqrt(n).

    queries: each >= 2. freedom: as for `queries_needed`. The other arguments, and ValueError, as for
    `estimates.mean_difference.minimal_detectable_effect`.
    """
    return [Detectable(n, minimal_detectable_effect(n, standard_deviation, alpha, power, freedom(n))) for n in queries]
