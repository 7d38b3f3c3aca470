"""Bounds that are not computed settle nothing: they would take too long, or the measure declares none."""

from collections.abc import Mapping
from typing import Any

import pytest

from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.labels import bounds
from ndcg_ab.pipeline.conclude import make_outcome
from ndcg_ab.results.decisions import Choice
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.scoring.parity import recompute_sample
from ndcg_core.measures import registry
from tests.laboratory import Judgments, Ranking, evaluation_of, fill, in_order

QUERIES = [f"q{number:02}" for number in range(30)]
JUDGMENTS: Judgments = {query: {"d1": 1.0, "d2": 0.0} for query in QUERIES}
BETTER: Mapping[str, Mapping[str, Ranking]] = {
    "old": {query: in_order("d2", "d1") for query in QUERIES},
    "new": {query: in_order("d1", "d2", "x1") for query in QUERIES},
}


def outcome(statistics: Mapping[str, Any], metric: str = "ndcg@3") -> Outcome:
    evaluation = evaluation_of(["old", "new"], [metric], statistics={"smallest_effect": 0.01, **statistics})
    with DuckDBEngine(1) as engine:
        fill(engine, JUDGMENTS, BETTER, [metric])
        return make_outcome(engine, evaluation, [], recompute_sample(engine, evaluation.metric_list))


def notes(found: Outcome) -> list[str]:
    return [finding.message for finding in found.findings if finding.code == "not_asked"]


@pytest.mark.parametrize(("given", "limit"), [(None, "MOST_STEPS"), (True, "MOST_WANTED")])
def test_what_would_take_too_long_is_open(given: bool | None, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = outcome({"bounds": given})
    assert known.comparisons[0].bound_low is not None
    monkeypatch.setattr(bounds, limit, 0)
    found = outcome({"bounds": given})
    (row,) = found.comparisons
    assert (row.label_settled, row.bound_low) == (False, None)
    assert found.decisions[0].decision is Choice.JUDGE_RESULTS
    assert "how far was not computed" in found.decisions[0].reason
    assert any("30 answers are not wholly judged" in note for note in notes(found))


def test_bounds_that_nobody_wants_leave_the_verdict_as_it_is() -> None:
    found = outcome({"bounds": False})
    assert found.comparisons[0].label_settled is None
    assert found.decisions[0].decision is Choice.SHIP


def test_a_measure_that_declares_no_bounds_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The metrics are those of no other test: a metric that was read keeps its measure."""
    added = registry.Measure("precision", registry.precision)  # as it was, but for what it declares
    monkeypatch.setitem(registry.MEASURES, "precision", added)
    found = outcome({}, "precision(relevant_from=0.0625)@1")
    assert found.comparisons[0].label_settled is None  # all that it looks at is judged
    found = outcome({}, "precision(relevant_from=0.0625)@3")
    assert found.comparisons[0].label_settled is False
    assert any("@3 is not known: the measure does not declare has_bounds" in note for note in notes(found))
