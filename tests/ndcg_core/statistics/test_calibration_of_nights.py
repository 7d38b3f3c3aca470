"""The simulation of nights (docs/calibration.md) with few repetitions, and that it would notice a fault."""

import pytest

from benchmarks import simulate_drops
from benchmarks import simulate_nights as nights
from ndcg_core.statistics import over_time

SEED = 7
pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


@pytest.mark.soak
def test_a_quick_run_lies_within_three_standard_errors_of_the_ranges() -> None:
    rows = [row for index in range(len(nights.measurements())) for row in nights.measured(index, SEED, quick=True)]
    assert [row for row in rows if not row.holds(errors=3)] == []
    assert sum(row.accepted is not None for row in rows) == 28 + (0 if nights.cast() is None else 2)


def test_looks_that_spend_too_much_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nights, "spend_alpha", lambda alpha, look: alpha)
    monkeypatch.setattr(over_time, "spend_alpha", lambda alpha, look: alpha)
    rows = nights.measured(4, SEED, quick=True)
    assert [row.what for row in rows if not row.holds(errors=3)] == ["any night of a year, monitor"]


def test_a_rule_that_trusts_the_tail_of_t_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nights, "bounded", lambda sample, p_value, level: p_value)
    monitored = nights.measured(32, SEED, quick=True)
    assert monitored[-1].setting.split(", ")[-1] == "the others lose as much"
    assert not monitored[-1].holds(errors=3)


def test_new_judgments_make_no_drop_and_hide_none() -> None:
    rows = [row for place in (0, 1) for row in simulate_drops.measured(place, SEED, quick=True)]
    assert [row for row in rows if not row.holds(errors=3)] == []
    assert next(row for row in rows if row.what == "any drop on a harmless night, now - then").measured > 0.9
