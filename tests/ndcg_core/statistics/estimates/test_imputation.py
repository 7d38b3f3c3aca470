"""Rubin's rules, worked out by hand."""

import math

import pytest
from scipy import stats

from ndcg_core.statistics.estimates.imputation import combine_draws, degrees_of_freedom
from ndcg_core.statistics.estimates.mean_difference import Moments, interval_from_moments


def moments_of(mean: float, error: float, n: int = 16, freedom: float = 15.0) -> Moments:
    return Moments(n, mean, error * math.sqrt(n), freedom)


def test_means_and_errors_are_combined() -> None:
    """Means 1, 2, 3: variance 1, times 1 + 1/3; errors 2: variance 4; a quarter of 16/3 is from the labels."""
    found = combine_draws([moments_of(mean, 2.0) for mean in (1.0, 2.0, 3.0)], 0.05)
    assert (found.draws, found.difference, found.label_share) == (3, 2.0, pytest.approx(0.25))
    observed, of_draws = 16 / 18 * 15 * 0.75, 2 / 0.25**2
    freedom = 1 / (1 / observed + 1 / of_draws)
    reach = stats.t.ppf(0.975, freedom) * math.sqrt(16 / 3)
    assert (found.low, found.high) == (pytest.approx(2 - reach), pytest.approx(2 + reach))


def test_draws_that_agree_leave_the_interval_as_it_is() -> None:
    found = combine_draws([moments_of(0.3, 0.1)] * 5, 0.05)
    assert (found.low, found.high) == pytest.approx(interval_from_moments(moments_of(0.3, 0.1), 0.95))
    assert found.label_share == 0


def test_nothing_varies() -> None:
    found = combine_draws([moments_of(0.3, 0.0)] * 2, 0.05)
    assert (found.low, found.high, found.label_share) == (0.3, 0.3, 0)


def test_only_the_labels_vary() -> None:
    """n - 1 degrees of freedom, of the draws."""
    found = combine_draws([moments_of(0.0, 0.0), moments_of(1.0, 0.0)], 0.05)
    assert found.label_share == 1
    assert found.high == pytest.approx(0.5 + stats.t.ppf(0.975, 1) * math.sqrt(0.75))


def test_degrees_of_freedom_of_very_many_units_are_rubin_s_of_1987() -> None:
    assert degrees_of_freedom(1e9, 0.5, 20) == pytest.approx(19 / 0.25)


def test_one_draw_says_nothing_of_the_labels() -> None:
    with pytest.raises(ValueError, match="1 draws, must be at least 2"):
        combine_draws([moments_of(0.0, 1.0)], 0.05)
