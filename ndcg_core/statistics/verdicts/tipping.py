"""Compute the tipping factor: how much better or worse than judged results unjudged ones must be to change a verdict.

Unjudged results have random grades, as judged results at similar ranks (`ndcg_core.measures.unjudged`). At a factor f,
those that only the favoured system returns gain 1/f times as often, and those that only the other system returns gain
f times as often. The tipping factor is the smallest f at which the state of the comparison changes (docs/labels.md).
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from ndcg_core.statistics.distributions import ndtri
from ndcg_core.statistics.estimates.mean_difference import Moments, half_width, interval_from_half_width
from ndcg_core.statistics.hypothesis_tests.guardrails import margin_evidence
from ndcg_core.statistics.paired import Column, FloatArray, sort_by_query, weigh
from ndcg_core.statistics.verdicts.record import Comparison
from ndcg_core.statistics.verdicts.verdict import State, Verdict, is_within, size_of, state_of

FACTORS = (1.0, 1.1, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0)
CANDIDATE, BASELINE = -1, 1  # the system that a factor is adverse to


# The (n,) expected differences under assumed grades of the unjudged results, in the metric's unit, and their (n,)
# variances over the random grades, in the order of the column's queries
Assumed = tuple[FloatArray, FloatArray]


def find_tipping(
    column: Column, row: Comparison, label_factor: float, assume: Callable[[float, int], Assumed]
) -> tuple[float | None, State]:
    """Find how much better or worse unjudged results must be than judged ones to change the state of a comparison.

    Return the tipping factor, and the state that holds at `label_factor`. The tipping factor is the smallest of
    `FACTORS` at which the direction of the state changes, or None if no factor changes it. The state is the state on
    judged results, a weaker one of the same direction, or UNKNOWN. A state that is open on judged results stays open,
    with the factor None.

    column: the differences if unjudged results gain nothing.
    row: the comparison made from these differences.
    label_factor: >= 1, the factor at which the state must hold.
    assume: function of a factor and of the system to which it is adverse (`CANDIDATE` or `BASELINE`). It returns the
        expected differences and their variances.
    """
    measured = state_of(row.conclusion, row.size)
    if measured.is_undecided:
        return None, measured
    helps, harms = measured.is_gain or measured is State.HOLDS, measured.is_harm
    sides = [side for side, is_spared in ((CANDIDATE, harms), (BASELINE, helps)) if not is_spared]

    def states(factor: float) -> list[State]:
        return [state_under(column, row, assume(factor, side)) for side in sides]

    def have_measured_direction(states: list[State]) -> bool:
        return all(measured.has_same_direction(state) for state in states)

    tipping = next((factor for factor in FACTORS if not have_measured_direction(states(factor))), None)
    reached = states(label_factor)
    if (tipping is not None and tipping <= label_factor) or not have_measured_direction(reached):
        return tipping, State.UNKNOWN
    return tipping, weakest_state([measured, *reached])


def weakest_state(states: Iterable[State]) -> State:
    """Return the weakest of one or more states that have the same direction.

    "Better" is weaker than "better by more", and "worse" is weaker than "worse by more". Return the first state if none
    of the others is weaker.
    """
    first, *others = states
    weaker = {State.BETTER_BY_MORE: State.BETTER, State.WORSE_BY_MORE: State.WORSE}.get(first, first)
    return weaker if weaker in others else first


def state_under(column: Column, row: Comparison, assumed: Assumed) -> State:
    """Return the state of a comparison under assumed grades of unjudged results.

    Nothing is resampled: the critical values `row.reach` and `row.narrow_reach`, in standard errors, come from the
    family's tests on the measured differences. The standard error includes the spread of the assumed differences and
    the randomness of the assumed grades.
    """
    furthest = column.largest_loss / (1.0 if column.scales is None else np.asarray(column.scales))
    assumed_differences, variances = assumed
    differences = np.clip(assumed_differences, -furthest, furthest)
    (pairs,) = sort_by_query([replace(column, differences=differences, baseline_values=None)])
    if not pairs.differences.any() and not variances.any():
        return State.SAME
    moments = pairs.moments()
    if moments is None:
        return State.OPEN
    order = np.argsort(np.array(column.query_ids, dtype=object), kind="stable")
    factors = weigh(weigh(np.ones(len(order)), pairs.shares), pairs.scales)
    label_variance = float(np.sum(np.square(factors) * variances[order])) / len(order) ** 2
    spread = moments._replace(deviation=math.sqrt(moments.deviation**2 + moments.n * label_variance))
    margin = row.smallest_effect
    if row.bound_method is not None:
        assert margin is not None
        low = margin_evidence(pairs, moments, margin, row.alpha).low
        doubt = float(ndtri(1 - row.alpha)) * math.sqrt(label_variance)
        if low is not None and moments.mean - math.hypot(moments.mean - low, doubt) > -margin:
            return State.HOLDS
        return State.WORSE if moments.mean < 0 and _is_shown(spread, row) else State.OPEN
    if _is_shown(spread, row):
        together = interval_from_half_width(spread, _reach(row.reach, spread, row, 1))
        return state_of(Verdict.IMPROVED if spread.mean > 0 else Verdict.REGRESSED, size_of(together, margin))
    narrow = interval_from_half_width(spread, _reach(row.narrow_reach, spread, row, 2))
    return State.SMALLER if margin is not None and is_within(narrow, margin) else State.OPEN


def _is_shown(moments: Moments, row: Comparison) -> bool:
    """Return whether a mean differs significantly from 0.

    The critical value is that of the family's test on the measured differences. If the measured difference is shown,
    the critical value is at most the measured difference in standard errors.
    """
    critical = _reach(row.reach, moments, row, 1)
    if row.measured_error and row.difference is not None and (row.conclusion.is_detected or row.conclusion.is_harm):
        critical = min(critical, abs(row.difference) / row.measured_error)
    return abs(moments.mean) > critical * moments.error * (1 - 1e-12)


def _reach(reach: float | None, moments: Moments, row: Comparison, sides: int) -> float:
    """Return the half-width of an interval in standard errors: `reach`, or by Bonferroni's method if `reach` is None.

    sides: 1 for an interval of level 1 - alpha, 2 for an interval of level 1 - 2 alpha.
    """
    return half_width(moments, 1 - sides * row.alpha, max(1, row.family_size)) if reach is None else reach
