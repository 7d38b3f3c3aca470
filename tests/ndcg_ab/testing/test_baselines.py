"""How many results of a query a baseline keeps."""

import pytest

from ndcg_ab.testing.baselines import deepest_cutoff
from ndcg_core.measures.notation import parse


@pytest.mark.parametrize(
    ("metric", "depth"),
    [
        ("ndcg@10", 10),
        ("ndcg", None),
        ("ndcg(unjudged=condense)@10", None),
        ("ndcg(ideal=recall)@10", None),
        ("ndcg(ideal=recall,recall_depth=50)@10", 50),
    ],
)
def test_how_deep_a_metric_looks(metric: str, depth: int | None) -> None:
    assert deepest_cutoff([parse(metric)]) == depth
