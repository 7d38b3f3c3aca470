"""Gates: what lets a night pass or fail, in words; the exit code, with the results kept all the same."""

import dataclasses
import functools
import json
import re
from pathlib import Path

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from ndcg_ab.comparing.gates import check_gates, gate_results
from ndcg_ab.config.loading.file import read_config
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.settings import Gate
from ndcg_ab.errors import InputError
from ndcg_ab.results.codec import upgrade_comparison
from ndcg_ab.results.outcome import GateResult, Outcome, SystemSummary
from ndcg_ab.results.wording import GATE, GUARDRAILS, PAIRS, PRIMARY, SECONDARY, SLICE_GATE
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import Obstacle
from tests.laboratory import in_order, outcome_of
from tests.places import ROOT

WORDS = ["apple", "bread", "cheese", "dates", "eggs", "figs", "grapes", "honey"]
JUDGMENTS = {word: {"good": 1.0, "bad": 0.0} for word in WORDS}
GOOD, BAD, UNJUDGED = (in_order(*order) for order in (("good", "bad"), ("bad", "good"), ("good", "unknown")))


def night(new: dict[str, list] | None = None) -> Outcome:
    """`old` finds the one relevant document of every query at rank 1; `new` as given, by default alike."""
    old = dict.fromkeys(WORDS, GOOD)
    return alike() if new is None else outcome_of(JUDGMENTS, {"old": old, "new": new}, ["ndcg@2"])


@functools.cache
def alike() -> Outcome:
    return night(dict.fromkeys(WORDS, GOOD))


def verdict(text: str, difference: float | None = -0.1, **changes: object) -> Comparison:
    """A row of the table, as small as it goes: `new` against `old`."""
    (row,) = night().comparisons
    told = {name: value for name, value in upgrade_comparison({"verdict": text}).items() if name != "verdict"}
    if (margin := re.search(r"[\d.]+$", text)) is not None:
        told["smallest_effect"] = float(margin[0])
    made = dataclasses.replace(row, difference=difference, **(told | changes))
    assert made.verdict == text
    return made


def with_rows(*rows: Comparison, **changes: object) -> Outcome:
    return dataclasses.replace(night(), comparisons=rows, **changes)


def system(name: str, *, unanswered: int = 0, judged: float | None = 1.0, metric: str = "ndcg@2") -> SystemSummary:
    return SystemSummary(name, metric, 0.5, 0.5, 8, unanswered, judged)


def gates(outcome: Outcome, **keys: object) -> list[tuple[str, bool, str]]:
    """What the gates say, that of `no_regression` only where it is asked for."""
    gate = Gate(**{"no_regression": False, "guardrails": False} | keys)
    found = list(gate_results(gate, outcome))
    for one in found:  # whose failures they are, as the sentences name them
        assert list(one.systems) == re.findall(r"\b(new|other)[ :]", one.message)
        assert one.message == ("; ".join(one.reasons) if one.reasons else one.message)
    return [(one.name, one.passed, one.message) for one in found]


NOBODY = "no candidate regressed on a primary metric"
SHOWN = "the one comparison is shown to be not worse than its margin"

