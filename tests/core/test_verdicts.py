"""Verdicts with a smallest effect, guardrails, procedures, simultaneous intervals and weights, checked by hand."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from ndcg_core.bootstrap import bca_interval
from ndcg_core.comparison import Column, Comparison, check_guardrails, compare_family

Numbers = Sequence[float] | NDArray[np.float64]


def column(differences: Numbers, effect: float | None = None, candidate: str = "new", **given: Any) -> Column:
    ids = given.pop("query_ids", None) or tuple(f"q{number:04d}" for number in range(len(differences)))
    return Column("old", candidate, "rr", tuple(ids), differences, smallest_effect=effect, **given)


def compare(differences: Numbers, effect: float | None = None, **given: Any) -> Comparison:
    """given: what belongs to the column, and the family's settings."""
    own = {name: given.pop(name) for name in ("weights", "baseline_values", "query_ids") if name in given}
    (found,) = compare_family([column(differences, effect, **own)], **given)
    return found


def guard(differences: Numbers, margin: float, **given: Any) -> Comparison:
    (found,) = check_guardrails([column(differences, margin)], **given)
    return found


def around(mean: float) -> list[float]:
    """26 differences, half of them mean + .1, half mean - .1: their standard error is .1 / sqrt(25) = .02.

    t(.975, 25) = 2.0595, t(.95, 25) = 1.7081, t(.8, 25) = .8562: the 95 % interval is mean -/+ .0412, the 90 % one
    mean -/+ .0342, the MDE .0583.
    """
    return [mean + 0.1, mean - 0.1] * 13


def family(seed: int = 2, queries: int = 40, columns: int = 4, shift: float = 0.02) -> list[Column]:
    """Correlated columns, the first of which has half the queries."""
    rng = np.random.default_rng(seed)
    common = rng.normal(shift, 0.1, size=queries)
    found = [column(common + rng.normal(0, 0.05, queries), candidate=f"c{number}") for number in range(columns)]
    half = column(found[0].differences[::2], candidate="c0", query_ids=found[0].query_ids[::2])
    return [half, *found[1:]]


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
        (0.01, 0.044, "no detectable difference (MDE = 0.058 at 80 % power), underpowered for 0.044"),
        (-0.01, 0.044, "no detectable difference (MDE = 0.058 at 80 % power), underpowered for 0.044"),
        (0.03, 0.058, "no detectable difference (MDE = 0.0583 at 80 % power), underpowered for 0.058"),
        (0.03, 0.059, "no detectable difference (MDE = 0.058 at 80 % power)"),
        (0.03, None, "no detectable difference (MDE = 0.058 at 80 % power)"),
    ],
)
def test_verdicts_with_a_smallest_effect(mean: float, effect: float | None, verdict: str) -> None:
    found = compare(around(mean), effect)
    assert found.verdict == verdict
    assert found.smallest_effect == effect
    assert (found.low, found.high) == pytest.approx((mean - 0.04119, mean + 0.04119), abs=1e-5)
    assert found.mde == pytest.approx(0.05831, abs=1e-5)


@pytest.mark.parametrize(
    ("differences", "least", "verdict"),
    [
        ([0.3], 2, "not testable (n = 1)"),
        ([0.3] * 30, 31, "not testable (n = 30, fewer than 31)"),
        ([0.0] * 30, 31, "not testable (n = 30, fewer than 31)"),
        ([0.0] * 30, 2, "identical"),
        ([0.01] * 5 + [0.0] * 95, 2, "not testable (5 differing queries)"),
        ([0.01] * 6 + [0.0] * 94, 2, "improved, smaller than 0.1"),
    ],
)
@pytest.mark.parametrize("procedure", ["max-t", "benjamini-hochberg", "t-holm"])
def test_not_testable_and_identical_come_first(
    differences: list[float], least: int, verdict: str, procedure: Any
) -> None:
    assert compare(differences, 0.1, least_queries=least, procedure=procedure).verdict == verdict


# ---- guardrails


