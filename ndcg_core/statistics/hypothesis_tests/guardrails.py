"""Test guardrails: whether a candidate is not worse than a margin, one-sided, declared before the run.

The bound is Gaffke's (`hypothesis_tests.bounded_mean`), which rare harm cannot pass, or Student's t if the largest loss
of a query is unknown (docs/guardrails.md).
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ndcg_core.statistics.estimates import mean_difference as estimates
from ndcg_core.statistics.estimates.mean_difference import Interval, Moments
from ndcg_core.statistics.estimates.power import queries_needed, queries_to_hold
from ndcg_core.statistics.hypothesis_tests import bounded_mean as bounded
from ndcg_core.statistics.hypothesis_tests.flips import TIE_TOLERANCE
from ndcg_core.statistics.paired import FloatArray, Paired
from ndcg_core.statistics.verdicts import verdict as verdicts
from ndcg_core.statistics.verdicts.verdict import POWER, SMALL_SAMPLE, Conclusion, Facts, Obstacle, Verdict

GAFFKE, STUDENT = "gaffke", "t"


class Bound(NamedTuple):
    """The evidence that a mean difference is above -margin.

    Attributes
    ----------
    p_value : float
        One-sided p-value of the test that the mean is -margin or less.
    low : float or None
        Lower one-sided (1 - alpha) bound of the mean, in the metric's unit; None if nothing differs and the metric's
        range is unknown.
    method : str
        How `p_value` and `low` are computed: "gaffke", or "t" if the largest loss of a query is unknown.
    is_shown_worse : bool
        True if the upper bound shows that the mean is below -margin.
    needed : int or None
        Number of units that rule out a loss of the margin if all of them are ties; None if unknown.
    """

    p_value: float
    low: float | None
    method: str
    is_shown_worse: bool
    needed: int | None


def margin_evidence(pairs: Paired, moments: Moments, margin: float, alpha: float) -> Bound:
    """Return the evidence that the mean difference of a column is above -margin, or that it is below.

    pairs: a column of at least two units. moments: the moments of its differences.
    margin: > 0, in the metric's unit. alpha: level of the one-sided bounds, in (0, 1).
    Raises ValueError if a difference is below -largest_loss, or if margin or largest_loss is not above 0.
    """
    worst = pairs.column.largest_loss
    if not 0 < margin < math.inf:
        raise ValueError(f"{pairs.column}: smallest_effect == {margin}, must be above 0 and finite")
    if not worst > 0:
        raise ValueError(f"{pairs.column}: largest_loss == {worst}, must be above 0")
    lost = pairs.differences < -worst - TIE_TOLERANCE
    if lost.any():
        index = int(np.argmax(lost))
        query_id, value = pairs.query_ids[index], pairs.differences[index]
        raise ValueError(
            f"{pairs.column}: the difference of query {query_id!r} == {value}, must not be below -largest_loss =="
            f" {-worst}; math.inf says that the largest loss is not known"
        )
    if np.isinf(worst) and not pairs.differences.any():
        return Bound(1.0, None, STUDENT, False, None)
    if np.isinf(worst):
        p_value = estimates.not_worse_p_value(moments, margin)
        return Bound(p_value, estimates.lower_bound(moments, alpha), STUDENT, p_value > 1 - alpha, None)
    values, shares = np.clip(pairs.units.values, -worst, None), pairs.units.shares
    needed = bounded.queries_to_rule_out(margin, alpha, worst, shares)
    return Bound(
        bounded.not_worse_p_value(values, margin, worst, shares),
        moments.clip(bounded.lower_bound(values, alpha, worst, shares)),
        GAFFKE,
        moments.mean < -margin
        and bounded.not_worse_p_value(-np.minimum(values, worst), -margin, worst, shares) < alpha,
        needed,
    )


def guardrail_verdict(facts: Facts, bound: Bound | None) -> Conclusion:
    """Conclude the verdict on a guardrail.

    It is the first of these that applies: not testable, not worse, worse, identical, loss not ruled out. No number of
    differing queries is required, because the bound allows for few of them.
    bound: the evidence of `margin_evidence`; None if the guardrail cannot be tested.
    """
    if facts.test is None or bound is None:
        return verdicts.conclude_not_testable(facts)
    if bound.p_value < facts.alpha:
        return Conclusion(Verdict.NOT_WORSE)
    has_loss, harm = facts.moments is not None and facts.moments.mean < 0, facts.test.harm
    is_shown = harm is not None and harm <= facts.alpha and facts.differing >= verdicts.least_differing(facts.alpha)
    if has_loss and is_shown:  # by the rule of `verdict.conclude` for primary metrics
        return Conclusion(Verdict.WORSE)
    lacks = bound.needed is not None and facts.units < bound.needed and not bound.is_shown_worse
    obstacle = Obstacle.FEW_TO_RULE_OUT if lacks else None
    return Conclusion(Verdict.MAY_BE_WORSE if facts.differing else Verdict.IDENTICAL, obstacle=obstacle)


def guardrail_notes(facts: Facts, bound: Bound | None) -> Iterator[str]:
    """Yield notes on a guardrail's result, as sentences; nothing if `bound` is None because it was not tested."""
    if bound is None:
        return
    conclusion = guardrail_verdict(facts, bound)
    if bound.is_shown_worse and conclusion.kind is Verdict.WORSE:
        yield f"shown to be worse than {facts.smallest_effect:g}"
    if bound.method == STUDENT:
        yield "the metric's range is not known: rare harm may go unseen"
    if conclusion.kind is Verdict.MAY_BE_WORSE and conclusion.obstacle is not None:
        count, (one, many) = facts.units, verdicts.unit_names(facts.clusters)
        few = facts.differing < min(SMALL_SAMPLE, count)
        verb = "differs" if facts.differing == 1 else "differ"
        size = f"only {facts.differing} of {count} {many} {verb}" if few else f"{count} {one if count == 1 else many}"
        yield f"{size}: {bound.needed} without a difference rule out a loss of {facts.smallest_effect:g}"


