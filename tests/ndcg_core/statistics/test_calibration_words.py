"""The simulation of a verdict's words, with few repetitions: every row in its range, and faults that it notices."""

import pytest

from benchmarks import simulate_words
from ndcg_core.statistics.verdicts import comparison
from tests.ndcg_core.statistics.test_calibration import SEED, rng
from tests.repeated import mostly_soaked

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


# Not those of 45 columns and more at 200 queries: they take seconds.
@pytest.mark.parametrize("index", mostly_soaked([0, 2, 4, 8, 9, 10, 11], kept=[0]))
def test_a_quick_run_lies_within_three_standard_errors_of_the_ranges(index: int) -> None:
    for row in simulate_words.measured(index, SEED, quick=True):
        assert row.holds(errors=3), row


def test_sizes_from_intervals_that_hold_alone_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_interval", lambda of, reach: comparison.interval_from_moments(of, 0.95))
    claims = simulate_words.sizes(rng(), 40, queries=100, columns=45, errors=5.0)
    assert [row.holds(errors=3) for row in claims] == [False, True, True]


@pytest.mark.soak
def test_a_detectable_effect_of_one_comparison_alone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = comparison._detectable_difference
    monkeypatch.setattr(comparison, "_detectable_difference", lambda of, test, size, alpha: real(of, None, 1, alpha))
    found = simulate_words.power(rng(), 100, queries=50, columns=15)
    assert not found[0].holds(errors=3)


@pytest.mark.soak
def test_a_quick_run_knows_the_other_rows() -> None:
    """The resamplings; their own tests plant the faults."""
    for index in (13, 16, 18, 19, 20):
        for row in simulate_words.measured(index, SEED, quick=True):
            assert row.holds(errors=3), row
