"""What MLflow's runs say of a bundle: status, tags, metrics, saved views; nothing here talks to MLflow."""

import base64
import dataclasses
import itertools
import json
import shutil
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ndcg_ab.config.model.operation import Tracking
from ndcg_ab.history.bundle import Bundle, add_rerun, read_bundle
from ndcg_ab.report.words import deciding_interval
from ndcg_ab.results.change_records import RankingChanges
from ndcg_ab.results.outcome import GateResult
from ndcg_ab.trackers.mlflow import values
from ndcg_ab.trackers.mlflow.values import TAKEN, metric_name, model_name, system_tag_parts, tag_key
from ndcg_ab.trackers.mlflow.views import EVERY, LATEST, TREND, view_id, view_tags
from tests.ndcg_ab.report.test_decision_summary import FAILED, outcome
from tests.small_evaluation import nights

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


def check_name(name: str) -> None:
    from mlflow.utils.validation import _validate_tag_name  # imported by these tests alone: it takes seconds

    _validate_tag_name(name)


def test_systems_stay_apart_in_tags() -> None:
    named = system_tag_parts(NAMES)
    assert len({name.casefold() for name in named.values()}) == len(NAMES)
    assert (named["bm25_ce"], named["a/b"], named["é"]) == ("bm25_ce", "a/b", "é")
    for name in named.values():
        check_name(f"decision/{name}")
    assert {name: system_tag_parts([name])[name] for name in ("bm25", "BM25")} == {"bm25": "bm25", "BM25": "BM25"}
    assert system_tag_parts(["bm25+ce"])["bm25+ce"] == named["bm25+ce"], "the same whatever else there is"
    assert len({model_name(name, name) for name in NAMES}) == len(NAMES)
    assert model_name("hybrid", "7") == "hybrid-7"


def test_metrics_of_other_tools_stay_apart_from_each_other_and_from_what_runs_carry() -> None:
    named = [metric_name(name) for name in GIVEN]
    assert len({name.casefold() for name in named}) == len(GIVEN)
    assert not TAKEN & {*named}
    for name in named:
        check_name(name)
    assert metric_name("ndcg@10") == "ndcg_at_10"
    assert metric_name("clicks") == "clicks"


def test_a_tag_is_no_longer_than_mlflow_takes() -> None:
    for system, metric in itertools.product(NAMES, ["m" * 200, "M" * 199]):
        found = tag_key(f"verdict/{system_tag_parts(NAMES)[system]}/{metric_name(metric)}")
        check_name(found)
        assert len(found) <= 250


@pytest.mark.parametrize("name", ["night \ud800", "\udcff", "a\nb", "x" * 256, " a", ""])
def test_an_experiment_has_a_name_that_mlflow_takes(name: str) -> None:
    with pytest.raises(ValidationError, match="must be 1 to 255 printable characters"):
        Tracking(experiment=name)


