"""A measure, a decision and a finding that somebody adds as CONTRIBUTING says: every reader has it, or refuses it."""

import dataclasses
import json
from collections.abc import Iterator

import pytest

import ndcg_ab
from ndcg_ab.config.loading.schema import json_schema
from ndcg_ab.engines import base
from ndcg_ab.engines.sql_files import pipeline_files
from ndcg_ab.errors import InputError, ParityError
from ndcg_ab.finding_codes import CODES
from ndcg_ab.finding_codes.inputs import Code
from ndcg_ab.report import answer as answers
from ndcg_ab.report.explanations import explain_outcome
from ndcg_ab.report.markdown import format_comment
from ndcg_ab.report.terminal import reference
from ndcg_ab.report.terminal.reference import lists_content
from ndcg_ab.report.terminal.screen import print_outcome
from ndcg_ab.results import decisions, outcome
from ndcg_ab.results.decisions import Choice, Decision, Traits
from ndcg_ab.results.outcome import Finding, Outcome
from ndcg_ab.trackers.mlflow import values
from ndcg_core import parse, score_query
from ndcg_core.measures.meanings import MEASURE_MEANINGS, PLAIN_MEANINGS
from ndcg_core.measures.registry import MEASURES, Divisor, Measure, Quotient, RankedGains, cumulated
from ndcg_core.measures.score import Range, value_range
from ndcg_core.statistics.verdicts.verdict import State, Tone
from tests.laboratory import in_order, outcome_of
from tests.paths import ROOT
from tests.printing import print_to_text

QUERIES = [f"q{number}" for number in range(12)]
JUDGMENTS = {query: {"a": 1, "b": 1, "c": 0} for query in QUERIES}
RANKINGS = {"old": in_order("c", "a", "x"), "new": in_order("a", "b", "x")}
SYSTEMS = {name: dict.fromkeys(QUERIES, results) for name, results in RANKINGS.items()}
SCORES = {
    name: {query: {row.doc_id: row.score for row in found} for query in QUERIES} for name, found in RANKINGS.items()
}
WHEN = "when measure = 'accuracy' then"
F1 = "when measure = 'f1' then coalesce(2.0 * dcg / nullif(ideal + coalesce(cutoff, returned), 0.0), 0.0)"


def harmonic(counted: RankedGains) -> Quotient:
    """2 · relevant / (k + all relevant ones)."""
    return Quotient(2 * counted.total, counted.ideal + (counted.cutoff or counted.returned))


@pytest.fixture
def f1(monkeypatch: pytest.MonkeyPatch) -> None:
    """The F-measure: its entry and its words; without its SQL."""
    entry = Measure("f1", harmonic, Divisor.OTHER, is_additive=True, is_bounded=True, ideal="global")
    monkeypatch.setitem(MEASURES, "f1", entry)
    monkeypatch.setitem(MEASURE_MEANINGS, "f1", "harmonic mean of precision and recall")
    monkeypatch.setitem(PLAIN_MEANINGS, "f1", "how much is relevant and found in {results}")


