"""A measure, a decision and a finding that somebody adds as CONTRIBUTING says: every reader has it, or refuses it."""

import dataclasses
import json

import pytest

import ndcg_ab
from ndcg_ab.config.loading.schema import json_schema
from ndcg_ab.engines import base
from ndcg_ab.engines.sql_files import pipeline_files
from ndcg_ab.errors import InputError, ParityError
from ndcg_ab.report.terminal.reference import lists_content
from ndcg_ab.results import decisions
from ndcg_core import parse, score_query
from ndcg_core.measures.meanings import MEASURE_MEANINGS, PLAIN_MEANINGS
from ndcg_core.measures.ranges import Range, value_range
from ndcg_core.measures.registry import MEASURES, Divisor, Measure, Quotient, RankedGains, cumulated
from ndcg_core.statistics.verdicts.state import State
from tests.laboratory import in_order
from tests.paths import ROOT

QUERIES = [f"q{number}" for number in range(12)]
JUDGMENTS = {query: {"a": 1, "b": 1, "c": 0} for query in QUERIES}
RANKINGS = {"old": in_order("c", "a", "x"), "new": in_order("a", "b", "x")}
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


@pytest.mark.slow
def test_a_measure_is_evaluated_and_its_bounds_are_said_to_be_unknown(with_sql: None) -> None:
    """x is unjudged in both rankings, and not at the same place in what they find."""
    result = ndcg_ab.compare(JUDGMENTS, SCORES, metrics=["f1@3"])
    row = result.comparison("new")
    assert (row.difference, row.metric) == (pytest.approx(0.4), "f1@3")
    assert row.unjudged is not None and (row.unjudged.state, row.unjudged.low) == (State.UNKNOWN, None)
    written = json.loads(result.to_json())
    assert written["decisions"][0]["decision"] == "judge_results"
    assert written["metrics"][0]["definition"]["measure"] == "f1"


def test_a_measure_without_its_sql_stops_and_says_so(f1: None) -> None:
    with pytest.raises(ParityError, match=r"metric f1@3: SQL gives None, the Python core"):
        ndcg_ab.compare(JUDGMENTS, SCORES, metrics=["f1@3"])


def test_a_measure_that_is_no_query_of_a_warehouse_is_refused_there(f1: None) -> None:
    with pytest.raises(InputError, match=r"^metric f1@3: f1 is not written as one query: choose another measure$"):
        ndcg_ab.sql_query("f1@3", dialect="duckdb")


def test_a_measure_is_a_query_of_a_warehouse_by_its_traits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MEASURES, "f", Measure("f", cumulated, Divisor.LENGTH, is_additive=True, is_bounded=True))
    monkeypatch.setitem(MEASURE_MEANINGS, "f", "what is found in each place")
    assert "else coalesce(query_dcg.dcg, 0e0) / 3e0" in ndcg_ab.sql_query("f@3", dialect="duckdb")


def test_every_page_that_lists_decisions_lists_all() -> None:
    for name in ("json", "history", "verdicts"):
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        assert {choice for choice in decisions.Choice if f"`{choice}`" not in text} == set(), name
