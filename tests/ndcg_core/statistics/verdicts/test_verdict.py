"""Verdicts with a smallest effect, guardrails and notes, checked by hand; a record says what its verdict said."""

import dataclasses
import math

import numpy as np
import pytest

from ndcg_core.statistics.estimates.power import queries_needed
from ndcg_core.statistics.verdicts.comparison import compare_family
from ndcg_core.statistics.verdicts.verdict import Obstacle, Verdict, state_of
from tests.ndcg_core.statistics.columns import around_mean, column, compare, guard

# ---- section 6: the first verdict that matches


@pytest.mark.parametrize(
    ("mean", "effect", "verdict"),
    [
        (0.10, None, "improved"),  # interval .0588 to .1412
        (0.10, 0.058, "improved, by more than 0.058"),
        (0.10, 0.059, "improved"),
        (0.10, 0.142, "improved, smaller than 0.142"),  # equivalent as well; the direction says more
        (-0.10, 0.058, "regressed, by more than 0.058"),
        (-0.10, 0.141, "regressed"),
        (-0.10, 0.142, "regressed, smaller than 0.142"),
        (0.01, 0.050, "equivalent within ±0.05"),  # 90 %: -.0242 to .0442, inside; 95 %: up to .0512, not
        (-0.01, 0.050, "equivalent within ±0.05"),
        (0.01, 0.045, "equivalent within ±0.045"),
        (0.01, 0.044, "undecided (MDE 0.058 > 0.044)"),
        (-0.01, 0.044, "undecided (MDE 0.058 > 0.044)"),
        (0.03, 0.058, "undecided (MDE 0.0583 > 0.058)"),
        (0.03, 0.059, "undecided (MDE 0.058)"),
        (0.03, None, "undecided (MDE 0.058)"),
    ],
)
def test_verdicts_with_a_smallest_effect(mean: float, effect: float | None, verdict: str) -> None:
    found = compare(around_mean(mean), effect)
    assert found.verdict == verdict
    assert found.smallest_effect == effect
    assert (found.low, found.high) == pytest.approx((mean - 0.04119, mean + 0.04119), abs=1e-5)
    assert found.mde == pytest.approx(0.05831, abs=1e-5)


# ---- notes


def test_an_exact_p_beside_drawn_ones_is_adjusted_with_their_error() -> None:
    """Benjamini-Hochberg takes the exact 2 / 64 = .03125 down to the other one's p, near alpha and drawn."""
    exact = column([0.1] * 6 + [0.0] * 30, candidate="exact")
    drawn = column(np.random.default_rng(3).normal(0.0413, 0.1, 40), candidate="drawn")
    found = compare_family([exact, drawn], resamples=1_000, exploratory=True)
    assert (found[0].p_value, found[0].p_adjusted) == (2 / 64, found[1].p_value)
    assert all("within Monte-Carlo error of alpha; raise resamples" in row.notes for row in found)


# ---- the sentence, from the record


def test_what_a_weight_makes_next_to_nothing_of_is_not_counted() -> None:
    """Seven queries differ, but five of them weigh so little that no flip of theirs is seen."""
    found = compare([0.1] * 7 + [0.0] * 3, weights=[1.0] * 2 + [1e-12] * 5 + [1.0] * 3)
    assert (found.differing, found.flippable, found.obstacle) == (7, 2, Obstacle.FEW_DIFFERING)
    assert found.verdict == "not testable (2 differing queries)"
    assert compare([0.1] * 7 + [0.0] * 3).flippable is None


def test_words_without_their_number_and_unknown_words_are_refused() -> None:
    found = compare(around_mean(0.1))
    with pytest.raises(ValueError, match="smallest_effect is None, must be given"):
        _ = dataclasses.replace(found, conclusion=Verdict.EQUIVALENT).verdict
    with pytest.raises(ValueError, match="'better' is not a valid Verdict"):
        dataclasses.replace(found, conclusion="better")


# ---- harm on few queries


