"""Intervals that hold together, against all patterns of signs and by simulation."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ndcg_core.statistics.estimates.mean_difference import minimal_detectable_effect
from ndcg_core.statistics.verdicts.comparison import Comparison, compare_family
from ndcg_core.statistics.verdicts.verdict import Verdict
from tests.examples import examples
from tests.ndcg_core.statistics.columns import around_mean, by_flips, column, compare, family


@pytest.mark.slow
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


def test_words_of_size_hold_for_the_whole_family() -> None:
    """Alone .10 is beyond .058, within .142 and .01 equivalent within .05: tests/…/test_verdict.py. In company not."""
    rng = np.random.default_rng(5)
    noise = [rng.permutation(around_mean(0.0)) for _ in range(8)]

    def among(mean: float, effect: float) -> Comparison:
        others = [column(values, effect, f"c{number}", largest_loss=math.inf) for number, values in enumerate(noise)]
        return compare_family([column(around_mean(mean), effect, largest_loss=math.inf), *others])[0]

    more, less, near = among(0.10, 0.058), among(0.10, 0.142), among(0.01, 0.05)
    assert more.low > 0.058 > more.simultaneous_low
    assert more.verdict == "improved"
    assert less.high < 0.142 < less.simultaneous_high
    assert less.verdict == "improved"
    assert near.high - (near.high - near.difference) * 0.17 < 0.05, "alone equivalent"
    assert near.conclusion is Verdict.UNDECIDED
    alone = minimal_detectable_effect(26, 0.02 * math.sqrt(26))
    assert near.mde > alone
    assert near.underpowered
    assert f"MDE {near.mde:.3f} > " in near.verdict
    reach = (near.simultaneous_high - near.difference) / 0.02
    assert near.mde == pytest.approx((reach + stats.t.ppf(0.8, 25)) * 0.02)
    between = among(0.01, alone + 0.001)
    assert between.underpowered, "the family's, not the one that holds alone"
    assert among(0.0, 0.055).verdict == "equivalent within ±0.055"


def test_equivalence_comes_from_the_simultaneous_interval_at_one_minus_two_alpha() -> None:
    rng = np.random.default_rng(5)
    columns = [column(rng.permutation(around_mean(0.0)), 0.05, f"c{at}", largest_loss=math.inf) for at in range(8)]
    narrow = compare_family(columns, alpha=0.1)[0]  # its 1 - alpha interval is the 1 - 2 * .05 one
    for effect, words in ((narrow.simultaneous_high + 1e-6, True), (narrow.simultaneous_high - 1e-6, False)):
        found = compare_family([dataclasses.replace(each, smallest_effect=effect) for each in columns])[0]
        assert (found.conclusion is Verdict.EQUIVALENT) == words


@pytest.mark.slow
def test_simultaneous_intervals_hold_the_single_ones_and_depend_on_no_order() -> None:
    columns = [*family(columns=6, queries=60), column([0.2] * 60, candidate="steady")]
    found = compare_family(columns)
    assert all(row.simultaneous_low <= row.low <= row.high <= row.simultaneous_high for row in found)
    assert min((row.simultaneous_high - row.simultaneous_low) / (row.high - row.low) for row in found[:-1]) > 1.1
    assert (found[-1].simultaneous_low, found[-1].simultaneous_high) == (found[-1].difference, found[-1].difference)
    shuffled = []
    for each in columns:
        order = np.random.default_rng(7).permutation(len(each.query_ids))
        ids = tuple(each.query_ids[index] for index in order)
        shuffled.append(dataclasses.replace(each, query_ids=ids, differences=np.array(each.differences)[order]))
    for workers in (1, 2, 3):
        assert compare_family(shuffled[::-1], workers=workers)[::-1] == found
    assert len({compare_family(columns, seed=seed)[1].simultaneous_low for seed in range(4)}) == 4
