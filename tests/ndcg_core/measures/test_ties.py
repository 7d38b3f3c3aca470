"""No order of equal scores leads beyond the bounds."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import parse
from ndcg_core.measures.score import Result, score_query, tie_bounds
from tests.examples import examples
from tests.strategies import DOCUMENTS, GRADES, metrics, ranked, scored

SLOW = [HealthCheck.too_slow]
JUDGED = st.dictionaries(st.sampled_from(DOCUMENTS), GRADES, min_size=1)


@pytest.mark.slow
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