@pytest.mark.parametrize(
    ("mean", "margin", "verdict"),
    [
        (-0.01, 0.045, "not worse than 0.045"),  # lower one-sided 95 % bound: -.01 - .0342; two-sided: -.0512
        (-0.01, 0.044, "may be worse than 0.044"),
        (-0.10, 0.135, "not worse than 0.135"),  # though it has regressed
        (0.10, 0.001, "not worse than 0.001"),
    ],
)
def test_a_guardrail_is_one_sided(mean: float, margin: float, verdict: str) -> None:
    found = guard(around(mean), margin)
    assert found.verdict == verdict
    assert found.lower_bound == pytest.approx(mean - 0.03416, abs=1e-5)
    one_sided = stats.ttest_1samp(around(mean), -margin, alternative="greater").pvalue
    assert found.p_value == found.p_adjusted == pytest.approx(one_sided)
    assert (found.family, found.procedure) == ("guardrails", "one-sided t, every guardrail must hold")
    assert (found.exploratory, found.simultaneous_low, found.smallest_effect) == (False, None, margin)


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([], "not testable (n = 0)"),
        ([0.0] * 30, "identical"),
        ([-0.3] * 5 + [0.0] * 25, "may be worse than 0.01"),  # the t test has no least p
        ([0.3] * 5 + [0.0] * 25, "not worse than 0.01"),
        ([-0.3] * 30, "may be worse than 0.01"),
        ([-0.005] * 30, "not worse than 0.01"),
    ],
)
def test_guardrails_where_data_runs_out(differences: list[float], verdict: str) -> None:
    assert guard(differences, 0.01).verdict == verdict


def test_guardrails_are_not_adjusted_and_count_what_is_tested() -> None:
    alone = guard(around(-0.01), 0.045)
    columns = [column(around(-0.01), 0.045), column(around(-0.2), 0.01, "bad"), column([0.1], 0.01, "short")]
    first, _, short = check_guardrails(columns)
    assert first == dataclasses.replace(alone, family_size=2)
    assert (short.p_value, short.family_size) == (None, 2)


def test_a_guardrail_at_another_alpha() -> None:
    margin = 0.01 + stats.t.ppf(0.99, 25) * 0.02
    assert guard(around(-0.01), margin + 1e-6, alpha=0.01).verdict.startswith("not worse")
    assert guard(around(-0.01), margin - 1e-6, alpha=0.01).verdict.startswith("may be worse")
    with pytest.raises(ValueError, match=r"alpha == 1, must lie"):
        guard(around(0), 0.1, alpha=1)
    with pytest.raises(ValueError, match="candidate 'new', metric 'rr': a guardrail needs a smallest_effect"):
        check_guardrails([column([0.1, 0.2])])


# ---- notes


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("wins", "skewed"), [(8, True), (9, False)])  # of 36: |skew| / 6 = .2227 and .1925
def test_the_note_on_skewed_differences(wins: int, skewed: bool, sign: int) -> None:
    found = compare([0.3 * sign] * wins + [0.0] * (36 - wins))
    assert found.descriptive is not None
    assert found.descriptive.skewness == pytest.approx(sign * {8: 1.33631, 9: 1.15470}[wins], abs=1e-5)
    assert ("skewed differences: the interval may be off" in found.notes) == skewed
    assert compare([0.3 * sign] * 5 + [0.0] * 31).notes == ()  # nothing can be tested


def test_an_exact_p_beside_drawn_ones_is_adjusted_with_their_error() -> None:
    """Benjamini-Hochberg takes the exact 2 / 64 = .03125 down to the other one's p, near alpha and drawn."""
    exact = column([0.1] * 6 + [0.0] * 30, candidate="exact")
    drawn = column(np.random.default_rng(3).normal(0.0413, 0.1, 40), candidate="drawn")
    found = compare_family([exact, drawn], resamples=1_000, procedure="benjamini-hochberg")
    assert (found[0].p_value, found[0].p_adjusted) == (2 / 64, found[1].p_value)
    assert all("within Monte-Carlo error of alpha; raise resamples" in row.notes for row in found)


# ---- families


def test_slices_of_too_few_queries_are_shown_but_not_tested() -> None:
    rng = np.random.default_rng(4)
    large = [column(rng.normal(0.03, 0.1, 30 + number), candidate=f"c{number}") for number in range(3)]
    small = [column([0.3] * 9, candidate="nine"), column([0.3, -0.2] * 5, candidate="ten")]
    for procedure in ("max-t", "benjamini-hochberg", "t-holm"):
        found = compare_family([small[0], *large, small[1]], least_queries=10, procedure=procedure)
        nine, others = found[0], found[1:]
        assert (nine.verdict, nine.procedure, nine.notes) == ("not testable (n = 9, fewer than 10)", "not tested", ())
        assert nine.p_value is nine.p_adjusted is nine.simultaneous_low is None
        assert (nine.difference, nine.low, nine.wins) == (pytest.approx(0.3), pytest.approx(0.3), 9)
        assert [row.family_size for row in found] == [4] * 5
        assert others == compare_family([*large, small[1]], procedure=procedure)
        assert others[3].p_value is not None
    with pytest.raises(ValueError, match="least_queries == 1, must be at least 2"):
        compare_family(large, least_queries=1)


