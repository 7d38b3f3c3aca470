"""Decisions in a line: names of runs, messages of states."""

import dataclasses
import functools
from collections.abc import Callable

import pytest

from ndcg_ab.config.model.settings import Gate
from ndcg_ab.report.answer import format_decisions, format_headline, format_reasons
from ndcg_ab.report.markdown import comparison_table, format_comment, format_note
from ndcg_ab.results.decisions import FAILURES, Choice
from ndcg_ab.results.outcome import GateResult, Outcome
from tests.laboratory import in_order, outcome_of

WORDS = [f"q{number}" for number in range(12)]
JUDGMENTS = {query: {"good": 1, "bad": 0} for query in WORDS}
RANKINGS = {"good": in_order("good", "bad"), "bad": in_order("bad", "good")}
FAILED = (GateResult("unanswered", False, "old: 20 queries", ("old",)),)
UNSCORED = (GateResult("no regression", False, "new against old, rr: not testable (n = 0)", ("new",)),)


@functools.cache
def outcome(baseline: str, gates: tuple[GateResult, ...] = (), **candidates: str) -> Outcome:
    """Systems that answer every query with the good document first, or with the bad one; each is evaluated once."""
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
        ({"a": Choice.SHIP, "b": Choice.DO_NOT_SHIP}, "ship a; do not ship b"),
        (dict.fromkeys("abcde", Choice.DO_NOT_SHIP), "do not ship a, b and 3 more"),
    ],
)
def test_the_best_comes_first(decisions: dict[str, Choice], text: str) -> None:
    assert format_decisions(decisions) == text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "name"),
    [
        (lambda: outcome("good", new="bad"), "✗ do not ship new -0.3691 ndcg@2 (12)"),
        (lambda: outcome("bad", new="good"), "✓ new +0.3691 ndcg@2: ship if cheap (12)"),
        (lambda: outcome("good", new="good"), "= new +0.0000 ndcg@2: nothing changed (12)"),
        (
            lambda: outcome("good", new="bad", same="good"),
            "= same +0.0000 ndcg@2: nothing changed; do not ship new (12)",
        ),
        (lambda: outcome("good"), "nothing is compared (12)"),
        (
            lambda: outcome("bad", FAILED, new="good"),
            "✗ old leaves too many queries unanswered (gate failed); do not ship new +0.3691 ndcg@2 (12)",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_run_s_name_says_what_to_do(made: Callable[[], Outcome], name: str) -> None:
    assert f"{format_headline(made())} (12)" == name


@pytest.mark.parametrize(
    ("gates", "why"),
    [
        ([("no regression", ["new"])], "new regressed"),
        ([("no regression", ["new", "newer", "new"])], "new and 1 more regressed"),
        ([("no drop", ["old"]), ("judged", ["new"])], "old dropped, 1 more"),
        ([("unanswered", [])], "unanswered"),  # which names no system
    ],
)
def test_a_failed_gate_says_first_what_happened(gates: list[tuple[str, list[str]]], why: str) -> None:
    failed = tuple(GateResult(name, False, "why", tuple(systems)) for name, systems in gates)
    found = dataclasses.replace(outcome("good"), gates=failed)
    assert format_headline(found) == f"✗ {why} (gate failed); nothing is compared"
    assert format_headline(outcome("good", UNSCORED, new="good")).startswith("✗ no regression (gate failed); new +")


def test_every_gate_has_words_for_its_failure() -> None:
    """Those that evaluations can have: of each key of `gate:` its name here."""
    assert {name.replace(" ", "_") for name in FAILURES} == {*Gate.model_fields} - {"proof"}


def test_reasons_are_told_with_the_decisions() -> None:
    assert format_reasons(outcome("good", new="bad")) == "✗ do not ship new (ndcg@2 regressed (-0.3691))"
    assert format_reasons(outcome("good")) == "nothing is compared"


def test_the_table_begins_with_the_decision_and_is_rounded() -> None:
    table = comparison_table(outcome("good", new="bad"))
    assert table["columns"][:4] == ["decision", "candidate", "metric", "verdict"]
    (row,) = table["data"]
    assert row[:5] == ["✗ do not ship", "new", "ndcg@2", "▼ regressed; zero variance; small sample", "-0.3691"]


@pytest.mark.slow
def test_notes_begin_with_the_decision_and_failed_gates_stand_before_tables() -> None:
    found = outcome("bad", FAILED, new="good")
    for text in (format_note(found), format_comment(found)):
        first, *rest = text.replace("\N{NO-BREAK SPACE}", " ").splitlines()
        assert first == "### ✗ do not ship: new"
        places = [
            rest.index("| ✗ | new | **do not ship** | gate unanswered failed: old: 20 queries |"),
            rest.index("- gate unanswered failed: old: 20 queries"),
            rest.index("| system, 12 queries | ndcg@2 |"),
            rest.index("| old | 0.6309 |"),
        ]
        assert places == sorted(places)
        assert any(line.startswith("| new | 1.0000 ▲ +0.3691 [") for line in rest)
    assert format_note(outcome("good")).startswith("### Nothing is compared")