@pytest.fixture
def with_sql(f1: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with its line in the SQL."""
    files = dict(pipeline_files())
    score = files["query_score"]
    files["query_score"] = dataclasses.replace(score, text=score.text.replace(WHEN, f"{F1}\n        {WHEN}"))
    monkeypatch.setattr(base, "pipeline_files", lambda: files)


def test_a_measure_has_a_name_a_range_and_its_place_in_the_lists(f1: None) -> None:
    metric = parse("F1(rel=2)@3")
    assert (metric.name, value_range(metric)) == ("f1(relevant_from=2)@3", Range(0.0, 1.0))
    assert score_query(parse("f1@2"), in_order("a", "c"), {"a": 1, "b": 1, "c": 0}) == 0.5
    assert "f1" in {each["measure"] for each in lists_content()["measures"]}
    assert "'f1'" in str(json_schema()["$defs"])


def test_a_measure_is_evaluated_and_its_bounds_are_said_to_be_unknown(with_sql: None) -> None:
    """x is unjudged in both rankings, and not at the same place in what they find."""
    result = ndcg_ab.compare(JUDGMENTS, SCORES, metrics=["f1@3"])
    row = result.comparison("new")
    assert (row.difference, row.metric) == (pytest.approx(0.4), "f1@3")
    assert row.unjudged is not None and (row.unjudged.state, row.unjudged.low) == (State.UNKNOWN, None)
    written = json.loads(result.to_json())
    assert written["decisions"][0]["decision"] == "judge_results"
    assert written["metrics"][0]["definition"]["measure"] == "f1"


def test_a_measure_without_its_sql_is_refused_by_an_evaluation_and_as_a_query_of_a_warehouse(f1: None) -> None:
    with pytest.raises(ParityError, match=r"metric f1@3: SQL gives None, the Python core"):
        ndcg_ab.compare(JUDGMENTS, SCORES, metrics=["f1@3"])
    with pytest.raises(InputError, match=r"^metric f1@3: f1 is not written as one query: choose another measure$"):
        ndcg_ab.sql_query("f1@3", dialect="duckdb")


def test_a_measure_is_a_query_of_a_warehouse_by_its_traits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MEASURES, "f", Measure("f", cumulated, Divisor.LENGTH, is_additive=True, is_bounded=True))
    monkeypatch.setitem(MEASURE_MEANINGS, "f", "what is found in each place")
    assert "else coalesce(query_dcg.dcg, 0e0) / 3e0" in ndcg_ab.sql_query("f@3", dialect="duckdb")


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Outcome]:
    """An outcome whose decision is one that somebody added."""
    wait = str.__new__(Choice, "wait_a_week")
    wait._name_, wait._value_ = "WAIT", "wait_a_week"
    monkeypatch.setitem(Choice._value2member_map_, "wait_a_week", wait)
    monkeypatch.setitem(Choice._member_map_, "WAIT", wait)
    monkeypatch.setattr(Choice, "_member_names_", [*Choice._member_names_, "WAIT"])
    known = Choice.traits.fget
    assert known is not None
    added = Traits(3, "~", Tone.OPEN, "Wait a week, and run it again.")
    monkeypatch.setattr(Choice, "traits", property(lambda self: added if self is wait else known(self)))
    monkeypatch.setattr(answers, "BEST_FIRST", [*answers.BEST_FIRST, wait])
    monkeypatch.setattr(outcome, "decide", lambda candidate, *_: Decision(candidate, wait, "users are away"))
    yield outcome_of(JUDGMENTS, SYSTEMS, ["ndcg@3"])


def test_a_decision_is_shown_by_every_report_kept_and_read_again(waiting: Outcome) -> None:
    assert json.loads(waiting.to_json())["decisions"][0]["decision"] == "wait_a_week"
    assert "~ wait a week" in print_to_text(print_outcome, waiting)
    assert format_comment(waiting).startswith("### ~ wait a week: new")
    assert values.system_tags(waiting, "new")["what_to_do"] == "~ wait a week"
    assert "Wait a week, and run it again." in str(explain_outcome(waiting))
    kept = Outcome.from_dict(json.loads(waiting.to_json()))
    assert kept.decisions == waiting.decisions


def test_every_page_that_lists_decisions_lists_all() -> None:
    for name in ("json", "history", "verdicts"):
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        assert {choice for choice in decisions.Choice if f"`{choice}`" not in text} == set(), name


@pytest.fixture
def moon(monkeypatch: pytest.MonkeyPatch) -> Finding:
    """A finding that somebody added."""
    monkeypatch.setitem(CODES, "full_moon", Code("warning", "The moon is full.", "Wait a night."))  # type: ignore[arg-type]
    return Finding("full_moon", "warning", "the moon is full", 1)


@pytest.mark.slow
def test_a_finding_is_explained_listed_can_be_ignored_and_is_shown_by_every_report(moon: Finding) -> None:
    assert "Wait a night." in print_to_text(reference.print_entry, "full_moon")
    assert reference.list_codes([])[-1]["code"] == "full_moon"
    result = ndcg_ab.compare(JUDGMENTS, SCORES, metrics=["ndcg@3"], findings={"full_moon": "ignore"})
    assert result.comparison("new").queries == len(QUERIES)
    found = dataclasses.replace(outcome_of(JUDGMENTS, SYSTEMS, ["ndcg@3"]), findings=(moon,))
    assert json.loads(found.to_json())["findings"][0]["code"] == "full_moon"
    for text in (print_to_text(print_outcome, found), format_comment(found)):
        assert "the moon is full" in text
