"""The verdict on one comparison, in words: the first rule that matches, and what to keep in mind.

A verdict never says "no difference": it says what could have been detected, or that the difference is too small to
matter. The rules stand in docs/statistics.md.
"""

import math
from dataclasses import dataclass

from ndcg_core.estimates import Interval, Moments, equivalence_p_value, not_worse_p_value

POWER = 0.8
"""The power at which the minimal detectable effect is stated."""
TESTABLE = 6
"""Differing queries that a verdict needs: with five, the smallest p that any outcome can reach is 2^-4 = .0625."""
SMALL_SAMPLE = 30
"""Below so many differing queries the note `small sample` is given."""


@dataclass(frozen=True, slots=True)
class Tested:
    """What a procedure made of one comparison.

    p_value, p_adjusted, procedure: see `ndcg_core.comparison.Comparison`. certain: whether p_adjusted has no
    Monte-Carlo error. together: the interval that holds with all of the family, where there is one.
    factor: p_adjusted over the share of flips that it comes from.
    """

    p_value: float
    p_adjusted: float
    procedure: str
    certain: bool
    together: Interval | None = None
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Facts:
    """What a verdict is made from.

    queries, differing: counts. of: moments of the differences, None for fewer than two.
    between: the (1 - alpha) interval of the mean. test: None where there are too few queries for one.
    mde: minimal detectable effect, None where nothing varies. smallest_effect: delta, or a guardrail's margin.
    """

    queries: int
    differing: int
    of: Moments | None
    between: Interval | None
    test: Tested | None
    mde: float | None
    smallest_effect: float | None
    alpha: float
    resamples: int
    least_queries: int = 2


def least_differing(alpha: float) -> int:
    """Differing queries below which no outcome reaches alpha: 2^(1 - differing) > alpha; never below TESTABLE."""
    return max(TESTABLE, math.ceil(1 - math.log2(alpha)))


def verdict(facts: Facts) -> str:
    """The first that matches, from top to bottom."""
    if (untestable := _untestable(facts)) is not None:
        return untestable
    assert facts.of is not None and facts.between is not None and facts.test is not None
    margin = facts.smallest_effect
    if facts.test.p_adjusted <= facts.alpha:
        return ("improved" if facts.of.mean > 0 else "regressed") + _size(facts.between, margin)
    # The 1 - 2 alpha interval: two one-sided tests at alpha (Schuirmann 1987).
    if margin is not None and equivalence_p_value(facts.of, margin) < facts.alpha:
        return f"equivalent within ±{margin:g}"
    if facts.mde is None:
        return "no detectable difference (zero variance)"
    lacking = f", underpowered for {margin:g}" if margin is not None and facts.mde > margin else ""
    return f"no detectable difference (MDE = {readable(facts.mde, margin)} at {100 * POWER:.0f} % power){lacking}"


def guardrail_verdict(facts: Facts) -> str:
    """One-sided, declared before the run: is the candidate not worse than the margin?

    The t test has no least p, so that a guardrail can be judged where only few queries differ.
    """
    if facts.test is None:
        return _too_few(facts)
    if facts.differing == 0:
        return "identical"
    assert facts.of is not None and facts.smallest_effect is not None
    holds = not_worse_p_value(facts.of, facts.smallest_effect) < facts.alpha
    return f"{'not' if holds else 'may be'} worse than {facts.smallest_effect:g}"


def notes(facts: Facts, *, skewed: bool = False, guardrail: bool = False) -> tuple[str, ...]:
    """What to keep in mind, in words; often nothing."""
    if facts.test is None or facts.differing == 0:
        return ()
    found = []
    least = 1 if guardrail else least_differing(facts.alpha)
    if guardrail and facts.smallest_effect is not None and facts.test.p_value > 1 - facts.alpha:
        found.append(f"shown to be worse than {facts.smallest_effect:g}")
    if facts.of is not None and facts.of.deviation == 0:
        found.append("zero variance")
    if least <= facts.differing < SMALL_SAMPLE:
        found.append("small sample")
    if facts.differing >= least and not facts.test.certain:
        if _at_floor(facts.test, facts):
            found.append("resamples are too few for so many comparisons; raise resamples")
        elif _near_alpha(facts.test, facts):
            found.append("within Monte-Carlo error of alpha; raise resamples")
    if skewed and facts.differing >= least:
        found.append("skewed differences: the interval may be off")
    return tuple(found)


def readable(effect: float, margin: float | None = None) -> str:
    """An effect > 0 with three decimals, or with two significant digits where those would be 0.000.

    More decimals where an effect would look like the margin that it is not.
    """
    decimals = 3 if round(effect, 3) > 0 else 1 - math.floor(math.log10(effect))
    while margin is not None and effect != margin and round(effect, decimals) == margin and decimals < 15:
        decimals += 1
    return f"{effect:.{decimals}f}"


def _untestable(facts: Facts) -> str | None:
    if facts.test is None:
        return _too_few(facts)
    if facts.differing == 0:
        return "identical"
    if facts.differing < least_differing(facts.alpha):
        return f"not testable ({facts.differing} differing {'query' if facts.differing == 1 else 'queries'})"
    return None


def _too_few(facts: Facts) -> str:
    least = f", fewer than {facts.least_queries}" if facts.least_queries > 2 else ""
    return f"not testable (n = {facts.queries}{least})"


def _size(between: Interval, margin: float | None) -> str:
    if margin is None:
        return ""
    if between.low > margin or between.high < -margin:
        return f", by more than {margin:g}"
    if -margin < between.low and between.high < margin:
        return f", smaller than {margin:g}"
    return ""


def _at_floor(test: Tested, facts: Facts) -> bool:
    """Whether no flip reached the difference, and an adjustment that multiplies p still lifts it above alpha."""
    floor = 1 / (facts.resamples + 1)
    return test.factor > 1 and test.p_adjusted > facts.alpha and math.isclose(test.p_value, floor, rel_tol=1e-12)


def _near_alpha(test: Tested, facts: Facts) -> bool:
    """Whether other flips might well put p_adjusted on the other side of alpha: three standard errors."""
    share = facts.alpha / test.factor
    error = test.factor * math.sqrt(share * (1 - share) / facts.resamples)
    return abs(test.p_adjusted - facts.alpha) <= 3 * error
