"""Looks and ledgers: their levels by hand, what decides below the flips' resolution, and that a stream cannot cheat."""

import math

import pytest

from ndcg_core.statistics.over_time.monitor import Evidence, judge_hypotheses, monitor_looks, spend_alpha


def of(p_value: float, p_t: float | None = None, size: int = 1, resamples: int = 10_000) -> Evidence:
    return Evidence(p_value, p_value if p_t is None else p_t, size, resamples)


def test_all_looks_together_spend_alpha() -> None:
    assert spend_alpha(0.05, 1) == pytest.approx(0.0303963551)
    assert spend_alpha(0.05, 2) == spend_alpha(0.05, 1) / 4
    assert math.fsum(spend_alpha(0.05, look) for look in range(1, 100_000)) == pytest.approx(0.05, abs=1e-6)


def test_the_same_p_is_enough_for_early_looks_only() -> None:
    found = monitor_looks([of(0.003)] * 5, 0.05)
    assert [each.is_detected for each in found] == [True, True, True, False, False]
    assert [each.level for each in found] == [spend_alpha(0.05, look) for look in range(1, 6)]
    assert [each.is_detected for each in monitor_looks([of(0.04)] * 2, 0.05)] == [False, False], (
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
        (Evidence(0.0001, None, 1, 10_000), 0.0002, 0.0001),  # of version 0.1.0
        (of(0.0001, 1e-9, resamples=1_000_000), 0.0002, 0.0001),
    ],
)
def test_below_the_resolution_of_flips_t_decides(evidence: Evidence, level: float, p_value: float) -> None:
    assert evidence.p_value_at(level) == pytest.approx(p_value)


def test_the_ledger_by_hand() -> None:
    """level_t = 6 alpha / (pi t)^2 / (1 + … + 1/t) (discoveries so far + 1)."""
    levels = [spend_alpha(0.05, at) / sum(1 / each for each in range(1, at + 1)) for at in range(1, 5)]
    found = judge_hypotheses([of(0.01), of(0.9), of(0.003), of(1e-9)], 0.05)
    assert [each.level for each in found] == pytest.approx([levels[0], 2 * levels[1], 2 * levels[2], 3 * levels[3]])
    assert [each.is_detected for each in found] == [True, False, True, True]
    assert not any(each.is_detected for each in judge_hypotheses([of(0.04)] * 50, 0.05))
    assert [each.level for each in judge_hypotheses([of(0.5)] * 4, 0.05)] == pytest.approx(levels)