@pytest.mark.parametrize(
    ("differences", "largest_loss", "verdict"),
    [
        ([0.001, -0.001] * 100, 1.0, "equivalent within ±0.02"),
        ([0.001, -0.001] * 25, 1.0, "undecided (MDE 0.00041)"),  # 50 < 3 / .02
        ([0.056, -0.044] * 80, 1.0, "undecided (MDE 0.011)"),  # rare losses are, gains not
        ([-0.056, 0.044] * 80, 1.0, "undecided (MDE 0.011)"),  # the other way round
        ([0.001, -0.001] * 25, 0.1, "equivalent within ±0.02"),
        ([0.001, -0.001] * 25, math.inf, "equivalent within ±0.02"),  # by t, as far as is known
        ([0.001, -0.001] * 100, 0.0005, "equivalent within ±0.02"),  # it loses more than it can: not a known range
    ],
)
def test_equivalence_rules_rare_harm_out(differences: list[float], largest_loss: float, verdict: str) -> None:
    found = compare(differences, 0.02, largest_loss=largest_loss)
    assert found.verdict == verdict
    hides = found.conclusion is Verdict.UNDECIDED
    assert hides == ("within 0.02 by its interval, but rare losses are not ruled out" in found.notes)
    assert found.queries_needed is None


@pytest.mark.parametrize(
    ("count", "effect", "note"),
    [
        (60, 0.02, "a loss of 1 on one query in 20 would go unseen with 60 queries"),
        (140, 0.02, "a loss of 1 on one query in 47 would go unseen with 140 queries"),
        (160, 0.02, None),
        (60, None, None),
    ],
)
def test_a_gain_says_which_losses_go_unseen_and_harm_which_gains(
    count: int, effect: float | None, note: str | None
) -> None:
    found = compare([0.1, 0.3] * (count // 2), effect, largest_loss=1.0)
    assert found.conclusion is Verdict.IMPROVED
    assert [each for each in found.notes if "unseen" in each] == ([note] if note else [])
    worse = compare([-0.1, -0.3] * (count // 2), effect, largest_loss=1.0)
    mirrored = note and note.replace("a loss", "a gain")
    assert [each for each in worse.notes if "unseen" in each] == ([mirrored] if note else [])
    harmed = guard([-0.1, -0.3] * (count // 2), effect or 0.02, largest_loss=1.0)
    assert harmed.conclusion is Verdict.WORSE
    assert any("unseen" in each for each in harmed.notes) == (count < 160)


def test_of_drawn_queries_it_names_no_loss() -> None:
    """Each has another largest loss: the difference is scaled."""
    drawn = column([0.1, 0.3] * 30, 0.02, scales=[1.0] * 60)
    (found,) = compare_family([drawn])
    assert "a loss on one drawn query in 20 would go unseen with 60 queries" in found.notes


@pytest.mark.parametrize("effect", [0.01, 0.02, 0.03])
def test_the_queries_for_an_effect_are_those_that_power_says(effect: float) -> None:
    values = np.random.default_rng(4).normal(0.002, 0.15, 60)
    found = compare(values, effect)
    assert found.conclusion is Verdict.UNDECIDED
    assert found.queries_needed == queries_needed(effect, float(np.std(values, ddof=1)))
    noise = [np.random.default_rng(at).normal(0, 0.15, 60) for at in range(9)]
    names = [column(each, effect, f"c{at}", largest_loss=math.inf) for at, each in enumerate([values, *noise])]
    among = compare_family(names)[0]
    assert among.queries_needed > 1.3 * found.queries_needed, "in a family it takes more"


def test_what_a_verdict_means() -> None:
    assert {each for each in Verdict if each.is_detected} == {Verdict.IMPROVED, Verdict.REGRESSED}
    assert [each.direction for each in (Verdict.IMPROVED, Verdict.REGRESSED, Verdict.EQUIVALENT)] == [1, -1, 0]
    assert {each for each in Verdict if each.is_harm} == {Verdict.REGRESSED, Verdict.WORSE}
    assert {each for each in Verdict if each.is_guardrail} == {Verdict.NOT_WORSE, Verdict.MAY_BE_WORSE, Verdict.WORSE}
    assert {each for each in Verdict if each.holds_margin} == {Verdict.NOT_WORSE}
    assert {each for each in Verdict if not each.fails_margin} == {Verdict.NOT_WORSE, Verdict.IDENTICAL}
    assert not any(each.is_detected and each.is_guardrail for each in Verdict)
    open_ones = {each for each in Verdict if state_of(each, None).is_undecided}
    assert open_ones == {Verdict.UNDECIDED, Verdict.NOT_TESTABLE, Verdict.MAY_BE_WORSE}
