"""Verdicts of a family: edge cases, what a p must not depend on, how often it errs; smallest effects and notes."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ndcg_core.statistics.estimates.power import queries_needed
from ndcg_core.statistics.hypothesis_tests.flips import sign_flip
from ndcg_core.statistics.verdicts.comparison import Column, compare_family
from ndcg_core.statistics.verdicts.verdict import Obstacle, Verdict, state_of
from tests.ndcg_core.statistics.columns import around_mean, column, compare, guard


def differing(queries: int, seed: int, shift: float = 0.02) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return np.round(rng.normal(shift, 0.1, size=queries), 2) + 0.001  # none of them a tie


BY_HAND = [0.2, 0.0, 0.1, -0.1, 0.3, 0.2, 0.1, 0.0]  # |sum| >= .8: flip nothing or one .1, and mirrored


def test_a_comparison_by_hand() -> None:
    found = compare(BY_HAND)
    assert (found.baseline, found.candidate, found.metric, found.differing) == ("old", "new", "rr", 6)
    assert (found.wins, found.ties, found.losses) == (5, 2, 1) and found.difference == pytest.approx(0.1)
    assert (found.family, found.family_size) == ("primary", 1) and found.p_adjusted == found.p_value
    assert found.procedure == "exact sign-flip and studentised bootstrap, exact step-down max-T (the larger p)"
    assert (found.alpha, found.seed, found.resamples) == (0.05, 1935, 10_000)


# ---- the contract: one row per edge case


@pytest.mark.parametrize(
    ("differences", "verdict", "p_value", "interval", "has_mde", "notes"),
    [
        ([], "not testable (n = 0)", None, None, False, ()),
        ([0.3], "not testable (n = 1)", None, None, False, ()),
        ([0.0], "not testable (n = 1)", None, None, False, ()),
        ([0.1, 0.3], "not testable (2 differing queries)", 0.5, (-1.0706, 1.4706), True, ()),
        ([0.0, 0.0], "identical", 1.0, (0, 0), False, ()),
        ([0.0] * 30, "identical", 1.0, (0, 0), False, ()),
        ([1e-9, -1e-9, 3e-17] * 10, "identical", 1.0, (0, 0), False, ()),
        ([0.3] + [0.0] * 29, "not testable (1 differing query)", 1.0, (-0.0105, 0.0305), True, ()),
        ([0.3] * 5 + [0.0] * 25, "not testable (5 differing queries)", 1 / 16, (0.0075, 0.0925), True, ()),
        ([0.3] * 5, "not testable (5 differing queries)", 1 / 16, (0.3, 0.3), False, ("zero variance",)),
        ([0.3] * 6, "improved", 1 / 32, (0.3, 0.3), False, ("zero variance", "small sample")),
        ([0.3] * 30, "improved", 1 / 10_001, (0.3, 0.3), False, ("zero variance",)),
        ([0.3 - 0.2, 0.7 - 0.6] * 15, "improved", 1 / 10_001, (0.1, 0.1), False, ("zero variance",)),
        ([-0.3] * 30, "regressed", 1 / 10_001, (-0.3, -0.3), False, ("zero variance",)),
        ([0.3] * 6 + [0.0] * 4, "improved", 1 / 32, (0.0692, 0.2908), True, ("small sample",)),
        ([0.3, -0.3] * 15, "undecided (MDE 0.162)", 1.0, (-0.1139, 0.1139), True, ()),
        # s / sqrt(8) = .0463, t(.975, 7) = 2.3646, t(.8, 7) = .8960
        (BY_HAND, "undecided (MDE 0.151)", 8 / 64, (-0.0095, 0.2095), True, ("small sample",)),
    ],
)
def test_edge_cases(
    differences: list[float],
    verdict: str,
    p_value: float | None,
    interval: tuple[float, float] | None,
    has_mde: bool,
    notes: tuple[str, ...],
) -> None:
    comparison = compare(differences)
    assert comparison.verdict == verdict
    assert comparison.p_value == p_value
    assert comparison.p_adjusted in (p_value, 1.0), "the bootstrap looks at six differing queries or more"
    if interval is None:
        assert comparison.low is None
        assert comparison.high is None
    else:
        assert (comparison.low, comparison.high) == pytest.approx(interval, abs=1e-4)
    assert (comparison.mde is not None) == has_mde
    assert comparison.notes == notes
    assert comparison.queries == len(differences)
    assert (comparison.difference is None) == (len(differences) == 0)


THREE = [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    ("columns", "settings", "message"),
    [
        ([column([0.1, 0.2, math.nan], query_ids="abc")], {}, r"'rr': .* query 'c' == nan, must be finite"),
        ([column([0.1, math.inf, 0.3], query_ids="abc")], {}, r"'rr': .* query 'b' == inf, must be finite"),
        ([column(THREE, query_ids="aba")], {}, "candidate 'new', metric 'rr': query 'a' is given twice"),
        ([column([0.1, 0.2], query_ids="abc")], {}, r"'new', .* shape \(2,\), must be one for each of 3 queries"),
        ([column(THREE)], {"alpha": 0}, "alpha == 0"),
        ([column(THREE)], {"alpha": 5}, "alpha == 5"),
        ([column(THREE)], {"seed": -1}, "seed == -1"),
        ([column(THREE)], {"resamples": 0}, "resamples == 0"),
        ([column(THREE)], {"workers": 0}, "workers == 0"),
    ],
)
def test_what_is_refused(columns: list[Column], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare_family([column([0.1, 0.2, 0.3], candidate="first"), *columns], **settings)


def test_no_columns_no_comparisons() -> None:
    assert compare_family([]) == []


def test_alpha_decides_and_sets_the_level_of_the_interval() -> None:
    differences = [0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, -0.1]  # 5 patterns and their mirrors reach the sum
    strict, lenient = compare(differences, alpha=0.02), compare(differences, alpha=10 / 256)
    assert strict.p_value == lenient.p_value == 10 / 256
    assert strict.verdict.startswith("undecided")
    assert lenient.verdict == "improved"
    low, high = np.array([strict.low, lenient.low]), np.array([strict.high, lenient.high])
    assert (high - low)[0] > (high - low)[1]
    assert (strict.mde or 0) > (lenient.mde or 0)


# ---- verdicts, notes and settings


def test_the_verdict_follows_the_adjusted_p() -> None:
    columns = [column([0.1] * 6 + [0.0] * 34)]  # p = 2 / 64
    columns += [column(differing(40, seed, shift=0), candidate=f"system {seed}") for seed in range(20)]
    alone, among = compare_family(columns[:1])[0], compare_family(columns)[0]
    assert alone.verdict == "improved"
    assert among.p_value == alone.p_value == 1 / 32
    assert among.p_adjusted is not None
    assert among.p_adjusted > 0.05
    assert among.verdict.startswith("undecided")


@pytest.mark.parametrize(("alpha", "least"), [(0.05, 6), (2**-5, 6), (0.03, 7), (0.01, 8), (0.001, 11), (0.5, 6)])
def test_fewer_differing_queries_than_could_reach_alpha_are_not_testable(alpha: float, least: int) -> None:
    assert compare([0.1] * least + [0.0] * 3, alpha=alpha).conclusion is not Verdict.NOT_TESTABLE
    too_few = compare([0.1] * (least - 1) + [0.0] * 3, alpha=alpha)
    assert too_few.verdict == f"not testable ({least - 1} differing queries)"


def test_constant_differences_that_miss_alpha_have_no_effect_to_state() -> None:
    steady = column([0.1] * 6, candidate="steady")
    noisy = [column(differing(40, seed, shift=0), candidate=f"system {seed}") for seed in range(9)]
    comparison = compare_family([steady, *noisy])[0]
    assert comparison.verdict == "undecided (zero variance)"
    assert comparison.mde is None


@pytest.mark.parametrize(
    ("scale", "text"), [(1, "0.162"), (0.1, "0.016"), (0.01, "0.002"), (0.001, "0.00016"), (0.00001, "0.0000016")]
)
def test_the_effect_is_readable_at_any_size(scale: float, text: str) -> None:
    comparison = compare([0.3 * scale, -0.3 * scale] * 15)
    assert comparison.verdict == f"undecided (MDE {text})"


@pytest.mark.parametrize(("queries", "notes"), [(29, ("small sample",)), (30, ())])
def test_the_note_on_small_samples_counts_differing_queries(queries: int, notes: tuple[str, ...]) -> None:
    assert compare([*differing(queries, seed=3, shift=0.2), *[0.0] * 50]).notes == notes


def test_the_note_on_monte_carlo_error_near_alpha() -> None:
    note = "within Monte-Carlo error of alpha; raise resamples"
    rng = np.random.default_rng(5)
    seen = set()
    for shift in np.linspace(0, 0.06, 30):
        comparison = compare(rng.normal(shift, 0.1, size=40), resamples=1_000)
        assert comparison.p_adjusted is not None
        near = abs(comparison.p_adjusted - 0.05) <= 3 * math.sqrt(0.05 * 0.95 / 1_000)
        assert (note in comparison.notes) == near
        seen.add(near)
    assert seen == {True, False}


def test_an_exact_family_has_no_monte_carlo_error() -> None:
    assert compare([0.3] * 5 + [0.0] * 25, resamples=100).notes == ()
    assert compare([0.3] * 6 + [0.0] * 4, resamples=100).notes == ("small sample",)


# ---- what p must not depend on


def test_rows_are_sorted_by_the_bytes_of_the_query_id() -> None:
    ids = ["q10", "q9", "Q1", "\U0001f600", "\uff5e", "ä", "z", *(f"t{number}" for number in range(20))]
    differences = differing(len(ids), seed=9)
    by_bytes = sorted(range(len(ids)), key=lambda index: ids[index].encode())
    expected = sign_flip(differences[by_bytes].reshape(-1, 1))
    assert sign_flip(differences.reshape(-1, 1)).p_value != expected.p_value  # flips belong to rows
    (comparison,) = compare_family([column(differences, query_ids=ids)])
    assert comparison.p_value == expected.p_value[0]


# ---- verdicts with a smallest effect, guardrails and notes, checked by hand; a record says what its verdict said


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