def test_a_preview_is_the_t_test_with_holm() -> None:
    columns = family(columns=5)
    raw = [float(stats.ttest_1samp(each.differences, 0).pvalue) for each in columns]
    rising = sorted(range(5), key=raw.__getitem__)
    found = compare_family(columns, procedure="t-holm", resamples=1)
    assert [row.p_value for row in found] == pytest.approx(raw)
    raised = np.maximum.accumulate([min(1.0, raw[number] * (5 - place)) for place, number in enumerate(rising)])
    assert [found[number].p_adjusted for number in rising] == pytest.approx(raised)
    assert {(row.procedure, row.simultaneous_low) for row in found} == {("t, Holm", None)}


def test_a_family_by_false_discovery_rate_as_scipy_has_it() -> None:
    columns = [*family(columns=6), column([0.1] * 8 + [0.0] * 8, candidate="sparse")]
    found = compare_family(columns, procedure="benjamini-hochberg", family="slices", exploratory=True)
    raw = [compare_family([each])[0].p_value for each in columns]
    assert [row.p_value for row in found] == raw
    assert [row.p_adjusted for row in found] == pytest.approx(stats.false_discovery_control(raw))
    assert found[-1].procedure == f"exact {found[1].procedure}" == "exact sign-flip, Benjamini-Hochberg"
    kept = {(row.family, row.family_size, row.exploratory, row.simultaneous_low) for row in found}
    assert kept == {("slices", 7, True, None)}


@pytest.mark.parametrize("weighted", [False, True])
def test_the_bootstrap_interval_moves_low_and_high_alone(weighted: bool) -> None:
    differences = np.random.default_rng(5).exponential(0.1, 30) - 0.095
    weights = np.arange(1.0, 31.0) if weighted else None
    order = np.random.default_rng(6).permutation(30)
    given: dict[str, Any] = {"query_ids": [f"q{place:04d}" for place in order], "resamples": 500, "alpha": 0.1}
    given["weights"] = None if weights is None else weights[order]
    t, bca = (compare(differences[order], 0.05, interval_method=name, **given) for name in ("t", "bca"))
    expected = bca_interval(differences, level=0.9, resamples=500, seed=1935, weights=weights)
    assert (bca.low, bca.high) == expected != (t.low, t.high)
    assert bca == dataclasses.replace(t, low=bca.low, high=bca.high, interval_method="bca")
    assert t.verdict == "equivalent within ±0.05"


# ---- simultaneous intervals


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(8, 11), st.integers(1, 3), st.sampled_from([0.05, 0.2]), st.booleans())
def test_simultaneous_intervals_by_all_patterns_of_signs(
    seed: int, queries: int, number: int, alpha: float, weighted: bool
) -> None:
    patterns = np.array(list(itertools.product((1, -1), repeat=queries)))
    places = [range(0, queries, 2), *[range(queries)] * (number - 1)]  # of the columns' queries among all
    largest, columns, expected = np.zeros(len(patterns)), [], []
    for each, own in zip(family(seed, queries, number), places, strict=True):
        weights = np.array([1.0 + place % 4 for place in own]) if weighted else np.ones(len(own))
        columns.append(dataclasses.replace(each, weights=weights if weighted else None))
        mean, v, n = np.average(each.differences, weights=weights), weights / weights.mean(), len(own)
        residual = (each.differences - mean) * v
        s2, s3 = (v**2).sum(), (v**3).sum()
        unbiased = n * (s2 - 2 * s3 / n + (s2 / n) ** 2)
        error = math.sqrt(residual @ residual * s2 / unbiased / n)
        flipped = patterns[:, own] * (residual / v)  # every pattern's differences, their mean and its error
        means = flipped @ v / n
        errors = np.sqrt((((flipped - means[:, np.newaxis]) * v) ** 2).sum(axis=1) * s2 / unbiased / n)
        t = np.divide(means, errors, out=np.full(len(means), np.inf), where=errors > 1e-9)
        largest = np.maximum(largest, np.sqrt(n / (1 + (n - 1) / t**2)))
        expected.append((mean, n, error, stats.t.ppf(1 - alpha / 2, n**2 / s2 - 1) * error))
    c = np.sort(largest)[math.ceil((1 - alpha) * len(patterns)) - 1]
    for row, (mean, n, error, alone) in zip(compare_family(columns, alpha=alpha), expected, strict=True):
        if n <= c**2 + 1e-9:
            assert row.simultaneous_low is row.simultaneous_high is None
            continue
        half = max(c * math.sqrt((n - 1) / (n - c**2)) * error, alone)
        assert (row.simultaneous_low, row.simultaneous_high) == pytest.approx((mean - half, mean + half))


