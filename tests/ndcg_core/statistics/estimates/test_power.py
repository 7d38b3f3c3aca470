"""Queries needed and the power curve: both directions of a derived table, minimality and scipy.stats."""

import math
from typing import Any

import pytest

from ndcg_core.statistics.estimates.power import MOST, power_curve, queries_needed
from tests.references import cases


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
