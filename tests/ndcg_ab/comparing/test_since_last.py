"""What counts as a drop since the previous evaluation, and whom the gate of drops concerns."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ndcg_ab.comparing.since_last import SINCE_LAST, MeanChange, SinceLast, SystemSince, check_drops
from ndcg_ab.errors import InputError
from ndcg_ab.flows.events import events_of
from ndcg_ab.report.over_time import since_lines
from ndcg_ab.results.decisions import NO_DROP
from ndcg_ab.results.outcome import GateResult, Outcome
from ndcg_core.statistics.verdicts.comparison import Column, compare_family
from tests.laboratory import in_order, outcome_of
from tests.small_evaluation import small

DELTA = 0.01


def moved_system(difference: float, system: str = "new", effect: float | None = DELTA) -> SinceLast:
    """A system that moved by about as much on each of 40 queries."""
    differences = difference * (1 + 0.2 * (-1.0) ** np.arange(40))
    column = Column(system, system, "ndcg@10", tuple(map(str, range(40))), differences, smallest_effect=effect)
    systems = (SystemSince(system, ("ranking",)),)
    return SinceLast(6, "2026-11-20T02:00:00+00:00", systems, tuple(compare_family([column], family=SINCE_LAST)))


@pytest.mark.parametrize(
    ("asked", "difference", "holds"),
    [
        (False, -0.3, []),
        (True, -0.3, [False]),
        (True, -0.001, [True]),
        ("any", -0.001, [False]),
        (True, 0.3, [True]),
        ("any", 0.3, [True]),
        ({"ndcg@10": 0.01}, -0.3, [False]),
        ({"ndcg@10": 0.5}, -0.3, [True]),
        ({"ndcg@10": 0.0005}, -0.001, [False]),
    ],
)
def test_the_gate(asked: Any, difference: float, holds: list[bool], tmp_path: Path) -> None:
    """A fall that is shown to be smaller than the smallest effect fails it only where that is asked for."""
    only = {"gate": {"no_regression": False, "guardrails": False, "no_drop": asked}}
    found = check_drops(small(tmp_path, **only), moved_system(difference))
    assert [gate.passed for gate in found] == holds
    if holds == [False]:
        assert found[0].message.startswith("new against itself in evaluation 6, ndcg@10: regressed")


@pytest.mark.parametrize(
    ("difference", "effect", "drops"), [(-0.001, DELTA, 0), (-0.001, None, 1), (-0.012, DELTA, 1), (-0.3, DELTA, 1)]
)
def test_a_fall_too_small_to_matter_is_a_note(
    better: Outcome, difference: float, effect: float | None, drops: int, tmp_path: Path
) -> None:
    """It is shown, without a mark or a colour; it is no drop, no event, and the gate that passes says it."""
    found = moved_system(difference, effect=effect)
    assert len(found.regressions) == 1 and len(found.dropped) == drops
    evaluation = small(tmp_path, gate={"no_drop": True})
    names = [event["event"] for event in events_of(evaluation, {}, better, found)]
    assert names.count("ndcg-ab.dropped") == drops
    (line,) = since_lines(found)
    assert (line.mark, line.conclusion is None) == (("▼", False) if drops else ("", True))
    (gate,) = check_drops(evaluation, found)
    assert gate.passed == (drops == 0)
    if not drops:
        assert gate.message.endswith("; new, ndcg@10: regressed, smaller than 0.01 (-0.0010)")


def test_of_drawn_queries_it_says_that_others_are_not_known() -> None:
    told = "on the drawn queries alone: what changed on others is not known"
    found = moved_system(-0.3)
    texts = {
        is_drawn: [line.text for line in since_lines(dataclasses.replace(found, is_drawn=is_drawn))]
        for is_drawn in (False, True)
    }
    assert texts[True] == [*texts[False], told]
    assert not [*since_lines(SinceLast(6, found.began, (), is_drawn=True))], "nothing is compared"


@pytest.mark.parametrize(
    ("changed", "new_queries", "told"),
    [(("ranking",), 0, False), (("ranking",), 2, True), (("ranking", "judgments"), 0, True)],
)
def test_why_parts_are_not_known_is_said_where_more_than_the_ranking_changed(
    changed: tuple[str, ...], new_queries: int, told: bool
) -> None:
    moved = (MeanChange("new", "ndcg@10", 0.5, 0.2, unknown="the tables are gone"),)
    systems = (SystemSince("new", changed),)
    found = dataclasses.replace(moved_system(-0.3), systems=systems, moved=moved, new_queries=new_queries)
    assert (
        "what moved the means cannot be told: the tables are gone" in [row.text for row in since_lines(found)]
    ) == told


@pytest.fixture(scope="module")
def better() -> Outcome:
    """A candidate that puts the good document first on each of 12 queries."""
    judged = {f"q{index}": {"good": 1.0, "bad": 0.0} for index in range(12)}
    rankings = {"old": in_order("bad", "good"), "new": in_order("good", "bad")}
    return outcome_of(judged, {name: dict.fromkeys(judged, found) for name, found in rankings.items()}, ["ndcg@10"])


def test_a_drop_of_the_baseline_does_not_decide_about_a_candidate(better: Outcome, tmp_path: Path) -> None:
    assert [each.decision for each in better.decisions] == ["ship_if_cheap"]
    (gate,) = check_drops(small(tmp_path, gate={"no_drop": True}), moved_system(-0.3, "old"))
    assert gate.message.startswith("old (the baseline) against itself in evaluation 6, ndcg@10: regressed")
    assert dataclasses.replace(better, gates=(gate,)).decisions == better.decisions
    own = GateResult(NO_DROP, False, "new fell", ("new",), ("new fell",))
    assert [each.decision for each in dataclasses.replace(better, gates=(own,)).decisions] == ["do_not_ship"]


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        ({"rr@10": 0.1}, r"gate\.no_drop: rr@10: is none of the primary metrics"),
        ("sometimes", "must be true, false, any, or METRIC: DIFFERENCE"),
    ],
)
def test_what_the_gate_cannot_mean_is_refused(asked: Any, refused: str, tmp_path: Path) -> None:
    with pytest.raises((InputError, ValueError), match=refused):
        small(tmp_path, gate={"no_drop": asked})
