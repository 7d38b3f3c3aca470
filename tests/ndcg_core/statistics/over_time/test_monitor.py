"""Looks: their levels by hand, what decides below the flips' resolution, and that a stream cannot cheat."""

import math

import numpy as np
import pytest

from ndcg_core.statistics.distributions import stdtr
from ndcg_core.statistics.hypothesis_tests.bounded_mean import bounded_p_value
from ndcg_core.statistics.over_time.monitor import Evidence, detectable_at, monitor_looks, spend_alpha


def of(p_value: float, p_t: float | None = None, size: int = 1, resamples: int = 10_000) -> Evidence:
    return Evidence(p_value, p_value if p_t is None else p_t, size, resamples)


def test_all_looks_together_spend_alpha() -> None:
    """Half of alpha over zeta(1.5) look^1.5, half in equal parts over years: sums known from the two series."""
    assert spend_alpha(0.05, 1) == pytest.approx(0.025 / 2.6123753 + 0.025 * 0.6079271 / 365)
    assert spend_alpha(0.05, 365) == pytest.approx(0.025 / 2.6123753 / 365**1.5 + 0.025 * 0.6079271 / 365)
    assert spend_alpha(0.05, 366) < spend_alpha(0.05, 365) / 3
    years = 2_000
    looks = np.arange(1, 365 * years + 1)
    spent = math.fsum(spend_alpha(0.05, look) for look in looks.tolist())
    rest = 0.025 * (2 / math.sqrt(365 * years) / 2.6123753 + 0.6079271 / years)  # integrals of the tails
    assert spent + rest == pytest.approx(0.05, abs=1e-7)
    assert spent < 0.05


def test_the_same_p_is_enough_for_early_looks_only() -> None:
    found = monitor_looks([of(0.0015)] * 5, 0.05)
    assert [p_value <= level for level, p_value in found] == [True, True, True, False, False]
    assert [level for level, _ in found] == [spend_alpha(0.05, look) for look in range(1, 6)]
    assert [p_value <= level for level, p_value in monitor_looks([of(0.04)] * 2, 0.05)] == [False, False], (
        "alpha is for all looks"
    )


@pytest.mark.parametrize(
    ("evidence", "level", "p_value"),
    [
        (of(0.0001, 1e-9), 0.03, 0.0001),  # flips can show that level
        (of(0.0001, 1e-9), 0.0002, 1e-9),  # they cannot: Student's t
        (of(0.0001, 1e-9, size=5), 0.0002, 5e-9),  # over the family
        (of(0.0001, 0.4, size=5), 0.0002, 1.0),
        (of(0.02, 1e-9), 0.0002, 0.02),  # flips that could come nearer do not agree with t
        (Evidence(0.0001, None, 1, 10_000), 0.0002, 0.0001),
        (of(0.0001, 1e-9, resamples=1_000_000), 0.0002, 0.0001),
        (Evidence(0.0001, 1e-9, 1, 10_000, 3e-5), 0.0002, 3e-5),  # rare losses could make up for it
        (Evidence(0.0001, 1e-9, 4, 10_000, 3e-5), 0.0002, 1.2e-4),
        (Evidence(0.004, 1e-9, 1, 10_000, 0.02), 0.03, 0.02),  # at a level that flips can show, too
        (Evidence(0.004, 1e-9, 100, 10_000, 0.02), 0.03, 1.0),
        (Evidence(0.004, 1e-9, 1, 10_000, 1e-5), 0.03, 0.004),
    ],
)
def test_the_largest_p_that_can_be_so_small_decides(evidence: Evidence, level: float, p_value: float) -> None:
    assert evidence.p_value_at(level) == pytest.approx(p_value)


def test_a_year_of_skewed_differences_gives_no_false_detection() -> None:
    """1 in 20 gains .6 and the others lose as much: t at these levels is wrong in almost every year."""
    rng = np.random.default_rng(3)
    levels = np.array([spend_alpha(0.05, look) for look in range(1, 366)])
    by_t, watched = 0, 0
    for _ in range(20):
        gains = rng.binomial(50, 0.05, size=len(levels))
        mean = (0.6 * gains - (0.6 / 19) * (50 - gains)) / 50
        spread = (0.6 + 0.6 / 19) * np.sqrt(gains / 50 * (1 - gains / 50) * 50 / 49)
        t = np.abs(mean) * math.sqrt(50) / np.where(spread > 0, spread, 1)
        p_t = np.where(spread > 0, 2 * stdtr(49, -t), 0.0)
        doubtful = np.flatnonzero(p_t <= levels)
        by_t += len(doubtful) > 0
        for look in doubtful.tolist():
            values = np.full(50, -0.6 / 19)
            values[: gains[look]] = 0.6
            found = Evidence(0.0001, float(p_t[look]), 1, 10_000, bounded_p_value(values, 1.0))
            watched += found.p_value_at(levels[look]) <= levels[look]
    assert by_t >= 18 and watched == 0


def test_an_effect_of_twice_the_mde_is_found_after_a_year() -> None:
    rng, level = np.random.default_rng(4), spend_alpha(0.05, 365)
    effect = 2 * 2.8016 * 0.2 / math.sqrt(200)
    found = [bounded_p_value(np.clip(rng.normal(effect, 0.2, 200), -1, 1), 1.0) <= level for _ in range(150)]
    assert 0.5 <= np.mean(found) <= 0.75


@pytest.mark.parametrize(("queries", "deviation"), [(200, 0.2), (50, 0.3)])
def test_a_detectable_effect_is_found_in_four_samples_of_five(queries: int, deviation: float) -> None:
    level, rng = spend_alpha(0.05, 37), np.random.default_rng(5)
    effect = detectable_at(level, queries, deviation, 1.0)
    assert effect is not None
    samples = np.clip(rng.normal(effect, deviation, (200, queries)), -1, 1)
    assert np.mean([bounded_p_value(sample, 1.0) <= level for sample in samples]) == pytest.approx(0.8, abs=0.08)


def test_few_queries_can_find_nothing_at_a_small_level() -> None:
    """Ten queries that all gain 1 have a p of 2 / 2^10 by the bound: rare losses of 1 could make up for it."""
    assert bounded_p_value(np.ones(10), 1.0) == pytest.approx(2 / 2**10)
    assert detectable_at(1e-4, 10, 0.2, 1.0) is None
    by_t = detectable_at(1e-4, 10, 0.2, None)
    assert by_t is not None and by_t < 0.6
