"""Explanations add up to the value, and steps lead from one metric to the other."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ndcg_core.explain import explain, steps
from ndcg_core.metric import Metric, MetricError, parse
from ndcg_core.ndcg import Result, score_query, tie_bounds
from tests.conftest import in_order
from tests.strategies import DOCUMENTS, GRADES, metrics, ranked, scored

SLOW = [HealthCheck.too_slow]
JUDGED = st.dictionaries(st.sampled_from(DOCUMENTS), GRADES, min_size=1)


@settings(max_examples=300, deadline=None, suppress_health_check=SLOW)
@given(metrics(), scored() | ranked(), JUDGED)
def test_the_sums_give_the_value(metric: Metric, results: list[Result], judgments: dict[str, float]) -> None:
    if metric.negative == "error" and min(judgments.values()) < 0:
        with pytest.raises(MetricError):
            explain(metric, results, judgments)
        return
    found = explain(metric, results, judgments)
    assert found.value == score_query(metric, results, judgments)
    total = 0.0
    for rank, place in enumerate(found.places, start=1):
        total += place.gain * place.discount
        assert (place.rank, place.cumulated) == (rank, pytest.approx(total))
        assert place.grade == judgments.get(place.doc_id or "")
    if found.because or found.value is None:
        return
    top = found.counted[-1].cumulated if found.counted else 0.0
    if metric.measure == "ndcg":
        ideal = found.ideal[-1].cumulated if found.ideal else 0.0
        assert found.value == pytest.approx(top / ideal if ideal else 0.0)
    if metric.measure in ("dcg", "cg"):
        assert found.value == pytest.approx(top)


@settings(max_examples=300, deadline=None, suppress_health_check=SLOW)
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


@settings(max_examples=200, deadline=None, suppress_health_check=SLOW)
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
