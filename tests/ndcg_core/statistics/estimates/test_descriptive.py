"""Effect size, relative change, descriptive tests and carriers: by hand, published cases, scipy.stats, simulation."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcg_core.statistics.estimates import descriptive
from ndcg_core.statistics.estimates.descriptive import CARRIERS, Carrier, Descriptive, describe_differences
from ndcg_core.statistics.estimates.mean_difference import compute_moments, interval_from_moments, t_p_value
from ndcg_core.statistics.hypothesis_tests.flips import set_ties_to_zero
from ndcg_core.statistics.paired import sort_by_query
from tests.examples import examples
from tests.ndcg_core.statistics.columns import column
from tests.references import cases

whole = st.integers(-9, 9)  # few magnitudes: many ties and zeros


def described(differences: Any, level: float = 0.95, **given: Any) -> Descriptive:
    (pairs,) = sort_by_query([column(differences, **given)])
    of = pairs.moments()
    assert of is not None
    return describe_differences(pairs, of, level)


def wilcoxon(differences: Any) -> float:
    return descriptive.wilcoxon(set_ties_to_zero(np.asarray(differences, dtype=np.float64)))


def carrier(query_id: str, difference: float, share: float) -> Carrier:
    """Return a carrier whose share compares as equal up to rounding."""
    about: Any = pytest.approx(share)
    return Carrier(query_id, difference, about)


# ---- Wilcoxon


@cases("fifteen_whole_numbers", "fisher_darwin_zea_mays")
def test_wilcoxon_of_fifteen_whole_numbers(case: dict[str, Any]) -> None:
    assert wilcoxon(case["inputs"]["d"]) == case["expected"]["wilcoxon_exact"]


@cases("nine_pairs", "coin_hollander_wolfe_depression")
def test_wilcoxon_of_nine_pairs(case: dict[str, Any]) -> None:
    differences = np.subtract(case["inputs"]["x"], case["inputs"]["y"])
    assert wilcoxon(differences) == case["expected"]["wilcoxon_two"]


@cases("equal_but_for_rounding", "scipy_wilcoxon_roundoff")
def test_wilcoxon_of_differences_equal_but_for_rounding(case: dict[str, Any]) -> None:
    """-.025, .05, .05, -.05 have the ranks 1, 3, 3, 3: W+ = 6 of 10, and its mean is 5.

    The sums of all 16 patterns are 0, 1, 3 (three times), 4 (3), 6 (3), 7 (3), 9 and 10: eight of them reach 6, the
    one-sided .5 of the case. None is 5, so that all 16 lie as far from the mean as 6 does: two-sided 1. Raw
    differences would have ranks 1 to 4 and W+ = 5, one-sided 9 / 16, two-sided 1 as well: the test below tells.
    """
    differences = np.subtract(case["inputs"]["x"], case["inputs"]["y"])
    assert len(set(np.abs(differences))) > 2
    sums = [sum(pattern) for pattern in itertools.product((0, 1), (0, 3), (0, 3), (0, 3))]
    assert np.mean(np.array(sums) >= 6) == case["expected"]["wilcoxon_greater_ties_respected"]
    assert wilcoxon(differences) == 1.0


def test_wilcoxon_sees_magnitudes_equal_but_for_rounding() -> None:
    noise = [0.9 - 0.8, 0.3 - 0.2, 0.5 - 0.4, 0.2 - 0.1, 0.4 - 0.5, 0.7 - 0.4]
    assert len({abs(value) for value in noise}) > 2
    assert wilcoxon(noise) == wilcoxon([1, 1, 1, 1, -1, 3]) == 12 / 64  # W- = 3: no loss, or any one of the five


def test_wilcoxon_without_a_win_or_loss() -> None:
    assert wilcoxon([]) == wilcoxon([0.0]) == wilcoxon([1e-9] * 9) == 1.0
    assert wilcoxon([1.0]) == wilcoxon([0.0, -1.0, 1e-9]) == 1.0


@settings(deadline=None)
@given(st.lists(whole, min_size=1, max_size=9))
def test_wilcoxon_counts_the_patterns_of_signs(differences: list[int]) -> None:
    ranks = scipy.stats.rankdata(np.abs(differences))[np.array(differences) != 0]
    signs = np.sign([value for value in differences if value != 0])
    patterns = np.array(list(itertools.product((-1, 1), repeat=len(ranks))))
    reached = np.abs(patterns @ ranks) >= abs(signs @ ranks) if len(ranks) else np.ones(1)
    assert wilcoxon(differences) == np.mean(reached)


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=50, unique=True), st.lists(st.booleans(), min_size=50))
def test_exact_wilcoxon_without_ties_equals_scipy(magnitudes: list[int], signs: list[bool]) -> None:
    differences = [size if sign else -size for size, sign in zip(magnitudes, signs, strict=False)]
    expected = scipy.stats.wilcoxon(differences, method="exact").pvalue
    assert wilcoxon(differences) == pytest.approx(expected, rel=1e-12)


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(whole, min_size=51, max_size=300).filter(lambda values: sum(map(bool, values)) > 50))
def test_wilcoxon_of_many_equals_scipy(differences: list[int]) -> None:
    expected = scipy.stats.wilcoxon(differences, zero_method="pratt", correction=False, method="asymptotic").pvalue
    assert wilcoxon(np.array(differences) / 10) == pytest.approx(expected, rel=1e-9)


def test_exact_and_asymptotic_wilcoxon_meet_at_fifty_differing_queries() -> None:
    rng = np.random.default_rng(4)
    differences = rng.normal(0.2, 1, 50)
    asymptotic = scipy.stats.wilcoxon(differences, method="asymptotic").pvalue
    assert wilcoxon(differences) == pytest.approx(asymptotic, abs=0.01)
    assert wilcoxon(differences) != pytest.approx(asymptotic, abs=1e-9)
    more = np.concatenate((differences, np.zeros(400), [0.5]))
    asymptotic = scipy.stats.wilcoxon(more, zero_method="pratt", method="asymptotic").pvalue
    assert wilcoxon(more) == pytest.approx(asymptotic, rel=1e-12)


# ---- what describe puts together

DIFFERENCES = [0.0, 0.1, 0.2, -0.1, 0.3]  # mean .1, squares around it .01 + 0 + .01 + .04 + .04 = .1, deviation^2 .025
BASELINE = [0.5, 0.4, 0.2, 0.6, 0.3]  # mean .4


def test_five_queries_by_hand() -> None:
    found = described(DIFFERENCES, baseline_values=BASELINE)
    assert found.effect_size == pytest.approx(0.1 / math.sqrt(0.025))
    assert found.changed == 0.8
    assert found.relative == pytest.approx(0.25)
    residuals = [-0.125, 0.0, 0.15, -0.25, 0.225]  # d - b / 4
    error = math.sqrt(sum(value**2 for value in residuals) / 4) / (math.sqrt(5) * 0.4)
    margin = 2.7764451051977987 * error  # t(.975, 4) from a printed table: 2.776
    assert (found.relative_low, found.relative_high) == pytest.approx((0.25 - margin, 0.25 + margin))
    assert found.p_t == t_p_value(compute_moments(DIFFERENCES))
    assert found.p_wilcoxon == wilcoxon(DIFFERENCES)
    assert found.top_share == pytest.approx(0.6)
    assert found.carriers == (carrier("q0004", 0.3, 0.6), carrier("q0002", 0.2, 0.4), carrier("q0001", 0.1, 0.2))


def test_what_is_not_given_is_not_there() -> None:
    found = described(DIFFERENCES)
    assert (found.relative, found.relative_low, found.relative_high) == (None, None, None)
    assert described(DIFFERENCES, baseline_values=[0.0] * 5).relative is None


def test_weights_by_hand() -> None:
    differences, baseline, weights = [0.4, 0.1, -0.1, 0.15], [0.5, 0.4, 0.6, 0.3], [1.0, 1.0, 4.0, 2.0]
    found = described(differences, baseline_values=baseline, weights=weights)
    relative = 0.4 / 3.9  # sum(w d) = .4 + .1 - .4 + .3; sum(w b) = .5 + .4 + 2.4 + .6
    assert found.relative == pytest.approx(relative)
    residuals = [w / 2 * (d - relative * b) for d, b, w in zip(differences, baseline, weights, strict=True)]
    # squares of w / 2 sum to 5.5, cubes to 9.25: B = 5.5 - 2 x 9.25 / 4 + (5.5 / 4)^2; the effective number is 16 / 5.5
    variance = sum(value**2 for value in residuals) * 5.5 / (4 * (5.5 - 4.625 + 1.375**2))
    error = math.sqrt(variance / 4) / (3.9 / 8)
    margin = scipy.stats.t.ppf(0.975, 16 / 5.5 - 1) * error
    assert (found.relative_low, found.relative_high) == pytest.approx((relative - margin, relative + margin))
    assert found.effect_size == pytest.approx(0.05 / compute_moments(differences, weights).deviation)
    assert found.carriers == (carrier("q0000", 0.4, 1.0), carrier("q0003", 0.15, 0.75), carrier("q0001", 0.1, 0.25))
    assert found.top_share == pytest.approx(1.0)
    assert found.p_wilcoxon == wilcoxon(differences)


def test_the_level_is_that_of_the_relative_change() -> None:
    """With a baseline of 1 everywhere the relative change is the mean difference, and so is its interval."""
    for level in (0.8, 0.95, 0.99):
        found = described(DIFFERENCES, baseline_values=[1.0] * 5, level=level)
        assert (found.relative_low, found.relative_high) == pytest.approx(
            interval_from_moments(compute_moments(DIFFERENCES), level)
        )


def test_over_a_negative_mean_of_the_baseline_more_is_still_a_rise() -> None:
    """Values that should fall are compared with their signs turned: from -4 to -3 is a rise by a quarter."""
    found = described(DIFFERENCES, baseline_values=[-value for value in BASELINE])
    assert found.relative == pytest.approx(0.25)
    assert found.relative_low is not None
    assert found.relative_high is not None
    assert found.relative_low < 0.25 < found.relative_high


def test_nothing_differs() -> None:
    found = described([0.0] * 4, baseline_values=[0.5] * 4)
    assert found == Descriptive(None, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, None, ())


def test_differences_that_do_not_vary() -> None:
    found = described([0.3 - 0.2, 0.5 - 0.4, 0.9 - 0.8])
    assert (found.effect_size, found.changed, found.p_t, found.p_wilcoxon) == (None, 1.0, 0.0, 0.25)
    assert [carrier.query_id for carrier in found.carriers] == ["q0000", "q0001", "q0002"]


# ---- carriers


@pytest.mark.parametrize(
    ("differences", "carriers"),
    [
        ([0.1, -0.2, -0.3, 0.0], (carrier("q0002", -0.3, 0.75), carrier("q0001", -0.2, 0.5))),
        ([1.0, -0.9], (carrier("q0000", 1.0, 10.0),)),
        ([0.2 - 0.1, 0.4 - 0.5], ()),
    ],
    ids=["a loss", "more than the whole", "an effect of 0 but for rounding"],
)
def test_carriers_by_hand(differences: list[float], carriers: tuple[Carrier, ...]) -> None:
    found = described(differences)
    assert (found.top_share, found.carriers) == (carriers[0].share if carriers else None, carriers)


def test_so_many_carriers_equal_ones_by_query_id() -> None:
    differences = [0.5 - 0.4, 0.3 - 0.2, 0.2 - 0.1] * 5  # equal but for rounding, the third the largest
    found = described([*differences, 0.2])
    expected = ["q0015", *(f"q{index:04}" for index in range(CARRIERS - 1))]
    assert [carrier.query_id for carrier in found.carriers] == expected


@pytest.mark.parametrize(("n", "top"), [(2, 1), (99, 1), (100, 1), (101, 2), (200, 2), (1_999, 20)])
def test_one_query_in_a_hundred_rounded_up(n: int, top: int) -> None:
    differences = np.arange(1.0, n + 1)
    found = described(differences)
    assert found.top_share == pytest.approx(differences[-top:].sum() / differences.sum())
    assert [carrier.difference for carrier in found.carriers] == differences[: -CARRIERS - 1 : -1].tolist()


def test_queries_against_the_effect_lower_no_top_share() -> None:
    """Two of 150 queries may carry; only one has the effect's sign."""
    differences = [1.0] + [-0.001] * 149
    assert described(differences).top_share == pytest.approx(1 / 0.851)