OF_NEW = (GateResult("judged", False, "new 20 % on ndcg@2", ("new",)),)
PASSED = (GateResult("judged", True, "at least 50 %"),)


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    """A kept evaluation, but for what was found."""
    shutil.copy(nights(tmp_path / "kept", 1)[0] / "bundle.json", tmp_path)
    return dataclasses.replace(read_bundle(tmp_path), outcome=outcome("good", new="bad", newer="good"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gates", "statuses"),
    [
        ((), ("FINISHED", "FINISHED")),
        (PASSED, ("FINISHED", "FINISHED")),
        (FAILED, ("FAILED", "FINISHED")),
        (OF_NEW, ("FINISHED", "FAILED")),
    ],
)
def test_what_failed(gates: tuple[GateResult, ...], statuses: tuple[str, str]) -> None:
    found = outcome("good", gates, new="bad")
    assert tuple(values.system_status(found, name) for name in ("old", "new")) == statuses


def test_the_comparison_has_the_values_of_its_best_candidate(bundle: Bundle) -> None:
    assert values.parent_tags(bundle)["candidate"] == "newer"
    found = values.parent_values(bundle)
    assert (found["ndcg_at_2"], found["baseline/ndcg_at_2"], found["difference/ndcg_at_2"]) == (1.0, 1.0, 0.0)
    assert not [key for key in found if "newer" in key], "the system is never part of a metric's name"
    alone = dataclasses.replace(bundle, outcome=outcome("good"))
    assert "candidate" not in values.parent_tags(alone)
    assert set(values.parent_values(alone)) == {"improved", "regressed", "comparisons", "queries"}


def test_the_share_of_judged_results_is_that_of_the_first_metric_of_its_depth(bundle: Bundle) -> None:
    first = dataclasses.replace(bundle.outcome.systems[0], judged=0.5)
    rows = (first, dataclasses.replace(first, metric="rr@2", judged=0.9))
    found = dataclasses.replace(bundle, outcome=dataclasses.replace(bundle.outcome, systems=rows))
    assert values.system_values(found, first.system_id)["judged_at_2"] == 0.5


def test_the_interval_is_the_one_beside_the_decision(bundle: Bundle) -> None:
    row = dataclasses.replace(bundle.outcome.main[0], simultaneous_low=-0.75, simultaneous_high=0.5)
    assert (row.low, row.high) != (-0.75, 0.5)
    found = dataclasses.replace(bundle, outcome=dataclasses.replace(bundle.outcome, comparisons=(row,)))
    logged = values.system_values(found, row.candidate)
    assert (logged["difference_low/ndcg_at_2"], logged["difference_high/ndcg_at_2"]) == deciding_interval(row)


def test_the_best_candidate_is_that_of_the_first_metric() -> None:
    found = outcome("good", new="bad", newer="good")
    other = dataclasses.replace(found.comparisons[0], metric="rr@2", candidate="new", difference=0.5)
    assert values.best_candidate(dataclasses.replace(found, comparisons=(*found.comparisons, other))) == "newer"


def test_tags_tell_people_what_to_do_and_hold_plain_values_to_filter_by(bundle: Bundle) -> None:
    """As the obvious filters write them: tags.decision = 'do_not_ship', tags.metric = 'ndcg@2'."""
    tags = values.parent_tags(bundle)
    assert tags["what_to_do"] == "nothing changed: newer; do not ship new"
    assert tags["ndcg_at_2"] == "old 1.0000, newer = +0.0000, new ▼ -0.3691"
    of_new = values.system_tags(bundle.outcome, "new")
    assert (of_new["what_to_do"], of_new["reason"]) == ("✗ do not ship", "ndcg@2 regressed (-0.3691)")
    assert of_new["ndcg_at_2"] == "▼ 0.6309 (-0.3691)"
    assert of_new["mlflow.note.content"].startswith("**✗ do not ship**: ndcg@2 regressed")
    assert values.system_tags(bundle.outcome, "old")["decision"] == "baseline"
    assert (tags["decision/new"], tags["decision/newer"]) == ("do_not_ship", "nothing_changed")
    assert tags["decision"] == "nothing_changed", "the best decision"
    assert of_new["decision"] == "do_not_ship"
    for found in (tags, values.system_tags(bundle.outcome, "old")):
        assert (found["metric"], found["metric_key"]) == ("ndcg@2", "ndcg_at_2")
    alone = values.parent_tags(dataclasses.replace(bundle, outcome=outcome("good")))
    assert "decision" not in alone
    assert alone["metric"] == "ndcg@2"


def test_time_source_and_user(bundle: Bundle) -> None:
    unknown = dataclasses.replace(bundle, seconds=None, user=None)
    assert unknown.ended == unknown.finished and "mlflow.user" not in values.common_tags(unknown)
    later = dataclasses.replace(bundle, program="0.3.0", seconds=2.5, user="search", is_scheduled=True)
    assert later.ended - later.began == timedelta(seconds=2.5)
    tags = values.common_tags(later)
    assert [tags[f"mlflow.{name}"] for name in ("source.name", "source.type", "user")] == [
        "ndcg-ab 0.3.0",
        "JOB",
        "search",
    ]


def test_nights_in_which_nothing_changed(bundle: Bundle) -> None:
    assert values.reuse_tags(bundle) == {}
    for day in (23, 22):
        add_rerun(bundle.folder, datetime(2026, 11, day, tzinfo=UTC).isoformat())
    assert values.reuse_tags(bundle) == {"reused": "2", "reused_last": "2026-11-23T00:00:00+00:00"}
    (bundle.folder / "reused.json").write_text("{damaged")
    assert values.reuse_tags(bundle) == {}


def state(tag: str) -> dict[str, Any]:
    packed = json.loads(tag)["state"].removeprefix("deflate;")
    found: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(packed)))
    return found


def test_saved_views(bundle: Bundle) -> None:
    found = {
        name: state(view_tags(bundle.outcome, "k")[f"mlflow.sharedViewState.{view_id(name)}"])
        for name in (LATEST, EVERY, TREND)
    }
    assert found[LATEST]["selectedColumns"][1:3] == ["tags.`what_to_do`", "tags.`ndcg_at_2`"]
    assert found[LATEST]["columnOrder"] == found[LATEST]["selectedColumns"]
    assert (found[LATEST]["groupBy"], found[EVERY]["groupBy"]) == (None, None)
    assert "bundle_key = 'k'" in found[LATEST]["searchFilter"]
    assert found[LATEST]["orderByKey"] != "attributes.start_time", "else MLflow shows the parent, and hides these"
    trend = found[TREND]
    assert [chart["metricKey"] for chart in trend["compareRunCharts"]] == [
        "ndcg_at_2",
        "difference/ndcg_at_2",
        "p_adjusted/ndcg_at_2",
    ]
    assert trend["groupBy"]["groupByKeys"] == [{"mode": "tag", "groupByData": "system"}]
    assert set(trend["groupsExpanded"]) == {"tag.system.old", "tag.system.new", "tag.system.newer"}


def test_what_a_candidate_changed(bundle: Bundle) -> None:
    changed = RankingChanges("new", "old", "ndcg@2", 2, 9, 4, 3, 0.75, 1.0, 0.5, 1.0, 1, 1, 0, 2, 1, 0)
    told = dataclasses.replace(bundle, outcome=dataclasses.replace(bundle.outcome, changes=(changed,)))
    found = values.system_values(told, "new")
    assert (found["changed_queries"], found["overlap_at_2"], found["rbo_at_2"]) == (4.0, 0.75, 0.5)
    assert "changed_queries" not in values.system_values(told, "old")
