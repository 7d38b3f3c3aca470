"""Benjamini-Hochberg against published cases, scipy.stats and the definition."""

from typing import Any

import pytest
import scipy.stats  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcg_core.statistics.hypothesis_tests.procedures import benjamini_hochberg
from tests.references import cases

p_values = st.lists(st.integers(0, 1_000).map(lambda value: value / 1_000), max_size=30)


# ---- by hand


def test_three_p_values_by_hand() -> None:
    # .01 x 3, .03 x 3 / 2 = .045 lowered to .04 x 1
    assert benjamini_hochberg([0.04, 0.01, 0.03]) == pytest.approx((0.04, 0.03, 0.04))


def test_no_p_value() -> None:
    assert benjamini_hochberg([]) == ()


# ---- published cases


@cases("fifteen_p_values", "bh_1995")
def test_benjamini_and_hochberg(case: dict[str, Any]) -> None:
    adjusted = benjamini_hochberg(case["inputs"]["p"])
    assert adjusted == pytest.approx(case["expected"]["bh"], abs=case["tolerance"]["bh"])
    assert sum(p <= 0.05 for p in adjusted) == case["expected"]["bh_rejections"]


@cases("fifteen_p_values", "r_multtest3")
def test_benjamini_hochberg_as_r_has_it(case: dict[str, Any]) -> None:
    assert benjamini_hochberg(case["inputs"]["p"]) == pytest.approx(
        case["expected"]["bh"], abs=case["tolerance"]["all"]
    )


@cases("fifteen_p_values", "tea_tasting_multiplicity")
def test_the_order_given_is_kept(case: dict[str, Any]) -> None:
    expected, tolerance = case["expected"], case["tolerance"]["all"]
    assert benjamini_hochberg(case["inputs"]["p"]) == pytest.approx(expected["bh"], abs=tolerance)


# ---- properties


@settings(deadline=None)
@given(p_values.filter(bool))
def test_benjamini_hochberg_equals_scipy(values: list[float]) -> None:
    expected = scipy.stats.false_discovery_control(values)
    assert benjamini_hochberg(values) == pytest.approx(expected.tolist(), rel=1e-12)


@settings(deadline=None)
@given(values=p_values, random=st.randoms(use_true_random=False))
def test_the_order_given_changes_no_bit(values: list[float], random: Any) -> None:
    indices = random.sample(range(len(values)), len(values))
    adjusted = benjamini_hochberg(values)
    assert benjamini_hochberg([values[index] for index in indices]) == tuple(adjusted[index] for index in indices)