@pytest.mark.parametrize("size", [0.07, 0.1, 0.3])
def test_no_simultaneous_interval_where_n_is_too_small(size: float) -> None:
    found = compare([0.2 + size, 0.2 - size] * 3, alpha=0.02)  # 2 of 64 flips reach c^2 = n = 6: more than .02
    assert found.simultaneous_low is found.simultaneous_high is None is not found.low
    assert compare([0.2 + size, 0.2 - size] * 3, alpha=0.05).simultaneous_low is not None
    assert compare([0.2 + size, 0.2 - size]).simultaneous_low is None


def test_simultaneous_intervals_hold_the_single_ones_and_depend_on_no_order() -> None:
    columns = [*family(columns=6, queries=60), column([0.2] * 60, candidate="steady")]
    found = compare_family(columns)
    assert all(row.simultaneous_low <= row.low <= row.high <= row.simultaneous_high for row in found)
    assert min((row.simultaneous_high - row.simultaneous_low) / (row.high - row.low) for row in found[:-1]) > 1.1
    assert (found[-1].simultaneous_low, found[-1].simultaneous_high) == (found[-1].difference, found[-1].difference)
    shuffled = []
    for each in columns:
        order = np.random.default_rng(7).permutation(len(each.query_ids))
        ids = tuple(each.query_ids[place] for place in order)
        shuffled.append(dataclasses.replace(each, query_ids=ids, differences=np.array(each.differences)[order]))
    for workers in (1, 2, 3):
        assert compare_family(shuffled[::-1], workers=workers)[::-1] == found
    assert len({compare_family(columns, seed=seed)[1].simultaneous_low for seed in range(4)}) == 4
    for alone in (compare(each.differences) for each in columns[1:-1]):  # of one comparison: nearly its own
        assert 1 <= (alone.simultaneous_high - alone.simultaneous_low) / (alone.high - alone.low) < 1.1


def test_simultaneous_intervals_cover_all_means_as_often_as_they_say() -> None:
    rng, held = np.random.default_rng(8), 0
    for repetition in range(400):
        common = rng.normal(size=(40, 1))
        table = 0.5 + common + rng.normal(size=(40, 4))
        columns = [column(values, candidate=str(number)) for number, values in enumerate(table.T)]
        rows = compare_family(columns, resamples=199, seed=repetition, workers=1)
        held += all(row.simultaneous_low <= 0.5 <= row.simultaneous_high for row in rows)
    assert 0.92 <= held / 400 <= 0.98


# ---- weights


def test_a_weighted_comparison_by_hand() -> None:
    given: dict[str, Any] = {"query_ids": ["b", "c", "a"], "baseline_values": [0.2, 0.5, 0.8]}
    found = compare([0.2, -0.1, 0.0], weights=[1, 5, 2], **given)
    assert found.difference == pytest.approx((0.2 - 0.5) / 8)
    assert found.unweighted_difference == pytest.approx(0.1 / 3)
    assert found.baseline_mean == pytest.approx((0.2 + 2.5 + 1.6) / 8)
    assert found.effective_queries == pytest.approx(8**2 / (1 + 25 + 4))
    # v = w / (8 / 3); v (d + .0375) = .0890625, -.1171875, .028125; S2 = 4.21875, S3 = 7.06641, B = 1.48535
    error = math.sqrt((0.0890625**2 + 0.1171875**2 + 0.028125**2) * 4.21875 / (3 * 1.48535)) / math.sqrt(3)
    reach = stats.t.ppf(0.975, 8**2 / 30 - 1) * error
    assert (found.low, found.high) == pytest.approx((-0.0375 - reach, -0.0375 + reach), abs=1e-5)
    assert "without weights the difference is +0.0333" in found.notes
    plain = compare([0.2, -0.1, 0.0], **given)
    assert (plain.baseline_mean, plain.effective_queries, plain.unweighted_difference) == (0.5, None, None)
    assert compare([0.2], weights=[3], baseline_values=[0.4]).baseline_mean == 0.4


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 9)), min_size=2, max_size=9), st.integers(0, 9))
def test_the_weighted_test_by_all_patterns_of_signs(rows: list[tuple[int, int]], seed: int) -> None:
    parts = np.array([difference * weight for difference, weight in rows])
    patterns = np.array(list(itertools.product((1, -1), repeat=len(rows))))
    expected = np.mean(np.abs(patterns @ parts) >= abs(parts.sum()))
    order = np.random.default_rng(seed).permutation(len(rows))
    differences, weights = np.array(rows)[order].T
    found = compare(differences / 20, weights=weights / 7, query_ids=[f"q{place}" for place in order])
    assert found.p_value == found.p_adjusted == expected


