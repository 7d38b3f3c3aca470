"""How far both sides of a comparison are judged, and verdicts that are owed to it."""

import re
from dataclasses import replace
from typing import Any

import pytest

import ndcg_ab
from ndcg_ab.labels.unjudged import check_judged_shares
from ndcg_ab.report.markdown import format_comment, format_note
from ndcg_ab.report.terminal.screen import print_outcome
from ndcg_ab.results.outcome import Finding, Outcome
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.record import Labels, Unjudged
from ndcg_core.statistics.verdicts.verdict import State, Verdict
from tests.laboratory import Judgments, Ranking, in_order, outcome_of, plant_fault
from tests.printing import print_to_text

JUDGED = {"a": 1.0, "b": 0.0, "c": 0.0}
Rankings = dict[str, Ranking]

# query -> what old and new show; x and y are unjudged
SHOWN: dict[str, tuple[str, str]] = {
    "both": ("ba", "ab"),
    "old": ("xa", "ab"),
    "new": ("ab", "xa"),
    "neither": ("xy", "yx"),
    "below": ("bax", "aby"),
    "silent": ("", "ab"),
    "short": ("a", "b"),
}


def made(shown: dict[str, tuple[str, str]]) -> tuple[Judgments, Rankings]:
    rankings: Rankings = {
        name: {query: in_order(*pair[index]) for query, pair in shown.items() if pair[index]}
        for index, name in enumerate(("old", "new"))
    }
    return dict.fromkeys(shown, JUDGED), rankings


def row_of(outcome: Outcome, metric: str = "ndcg@2") -> Comparison:
    return next(row for row in outcome.comparisons if row.metric == metric)


def labels_of(outcome: Outcome, metric: str = "ndcg@2") -> Labels:
    labels = row_of(outcome, metric).labels
    assert labels is not None
    return labels


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return outcome_of(*made(SHOWN), ["ndcg@2", "precision@1"])


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("right", "wrong"), [("of_candidate.system_id is null", "true"), ("of_baseline.system_id is null", "true")]
)
def test_both_sides_must_be_judged(monkeypatch: pytest.MonkeyPatch, right: str, wrong: str) -> None:
    plant_fault(monkeypatch, "fully_judged_difference", right, wrong)
    assert labels_of(outcome_of(*made(SHOWN), ["ndcg@2"])).full_queries == 5


@pytest.mark.slow
def test_with_one_query_there_is_no_interval_and_without_any_no_difference() -> None:
    one = labels_of(outcome_of(*made({name: SHOWN[name] for name in ("both", "old")}), ["ndcg@2"]))
    assert (one.full_queries, one.full_low, one.full_high) == (1, None, None)
    assert one.full_difference == pytest.approx(1 - 0.6309297535714575)
    none = labels_of(outcome_of(*made({"old": SHOWN["old"]}), ["ndcg@2"]))
    assert (none.full_queries, none.full_difference, none.full_low) == (0, None, None)


# ---- verdicts that are owed to the labels


def outcome_with_unequal_judging(count: int, full: str = "", metric: str = "ndcg@2") -> tuple[Judgments, Rankings]:
    """Of `count` queries new shows what is judged, old what is not; full: the same of five queries judged fully."""
    shown = {f"q{number:02}": ("xa", "ab") for number in range(count)}
    shown |= {f"r{number}": (full[:2], full[2:]) for number in range(5) if full}
    return made(shown)


def list_favour_findings(outcome: Outcome) -> list[Finding]:
    return [finding for finding in outcome.findings if finding.code == "labels_favour"]


@pytest.fixture(scope="module")
def owed() -> Outcome:
    return outcome_of(*outcome_with_unequal_judging(30, "abba"), ["ndcg@2"])


@pytest.mark.slow
def test_a_verdict_for_the_better_judged_system_is_warned_of(owed: Outcome) -> None:
    (found,) = list_favour_findings(owed)
    assert found.message.startswith("ndcg@2: new improved, which favours new, of whose results 100 % are judged, of")
    assert "of those of old 57 %; on the 5 queries judged fully for both -0.3691 (-0.3691 … -0.3691)" in found.message
    assert (found.severity, found.count, found.system, found.metric) == ("warning", 30, "new", "ndcg@2")
    assert found.value == pytest.approx(3 / 7)


