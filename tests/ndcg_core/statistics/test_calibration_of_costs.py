"""The simulation of what requests cost, with few repetitions: every row in its range, and faults that it notices."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from benchmarks import simulate_costs
from ndcg_core.statistics.estimates import cost_quantiles
from tests.repeated import mostly_soaked

SEED = 7
INDEPENDENT_200 = 2  # the index of a world with few queries beyond p95, where both tails are used up
pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


@pytest.mark.parametrize(
    "index", mostly_soaked(range(len(simulate_costs.WORLDS) * len(simulate_costs.COUNTS)), kept=[INDEPENDENT_200])
)
def test_a_quick_run_lies_within_three_standard_errors_of_the_ranges(index: int) -> None:
    rows = simulate_costs.measured(index, SEED, quick=True)
    of_weights = any("weights" in row.setting for row in rows)
    assert sum(row.accepted is not None for row in rows) == (0 if of_weights else 4)
    assert [row for row in rows if not row.holds(errors=3)] == []


def weighted_quantile(values: Any, weights: Any, share: float) -> float:
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(below, share * below[-1])])


def test_true_differences_are_those_of_large_samples() -> None:
    for name, draw in simulate_costs.WORLDS.items():
        base, other, sample = draw(400_000, np.random.default_rng(SEED))
        weights = np.ones(len(base)) if sample.weights is None else sample.weights
        for share in simulate_costs.SHARES:
            later, before = (weighted_quantile(values, weights, share) for values in (other, base))
            found = later - before
            assert found == pytest.approx(simulate_costs.world_differences(name, share), abs=1.0), (name, share)


def test_draws_that_know_nothing_beyond_the_sample_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain quantiles of Rubin's bootstrap, without what lies beyond all queries: the intervals are too short."""
    drawn = cost_quantiles.draw_quantile_bounds

    def plain(values: Any, shares: Sequence[float], **keys: Any) -> Any:
        low, _ = drawn(values, shares, **keys)
        return low, low

    monkeypatch.setattr(simulate_costs, "draw_quantile_bounds", plain)
    rows = [row for index in (0, 1) for row in simulate_costs.measured(index, SEED, repetitions=200)]
    assert [row for row in rows if not row.holds(errors=3)] != []
