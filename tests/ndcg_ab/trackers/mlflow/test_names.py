"""Names in MLflow: every one is taken, and different ones stay apart."""

import itertools

import pytest
from mlflow.utils.validation import _validate_tag_name
from pydantic import ValidationError

from ndcg_ab.config.model.operation import Tracking
from ndcg_ab.trackers.mlflow.names import TAKEN, metric_name, model_name, system_tag_parts, tag_key

pytestmark = pytest.mark.slow  # importing mlflow takes seconds

NAMES = [
    "bm25",
    "BM25",
    "bm25+ce",
    "bm25_ce",
    "a/b",
    "a//b",
    "..",
    ".",
    "/",
    "/a",
    "é",
]
NAMES += ["x" * 300, "x" * 301, "Straße", "STRASSE", "%", "ß", "v1.2", "v1-2", "v1:2"]
GIVEN = [
    "map",
    "Map",
    "kind",
    "judged_at_10",
    ".",
    "..",
    "a b",
    "a_b",
    "a+b",
    "A+b",
    "ndcg@10",
    "-clicks",
    "clicks",
]
GIVEN += ["..a b", "metric."]


def test_systems_stay_apart_in_tags() -> None:
    named = system_tag_parts(NAMES)
    assert len({name.casefold() for name in named.values()}) == len(NAMES)
    assert (named["bm25_ce"], named["a/b"], named["é"]) == ("bm25_ce", "a/b", "é")
    for name in named.values():
        _validate_tag_name(f"decision/{name}")
    assert {name: system_tag_parts([name])[name] for name in ("bm25", "BM25")} == {"bm25": "bm25", "BM25": "BM25"}
    assert system_tag_parts(["bm25+ce"])["bm25+ce"] == named["bm25+ce"], "the same whatever else there is"
    assert len({model_name(name, name) for name in NAMES}) == len(NAMES)
    assert model_name("hybrid", "7") == "hybrid-7"


def test_metrics_of_other_tools_stay_apart_from_each_other_and_from_what_runs_carry() -> None:
    named = [metric_name(name) for name in GIVEN]
    assert len({name.casefold() for name in named}) == len(GIVEN)
    assert not TAKEN & {*named}
    for name in named:
        _validate_tag_name(name)
    assert metric_name("ndcg@10") == "ndcg_at_10"
    assert metric_name("clicks") == "clicks"


def test_a_tag_is_no_longer_than_mlflow_takes() -> None:
    for system, metric in itertools.product(NAMES, ["m" * 200, "M" * 199]):
        found = tag_key(f"verdict/{system_tag_parts(NAMES)[system]}/{metric_name(metric)}")
        _validate_tag_name(found)
        assert len(found) <= 250


@pytest.mark.parametrize("name", ["night \ud800", "\udcff", "a\nb", "x" * 256, " a", ""])
def test_an_experiment_has_a_name_that_mlflow_takes(name: str) -> None:
    with pytest.raises(ValidationError, match="must be 1 to 255 printable characters"):
        Tracking(experiment=name)
