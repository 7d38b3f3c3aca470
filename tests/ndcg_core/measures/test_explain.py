"""Explanations add up to the value, steps lead from one metric to the other, ties stay within their bounds."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ndcg_core.measures.explain import explain, steps
from ndcg_core.measures.metric import Metric, MetricError
from ndcg_core.measures.notation import parse
from ndcg_core.measures.score import Result, gain, score_query, tie_bounds
from tests.examples import examples
from tests.laboratory import in_order
from tests.strategies import DOCUMENTS, GRADES, metrics, ranked, scored

SLOW = [HealthCheck.too_slow]
JUDGED = st.dictionaries(st.sampled_from(DOCUMENTS), GRADES, min_size=1)


@settings(max_examples=examples(300), deadline=None, suppress_health_check=SLOW)
@given(metrics(), scored() | ranked(), JUDGED)
def test_the_sums_give_the_value(metric: Metric, results: list[Result], judgments: dict[str, float]) -> None:
    if metric.negative == "error" and min(judgments.values()) < 0:
        with pytest.raises(MetricError):
            explain(metric, results, judgments)
        return
    found = explain(metric, results, judgments)
    assert found.value == score_query(metric, results, judgments)
    total = 0.0
    for rank, document in enumerate(found.ranking, start=1):
        total += document.gain * document.discount
        assert (document.rank, document.cumulated) == (rank, pytest.approx(total))
        assert document.grade == judgments.get(document.doc_id or "")
    if found.because or found.value is None:
        return
    top = found.ranking_within_cutoff[-1].cumulated if found.ranking_within_cutoff else 0.0
    if metric.measure == "ndcg":
        ideal = found.ideal[-1].cumulated if found.ideal else 0.0
        assert found.value == pytest.approx(top / ideal if ideal else 0.0)
    if metric.measure in ("dcg", "cg", "rbp", "err"):
        assert found.value == pytest.approx(top)
    if metric.traits.ideal == "global":
        relevant = sum(gain(metric, grade) > 0 for grade in judgments.values())
        assert found.value == pytest.approx(top / relevant)


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None, suppress_health_check=SLOW)
@given(metrics(), metrics(), scored(), JUDGED)
def test_steps_begin_and_end_where_they_should(
    first: Metric, last: Metric, results: list[Result], judgments: dict[str, float]
) -> None:
    if "error" in (first.negative, last.negative) and min(judgments.values()) < 0:
        return
    way = list(steps(first, last, results, judgments))
    assert way[0].metric == first
    assert way[-1].metric == last
    assert way[-1].value == score_query(last, results, judgments)
    for step in way[1:]:
        assert step.choices
        assert step.value == score_query(step.metric, results, judgments)


def test_choices_that_belong_together_change_together() -> None:
    last = parse("ndcg(gain=binary, relevant_from=2, discount=none)@3")
    way = list(steps(parse("ndcg@10"), last, in_order("a", "b"), {"a": 1, "b": 2}))
    assert [step.choices for step in way] == ["", "cutoff = 3", "gain = binary", "relevant_from = 2", "discount = none"]
    back = list(steps(last, parse("ndcg@10"), in_order("a", "b"), {"a": 1, "b": 2}))
    assert [step.choices for step in back][1:] == [
        "cutoff = 10",
        "gain = linear, relevant_from = none",
        "discount = log2",
    ]


@pytest.mark.parametrize(
    ("metric", "last_step"),
    [
        ("ndcg@2", "1.000000 / 4.261860 = "),  # 1, of 3 + 2 / log2(3)
        ("dcg@2", ""),
        ("accuracy@2", ""),
        ("precision@5", "2 / 5 = "),
        ("precision", "2 / 3 = "),
        ("precision(relevant_from=3)@5", "0 / 5 = "),
        ("recall@2", "1 / 3 = "),
        ("recall(relevant_from=3)@2", ""),  # nothing found, nothing divided
        ("rr(relevant_from=2)@3", "1 / 3 = "),
        ("rr(relevant_from=3)@3", ""),
        ("judged@2", "1 / 2 = "),
        ("ndcg(ideal=local)@2", "1.000000 / 1.000000 = "),
    ],
)
def test_the_last_step_as_it_is_written(metric: str, last_step: str) -> None:
    found = explain(parse(metric), in_order("a", "x", "c"), {"a": 1, "c": 2, "d": 3})
    assert found.last_step == last_step
    if last_step:
        above, below = (float(number) for number in last_step.removesuffix(" = ").split(" / "))
        assert found.value == pytest.approx(above / below, abs=1e-6)


def test_a_value_that_a_rule_decides_has_no_last_step() -> None:
    for metric, results in (("ndcg(no_relevant=one)@2", in_order("a")), ("precision@2", [])):
        found = explain(parse(metric), results, {"a": 0} if results else {"a": 1})
        assert found.because
        assert found.last_step == ""


# ---- ties: no order of equal scores leads beyond the bounds


@settings(max_examples=examples(200), deadline=None, suppress_health_check=SLOW)
@given(metrics(), scored() | ranked(), JUDGED)
def test_every_order_of_ties_lies_within_the_bounds(
    metric: Metric, results: list[Result], judgments: dict[str, float]
) -> None:
    if metric.negative == "error" and min(judgments.values()) < 0:
        return
    if metric.measure == "ndcg" and metric.ideal in ("local", "recall"):
        with pytest.raises(ValueError, match="moves its ideal"):
            tie_bounds(metric, results, judgments)
        return
    if metric.measure == "infap":
        with pytest.raises(ValueError, match="the best order of ties is not that of the gains"):
            tie_bounds(metric, results, judgments)
        return
    bounds = tie_bounds(metric, results, judgments)
    slack = 1e-12 * max(1.0, bounds.best)
    value = score_query(metric, results, judgments) or 0.0
    assert bounds.expected is None or bounds.worst - slack <= bounds.expected <= bounds.best + slack
    if metric.ties != "given":
        assert bounds.worst - slack <= value <= bounds.best + slack


def test_bounds_by_hand() -> None:
    tied = [Result("a", 1.0), Result("b", 1.0), Result("c", 0.5)]
    bounds = tie_bounds(parse("precision@1"), tied, {"a": 1, "b": 0, "c": 1})
    assert bounds == (0.0, 0.5, 1.0)
    assert tie_bounds(parse("rr"), tied, {"a": 1}) == (0.5, None, 1.0)


def test_ties_of_equal_grades_have_one_value() -> None:
    """Documents that nobody judged are not alike with those of grade 0, which some measures tell apart."""
    results = [Result("a", 2.0), Result("b", 1.0), Result("c", 1.0), Result("d", 0.5), Result("e", 0.5)]
    judgments = {"a": 0.0, "b": 1.0, "c": 1.0}
    assert tie_bounds(parse("precision@2"), results, judgments) == (0.5, 0.5, 0.5)
    assert tie_bounds(parse("precision@2"), results, judgments | {"d": 0.0}) == (0.5, 0.5, 0.5)
    assert tie_bounds(parse("precision@2"), results, {"b": 1.0}) == (0.0, 0.25, 0.5)
