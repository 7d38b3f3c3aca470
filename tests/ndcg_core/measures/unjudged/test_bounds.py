"""Bounds against every completion of small random pairs."""

from random import Random

import numpy as np
import pytest

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import parse
from ndcg_core.measures.registry import MEASURES, Divisor, Measure, cumulated
from ndcg_core.measures.unjudged.bounds import difference_bounds, has_bounds
from tests.ndcg_core.measures.unjudged.small_pairs import GRADES, METRICS, draw_pair, judged_of

BOUNDED = [name for name in METRICS if has_bounds(parse(name), judged_of([{"d0": grade} for grade in GRADES]))]


def test_which_metrics_have_bounds() -> None:
    assert [name for name in METRICS if name not in BOUNDED] == [
        "ndcg(ideal=local)@3",
        "ndcg(ideal_cut=returned)@3",
        "precision",
        "ap",
        "ap@3",
        "err(max_grade=3)@4",
        "rprec",
        "bpref",
        "infap",
    ]


@pytest.mark.first_case
@pytest.mark.parametrize("name", BOUNDED)
def test_bounds_are_the_extremes_of_all_completions(name: str) -> None:
    random, metric = Random(7), parse(name)
    for pair in (draw_pair(random) for _ in range(25)):
        every = [difference for _, difference in pair.completions(metric)]
        low, high = difference_bounds(pair.shown(metric), np.array([pair.difference(metric)]))
        assert (low[0], high[0]) == pytest.approx((min(every), max(every)), abs=1e-12)


def test_a_measure_with_another_divisor_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MEASURES, "f1", Measure("f1", cumulated, Divisor.OTHER, is_additive=True, is_bounded=True))
    pair = draw_pair(Random(1)).shown(Metric("f1", 3))
    assert not has_bounds(pair.metric, pair.judged)


def test_many_grades_have_none() -> None:
    """A pass over the levels costs documents times levels: click rates have one for each document."""
    judged = judged_of([{"d0": 1.0}])._replace(grades=tuple(number / 100 for number in range(100)))
    assert not has_bounds(parse("ndcg@10"), judged)
    assert has_bounds(parse("rr@10"), judged)