def test_weights_count_only_against_each_other_and_their_order_not_at_all() -> None:
    columns = family(columns=3, queries=80)
    weights = dict(zip(columns[1].query_ids, np.random.default_rng(9).integers(1, 50, 80), strict=True))

    def found(weigh: Any, turn: int = 1) -> list[Comparison]:
        given = []
        for each in columns:
            ids = each.query_ids[::turn]
            own = {"query_ids": ids, "weights": np.array([weigh(query_id) for query_id in ids], dtype=np.float64)}
            given.append(dataclasses.replace(each, differences=np.array(each.differences)[::turn], **own))
        return compare_family(given)

    expected, plain = found(weights.get), compare_family(columns)
    assert found(lambda name: 4 * weights[name]) == found(lambda name: weights[name] / 2**20) == expected
    assert found(weights.get, turn=-1) == expected
    assert [row.p_value for row in found(lambda name: 3 * weights[name])] == [row.p_value for row in expected]
    assert [row.p_value for row in expected] != [row.p_value for row in plain]
    for row, unweighted in zip(found(lambda name: 0.25), plain, strict=True):
        given = {"effective_queries": row.queries, "unweighted_difference": row.difference}
        assert row == dataclasses.replace(unweighted, **given)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 0, 1], r"weights\[1\] == 0.0, must be above 0"),
        ([1, 1, -2], r"weights\[2\] == -2.0"),
        ([math.nan, 1, 1], r"weights\[0\] == nan, must be above 0 and finite"),
        ([1, math.inf, 1], r"weights\[1\] == inf"),
        ([1, 1], r"weights have shape \(2,\), must be one for each of 3"),
    ],
)
def test_wrong_weights_are_refused_with_their_place(weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match="^candidate 'new', metric 'rr': " + message):
        compare([0.1, 0.2, 0.3], weights=weights)


@pytest.mark.parametrize("heavy", [1e3, 1e9, 1e16])
def test_one_query_with_all_the_weight_gives_no_nan(heavy: float) -> None:
    found = compare(np.random.default_rng(10).normal(0.02, 0.1, 40), 0.01, weights=[heavy] + [1.0] * 39)
    assert found.simultaneous_low <= found.low <= found.difference <= found.high <= found.simultaneous_high


# ---- properties


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(20, 400), st.integers(1, 400))
def test_more_flips_begin_with_the_fewer(seed: int, fewer: int, more: int) -> None:
    columns = family(seed, shift=0.01)
    first, all_of_them = (compare_family(columns, resamples=m, seed=seed) for m in (fewer, fewer + more))
    for before, after in zip(first, all_of_them, strict=True):
        hits = round(before.p_value * (fewer + 1)) - 1
        assert hits <= round(after.p_value * (fewer + more + 1)) - 1 <= hits + more


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_slices_in_the_family_leave_p_as_it_is(seed: int) -> None:
    slices, whole = family(seed)[:1], family(seed)[1:]
    alone, together = compare_family(whole, resamples=99), compare_family([*whole, *slices], resamples=99)
    assert [row.p_value for row in together[:-1]] == [row.p_value for row in alone]
    assert together[-1].p_value == compare_family(slices, resamples=99)[0].p_value
    assert all(1 / 100 <= row.p_value <= row.p_adjusted <= 1 for row in together)
