"""A night with costs: measured every time, kept in the bundle and the history, on the page and in MLflow."""

import dataclasses
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab import evaluate
from ndcg_ab.engines.duckdb import StoredTables
from ndcg_ab.errors import InputError
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history.bundle import read_bundle, read_content
from ndcg_ab.history.timeline import read_timeline
from ndcg_ab.pipeline.context import Context
from ndcg_ab.report.page.data import gather_page_data
from ndcg_ab.report.page.render import render_page
from ndcg_ab.trackers.mlflow import values
from ndcg_core.statistics.verdicts.verdict import Verdict
from tests.ndcg_ab.comparing.test_costs import IDS, configured, folder_with
from tests.small_evaluation import undrawn

BEGAN = datetime(2026, 11, 20, 2, tzinfo=UTC)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_with(tmp_path_factory.mktemp("night"))


def night(folder: Path, output: Path, number: int, **keys: Any) -> Context:
    evaluation = configured(folder, ["alike"], output=output, metrics=["rr"], **keys)
    return undrawn(evaluation, at=BEGAN + timedelta(days=number))


@pytest.fixture(scope="module")
def two(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Context]]:
    output = tmp_path_factory.mktemp("out")
    return output, [night(folder, output, number) for number in range(2)]


@pytest.mark.slow
def test_what_was_measured_again_is_a_night_of_its_own(
    two: tuple[Path, list[Context]], folder: Path, tmp_path: Path
) -> None:
    """Without costs the second of two equal nights is the first; with them it is read and told again."""
    first, second = two[1]
    assert (first.reused, second.reused) == (False, False)
    assert first.bundle != second.bundle
    assert [row["read"] for row in read_bundle(second.bundle).inputs if row["kind"] == "ranking"] == [None, None]
    plain = [night(folder, tmp_path, number, guardrails={}) for number in range(2)]
    assert [each.reused for each in plain] == [False, True]
    digests = [
        [row["digest"] for row in read_bundle(each.bundle).inputs if row["kind"] == "ranking"]
        for each in (first, plain[0])
    ]
    assert digests[0] == digests[1], "a ranking is the same whatever it costs"


def test_both_stores_come_to_the_same(two: tuple[Path, list[Context]], folder: Path) -> None:
    in_memory = evaluate(configured(folder, ["alike"], metrics=["rr"]))._outcome
    kept = read_bundle(two[1][0].bundle).outcome
    assert dataclasses.replace(kept, gates=()).to_json() == in_memory.to_json()


def test_the_timeline_of_a_cost(two: tuple[Path, list[Context]], folder: Path) -> None:
    output, performed = two
    evaluation = configured(folder, ["alike"], output=output, metrics=["rr"])
    costs = read_bundle(performed[0].bundle).outcome.costs
    assert costs is not None
    for statistic, conclusion in (("p95", Verdict.NOT_WORSE), ("p50", None)):
        found = read_timeline(evaluation, f"latency_ms@{statistic}", None)
        expected = {row.system_id: row.value for row in costs.values if row.statistic == statistic}
        assert [each.values for each in found.evaluations] == [expected] * 2
        compared = [each.compared.get("alike") for each in found.evaluations]
        assert [row and row.conclusion for row in compared] == [conclusion] * 2
    with pytest.raises(InputError, match=r"has only latency_ms@mean, latency_ms@p50, .*, rr"):
        read_timeline(evaluation, "latency_ms@p42", None)


def test_mlflow_has_them_as_metrics(two: tuple[Path, list[Context]]) -> None:
    bundle = read_bundle(two[1][0].bundle)
    costs = bundle.outcome.costs
    assert costs is not None
    found = values.system_values(bundle, "alike")
    value = costs.value_of("alike", "latency_ms", "p95")
    assert value is not None
    assert found["latency_ms_p95"] == value.value
    (row,) = (each for each in costs.differences if each.statistic == "p95")
    assert (found["difference/latency_ms_p95"], found["difference_high/latency_ms_p95"]) == (row.difference, row.high)
    parent = values.parent_values(bundle)
    assert (parent["latency_ms_p95"], parent["difference/latency_ms_p95"]) == (value.value, row.difference)
    assert "latency_ms_p50" not in parent, "the one that a guardrail is about"
    base = values.system_values(bundle, "base")
    assert "latency_ms_p95" in base and "difference/latency_ms_p95" not in base


def test_the_page_has_a_table_of_them(two: tuple[Path, list[Context]]) -> None:
    bundle = read_bundle(two[1][0].bundle)
    with StoredTables(two[1][0].bundle / bundles.TABLES) as tables:
        data = gather_page_data(tables, bundle.outcome, read_content(two[1][0].bundle))
    page = render_page(data)
    assert '<h2 id="costs-title">What requests cost</h2>' in page
    assert "✓ not higher by more than 20" in page
    assert "read from the column latency_ms" in page
    without = dataclasses.replace(data, outcome=dataclasses.replace(bundle.outcome, costs=None))
    assert "costs-title" not in render_page(without)


@pytest.mark.slow
def test_turns_are_kept_as_in_memory(tmp_path: Path) -> None:
    """The requests of the pull are cold in the bundle, too; those by turns count."""
    (tmp_path / "kept_engine.py").write_text("def search(text, order):\n    return list(zip(order, (2.0, 1.0)))\n")
    (tmp_path / "j.csv").write_text("query_id,doc_id,grade\n" + "".join(f"{name},a,1\n" for name in IDS[:8]))
    (tmp_path / "q.csv").write_text("query_id,text\n" + "".join(f"{name},x\n" for name in IDS[:8]))
    asked = {"python": "kept_engine:search", "per_query": True}
    systems = [
        {"name": name, "arguments": {"order": order}, **asked} for name, order in (("base", "ba"), ("new", "ab"))
    ]
    costs = {"record": ["latency_ms"], "by_turns": True}
    keys = {"systems": systems, "queries": {"file": "q.csv"}, "costs": costs, "guardrails": {}}
    kept = read_bundle(night(tmp_path, tmp_path / "out", 0, **keys).bundle).outcome.costs
    assert kept is not None
    assert {(row.queries, row.cold_requests) for row in kept.values} == {(8, 8)}
