"""Measures of ir_measures: what is read as one, what is said where it cannot be, and values beside ours."""

import sys

import ir_measures
import pytest

from ndcg_ab.other_measures import NAMES, OF_SUBTOPICS, find_ir_measure, find_measure, measure_values
from ndcg_ab.results.codec import decode, encode
from ndcg_core.measures.metric import Metric, MetricError
from ndcg_core.measures.notation import ExternalMetric, parse
from ndcg_core.measures.registry import MEASURES
from tests.laboratory import evaluation_of, in_order, outcome_of

JUDGMENTS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 1}, "q3": {"a": 0}, "q4": {"b": 3}}
RANKINGS = {
    "old": {"q1": in_order("b", "x", "a"), "q2": in_order("x", "a"), "q3": in_order("a")},
    "new": {"q1": in_order("a", "c"), "q2": in_order("a", "b", "c"), "q4": in_order("b")},
}


def test_what_is_read() -> None:
    found = find_measure("SetF(beta=0.5)")
    assert (found.name, found.hash) == ("SetF(beta=0.5)", find_measure(" SetF(beta=.5) ").hash)
    assert found.definition == {
        "measure": "SetF(beta=0.5)",
        "computed": f"ir_measures {ir_measures.__version__}",
        "lower_is_better": False,
    }
    assert find_measure("-NumRet").definition["lower_is_better"]
    assert find_measure("AP(rel=2)@10") == parse("ap(relevant_from=2)@10"), "what is computed here is ours"
    assert find_ir_measure("ndgc@10") is None


def test_every_name_is_one_of_ir_measures_and_none_of_ours() -> None:
    there = ir_measures.measures.registry
    assert there.keys() >= NAMES | OF_SUBTOPICS
    assert not {name.lower() for name in NAMES | OF_SUBTOPICS} & MEASURES.keys()
    for name in there.keys() - NAMES - OF_SUBTOPICS - {"α_DCG", "α_nDCG"}:
        try:
            parse(name)
        except MetricError as error:
            assert "'Precision'" in str(error) or "'F1'" in str(error), error


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SDCG@10", "metric 'SDCG@10': ir_measures does not read it: it needs max_rel, as SDCG(max_rel=…)"),
        ("SetP(depth=3)", "does not read it: unsupported params found: ['depth']"),
        ("SetP(", "metric 'SetP(': ir_measures does not read it"),
        ("alpha_nDCG@20", "counts subtopics"),
        ("ndgc@10", "did you mean 'ndcg'?"),
    ],
)
def test_what_cannot_be_read(text: str, said: str) -> None:
    with pytest.raises(MetricError) as caught:
        find_measure(text)
    assert said in str(caught.value)


def test_without_the_extra_or_a_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MetricError, match=r"'SetP': is a measure of ir_measures, .*pip install 'ndcg-ab\[measures\]'"):
        find_measure("SetP")
    assert find_measure("ap") == parse("ap")
    monkeypatch.undo()
    monkeypatch.setattr(ir_measures.cwl_eval, "is_available", lambda: False)
    with pytest.raises(MetricError, match=r"ir_measures computes it by cwl_eval: pip install ir-measures\[cwl_eval\]"):
        find_measure("INST(max_rel=3)")


def test_values() -> None:
    ranking = {"q1": {"b": 3.0, "a": 1.0}, "unjudged": {"a": 1.0}}
    metric = find_measure("SetP")
    assert isinstance(metric, ExternalMetric)
    answered = {"q1": {"a": 2.0, "b": 0.0}, "q2": {"a": 1.0}}, ranking
    assert measure_values(metric, *answered) == {"q1": 0.5, "q2": 0.0}
    fewer = find_measure("-NumRet")
    assert isinstance(fewer, ExternalMetric)
    assert measure_values(fewer, *answered) == {"q1": -2.0, "q2": 0.0}
    with pytest.raises(MetricError, match=r"takes whole grades alone; document .a. of query .q1. has 0\.7"):
        measure_values(metric, {"q1": {"a": 0.7}}, ranking)


def test_an_evaluation_has_them_beside_ours_or_alone() -> None:
    """Of q1, q2 and q4, as ours: nothing in q3 is relevant, and an unanswered query counts."""
    outcome = outcome_of(JUDGMENTS, RANKINGS, ["ndcg@10", "SetP", "-NumRet"])
    means = {(row.system_id, row.metric): (row.mean, row.queries, row.unanswered) for row in outcome.systems}
    assert means["old", "SetP"] == (pytest.approx((1 / 3 + 1 / 2 + 0) / 3), 3, 1)
    assert means["new", "SetP"] == (pytest.approx((1 + 1 / 3 + 1) / 3), 3, 0)
    assert means["old", "-NumRet"] == (pytest.approx(-5 / 3), 3, 1)
    alone = outcome_of(JUDGMENTS, RANKINGS, ["ndcg@10"])
    assert tuple(row for row in outcome.systems if row.metric == "ndcg@10") == alone.systems
    assert {row.metric for row in outcome.comparisons} == {"ndcg@10", "SetP", "-NumRet"}
    assert outcome.parity_queries == 4
    assert decode(tuple[Metric, ...], encode(outcome.metrics)) == outcome.metrics
    outcome = outcome_of(JUDGMENTS, RANKINGS, ["SetP"])
    assert outcome.parity_queries == 0
    assert {row.queries for row in outcome.systems} == {3}


def test_not_where_rankings_are_elsewhere() -> None:
    with pytest.raises(ValueError, match=r"engine\.spark: the rankings stay there, and SetP is computed here"):
        evaluation_of(["old", "new"], ["SetP"], engine={"spark": {"master": "local[1]"}})
