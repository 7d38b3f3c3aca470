"""Decisions in a line: names of runs, messages of states."""

import dataclasses

import pytest

from ndcg_ab.evaluation.decisions import Choice
from ndcg_ab.evaluation.outcome import GateResult, Outcome
from ndcg_ab.report.decided import decided, run_name, told
from ndcg_ab.report.markdown import answer_note, comparison_table, note
from tests.laboratory import in_order, outcome_of

WORDS = [f"q{number}" for number in range(12)]
JUDGMENTS = {query: {"good": 1, "bad": 0} for query in WORDS}
RANKINGS = {"good": in_order("good", "bad"), "bad": in_order("bad", "good")}
FAILED = (GateResult("judged", False, "old 20 % on ndcg@2", ("old",)),)


def outcome(baseline: str, gates: tuple[GateResult, ...] = (), **candidates: str) -> Outcome:
    """Systems that answer every query with the good document first, or with the bad one."""
    systems = {"old": baseline, **candidates}
    rankings = {name: dict.fromkeys(WORDS, RANKINGS[kind]) for name, kind in systems.items()}
    return dataclasses.replace(outcome_of(JUDGMENTS, rankings, ["ndcg@2"]), gates=gates)


@pytest.mark.parametrize(
    ("decisions", "text"),
    [
        ({}, "nothing is compared"),
        ({"a": Choice.SHIP}, "ship a"),
        ({"a": Choice.JUDGE_MORE}, "judge more queries: a"),
        ({"a": Choice.NOTHING_CHANGED, "b": Choice.SHIP_IF_CHEAP}, "ship if cheap: b; nothing changed: a"),
        ({"a": Choice.SHIP, "b": Choice.DO_NOT_SHIP}, "do not ship b; ship a"),
        (dict.fromkeys("abcde", Choice.DO_NOT_SHIP), "do not ship a, b and 3 more"),
    ],
)
def test_the_gravest_comes_first(decisions: dict[str, Choice], text: str) -> None:
    assert decided(decisions) == text


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (outcome("good", new="bad"), "✗ 12 do not ship new"),
        (outcome("bad", new="good"), "✓ 12 ship if cheap: new"),
        (outcome("good", new="good"), "= 12 nothing changed: new"),
        (outcome("good", new="bad", same="good"), "✗ 12 do not ship new; nothing changed: same"),
        (outcome("good"), "12 nothing is compared"),
        (outcome("bad", FAILED, new="good"), "✗ gate failed 12: do not ship new"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_run_s_name_says_what_to_do(found: Outcome, name: str) -> None:
    assert run_name(found, 12) == name


def test_reasons_are_told_with_the_decisions() -> None:
    assert told(outcome("good", new="bad")) == "✗ do not ship new (ndcg@2 regressed (-0.3691))"
    assert told(outcome("good")) == "nothing is compared"


def test_the_table_begins_with_the_decision_and_is_rounded() -> None:
    table = comparison_table(outcome("good", new="bad"))
    assert table["columns"][:4] == ["decision", "candidate", "metric", "verdict"]
    (row,) = table["data"]
    assert row[:5] == ["✗ do not ship", "new", "ndcg@2", "▼ regressed; zero variance; small sample", "-0.3691"]


def test_notes_begin_with_the_decision_and_failed_gates_stand_before_tables() -> None:
    found = outcome("bad", FAILED, new="good")
    for text in (note(found), answer_note(found)):
        first, *rest = text.splitlines()
        assert first == "**✗ do not ship new**: gate judged failed: old 20 % on ndcg@2"
        assert "- gate judged **failed**: old 20 % on ndcg@2" in rest
    assert "| new | ▲ improved; zero variance; small sample | 1.0000 | +0.3691 |" in note(found)
    assert note(found).index("gate judged") < note(found).index("| system | verdict |")
    assert answer_note(outcome("good")).startswith("Nothing is compared.")
