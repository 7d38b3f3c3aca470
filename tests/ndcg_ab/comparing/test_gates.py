"""Gates: what lets a night pass or fail, in words; the exit code, with the results kept all the same."""

import dataclasses
import functools
import re
from typing import Any

import pytest

import ndcg_ab
from ndcg_ab.comparing.gates import check_gates, gate_results, scored_gate
from ndcg_ab.comparing.since_last import SinceLast
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.settings import Gate
from ndcg_ab.errors import InputError
from ndcg_ab.results.ledger import SCORED, LedgerRow, make_row
from ndcg_ab.results.outcome import GateResult, Outcome, SystemSummary
from ndcg_ab.results.wording import GATE, GUARDRAILS, PAIRS, SECONDARY, SLICE_GATE
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import Obstacle
from tests.laboratory import in_order, outcome_of
from tests.repeated import mostly_soaked
from tests.sentences import fields_of_sentence

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
    told = fields_of_sentence(text)
    if (margin := re.search(r"[\d.]+(?=$| not ruled out)", text)) is not None:
        told["smallest_effect"] = float(margin[0])
    made = dataclasses.replace(row, difference=difference, **(told | changes))
    assert made.verdict == text
    return made


def with_rows(*rows: Comparison, **changes: object) -> Outcome:
    return dataclasses.replace(night(), comparisons=rows, **changes)


def system(name: str, *, unanswered: int = 0, judged: float | None = 1.0, metric: str = "ndcg@2") -> SystemSummary:
    return SystemSummary(name, metric, 0.5, 0.5, 8, unanswered, judged)


def gates(outcome: Outcome, **keys: object) -> list[tuple[str, bool, str]]:
    """Return name, result and message of each gate; `no_regression` is off by default."""
    gate = Gate(**{"no_regression": False, "guardrails": False} | keys)
    found = list(gate_results(gate, outcome))
    for one in found:  # whose failures they are, as the sentences name them
        assert list(one.systems) == (re.findall(r"\b(new|other)[ :]", one.message) if not one.passed else [])
        assert one.message == ("; ".join(one.reasons) if one.reasons else one.message)
    return [(one.name, one.passed, one.message) for one in found]


NONE_COMPARED = "there is no candidate to compare"
NOBODY = "no candidate regressed on a primary metric"
REGRESSION, PASSED = {"no_regression": True}, [("no regression", True, NOBODY)]
FORBIDDEN = "no regression that the gate forbids"
SHOWN = "the one comparison is shown to be not worse than its margin"