# name: (the gate, the outcome, what is said)
ROWS = {
    "nothing is asked": ({}, with_rows(verdict("regressed")), []),
    "nobody regressed": ({"no_regression": True}, night(), [("no regression", True, NOBODY)]),
    "improved": ({"no_regression": True}, with_rows(verdict("improved", 0.2)), [("no regression", True, NOBODY)]),
    "no difference can be shown": (
        {"no_regression": True},
        with_rows(verdict("no detectable difference (MDE = 0.100 at 80 % power)", mde=0.1)),
        [("no regression", True, NOBODY)],
    ),
    "regressed": (
        {"no_regression": True},
        with_rows(verdict("regressed, by more than 0.01")),
        [("no regression", False, "new against old, ndcg@2: regressed, by more than 0.01 (-0.1000)")],
    ),
    "two regressed": (
        {"no_regression": True},
        with_rows(verdict("regressed"), verdict("regressed", -0.25, candidate="other")),
        [
            (
                "no regression",
                False,
                "new against old, ndcg@2: regressed (-0.1000); other against old, ndcg@2: regressed (-0.2500)",
            )
        ],
    ),
    "regressed, but on a secondary metric": (
        {"no_regression": True},
        with_rows(verdict("regressed", family=SECONDARY)),
        [("no regression", True, NOBODY)],
    ),
    "regressed, but in a pair of candidates": (
        {"no_regression": True},
        with_rows(verdict("regressed", family=PAIRS)),
        [("no regression", True, NOBODY)],
    ),
    "a guardrail holds": (
        {"guardrails": True},
        with_rows(verdict("not worse than 0.02", family=GUARDRAILS)),
        [("guardrails", True, SHOWN)],
    ),
    "a guardrail may not hold": (
        {"guardrails": True},
        with_rows(verdict("may be worse than 0.02", family=GUARDRAILS)),
        [("guardrails", False, "new against old, ndcg@2: may be worse than 0.02 (-0.1000)")],
    ),
    "a guardrail that cannot be tested": (
        {"guardrails": True},
        with_rows(verdict("not testable (n = 1)", None, family=GUARDRAILS, queries=1)),
        [("guardrails", False, "new against old, ndcg@2: not testable (n = 1)")],
    ),
    "a guardrail on rankings that are identical": (
        {"guardrails": True},
        with_rows(verdict("identical", 0.0, family=GUARDRAILS, smallest_effect=0.01)),
        [("guardrails", True, "the one comparison is identical")],
    ),
    "a guardrail on rankings that are identical, on too few queries to rule out harm": (
        {"guardrails": True},
        with_rows(
            verdict(
                "identical (8 queries; 299 needed to rule out a loss of 0.01)",
                0.0,
                family=GUARDRAILS,
                smallest_effect=0.01,
                needed=299,
                obstacle=Obstacle.FEW_TO_RULE_OUT,
            ),
        ),
        [
            (
                "guardrails",
                True,
                "the one comparison is identical (8 queries; 299 needed to rule out a loss of 0.01)",
            )
        ],
    ),
    "some are identical, the others hold": (
        {"guardrails": True},
        with_rows(
            verdict("identical", 0.0, family=GUARDRAILS, smallest_effect=0.01),
            verdict("not worse than 0.02", metric="rr", family=GUARDRAILS),
        ),
        [("guardrails", True, "all 2 comparisons are shown to be not worse than their margins, or identical (1)")],
    ),
    "no guardrail is configured": ({"guardrails": True}, night(), []),
    "not worse": (
        {"not_worse": {"ndcg@2": 0.02}},
        with_rows(verdict("not worse than 0.02", family=GATE)),
        [("not worse", True, SHOWN)],
    ),
    "maybe worse": (
        {"not_worse": {"ndcg@2": 0.02}},
        with_rows(
            verdict("may be worse than 0.02", family=GATE), verdict("not worse than 0.02", candidate="x", family=GATE)
        ),
        [("not worse", False, "new against old, ndcg@2: may be worse than 0.02 (-0.1000)")],
    ),
    "nearly enough is judged, on each metric once": (
        {"judged": 0.8},
        with_rows(
            verdict("improved"),
            verdict("improved", metric="rr"),
            systems=(system("old"), system("new", judged=0.797), system("new", judged=0.798, metric="rr")),
        ),
        [("judged", False, "new: 79.7 % judged on ndcg@2, 80 % must be")],
    ),
    "enough is judged": (
        {"judged": 0.5},
        with_rows(systems=(system("old"), system("new", judged=0.5))),
        [("judged", True, "at least 50 % of every system's results are judged")],
    ),
    "too little is judged": (
        {"judged": 0.5},
        with_rows(systems=(system("old"), system("new", judged=0.25))),
        [("judged", False, "new: 25 % judged on ndcg@2, 50 % must be")],
    ),
    "too little is judged, but not on a primary metric": (
        {"judged": 0.5},
        with_rows(verdict("improved"), systems=(system("old"), system("new", judged=0.25, metric="ndcg@50"))),
        [("judged", True, "at least 50 % of every system's results are judged")],
    ),
    "a system that answered nothing has no share": (
        {"judged": 0.5},
        with_rows(systems=(system("old"), system("new", judged=None, unanswered=8))),
        [("judged", True, "at least 50 % of every system's results are judged")],
    ),
    "a slice regressed by more": (
        {"slice_regression": 0.05},
        with_rows(verdict("regressed", attribute="language", slice="de", family=SLICE_GATE)),
        [("slice regression", False, "language de: new against old, ndcg@2: regressed (-0.1000)")],
    ),
    "a slice regressed by less": (
        {"slice_regression": 0.1},
        with_rows(verdict("regressed", attribute="language", slice="de", family=SLICE_GATE)),
        [("slice regression", True, "no slice regressed by more than 0.1")],
    ),
    "a slice regressed, but only by itself: not among the slices of all attributes": (
        {"slice_regression": 0.05},
        with_rows(verdict("regressed", attribute="language", slice="de", family="slices by language")),
        [("slice regression", True, "no slice regressed by more than 0.05")],
    ),
    "a slice may have regressed": (
        {"slice_regression": 0.05},
        with_rows(
            verdict("no detectable difference (MDE = 0.300 at 80 % power)", mde=0.3, attribute="language", slice="de")
        ),
        [("slice regression", True, "no slice regressed by more than 0.05")],
    ),
    "everything is answered": (
        {"unanswered": 0},
        night(),
        [("unanswered", True, "no system leaves more than 0 queries unanswered")],
    ),
    "too much is unanswered": (
        {"unanswered": 2},
        with_rows(systems=(system("old", unanswered=2), system("new", unanswered=3))),
        [("unanswered", False, "new left 3 queries unanswered, at most 2 may be")],
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_gate(name: str) -> None:
    given, outcome, expected = ROWS[name]
    assert gates(outcome, **given) == expected


# name: (what `new` returns, the gate, does it pass, what is said) through the pipeline
NIGHTS = {
    "as good": (dict.fromkeys(WORDS, GOOD), {"no_regression": True}, True, NOBODY),
    "all upside down": (
        dict.fromkeys(WORDS, BAD),
        {"no_regression": True},
        False,
        "new against old, ndcg@2: regressed (-0.3691)",  # 1 - 1 / log2(3)
    ),
    "half unjudged": (
        dict.fromkeys(WORDS, UNJUDGED),
        {"judged": 0.6},
        False,
        "new: 50 % judged on ndcg@2, 60 % must be",
    ),
    "two unanswered": (
        dict.fromkeys(WORDS[2:], GOOD),
        {"unanswered": 1},
        False,
        "new left 2 queries unanswered, at most 1 may be",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NIGHTS)
def test_a_gate_through_the_pipeline(name: str) -> None:
    new, given, passed, words = NIGHTS[name]
    ((_, found, message),) = gates(night(new), **given)
    assert (found, message) == (passed, words)


def test_without_a_gate_nothing_is_said() -> None:
    evaluation = Evaluation(name="t", judgments={"file": "q"}, systems=[{"name": "a", "file": "a.run"}])
    outcome = with_rows(verdict("regressed"))
    assert check_gates(evaluation, outcome) == ()
    assert outcome.gate is None


def test_one_that_fails_is_enough() -> None:
    passed, failed = GateResult("a", True, ""), GateResult("b", False, "")
    assert dataclasses.replace(night(), gates=(passed, passed)).gate == "passed"
    assert dataclasses.replace(night(), gates=(passed, failed)).gate == "failed"


def test_families_are_those_of_the_outcome() -> None:
    assert {row.family for row in night().comparisons} == {PRIMARY}


CONFIG = """
name: t
judgments: {root}/tests/data/judgments.qrels
systems: [{{name: old, file: {root}/tests/data/old.run}}, {{name: new, file: lost.run}}]
metrics: [ndcg@5]
output: out
gate: {gate}
"""

# what stands in the configuration: what is said of it
BAD_GATES = {
    "{judged: 2}": "gate.judged = 2: must be 1.0 or less",
    "{unanswered: -1}": "gate.unanswered = -1: must be 0 or more",
    "{unanswered: 1.5}": "gate.unanswered = 1.5: must be a whole number",
    "{slice_regression: -0.1}": "gate.slice_regression = -0.1: must be 0.0 or more",
    "{no_regression: maybe}": "gate.no_regression = 'maybe': must be true or false",
    "{no_regresion: true}": "key 'gate.no_regresion' is unknown; did you mean 'no_regression'?",
    "{not_worse: {rr@5: 0.1}}": "gate.not_worse: rr@5: is none of the metrics (ndcg@5)",
    "{not_worse: {ndcg@5: 0}}": "gate.not_worse: ndcg@5: 0: must be a number above 0",
    "{not_worse: ndcg@5}": "gate.not_worse = 'ndcg@5': must hold keys and values",
    "strict": "gate = 'strict': must hold keys and values",
}


@pytest.mark.parametrize("text", BAD_GATES)
def test_a_bad_gate_is_told_in_one_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(CONFIG.format(root=ROOT, gate=text))
    with pytest.raises(InputError) as caught:
        read_config(path)
    assert "\n" not in str(caught.value)
    assert BAD_GATES[text] in str(caught.value)


def test_a_gate_is_strict_in_the_flow_parameter_too() -> None:
    with pytest.raises(ValidationError):
        Gate(judged=1.5)


@pytest.mark.slow
def test_the_exit_code_is_1_and_everything_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Prefect; that the gate stands where Prefect dies: tests/slow/test_prefect_outages.py."""
    from ndcg_ab.flows.cli.app import app

    rows = [line.split() for line in (ROOT / "tests" / "data" / "old.run").read_text().splitlines()]
    found_last = ("", "unknown-")  # of five documents the last is judged
    lost = [f"{row[0]} Q0 {found_last[row[3] != '5']}{row[2]} {row[3]} {row[4]} new" for row in rows]
    (tmp_path / "lost.run").write_text("\n".join(lost) + "\n")
    (tmp_path / "c.yaml").write_text(CONFIG.format(root=ROOT, gate="{unanswered: 0}") + "tracker: json_lines\n")
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    found = CliRunner().invoke(app, ["run", str(tmp_path / "c.yaml")])
    assert found.exit_code == 1, found.output
    assert "gate failed: no regression: new against old, ndcg@5: regressed (-0." in found.stderr
    assert "gate failed: unanswered" not in found.stderr
    (bundle,) = (tmp_path / "out").glob("t/2*/bundle.json")
    said = json.loads(bundle.read_text())["outcome"]["gates"]
    assert [(gate["name"], gate["passed"]) for gate in said] == [("no regression", False), ("unanswered", True)]
    (tracked,) = (tmp_path / "out" / "json_lines" / "t").iterdir()
    assert json.loads(bundle.with_name("published.json").read_text())["url"] == str(tracked)
