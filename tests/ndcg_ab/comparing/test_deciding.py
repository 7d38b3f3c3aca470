"""What would be decided if every metric did: said where the default made another decision."""

import dataclasses

import pytest

from ndcg_ab.results.outcome import GateResult, Outcome
from tests.laboratory import in_order, outcome_of

QUERIES = [f"q{index:02d}" for index in range(20)]
JUDGMENTS = {query: {"first": 1.0, "second": 1.0, "bad": 0.0} for query in QUERIES}
OLD = in_order("first", "bad", "other")
NEW = in_order("bad", "first", "second")  # more of the good ones, and the first of them later
METRICS = ["recall@3", "rr@10"]


def outcome(primary: str, metrics: list[str] = METRICS) -> Outcome:
    rankings = {name: dict.fromkeys(QUERIES, found) for name, found in (("old", OLD), ("new", NEW))}
    return outcome_of(JUDGMENTS, rankings, metrics, primary_metrics=primary)


@pytest.mark.slow
def test_it_is_said_where_the_default_changed_a_decision() -> None:
    by_first, by_all = outcome("first"), outcome("all")
    (decision,) = by_first.decisions
    assert decision.decision == "judge_results"
    assert decision.reason.endswith("; if every metric decided: do not ship")
    assert by_first.if_all_decided == by_all.decisions
    assert [row.family for row in by_first.main] == ["primary", "secondary"]
    assert {row.family_size for row in by_first.main} == {1}
    assert Outcome.from_dict(by_first.to_dict()).decisions == by_first.decisions


@pytest.mark.slow
def test_unjudged_results_are_weighed_anew_where_every_metric_decides() -> None:
    """rr@3 is shown better in the family of all metrics alone, and every result is judged."""
    better, worse = in_order("first", "bad"), in_order("bad", "first")
    old = {query: worse if query < "q08" else better for query in QUERIES}
    rankings = {"old": old, "new": dict.fromkeys(QUERIES, better)}
    metrics = ["accuracy@3", "rr@3", "recall@3", "precision@3", "judged@3", "recall@2", "precision@2", "accuracy@2"]
    by_first, by_all = (outcome_of(JUDGMENTS, rankings, metrics, primary_metrics=each) for each in ("first", "all"))
    assert [each.decision for each in by_first.decisions] == ["nothing_changed"]
    assert [each.decision for each in by_all.decisions] == ["ship_if_cheap"]
    assert by_first.if_all_decided == by_all.decisions


@pytest.mark.slow
def test_nothing_is_said_where_nothing_changed_or_the_roles_are_named() -> None:
    assert outcome("all").if_all_decided == ()
    backwards = outcome("first", METRICS[::-1])
    assert [each.decision for each in backwards.decisions] == ["do_not_ship"]
    assert backwards.if_all_decided == ()


def test_a_failed_gate_decides_both_ways() -> None:
    gate = GateResult("unanswered", False, "new left 3 unanswered", ("new",), ("new left 3 unanswered",))
    (decision,) = dataclasses.replace(outcome("first"), gates=(gate,)).decisions
    assert decision.decision == "do_not_ship" and "every metric decided" not in decision.reason
