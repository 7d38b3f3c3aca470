"""Interval, t test, weights, margins, detectable effects, queries needed: by hand, published cases, scipy.stats."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ndcg_core.statistics.estimates.mean_difference import (
    Interval,
    Moments,
    compute_moments,
    effective_number,
    interval_from_moments,
    mean_difference,
    minimal_detectable_effect,
    not_worse_p_value,
    relative_weights,
    t_p_value,
)
from ndcg_core.statistics.estimates.power import MOST, power_curve, queries_needed
from tests.references import cases


def standard_deviation(differences: Any) -> float:
    return compute_moments(differences).deviation


def t_interval(differences: Any, level: float = 0.95) -> Interval:
    return interval_from_moments(compute_moments(differences), level)


def t_test(differences: Any) -> tuple[float, float, float]:
    """The statistic, the degrees of freedom and p."""
    of = compute_moments(differences)
    return of.mean / of.error, of.freedom, t_p_value(of)


# ---- by hand


def test_three_differences_by_hand() -> None:
    differences = [0.1, 0.2, 0.6]  # mean 0.3; squares around it .04 + .01 + .09 = .14, by n - 1: .07
    assert mean_difference(differences) == pytest.approx(0.3)
    assert standard_deviation(differences) == pytest.approx(math.sqrt(0.07))
    margin = 4.302652729911275 * math.sqrt(0.07 / 3)  # t(.975, 2) from a printed table: 4.303
    assert t_interval(differences) == pytest.approx((0.3 - margin, 0.3 + margin))
    assert t_test(differences)[:2] == pytest.approx((0.3 / math.sqrt(0.07 / 3), 2))


def test_the_mean_is_the_exact_sum_rounded_once() -> None:
    assert mean_difference([1e16, 1.0, -1e16, 1.0]) == 0.5
    assert mean_difference([0.1] * 10) == 0.1


@pytest.mark.parametrize("differences", [[0.0, 0.0], [0.1] * 30, [0.3 - 0.2, 0.5 - 0.4, 0.9 - 0.8]])
def test_equal_differences_have_no_deviation_and_an_interval_of_width_0(differences: list[float]) -> None:
    assert standard_deviation(differences) == 0.0
    low, high = t_interval(differences)
    assert low == high == mean_difference(differences)


def test_t_of_differences_that_do_not_vary() -> None:
    found = [t_p_value(compute_moments([value] * 3)) for value in (0.0, 0.1, -0.1)]
    assert found == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *((lambda level=level: t_interval([0.1, 0.2], level), f"level == {level}") for level in (0, 1, 95, math.nan)),
        (lambda: minimal_detectable_effect(1, 0.1), "n == 1"),
        (lambda: minimal_detectable_effect(9, -0.1), "standard_deviation == -0.1"),
        (lambda: minimal_detectable_effect(9, math.nan), "standard_deviation == nan"),
        (lambda: minimal_detectable_effect(9, 0.1, alpha=0), "alpha == 0"),
        (lambda: minimal_detectable_effect(9, 0.1, power=1), "power == 1"),
    ],
)
def test_what_is_out_of_range_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# ---- published and derived cases

SAKAI = (0.0008059447322440738, 0.14919405526775592)  # the interval in full, of which the book prints four decimals


@cases("twenty_queries", "sakai_xy_paired_t")
def test_two_systems_on_twenty_queries(case: dict[str, Any]) -> None:
    expected, tolerance = case["expected"], case["tolerance"]
    differences = np.subtract(case["inputs"]["x"], case["inputs"]["y"])
    statistic, freedom, p_value = t_test(differences)
    low, high = t_interval(differences)
    deviation = standard_deviation(differences)
    assert mean_difference(differences) == pytest.approx(expected["mean"], abs=tolerance["mean"])
    assert deviation**2 == pytest.approx(expected["var"], abs=tolerance["var"])
    assert mean_difference(differences) / deviation == pytest.approx(expected["dz"], abs=tolerance["dz"])
    assert statistic == pytest.approx(expected["t"], abs=tolerance["t"])
    assert freedom == expected["df"]
    of_t = "p_t" if "p_t" in expected else "p_two_sided"
    assert p_value == pytest.approx(expected[of_t], abs=tolerance[of_t])
    assert (high - low) / 2 == pytest.approx(expected["moe95"], abs=tolerance["moe95"])
    assert (low, high) == pytest.approx(expected.get("ci95", SAKAI), rel=1e-12)


@cases("fifteen_whole_numbers", "fisher_darwin_zea_mays")
def test_fifteen_whole_numbers(case: dict[str, Any]) -> None:
    statistic, _, p_value = t_test(case["inputs"]["d"])
    assert statistic == pytest.approx(case["expected"]["t"], rel=1e-12)
    assert p_value == pytest.approx(case["expected"]["p_t"], rel=1e-12)
    ends = case["expected"].get("ci95") or case["expected"]["ci95_t"]
    assert t_interval(case["inputs"]["d"]) == pytest.approx(tuple(ends), rel=1e-12)


@cases("ten_with_a_tie", "student_sleep")
def test_ten_pairs(case: dict[str, Any]) -> None:
    differences = np.subtract(case["inputs"]["x"], case["inputs"]["y"])
    expected = case["expected"]
    p_value = expected["p"] if "p" in expected else expected["p_t"]
    assert t_test(differences) == pytest.approx((expected["t"], expected["df"], p_value), rel=1e-12)
    assert t_interval(differences) == pytest.approx(tuple(expected["ci95"]), rel=1e-12)


@cases("nine_pairs", "r_tost_paired_1")
def test_intervals_at_two_levels(case: dict[str, Any]) -> None:
    differences = np.subtract(case["inputs"]["x"], case["inputs"]["y"])
    expected = case["expected"]
    assert mean_difference(differences) == pytest.approx(expected["mean"], rel=1e-13)
    assert t_p_value(compute_moments(differences)) == pytest.approx(expected["p_t"], rel=1e-12)
    assert t_interval(differences) == pytest.approx(tuple(expected["ci95"]), abs=1e-13)
    assert t_interval(differences, level=0.9) == pytest.approx(tuple(expected["ci90"]), abs=1e-13)


@cases("eight_of_300", "permtest_p10_sparse")
def test_eight_differing_queries_of_hundreds(case: dict[str, Any]) -> None:
    differences = np.zeros(case["inputs"]["n"])
    differences[:8] = case["inputs"]["nonzero_d"]
    tolerance = case["tolerance"]["p_t"]
    assert t_p_value(compute_moments(differences)) == pytest.approx(case["expected"]["p_t"], abs=tolerance)


@cases("detectable_effects", "mde_table")
def test_minimal_detectable_effect_in_units_of_the_deviation(case: dict[str, Any]) -> None:
    for index, n in enumerate(case["inputs"]["n"]):
        effect = minimal_detectable_effect(n, 1.0)
        assert effect == pytest.approx(case["expected"]["mde_t_plus_t"][index], abs=1e-6)
        assert effect == pytest.approx(case["expected"]["mde_nct"][index], rel=0.002)  # the noncentral t


def test_minimal_detectable_effect_of_other_settings() -> None:
    t = scipy.stats.t(df=39)
    expected = (t.ppf(1 - 0.01 / 2) + t.ppf(0.9)) * 0.2 / math.sqrt(40)
    assert minimal_detectable_effect(40, 0.2, alpha=0.01, power=0.9) == pytest.approx(expected, rel=1e-12)
    assert minimal_detectable_effect(40, 0.0) == 0


# ---- scipy.stats as the second implementation

samples = st.lists(st.integers(-1_000, 1_000).map(lambda value: value / 1_000), min_size=2, max_size=60)


@settings(deadline=None)
@given(samples.filter(lambda values: len(set(values)) > 1), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_t_equals_scipy(differences: list[float], level: float) -> None:
    expected = scipy.stats.ttest_1samp(differences, 0)
    result = t_test(differences)
    assert result == pytest.approx((expected.statistic, expected.df, expected.pvalue), rel=1e-9, abs=1e-12)
    interval = expected.confidence_interval(level)
    assert t_interval(differences, level) == pytest.approx((interval.low, interval.high), rel=1e-9, abs=1e-12)


def test_long_tails_leave_fewer_degrees_of_freedom() -> None:
    """Two of twenty queries differ: by the excess kurtosis of scipy, and of even differences none are taken."""
    values = np.array([0.0] * 18 + [0.5, 0.2])
    plain, found = compute_moments(values), compute_moments(values, long_tailed=True)
    assert found.freedom == pytest.approx(1 / (1 / 19 + scipy.stats.kurtosis(values) / 40)) and found.freedom < 5
    assert found == plain._replace(freedom=found.freedom)
    even = np.linspace(-1, 1, 20)
    assert compute_moments(even, long_tailed=True) == compute_moments(even)
    weights = np.linspace(1, 3, 20)
    weighted = compute_moments(values, weights)
    residuals = weights * (values - weighted.mean)
    fourth = 20 * (residuals**4).sum() / (residuals**2).sum() ** 2
    expected = 1 / (1 / weighted.freedom + (fourth - 3) / 40)
    assert compute_moments(values, weights, long_tailed=True).freedom == pytest.approx(expected)


margins = st.integers(1, 1_000).map(lambda value: value / 1_000)


# ---- weights


def test_two_weighted_differences_by_hand() -> None:
    # shares 1/2 and 3/2; mean (.1 x 1 + .3 x 3) / 4 = .25; residuals .5 x -.15 = -.075 and 1.5 x .05 = .075
    of = compute_moments([0.1, 0.3], [1, 3])
    n, mean, _, freedom = of[:4]
    assert n == 2
    assert mean == pytest.approx(0.25)
    # the variance of one difference is (.1 - .3)^2 / 2 = .02, that of (w1 d1 + w2 d2) / 4 is .02 x (1 + 9) / 16
    assert of.error == pytest.approx(math.sqrt(0.0125))
    assert freedom == 1  # the effective number of 1.6, less one, would be .6
    assert effective_number([1, 3]) == pytest.approx(16 / 10)
    assert relative_weights([1, 3], 2) == pytest.approx([0.5, 1.5])


def test_weighted_differences_that_do_not_vary_have_no_deviation() -> None:
    assert 0.2 - 0.1 != 0.5 - 0.4
    of = compute_moments([0.2 - 0.1, 0.5 - 0.4], [1, 9])
    assert of.mean == pytest.approx(0.1)
    assert of.deviation == 0


# ---- against a margin


def equivalence_p_value(of: Moments, margin: float) -> float:
    """Two one-sided tests."""
    return max(not_worse_p_value(of, margin), not_worse_p_value(of._replace(mean=-of.mean), margin))


@cases("nine_pairs", "r_tost_paired_1")
def test_two_one_sided_tests(case: dict[str, Any]) -> None:
    expected, margin = case["expected"], case["inputs"]["margin"]
    of = compute_moments(np.subtract(case["inputs"]["x"], case["inputs"]["y"]))
    assert of.error == pytest.approx(expected["se"], abs=case["tolerance"]["all"])
    assert equivalence_p_value(of, margin) == pytest.approx(expected["p_tost"], abs=case["tolerance"]["all"])
    assert (equivalence_p_value(of, margin) <= 0.05) == expected["equivalent"]
    assert interval_from_moments(of, 0.9) == pytest.approx(tuple(expected["ci90"]), abs=case["tolerance"]["all"])


@settings(deadline=None)
@given(samples, margins, st.sampled_from([0.01, 0.05, 0.2]))
def test_equivalent_is_the_interval_of_twice_alpha_inside(
    differences: list[float], margin: float, alpha: float
) -> None:
    of = compute_moments(differences)
    low, high = interval_from_moments(of, 1 - 2 * alpha)
    assume(min(abs(low + margin), abs(high - margin)) > 1e-9)
    assert (equivalence_p_value(of, margin) <= alpha) == (-margin < low and high < margin)
    assert (not_worse_p_value(of, margin) <= alpha) == (-margin < low)


def test_not_worse_as_a_one_sided_t_test() -> None:
    differences = [0.1, -0.2, 0.3, 0.05, -0.1]
    expected = scipy.stats.ttest_1samp(differences, -0.05, alternative="greater").pvalue
    assert not_worse_p_value(compute_moments(differences), 0.05) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("mean", "equivalent", "not_worse"),
    [(0.2, 1.0, 0.0), (0.05, 0.0, 0.0), (-0.05, 0.0, 0.0), (-0.2, 1.0, 1.0), (0.1, 1.0, 0.0), (-0.1, 1.0, 1.0)],
)
def test_differences_that_do_not_vary(mean: float, equivalent: float, not_worse: float) -> None:
    of = Moments(9, mean, 0.0, 8)
    assert equivalence_p_value(of, 0.1) == equivalent
    assert not_worse_p_value(of, 0.1) == not_worse


# ---- queries needed and the power curve: both directions of a derived table, minimality and scipy.stats


@cases("detectable_effects", "mde_table")
def test_the_derived_table_from_effects_to_queries(case: dict[str, Any]) -> None:
    """The table's rounding (5e-7) is worth 2 n * 5e-7 / effect queries."""
    for n, effect in zip(case["inputs"]["n"], case["expected"]["mde_t_plus_t"], strict=True):
        slack = math.ceil(2 * n * 5e-7 / effect)
        assert abs(queries_needed(effect, 1.0) - n) <= slack
        assert queries_needed(effect * 1.000001 + 5e-7, 1.0) <= n
        assert queries_needed(effect * 0.999999 - 5e-7, 1.0) > n


