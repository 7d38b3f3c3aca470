"""Verdicts of a family: the contract for edge cases, what a p-value must not depend on, how often it errs."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ndcg_core.statistics.hypothesis_tests.flips import sign_flip
from ndcg_core.statistics.verdicts.comparison import Column, compare_family
from ndcg_core.statistics.verdicts.verdict import Verdict
from tests.ndcg_core.statistics.columns import column, compare


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
