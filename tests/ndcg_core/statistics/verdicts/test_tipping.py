"""The tipping factor: where it begins, which way it goes, and what stands at the label factor."""

from dataclasses import replace

import numpy as np
import pytest

from ndcg_core.statistics.paired import Column
from ndcg_core.statistics.verdicts.comparison import check_guardrails, compare_family
from ndcg_core.statistics.verdicts.tipping import BASELINE, CANDIDATE, FACTORS, Assumed, find_tipping, state_under
from ndcg_core.statistics.verdicts.verdict import State, Verdict, state_of

QUERIES = tuple(f"q{number:03d}" for number in range(60))
NOISE = np.random.default_rng(4).normal(0, 0.1, len(QUERIES))
NOISE -= NOISE.mean()


def column(mean: float, effect: float | None = 0.02) -> Column:
    return Column("old", "new", "ndcg@10", QUERIES, mean + NOISE, smallest_effect=effect)


def moved_by(mean: float, step: float, variance: float = 0.0):  # type: ignore[no-untyped-def]
    """Return differences that lose `step` of their mean at f = 1 and as much again for each unit of f above 1."""

    def assume(factor: float, side: int) -> Assumed:
        return mean + NOISE + side * step * factor, np.full(len(QUERIES), variance)

    return assume


@pytest.mark.parametrize(("step", "factor"), [(0.001, None), (0.02, 5.0), (0.04, 2.0), (0.06, 1.3), (0.08, 1.0)])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_shown_difference_tips_where_the_assumed_one_is_not_shown(step: float, factor: float, sign: int) -> None:
    """Mean .1, error .013, critical value near 2: it is shown down to .027. Both directions are alike."""
    (row,) = compare_family([column(sign * 0.1)])
    found, state = find_tipping(column(sign * 0.1), row, 1.2, moved_by(sign * 0.1, step))
    assert found == factor
    turned = factor is not None and factor <= 1.2
    assert (state is State.UNKNOWN) == turned
    assert turned or state_of(row.conclusion, row.size).has_same_direction(state)


def test_by_more_may_weaken_and_stands() -> None:
    (row,) = compare_family([column(0.1)])
    assert state_of(row.conclusion, row.size) is State.BETTER_BY_MORE
    _, state = find_tipping(column(0.1), row, 1.2, moved_by(0.1, 0.05))  # .04 is shown, and not by more than .02
    assert state is State.BETTER


def test_the_variance_of_the_grades_counts() -> None:
    (row,) = compare_family([column(0.1)])
    assert find_tipping(column(0.1), row, 1.2, moved_by(0.1, 0.05, 0.0))[0] == 1.5
    assert find_tipping(column(0.1), row, 1.2, moved_by(0.1, 0.05, 0.04))[0] == 1.0


@pytest.mark.parametrize(("uncertain", "state"), [("q000", State.OPEN), ("q059", State.BETTER_BY_MORE)])
@pytest.mark.parametrize("step", [1, -1])
def test_the_variance_is_that_of_its_query_in_whatever_order(uncertain: str, state: State, step: int) -> None:
    """q000 weighs 6 of 65: a variance of .5 there is an error of .065 of the mean, and of .011 at another query."""
    ids = QUERIES[::step]
    weights = np.array([6.0 if query == "q000" else 1.0 for query in ids])
    given = replace(column(0.1), query_ids=ids, differences=0.1 + NOISE[::step], weights=weights)
    (row,) = compare_family([given])
    variances = np.array([0.5 if query == uncertain else 0.0 for query in ids])
    assert state_under(given, row, (np.asarray(given.differences), variances)) is state


def test_what_the_queries_leave_open_stays_open() -> None:
    (row,) = compare_family([column(0.001)])
    assert find_tipping(column(0.001), row, 1.2, moved_by(0.001, 0.5)) == (None, State.OPEN)


def test_the_same_is_tried_in_both_directions() -> None:
    same = replace(column(0.0), differences=np.zeros(len(QUERIES)))
    (row,) = compare_family([same])
    assert state_of(row.conclusion, row.size) is State.SAME
    sides = []

    def assume(factor: float, side: int) -> Assumed:
        sides.append(side)
        return np.full(len(QUERIES), 0.03 * (side == BASELINE)), np.zeros(len(QUERIES))

    assert find_tipping(same, row, 1.2, assume)[1] is State.UNKNOWN
    assert {*sides} == {CANDIDATE, BASELINE}


@pytest.mark.parametrize(("step", "state"), [(0.0, State.HOLDS), (0.02, State.HOLDS), (0.15, State.UNKNOWN)])
def test_a_guardrail_holds_by_its_bound_on_the_assumed_differences(step: float, state: State) -> None:
    guarded = column(0.0, 0.2)
    (row,) = check_guardrails([guarded])
    assert row.conclusion is Verdict.NOT_WORSE
    assert find_tipping(guarded, row, 1.2, moved_by(0.0, step))[1] is state


def test_harm_of_a_guardrail_tips_towards_the_baseline() -> None:
    guarded = column(-0.3, 0.02)
    (row,) = check_guardrails([guarded])
    assert row.conclusion is Verdict.WORSE
    assert find_tipping(guarded, row, 1.2, moved_by(-0.3, 0.01))[1] is State.WORSE
    assert find_tipping(guarded, row, 1.2, moved_by(-0.3, 0.3))[0] == 1.0


def test_measured_differences_have_the_measured_state() -> None:
    """A difference just shown is shown at its own values, however wide the family's intervals are."""
    for mean in (0.028, 0.03, 0.05, 0.1):
        (row,) = compare_family([column(mean)])
        found = state_under(column(mean), row, (mean + NOISE, np.zeros(len(QUERIES))))
        assert state_of(row.conclusion, row.size).has_same_direction(found)


def test_the_factors_are_those_of_the_documentation() -> None:
    assert FACTORS == (1.0, 1.1, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0)
