"""How a family is tested: what is in it, the false discovery rate, the bootstrap interval, the flips."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ndcg_core.statistics.hypothesis_tests.procedures import benjamini_hochberg
from ndcg_core.statistics.verdicts.comparison import compare_family
from tests.examples import examples
from tests.ndcg_core.statistics.columns import around_mean, column, family
from tests.references import cases

# ---- Benjamini and Hochberg


def test_three_p_values_by_hand() -> None:
    """.01 x 3, .03 x 3 / 2 = .045 lowered to .04 x 1."""
    assert benjamini_hochberg([0.04, 0.01, 0.03]) == pytest.approx((0.04, 0.03, 0.04))
    assert benjamini_hochberg([]) == ()


@cases("fifteen_p_values", "bh_1995", "r_multtest3", "tea_tasting_multiplicity")
def test_published_p_values(case: dict[str, Any]) -> None:
    adjusted, tolerance = benjamini_hochberg(case["inputs"]["p"]), case["tolerance"]
    assert adjusted == pytest.approx(case["expected"]["bh"], abs=tolerance["bh" if "bh" in tolerance else "all"])
    rejected = sum(p <= 0.05 for p in adjusted)
    assert rejected == case["expected"].get("bh_rejections", rejected)


@settings(deadline=None)
@given(st.lists(st.integers(0, 1_000).map(lambda value: value / 1_000), min_size=1, max_size=30))
def test_benjamini_hochberg_equals_scipy(values: list[float]) -> None:
    expected = stats.false_discovery_control(values)
    assert benjamini_hochberg(values) == pytest.approx(expected.tolist(), rel=1e-12)


# ---- families


def test_slices_of_too_few_queries_are_shown_but_not_tested() -> None:
    rng = np.random.default_rng(4)
    large = [column(rng.normal(0.03, 0.1, 30 + number), candidate=f"c{number}") for number in range(3)]
    small = [column([0.3] * 9, candidate="nine"), column([0.3, -0.2] * 5, candidate="ten")]
    for exploratory in (False, True):
        found = compare_family([small[0], *large, small[1]], least_queries=10, exploratory=exploratory)
        nine, others = found[0], found[1:]
        assert (nine.verdict, nine.procedure, nine.notes) == ("not testable (n = 9, fewer than 10)", "not tested", ())
        assert nine.p_value is nine.p_adjusted is nine.simultaneous_low is None
        assert (nine.difference, nine.low, nine.wins) == (pytest.approx(0.3), pytest.approx(0.3), 9)
        assert [row.family_size for row in found] == [4] * 5
        without = compare_family([*large, small[1]], exploratory=exploratory)
        assert others == [dataclasses.replace(row, least_queries=10) for row in without]
        assert others[3].p_value is not None
    with pytest.raises(ValueError, match="least_queries == 1, must be at least 2"):
        compare_family(large, least_queries=1)


def test_a_family_by_false_discovery_rate_as_scipy_has_it() -> None:
    columns = [*family(columns=6), column([0.1] * 8 + [0.0] * 8, candidate="sparse")]
    found = compare_family(columns, family="slices", exploratory=True)
    raw = [compare_family([each])[0].p_value for each in columns]
    assert [row.p_value for row in found] == raw
    assert [row.p_adjusted for row in found] == pytest.approx(stats.false_discovery_control(raw))
    assert found[-1].procedure == f"exact {found[1].procedure}" == "exact sign-flip, Benjamini-Hochberg"
    assert {(row.family, row.family_size, row.exploratory) for row in found} == {("slices", 7, True)}


def test_families_without_a_quantile_of_flips_hold_together_by_bonferroni() -> None:
    columns = [column(around_mean(0.03), 0.06, "a"), *(column(around_mean(0.0), 0.06, name) for name in "bcde")]
    columns = [dataclasses.replace(each, largest_loss=math.inf) for each in columns]
    found = compare_family(columns, exploratory=True)
    reach = stats.t.ppf(1 - 0.05 / 10, 25)  # five comparisons
    assert (found[0].simultaneous_low, found[0].simultaneous_high) == pytest.approx(
        (0.03 - reach * 0.02, 0.03 + reach * 0.02)
    )
    assert found[0].mde == pytest.approx((reach + stats.t.ppf(0.8, 25)) * 0.02)
    assert "MDE 0.073 > 0.06)" in found[0].verdict
    assert found[1].verdict == "equivalent within ±0.06"  # reaches t(1 - .1/10, 25) * .02 = .0497
    (alone,) = compare_family(columns[:1], exploratory=True)
    assert alone.mde == pytest.approx(0.05831, abs=1e-5)
    assert (alone.simultaneous_low, alone.simultaneous_high) == (alone.low, alone.high)


# ---- properties


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(0, 10**6), st.integers(20, 400), st.integers(1, 400))
def test_more_flips_begin_with_the_fewer(seed: int, fewer: int, more: int) -> None:
    columns = family(seed, shift=0.01)
    first, all_of_them = (compare_family(columns, resamples=m, seed=seed) for m in (fewer, fewer + more))
    for before, after in zip(first, all_of_them, strict=True):
        hits = round(before.p_value * (fewer + 1)) - 1
        assert hits <= round(after.p_value * (fewer + more + 1)) - 1 <= hits + more


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(0, 10**6))
def test_slices_in_the_family_leave_p_as_it_is(seed: int) -> None:
    slices, whole = family(seed)[:1], family(seed)[1:]
    alone, together = compare_family(whole, resamples=99), compare_family([*whole, *slices], resamples=99)
    assert [row.p_value for row in together[:-1]] == [row.p_value for row in alone]
    assert together[-1].p_value == compare_family(slices, resamples=99)[0].p_value
    assert all(1 / 100 <= row.p_value <= row.p_adjusted <= 1 for row in together)