def queries_to_decide(pairs: Paired, moments: Moments, margin: float, alpha: float) -> int | None:
    """Estimate the number of units with which an undecided guardrail is decided with 80 % probability.

    The units are assumed to be like the observed ones. If the measured loss is within the margin, the guardrail must be
    shown to hold; otherwise it must be shown to be worse. Return None if no number of units suffices.
    """
    worst = pairs.column.largest_loss
    if moments.mean > -margin and np.isfinite(worst):
        values, shares = np.clip(pairs.units.values, -worst, None), pairs.units.shares
        if shares is not None:  # as the bound counts them: by how far from -margin, next to the heaviest one
            values = shares / shares.max() * (values + margin) - margin
        return queries_to_hold(values, margin, worst, alpha, POWER)
    effect = moments.mean + margin if moments.mean > -margin else -moments.mean
    sides = 2 if moments.mean > -margin else 1  # the bound is one-sided, the test for harm is not
    if moments.deviation == 0 or effect <= 0:
        return None
    least = (
        verdicts.least_differing(alpha) if sides == 1 else 2
    )  # the test for harm needs as many, however large the loss
    return max(least, queries_needed(effect, moments.deviation, sides * alpha, POWER))


def rules_out_rare(pairs: Paired, narrow: Interval, level: float) -> bool:
    """Return whether rare large losses and gains are ruled out, as a verdict of equivalence requires.

    They are ruled out if Gaffke's bounds lie within the smallest effect on both sides. The result is True, too, if
    Gaffke's bounds have nothing to decide:

    - there is no smallest effect, or `narrow` does not lie within it;
    - the largest loss of a query is unknown, or at most the smallest effect;
    - an observed difference is larger than the largest loss.

    narrow: the simultaneous interval of the mean. level: level of Gaffke's one-sided tests.
    """
    margin, worst, values = pairs.column.smallest_effect, pairs.column.largest_loss, _bounded_values(pairs)
    if margin is None or values is None or margin >= worst or not -margin < narrow.low <= narrow.high < margin:
        return True
    shares = pairs.units.shares
    return all(bounded.not_worse_p_value(side, margin, worst, shares) < level for side in (values, -values))


def difference_p_value(pairs: Paired) -> float | None:
    """Compute the two-sided p-value of the mean difference by Gaffke's test.

    Return None if the largest possible loss of a query is unknown, or if the difference of a unit (query or cluster) is
    larger than that, as a loss or as a gain.
    """
    values = _bounded_values(pairs)
    return None if values is None else bounded.bounded_p_value(values, pairs.column.largest_loss, pairs.units.shares)


def _bounded_values(pairs: Paired) -> FloatArray | None:
    """Return the values of the units, clipped to [-largest loss, largest loss].

    Return None if the largest loss is unknown, or if a value exceeds it by more than rounding.
    """
    worst, values = pairs.column.largest_loss, pairs.units.values
    if np.isinf(worst) or float(np.abs(values).max(initial=0.0)) > worst + TIE_TOLERANCE:
        return None
    return np.clip(values, -worst, worst)


def unseen_losses(pairs: Paired, alpha: float) -> int | None:
    """Return M if losses on one query in M could matter and yet be missing in the sample; else None.

    If one query in M = n / -log(alpha) has the largest loss (n / 3 at .05), a sample of n queries has no such query
    with probability alpha. Return None if the mean loss would then be at most the smallest effect, if there is no
    smallest effect, if the largest loss is unknown, or if there are fewer than two units.
    """
    effect, worst, count = pairs.column.smallest_effect, pairs.column.largest_loss, len(pairs.units.names)
    if effect is None or np.isinf(worst) or count < 2:
        return None
    loss = count / -math.log(alpha)
    return max(1, round(loss)) if worst / loss > effect else None