@pytest.mark.slow
def test_a_verdict_against_the_less_judged_candidate_is_warned_of() -> None:
    judgments, rankings = outcome_with_unequal_judging(30, "abba")
    turned = {"old": rankings["new"], "new": rankings["old"]}
    (found,) = list_favour_findings(outcome_of(judgments, turned, ["ndcg@2"]))
    assert found.message.startswith("ndcg@2: new regressed, which favours old, of whose results 100 % are judged")
    assert "judge what new alone shows" in found.message


LABELS = Labels(0.8, 0.85, 20, 0.1, 0.01, 0.19)
STANDS, TURNS = (Unjudged(9, state, 1.2) for state in (State.BETTER, State.UNKNOWN))
ROW: dict[str, Any] = {"conclusion": Verdict.IMPROVED, "unjudged": STANDS}
HARM = ROW | {"conclusion": Verdict.REGRESSED}
HOLDS = ROW | {"conclusion": Verdict.NOT_WORSE, "smallest_effect": 0.1}
FEWER = {"baseline_judged": 0.95}  # of the candidate's results are judged than of the baseline's


@pytest.mark.parametrize(
    ("row", "labels", "warned"),
    [
        (ROW, {}, False),
        (ROW, {"full_low": 0.0}, True),
        (ROW, {"full_low": None}, True),
        (ROW | {"unjudged": TURNS}, {}, True),
        (ROW | {"unjudged": None}, {}, True),
        (ROW, {"full_low": 0.0, "candidate_judged": 0.84}, False),
        (ROW, {"full_low": 0.0, "candidate_judged": None}, False),
        (ROW, {"full_low": 0.0, "baseline_judged": 0.95}, False),
        (HARM, {"full_low": -0.2, "full_high": -0.1}, False),
        (HARM, FEWER | {"full_low": -0.2, "full_high": 0.0}, True),
        (HARM, FEWER | {"full_low": -0.2, "full_high": -0.1}, False),
        (HARM | {"unjudged": TURNS}, FEWER | {"full_low": -0.2, "full_high": -0.1}, True),
        (HARM | {"conclusion": Verdict.WORSE, "smallest_effect": 0.1}, FEWER | {"full_high": 0.0}, True),
        (ROW | {"conclusion": Verdict.UNDECIDED}, {"full_low": -1.0}, False),
        (ROW | {"conclusion": Verdict.MAY_BE_WORSE}, FEWER | {"full_low": -1.0}, False),
        (HOLDS, {"full_low": -0.1}, True),
        (HOLDS, {"full_low": -0.09}, False),
    ],
)
def test_who_is_warned(outcome: Outcome, row: dict[str, Any], labels: dict[str, Any], warned: bool) -> None:
    compared = [replace(row_of(outcome), **row, labels=replace(LABELS, **labels))]
    assert bool(list(check_judged_shares(compared))) is warned


# ---- where it is told


def printed(outcome: Outcome, details: bool = False) -> str:
    return print_to_text(print_outcome, outcome, width=200, details=details)


def test_shares_that_lie_apart_are_told_beside_the_verdict(owed: Outcome) -> None:
    line = "judged: 100 % of its results, 57 % of the baseline's; on the 5 queries judged fully for both -0.3691"
    shown = printed(owed, details=True)
    assert line not in " ".join(shown.split()), "the tables say it"
    assert re.search(r" 57 %.*\n", shown) and re.search(r" 5 +-0\.3691 ", shown)
    assert f": {line}" in format_comment(owed)
    assert f": {line}" in format_note(owed)


def test_shares_that_are_near_are_told_with_details_alone(outcome: Outcome) -> None:
    assert "of the baseline" not in printed(outcome)
    assert "judged: " not in format_comment(outcome)
    metrics, _, table = printed(outcome, details=True).partition("described")
    assert [word in metrics for word in ("79 %", "75 %")] == [True] * 2
    assert "queries judged fully" in table


def test_scores_of_another_tool_have_no_labels() -> None:
    scores = {"old": {"a": {"ndcg@2": 0.1}, "b": {"ndcg@2": 0.2}}, "new": {"a": {"ndcg@2": 0.2}, "b": {"ndcg@2": 0.2}}}
    assert [row.labels for row in ndcg_ab.compare(scores=scores).comparisons] == [None]
