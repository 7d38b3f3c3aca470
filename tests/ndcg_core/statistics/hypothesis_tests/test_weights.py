"""Comparisons with weights: by hand, against all patterns of signs, and what must not matter."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ndcg_core.statistics.verdicts.comparison import Column, Comparison, check_guardrails, compare_family
from ndcg_core.statistics.verdicts.verdict import Obstacle
from tests.examples import examples
from tests.ndcg_core.statistics.columns import compare, family


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


@pytest.mark.slow
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


@pytest.mark.parametrize("heavy", [1e3, 1e9, 3e10])
def test_one_query_with_nearly_all_the_weight_gives_no_nan(heavy: float) -> None:
    found = compare(np.random.default_rng(10).normal(0.02, 0.1, 40), 0.01, weights=[heavy] + [1.0] * 39)
    assert found.simultaneous_low <= found.low <= found.difference <= found.high <= found.simultaneous_high


def test_a_guardrail_of_one_query_with_all_the_weight_is_not_tested() -> None:
    weights = np.array([1.0, *[1e-20] * 29])
    ids = tuple(f"q{index:02d}" for index in range(30))
    column = Column("a", "b", "m", ids, np.linspace(0.1, 0.4, 30), weights=weights, smallest_effect=0.1)
    (found,) = check_guardrails([column])
    assert (found.obstacle, found.p_value, found.lower_bound) == (Obstacle.ONE_HEAVY_QUERY, None, None)
    assert found.difference == pytest.approx(0.1)
