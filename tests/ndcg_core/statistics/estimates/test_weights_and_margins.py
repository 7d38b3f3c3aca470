"""Weighted moments, effective number and one-sided tests against a margin."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ndcg_core.statistics.estimates.mean_difference import (
    Moments,
    compute_moments,
    effective_number,
    interval_from_moments,
    not_worse_p_value,
    relative_weights,
)
from tests.references import cases

samples = st.lists(st.integers(-1_000, 1_000).map(lambda value: value / 1_000), min_size=2, max_size=40)
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


@settings(deadline=None)
@given(samples, st.sampled_from([0.1, 1.0, 3.0, 1e6]))
def test_equal_weights_give_the_same_as_none(differences: list[float], weight: float) -> None:
    weights = [weight] * len(differences)
    assert compute_moments(differences, weights) == pytest.approx(compute_moments(differences), rel=1e-12, abs=1e-15)
    assert effective_number(weights) == pytest.approx(len(differences))


def test_a_weight_of_two_is_not_a_query_asked_twice() -> None:
    weighted, repeated = compute_moments([0.1, 0.3, 0.8], [1, 1, 2]), compute_moments([0.1, 0.3, 0.8, 0.8])
    assert weighted.mean == pytest.approx(repeated.mean)
    assert (weighted.n, repeated.n) == (3, 4)
    assert weighted.error > 1.1 * repeated.error


@settings(deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=40))
def test_the_effective_number_lies_between_1_and_n(weights: list[float]) -> None:
    assert 1 - 1e-12 <= effective_number(weights) <= len(weights) + 1e-9


def test_weighted_differences_that_do_not_vary_have_no_deviation() -> None:
    assert 0.2 - 0.1 != 0.5 - 0.4
    of = compute_moments([0.2 - 0.1, 0.5 - 0.4], [1, 9])
    assert of.mean == pytest.approx(0.1)
    assert of.deviation == 0


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"weights have shape \(1,\), must be one for each of 2 differences"),
        ([1.0, 0.0], r"weights\[1\] == 0.0, must be above 0 and finite"),
        ([-1.0, 1.0], r"weights\[0\] == -1.0"),
        ([1.0, math.nan], r"weights\[1\] == nan"),
        ([1.0, math.inf], r"weights\[1\] == inf"),
    ],
)
def test_wrong_weights_are_refused(weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compute_moments([0.1, 0.2], weights)


def test_too_few_differences_are_refused_with_weights_too() -> None:
    with pytest.raises(ValueError, match="n == 1 differences, must be at least 2"):
        compute_moments([0.1], [1.0])


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