# name: (the gate, the outcome, what is said)
ROWS = {
    "nothing is asked": ({}, with_rows(verdict("regressed")), []),
    "nobody regressed": (REGRESSION, night(), PASSED),
    "improved": (REGRESSION, with_rows(verdict("improved", 0.2)), PASSED),
    "no difference can be shown": (REGRESSION, with_rows(verdict("undecided (MDE 0.100)", mde=0.1)), PASSED),
    "regressed, by less than what matters": (
        REGRESSION,
        with_rows(verdict("regressed, smaller than 0.2")),
        [("no regression", True, f"{FORBIDDEN}; new against old, ndcg@2: regressed, smaller than 0.2 (-0.1000)")],
    ),
    "two regressed": (
        REGRESSION,
        with_rows(verdict("regressed"), verdict("regressed", -0.25, candidate="other")),
        [
            (
                "no regression",
                False,
                "new against old, ndcg@2: regressed (-0.1000); other against old, ndcg@2: regressed (-0.2500)",
            )
        ],
    ),
    "regressed, but on a secondary metric": (REGRESSION, with_rows(verdict("regressed", family=SECONDARY)), PASSED),
    "regressed, but in a pair of candidates": (REGRESSION, with_rows(verdict("regressed", family=PAIRS)), PASSED),
    "a guardrail holds": (
        {"guardrails": True},
        with_rows(verdict("not worse than 0.02", family=GUARDRAILS)),
        [("guardrails", True, SHOWN)],
    ),
    "a guardrail may not hold": (
        {"guardrails": True},
        with_rows(verdict("worse by more than 0.02 not ruled out", family=GUARDRAILS)),
        [("guardrails", False, "new against old, ndcg@2: worse by more than 0.02 not ruled out (-0.1000)")],
    ),
    "a guardrail is open, and proof is asked for": (
        {"guardrails": True, "proof": True},
        with_rows(verdict("worse by more than 0.02 not ruled out", -0.01, family=GUARDRAILS)),
        [("guardrails", False, "new against old, ndcg@2: worse by more than 0.02 not ruled out (-0.0100)")],
    ),
    "a guardrail that cannot be tested": (
        {"guardrails": True},
        with_rows(verdict("not testable (n = 1)", None, family=GUARDRAILS, queries=1)),
        [("guardrails", False, "new against old, ndcg@2: not testable (n = 1)")],
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
            )
        ),
        [("guardrails", True, "the one comparison is identical (8 queries; 299 needed to rule out a loss of 0.01)")],
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
    "maybe worse": (
        {"not_worse": {"ndcg@2": 0.02}},
        with_rows(
            verdict("worse by more than 0.02 not ruled out", family=GATE),
            verdict("not worse than 0.02", candidate="x", family=GATE),
        ),
        [("not worse", False, "new against old, ndcg@2: worse by more than 0.02 not ruled out (-0.1000)")],
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
    "no system has a share of judged results": (
        {"judged": 0.5},
        with_rows(systems=(system("old", judged=None), system("other system", judged=None))),
        [("judged", False, "no system has a result whose judgment is looked at")],
    ),
    "a comparison of no query": (
        REGRESSION,
        with_rows(verdict("not testable (n = 0)", None, queries=0)),
        [("no regression", False, "new against old, ndcg@2: not testable (n = 0)")],
    ),
    "a comparison of one query": (REGRESSION, with_rows(verdict("not testable (n = 1)", None, queries=1)), PASSED),
    "no margin is compared": ({"not_worse": {"ndcg@2": 0.1}}, with_rows(), [("not worse", False, NONE_COMPARED)]),
    "no slice is compared": (
        {"slice_regression": 0.1},
        with_rows(verdict("improved", 0.2)),
        [("slice regression", False, "there is no slice to compare")],
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
        with_rows(verdict("undecided (MDE 0.300)", mde=0.3, attribute="language", slice="de", family=SLICE_GATE)),
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


@pytest.mark.parametrize(
    ("least", "scored", "judged", "after_another", "passed"),
    [
        *((0.5, 6, 12, False, True), (0.5, 5, 12, False, False), (0.4, 5, 12, False, True)),
        *((0.95, 11, 12, False, False), (1.0, 12, 12, False, True)),
        *((0.5, 18, 20, True, True), (0.5, 17, 20, True, False), (0.5, 9, 10, True, True)),
        *((0.5, 36, 40, True, True), (0.5, 35, 40, True, False), (0.95, 37, 40, True, False)),
    ],
)
def test_enough_queries_are_scored(least: float, scored: int, judged: int, after_another: bool, passed: bool) -> None:
    """Also nine tenths of the share in the evaluation before, 20 of 20, of however many queries are judged now."""
    found = with_rows(ledger=(make_row(SCORED, "ndcg@2", judged, {"without a gain or value": judged - scored}),))
    last = SinceLast(1, "2026-11-20", (), scored=(LedgerRow(SCORED, "ndcg@2", 20, 20),)) if after_another else None
    gate = scored_gate(least, found, ["ndcg@2"], last)
    needed = f"at least {100 * least:g} % must be"
    told = f"ndcg@2: {scored} of {judged} judged queries are scored, {needed}"
    told += ", and 90 % of the last share (20 of 20 in evaluation 1)" * after_another
    assert (gate.passed, gate.message) == (passed, f"of the judged queries {needed} scored" if passed else told)


def test_without_a_gate_nothing_is_said() -> None:
    evaluation = Evaluation(name="t", judgments={"file": "q"}, systems=[{"name": "a", "file": "a.run"}])
    outcome = with_rows(verdict("regressed"))
    assert check_gates(evaluation, outcome) == ()
    assert outcome.gate is None


def test_one_that_fails_is_enough() -> None:
    passed, failed = GateResult("a", True, ""), GateResult("b", False, "")
    assert dataclasses.replace(night(), gates=(passed, passed)).gate == "passed"
    assert dataclasses.replace(night(), gates=(passed, failed)).gate == "failed"


# ---- what is not computed never passes

NO_GRADE = {word: {"good": 0.0, "bad": -1.0} for word in WORDS}
RANKED = {"old": {word: {"good": 2.0, "bad": 1.0} for word in WORDS}}
RANKED["new"] = RANKED["old"]
POLICIES = ["exclude", "zero", "one"]


@pytest.mark.slow
@pytest.mark.parametrize("policy", mostly_soaked(POLICIES, kept=["one"]))
@pytest.mark.parametrize("systems", [RANKED, {"old": RANKED["old"]}], ids=["two", "one"])
def test_nothing_scored_is_an_error_with_a_gate_and_without(policy: str, systems: dict[str, Any]) -> None:
    metrics = [f"ndcg(no_relevant={policy})@2", f"precision(no_relevant={policy})@1"]
    for gate in (False, True, {"judged": 0.1}):
        with pytest.raises(InputError, match=r"^no query can be scored: .* \[nothing_scored\]$"):
            ndcg_ab.compare(NO_GRADE, systems, metrics=metrics, gate=gate)
    result = ndcg_ab.compare(NO_GRADE, systems, metrics=metrics, gate=True, findings={"nothing_scored": "ignore"})
    assert {gate.name: gate.passed for gate in result.gates} == {"no regression": False, "scored": False}


@pytest.mark.first_case
@pytest.mark.parametrize("policy", mostly_soaked(POLICIES, kept=["one"]))
@pytest.mark.parametrize("condition", ["no_regression", "guardrails", "not_worse"])
def test_a_metric_that_scores_nothing_fails_its_gate(policy: str, condition: str) -> None:
    """Beside one that does; whatever a query without a relevant document counts."""
    empty = ndcg_ab.parse(f"precision(relevant_from=9, no_relevant={policy})@1").name
    gate = {"no_regression": False, "guardrails": condition == "guardrails"} | {condition: True}
    options = {"guardrails": {empty: 0.1}} if condition == "guardrails" else {}
    gate |= {"not_worse": {empty: 0.1}} if condition == "not_worse" else {}
    roles = {"metrics": ["ndcg@2", empty], "primary_metrics": "all"}
    roles = {"metrics": "ndcg@2"} if options else roles
    result = ndcg_ab.compare(JUDGMENTS, RANKED, gate=gate, **roles, **options)
    failed = [condition, *["scored"] * (not options)]  # a guardrail is no primary metric
    assert [(each.name.replace(" ", "_"), each.passed) for each in result.gates] == [(each, False) for each in failed]
    assert "not testable (n = 0)" in result.gates[0].message
    assert [found.metric for found in result.findings if found.code == "nothing_scored"] == [empty]
    with pytest.raises(InputError, match="nothing_scored"):
        ndcg_ab.compare(JUDGMENTS, RANKED, metrics=["ndcg@2", empty], strict=True)


def test_a_finding_of_few_scored_queries_says_nothing_of_a_gate_that_passes() -> None:
    judgments = {f"q{at}": {"a": int(at < 1)} for at in range(5)}
    gate = {"scored": 0.1, "no_regression": False}
    result = ndcg_ab.compare(judgments, {"old": {query: ["a"] for query in judgments}}, metrics="ndcg@2", gate=gate)
    assert [each.passed for each in result.gates] == [True]
    (finding,) = [found for found in result.findings if found.code == "few_scored"]
    assert finding.message == "ndcg@2: 1 of 5 judged queries is scored by this metric"


def test_systems_that_share_no_query_pass_no_gate() -> None:
    metric = "ndcg(unanswered=exclude)@2"
    halves = {
        "old": {word: RANKED["old"][word] for word in WORDS[:4]},
        "new": {word: RANKED["old"][word] for word in WORDS[4:]},
    }
    result = ndcg_ab.compare(JUDGMENTS, halves, metrics=metric, gate={"not_worse": {metric: 0.1}})
    assert {gate.name: gate.passed for gate in result.gates} == dict.fromkeys(
        ["no regression", "not worse", "scored"], False
    )


@pytest.mark.slow
def test_one_system_passes_no_comparing_gate() -> None:
    alone = {"old": RANKED["old"]}
    for gate in (True, {"not_worse": {"ndcg@2": 0.1}, "no_regression": False}):
        (found,) = ndcg_ab.compare(JUDGMENTS, alone, metrics="ndcg@2", gate=gate).gates
        assert (found.passed, found.message) == (False, NONE_COMPARED)
    assert ndcg_ab.compare(JUDGMENTS, alone, metrics="ndcg@2", gate={"judged": 0.5})._outcome.gate == "passed"


@pytest.mark.first_case
@pytest.mark.parametrize("left", mostly_soaked(range(1, 9), kept=[1, 7]))
@pytest.mark.parametrize("policy", ["zero", "exclude"])
def test_a_baseline_that_answers_much_less_fails_the_gate(left: int, policy: str) -> None:
    """As one whose file was cut: it would let every regression pass."""
    cut = {word: RANKED["old"][word] for word in WORDS[:left]}
    systems = {"old": cut, "new": RANKED["new"]}
    result = ndcg_ab.compare(JUDGMENTS, systems, metrics=f"ndcg(unanswered={policy})@2", gate={"unanswered": 8})
    failed = {gate.name: gate.message for gate in result.gates if not gate.passed}
    assert ("scored" in failed) == (policy == "exclude" and left < 4)
    found = [message for name, message in failed.items() if name != "scored"]
    gone = f"{8 - left} quer{'y' if left == 7 else 'ies'}"
    told = f"old leaves {gone} unanswered, and another system 0: is the ranking of the baseline whole?"
    assert found == ([told] if left < 7 else [])
    turned = ndcg_ab.compare(JUDGMENTS, dict(reversed(systems.items())), metrics="ndcg@2", gate={"unanswered": 8})
    assert not [gate for gate in turned.gates if gate.name == "baseline"], "a candidate that answers less is compared"