def test_a_textbook_number() -> None:
    """34 pairs for d = 0.5 at alpha .05 and power .80 (Cohen's tables, G*Power); the formula is 0.2 % from them."""
    assert queries_needed(0.5, 1.0) == 34
    assert queries_needed(0.05, 0.1) == 34


def test_without_deviation_two_are_enough() -> None:
    assert queries_needed(0.001, 0.0) == 2
    assert queries_needed(0.001, 0.0, alpha=1e-20) == 2
    assert power_curve([2, 50], 0.0) == [0.0, 0.0]


def test_the_largest_number_that_is_looked_at() -> None:
    (effect,) = power_curve([MOST], 1.0)
    assert queries_needed(effect, 1.0) == MOST
    with pytest.raises(ValueError, match=r"needs more than 10\^12 queries at standard_deviation == 1.0"):
        queries_needed(effect * 0.999, 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"effect": 0}, "effect == 0, must be above 0"),
        ({"effect": math.nan}, "effect == nan"),
        ({"standard_deviation": -0.1}, "standard_deviation == -0.1"),
        ({"standard_deviation": math.inf}, "standard_deviation == inf"),
        ({"alpha": 0}, "alpha == 0"),
        ({"alpha": 1, "power": 2}, "alpha == 1"),
        ({"power": 1}, "power == 1"),
        ({"power": math.nan}, "power == nan"),
        ({"power": 0.05}, "power == 0.05, must be above alpha == 0.05"),
        ({"power": 0.01, "standard_deviation": 0.0}, "power == 0.01, must be above alpha"),
    ],
)
def test_values_out_of_range_are_refused(call: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        queries_needed(**{"effect": 0.01, "standard_deviation": 0.1, **call})


@pytest.mark.parametrize("queries", [[1], [50, 0], [-3]])
def test_a_curve_starts_at_two(queries: list[int]) -> None:
    with pytest.raises(ValueError, match="must be at least 2"):
        power_curve(queries, 0.1)
