"""On which queries the rankings of the previous evaluation are compared."""

import contextlib
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from ndcg_ab.comparing.families import Group
from ndcg_ab.history.attribution import mean_attribution
from ndcg_ab.history.attribution.mean_attribution import Earlier, Side, attribute_means
from ndcg_core.measures.notation import parse


def test_rankings_before_are_compared_on_queries_that_are_judged_in_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of b and c nothing was judged before: the old ranking has values there by the judgments of now."""
    metric, values = parse("rr"), np.array([0.5, 1.0, 0.2])
    key, scored = (metric.hash, "new"), Group(("a", "b", "c"), values, values)
    here, there = (Side(cast(Any, None), frozenset(judged), None, {}) for judged in ("abc", "a"))
    monkeypatch.setattr(mean_attribution, "read_side", lambda *_: here)
    monkeypatch.setattr(mean_attribution, "open_earlier_side", lambda *_: contextlib.nullcontext(there))
    monkeypatch.setattr(mean_attribution, "score_old_rankings", lambda *_: {key: scored})
    for name, found in (("score_by_old_judgments", {}), ("count_changed_judgments", (2, 0)), ("attribution_rows", [])):
        monkeypatch.setattr(mean_attribution, name, lambda *_, found=found: found)
    evaluation = SimpleNamespace(deciding_metrics=[metric], scores=None, engine=SimpleNamespace(spark=None))
    earlier = Earlier(1, cast(Any, None), None, {key: scored}, {})
    causes = {"new": frozenset(("ranking", "judgments"))}
    old = attribute_means(cast(Any, None), cast(Any, evaluation), earlier, {key: scored}, causes).old_rankings[key]
    assert (old.query_ids, old.differences.tolist()) == (("a",), [0.5])
