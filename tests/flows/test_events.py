"""What automations are sent: `message` can be posted as it is."""

import dataclasses
from pathlib import Path

import pytest

from ndcg_ab.flows.events import events_of
from ndcg_ab.results.outcome import GateResult
from ndcg_ab.results.wording import SECONDARY
from tests.ndcg_ab.comparing.test_since_last import moved_system
from tests.ndcg_ab.report.test_decision_summary import outcome
from tests.small_evaluation import small

FAILED = (
    GateResult("no regression", False, "new against old, ndcg@2: regressed (-0.3691)", ("new",)),
    GateResult("judged", False, "new: 20 % judged on ndcg@2, 50 % must be", ("new",)),
    GateResult("unanswered", True, "no system leaves more than 3 queries unanswered"),
)


@pytest.mark.slow
def test_failed_gates_stand_one_a_line(tmp_path: Path) -> None:
    found = dataclasses.replace(outcome("good", new="bad"), gates=FAILED)
    failed, regressed = events_of(small(tmp_path), {"bundle": "b"}, found, None)
    assert failed["payload"]["message"].splitlines() == [
        "small: ✗ new regressed, 1 more (gate failed); do not ship new -0.3691 ndcg@2",
        "no regression: new against old, ndcg@2: regressed (-0.3691)",
        "judged: new: 20 % judged on ndcg@2, 50 % must be",
    ]
    assert list(failed["payload"]["gates"]) == ["no regression", "judged"]
    assert regressed["payload"]["message"].startswith("small: new regressed against old, ndcg@2 -0.3691 [")
    assert failed["payload"]["bundle"] == regressed["payload"]["bundle"] == "b"


def test_of_what_only_describes_nothing_is_sent(tmp_path: Path) -> None:
    found = outcome("good", new="bad")
    described = [dataclasses.replace(row, family=SECONDARY, exploratory=True) for row in found.comparisons]
    assert list(events_of(small(tmp_path), {}, dataclasses.replace(found, comparisons=tuple(described)), None)) == []


@pytest.mark.slow
def test_a_drop_says_what_caused_it(tmp_path: Path) -> None:
    found = moved_system(-0.3)
    wide = {"simultaneous_low": -0.5, "simultaneous_high": -0.1}  # together with other systems
    found = dataclasses.replace(found, comparisons=tuple(dataclasses.replace(row, **wide) for row in found.comparisons))
    *_, drop = events_of(small(tmp_path), {}, outcome("good"), found)
    row = found.dropped[0]
    figures = f"{row.metric} {row.difference:+.4f} [-0.5000, -0.1000]"
    assert drop["payload"]["message"] == f"small: new dropped since evaluation 6, {figures}; changed: ranking"
