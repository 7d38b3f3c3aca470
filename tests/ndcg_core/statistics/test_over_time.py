"""What is said over several evaluations: levels of repeated tests, and what moved a mean, by hand and by properties."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ndcg_core.statistics.hypothesis_tests.guardrails import bounded_p_value
from ndcg_core.statistics.over_time import (
    CAUSES,
    Evidence,
    Split,
    detectable_at,
    monitor_tests,
    spend_alpha,
    split_change,
)

NONE = np.nan


def of(p_value: float, p_t: float | None = None, size: int = 1, resamples: int = 10_000) -> Evidence:
    return Evidence(p_value, p_value if p_t is None else p_t, size, resamples)


@pytest.mark.slow
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
    found = monitor_tests([of(0.0015)] * 5, 0.05)
    assert [p_value <= level for level, p_value in found] == [True, True, True, False, False]
    assert [level for level, _ in found] == [spend_alpha(0.05, look) for look in range(1, 6)]
    assert [p_value <= level for level, p_value in monitor_tests([of(0.04)] * 2, 0.05)] == [False, False], (
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


def scores(*rows: tuple[float, float, float, float]) -> NDArray[np.float64]:
    """A row per query: old ranking by old and new judgments, new ranking by old and new judgments."""
    return np.array(rows).T.reshape(2, 2, len(rows))


def parts(values: NDArray[np.float64], old: list[float], new: list[float]) -> Split:
    found = split_change(values, np.array([old, new]))
    assert found is not None
    return found


def test_only_queries_that_came_or_went_stand_behind_the_set() -> None:
    """The others count for more or less than before, but alike."""
    values = scores(*[(value, value, value, value) for value in (0.1, 0.5, 0.9)], (0.3, NONE, NONE, NONE))
    found = parts(values, [1, 2, 1, 1], [2, 4, 2, 0])
    assert found.of_queries[2] == pytest.approx((0, 0, 0, 0.2 / 5), abs=1e-15)
    reweighed = parts(values, [1, 1, 1, 1], [1, 1, 3, 1])
    assert reweighed.of_queries[2, 2] == max(abs(reweighed.of_queries[2])) > 0


def test_no_query_is_left_in_a_mean() -> None:
    assert split_change(scores((0.5, NONE, 0.5, NONE), (NONE, NONE, NONE, 0.5)), np.array([[1, 0], [1, 1]])) is None


def mean(values: NDArray[np.float64], weights: NDArray[np.float64], state: dict[str, int]) -> float:
    """The definition in one loop, query by query."""
    total = weighed = 0.0
    side = state["queries"]
    for query in range(values.shape[2]):
        if not weights[side, query]:
            continue
        shared = weights[0, query] > 0 and weights[1, query] > 0
        value = values[state["ranking"], state["judgments"], query] if shared else values[side, side, query]
        if not np.isnan(value):
            total += weights[side, query] * value
            weighed += weights[side, query]
    return total / weighed


VALUE = st.one_of(st.floats(0, 1), st.floats(0, 1), st.just(NONE))
QUERY = st.tuples(*[VALUE] * 4, *[st.one_of(st.just(0.0), st.floats(1e-3, 1e3))] * 2)


@given(st.lists(QUERY, min_size=1, max_size=12), st.floats(0, 1))
def test_the_parts_are_those_of_the_six_orders_and_add_up(rows: list[tuple[float, ...]], always: float) -> None:
    drawn = np.array([*rows, (always, 1 - always, always / 2, 1.0, 1.0, 2.0)])
    values, weights = drawn[:, :4].T.reshape(2, 2, -1), drawn[:, 4:].T
    found = parts(values, weights[0].tolist(), weights[1].tolist())
    moved = dict.fromkeys(CAUSES, 0.0)
    for order in permutations(CAUSES):
        state = dict.fromkeys(CAUSES, 0)
        for cause in order:
            earlier = mean(values, weights, state)
            state[cause] = 1
            moved[cause] += (mean(values, weights, state) - earlier) / 6
    assert found.parts == pytest.approx(tuple(moved.values()), abs=1e-12)
    assert sum(found.parts) == pytest.approx(found.now - found.before, abs=1e-12)
    assert found.of_queries.sum(axis=1) == pytest.approx(found.parts, abs=1e-12)
