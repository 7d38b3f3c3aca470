"""How a family is tested: what is in it, the false discovery rate, the bootstrap interval, the flips."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ndcg_core.statistics.estimates.mean_difference import Moments, half_width, minimal_detectable_effect
from ndcg_core.statistics.hypothesis_tests import procedures as module
from ndcg_core.statistics.hypothesis_tests.procedures import (
    BootstrapResult,
    FamilyTest,
    benjamini_hochberg,
    bootstrap_family,
    bootstrap_max_t,
    draw_counts,
    sign_flip_family,
)
from ndcg_core.statistics.paired import sort_by_query
from ndcg_core.statistics.verdicts import verdict
from ndcg_core.statistics.verdicts.comparison import Column, Comparison, check_guardrails, compare_family
from ndcg_core.statistics.verdicts.verdict import Obstacle, Verdict
from tests.examples import examples
from tests.ndcg_core.statistics.columns import around_mean, by_flips, column, compare, family
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


# ---- intervals that hold together, against all patterns of signs


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 10**6), st.integers(8, 11), st.integers(1, 3), st.sampled_from([0.05, 0.2]), st.booleans())
def test_simultaneous_intervals_by_all_patterns_of_signs(
    seed: int, queries: int, number: int, alpha: float, weighted: bool
) -> None:
    patterns = np.array(list(itertools.product((1, -1), repeat=queries)))
    indices = [range(0, queries, 2), *[range(queries)] * (number - 1)]  # of the columns' queries among all
    largest, columns, expected = np.zeros(len(patterns)), [], []
    for each, own in zip(family(seed, queries, number), indices, strict=True):
        weights = np.array([1.0 + index % 4 for index in own]) if weighted else np.ones(len(own))
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
        expected.append((mean, n, error, stats.t.ppf(1 - alpha / 2, n**2 / s2 - 1) * error, s2))
    c = np.sort(largest)[math.ceil((1 - alpha) * len(patterns)) - 1]
    for row, (mean, n, error, alone, s2) in zip(by_flips(columns, alpha=alpha), expected, strict=True):
        if n <= c**2 + 1e-9:
            assert row.simultaneous_low is row.simultaneous_high is None
            continue
        half = alone if number == 1 else max(c * math.sqrt((n - 1) / (n - c**2)) * error, alone)
        assert (row.simultaneous_low, row.simultaneous_high) == pytest.approx((mean - half, mean + half))
        assert row.mde == pytest.approx(half + stats.t.ppf(0.8, n**2 / s2 - 1) * error)


@pytest.mark.parametrize("size", [0.07, 0.1, 0.3])
def test_no_simultaneous_interval_where_n_is_too_small(size: float) -> None:
    def two(**settings: float) -> Comparison:
        twice = [column([0.2 + size, 0.2 - size] * 3, 0.01, candidate=name) for name in "ab"]
        return compare_family(twice, **settings)[0]  # type: ignore[arg-type]

    found = two(alpha=0.02)  # 2 of 64 flips reach c^2 = n = 6: more than .02
    assert found.simultaneous_low is found.simultaneous_high is None is not found.low
    bonferroni = (stats.t.ppf(1 - 0.02 / 4, 5) + stats.t.ppf(0.8, 5)) * size / math.sqrt(5)
    assert found.mde == pytest.approx(bonferroni)
    assert two(alpha=0.05).simultaneous_low is not None


def test_one_comparison_has_its_own_interval_and_detectable_effect() -> None:
    found = compare(around_mean(0.03), 0.01)
    assert (found.simultaneous_low, found.simultaneous_high) == (found.low, found.high)
    assert found.mde == minimal_detectable_effect(26, float(np.std(around_mean(0.03), ddof=1)))


def test_equivalence_comes_from_the_simultaneous_interval_at_one_minus_two_alpha() -> None:
    rng = np.random.default_rng(5)
    columns = [column(rng.permutation(around_mean(0.0)), 0.05, f"c{at}", largest_loss=math.inf) for at in range(8)]
    narrow = compare_family(columns, alpha=0.1)[0]  # its 1 - alpha interval is the 1 - 2 * .05 one
    for effect, words in ((narrow.simultaneous_high + 1e-6, True), (narrow.simultaneous_high - 1e-6, False)):
        found = compare_family([dataclasses.replace(each, smallest_effect=effect) for each in columns])[0]
        assert (found.conclusion is Verdict.EQUIVALENT) == words


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


# ---- comparisons with weights: by hand, and against all patterns of signs


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 9)), min_size=2, max_size=9), st.integers(0, 9))
def test_the_weighted_test_by_all_patterns_of_signs(rows: list[tuple[int, int]], seed: int) -> None:
    parts = np.array([difference * weight for difference, weight in rows])
    patterns = np.array(list(itertools.product((1, -1), repeat=len(rows))))
    expected = np.mean(np.abs(patterns @ parts) >= abs(parts.sum()))
    order = np.random.default_rng(seed).permutation(len(rows))
    differences, weights = np.array(rows)[order].T
    found = compare(differences / 20, weights=weights / 7, query_ids=[f"q{place}" for place in order])
    assert found.p_value == expected


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


@pytest.mark.parametrize("heavy", [1e3, 1e9, 3e10])
def test_one_query_with_nearly_all_the_weight_gives_no_nan(heavy: float) -> None:
    found = compare(np.random.default_rng(10).normal(0.02, 0.1, 40), 0.01, weights=[heavy] + [1.0] * 39)
    assert found.simultaneous_low <= found.low <= found.difference <= found.high <= found.simultaneous_high


@pytest.mark.parametrize("unit", ["query", "cluster"])
def test_a_guardrail_of_one_unit_with_all_the_weight_is_not_tested(unit: str) -> None:
    weights = np.array([1.0, *[1e-20] * 29])
    ids = tuple(f"q{index:02d}" for index in range(30))
    clusters = ids if unit == "cluster" else None
    column = Column(
        "a", "b", "m", ids, np.linspace(0.1, 0.4, 30), weights=weights, clusters=clusters, smallest_effect=0.1
    )
    (found,) = check_guardrails([column])
    assert (found.obstacle, found.p_value, found.lower_bound) == (Obstacle.ONE_HEAVY_QUERY, None, None)
    assert found.verdict == f"not testable (one {unit} has all the weight)"
    assert found.difference == pytest.approx(0.1)


# ---- the studentised bootstrap


RESAMPLES = 700


def skewed(seed: int, queries: int = 40, columns: int = 6, shift: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.exponential(size=(queries, columns)) - 1 + 0.5 * rng.normal(size=(queries, 1)) + shift


def resampled(values: np.ndarray, shares: np.ndarray | None = None, **settings: object) -> BootstrapResult:
    weights = np.ones_like(values) if shares is None else shares
    means = (values * weights).sum(axis=0) / weights.sum(axis=0)
    known = {"levels": (0.95, 0.8), "resamples": RESAMPLES, "seed": 3, "workers": 1, **settings}
    return bootstrap_max_t(means.tolist(), weights * (values - means), shares, **known)  # type: ignore[arg-type]


def open_single_requests(values: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """p, adjusted p and the 95 % bound from t statistics that are computed one resample after the other."""
    means = (values * shares).sum(axis=0) / shares.sum(axis=0)

    def t(counts: np.ndarray, around: np.ndarray) -> np.ndarray:
        weights = counts[:, np.newaxis] * shares
        mean = (weights * values).sum(axis=0) / weights.sum(axis=0)
        squares = (counts[:, np.newaxis] * np.square(shares * (values - mean))).sum(axis=0)
        return np.abs(mean - around) / (np.sqrt(squares) / weights.sum(axis=0))

    observed = t(np.ones(len(values)), np.zeros(values.shape[1]))
    blocks = range(math.ceil(RESAMPLES / module.BLOCK))
    drawn = np.concatenate(
        [counts for block in blocks for counts in draw_counts(len(values), 3, block, RESAMPLES)], axis=1
    )
    found = np.array([t(counts, means) for counts in drawn.T])
    order = np.argsort(-observed)
    p_value = (1 + (found >= observed).sum(axis=0)) / (RESAMPLES + 1)
    p_adjusted, highest = np.zeros(len(observed)), 0.0
    for index, number in enumerate(order):
        reached = (found[:, order[index:]].max(axis=1) >= observed[number]).sum()
        highest = p_adjusted[number] = max(highest, (1 + reached) / (RESAMPLES + 1))
    return p_value, p_adjusted, np.sort(found.max(axis=1))[math.ceil(0.95 * (RESAMPLES + 1)) - 1]


@pytest.mark.parametrize("weighted", [False, True])
def test_resample_by_resample(weighted: bool) -> None:
    values = skewed(1, shift=0.25)
    shares = np.random.default_rng(2).uniform(0.3, 2, values.shape) if weighted else np.ones_like(values)
    if weighted:
        shares[::5, 2] = 0.0  # queries that a column does not have
    p_value, p_adjusted, bound = open_single_requests(values, shares)
    found = resampled(values, shares if weighted else None)
    assert found.p_value == pytest.approx(p_value)
    assert found.p_adjusted == pytest.approx(p_adjusted)
    assert found.quantiles[0] == pytest.approx(bound)
    assert found.quantiles[0] > found.quantiles[1] > 1
    assert all(alone <= adjusted for alone, adjusted in zip(found.p_value, found.p_adjusted, strict=True))


def test_every_resample_draws_as_many_units_as_there_are() -> None:
    counts = np.concatenate(list(draw_counts(31, 4, 1, 300)), axis=1)
    assert counts.shape == (31, 300 - module.BLOCK)
    assert (counts.sum(axis=0) == 31).all()
    assert counts.mean(axis=1) == pytest.approx(np.ones(31), abs=0.6)


def test_what_it_does_not_depend_on(monkeypatch: pytest.MonkeyPatch) -> None:
    values = skewed(5)
    found = resampled(values)
    monkeypatch.setattr("ndcg_core.statistics.hypothesis_tests.flips.WORTH", 1)
    assert resampled(values, workers=3) == found
    assert resampled(values, np.ones_like(values)).p_adjusted == found.p_adjusted
    turned = resampled(values[:, ::-1])
    assert (turned.p_value[::-1], turned.p_adjusted[::-1]) == (found.p_value, found.p_adjusted)
    assert resampled(values * 2.0**-30).p_adjusted == found.p_adjusted, "t has no unit"
    assert resampled(values, seed=4) != found
    monkeypatch.setattr(module, "AT_ONCE", 100)
    assert resampled(values) == found


def test_columns_that_hardly_differ_disturb_no_other() -> None:
    values = skewed(6, columns=3, shift=0.4)
    sparse = np.zeros((40, 2))
    sparse[:2, 0] = 1.0
    found = resampled(np.hstack([values, sparse]), least_values=6)
    assert found.p_value[3:] == found.p_adjusted[3:] == (1.0, 1.0)
    alone = resampled(values)
    assert (found.p_adjusted[:3], found.quantiles) == (alone.p_adjusted, alone.quantiles)
    assert resampled(sparse, least_values=6) == BootstrapResult((1.0, 1.0), (1.0, 1.0), (0.0, 0.0))
    assert resampled(np.full((20, 1), 0.25)).p_value == (1 / (RESAMPLES + 1),), "no variance, and never 0"


HOW = FamilyTest(alpha=0.05, seed=3, resamples=RESAMPLES, workers=1)


def bootstrapped(columns: list[Column]) -> tuple[list[Moments], list[verdict.TestResult]]:
    """The columns as a family of the bootstrap alone."""
    paired = sort_by_query(columns)
    known = [moments for pairs in paired if (moments := pairs.moments()) is not None]
    return known, bootstrap_family(paired, known, HOW)


def test_a_family_by_the_bootstrap() -> None:
    columns = [column(values, candidate=f"c{number}") for number, values in enumerate(skewed(7, shift=0.3).T)]
    known, found = bootstrapped(columns)
    assert {row.procedure for row in found} == {"studentised bootstrap, step-down max-T"}
    for moments, row in zip(known, found, strict=True):
        assert row.reaches.wide > half_width(moments, 0.95)
    moments, (alone,) = bootstrapped(columns[:1])
    assert alone.reaches.wide == half_width(moments[0], 0.95)
    short = dataclasses.replace(
        columns[1], query_ids=columns[1].query_ids[:25], differences=columns[1].differences[:25]
    )
    _, (_, other) = bootstrapped([columns[0], short])
    assert 0 < other.p_value <= other.p_adjusted < 1


def test_a_family_that_decides_has_the_larger_p_and_the_wider_reach_of_both_tests() -> None:
    columns = [column(values, candidate=f"c{number}") for number, values in enumerate(skewed(8, columns=9).T - 0.5)]
    rows = compare_family(columns, resamples=RESAMPLES, seed=3)
    paired = sort_by_query(columns)
    known, drawn = bootstrapped(columns)
    flipped = sign_flip_family(paired, known, HOW)
    for row, moments, one, other in zip(rows, known, flipped, drawn, strict=True):
        assert (row.p_value, row.p_adjusted) == (one.p_value, max(one.p_adjusted, other.p_adjusted))
        reach = max(one.reaches.wide, other.reaches.wide)
        assert row.simultaneous_high == pytest.approx(moments.mean + reach * moments.error)
    assert any(
        (one.p_adjusted <= 0.05) != (other.p_adjusted <= 0.05) for one, other in zip(flipped, drawn, strict=True)
    )


def test_both_tests_decide_at_every_size_with_fewer_resamples_where_it_is_large() -> None:
    how = FamilyTest(alpha=0.05, seed=3, resamples=10_000, workers=1)
    assert how.for_bootstrap(1_001, 1) == how
    assert how._replace(alpha=0.001).for_bootstrap(10**6, 50).resamples == 10_000
    counts = [how.for_bootstrap(units, 50).resamples for units in range(1_000, 10_000)]
    assert all(0 <= before - after <= before / 500 for before, after in itertools.pairwise(counts)), "no jump"
    assert (counts[0], counts[-1]) == (10_000, 2_000)
    rng = np.random.default_rng(1)
    for units, columns in ((1_000, 1), (1_001, 1), (10, 501)):
        family = [column(each, candidate=f"c{at}") for at, each in enumerate(rng.normal(size=(columns, units)))]
        assert {"bootstrap" in row.procedure for row in compare_family(family, resamples=99)} == {True}


@pytest.mark.parametrize(("queries", "ties"), [(20, 1), (41, 1), (41, 2)])
def test_equal_losses_beside_a_few_ties_are_shown(queries: int, ties: int) -> None:
    """A resample that draws no tie does not vary at all: a third of them, of 41 queries with one."""
    values = np.where(np.arange(queries) < ties, 0.0, -0.5)[:, np.newaxis]
    found = resampled(values, resamples=2000)
    assert found.p_adjusted[0] == 1 / 2001
    assert math.isfinite(found.quantiles[0])
