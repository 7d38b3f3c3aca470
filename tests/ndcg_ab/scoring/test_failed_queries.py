"""A query that a system's place failed on is missing: it is no answer, no empty answer, and no pair."""

import dataclasses
from pathlib import Path

import pyarrow as pa
import pytest

from ndcg_ab.checks.data_checks import check_tables
from ndcg_ab.comparing.sampling import read_changed_since_draw
from ndcg_ab.config.model.inputs.connections import in_memory_file
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.scoring import loading
from ndcg_ab.scoring.scoring import score_metrics
from ndcg_ab.sources import Queries, pull_source
from ndcg_ab.sources.base import with_failed_queries
from ndcg_ab.sources.tables.schema import query_layout
from tests.laboratory import conclude, evaluation_of, in_order, pulled_judgments, pulled_ranking

METRICS = ["ndcg@10", "ndcg(unanswered=exclude)@10"]
QUERIES = [f"q{number}" for number in range(9)]


@pytest.fixture(scope="module")
def found() -> Outcome:
    """Both systems answer alike, but `new` left q0 unanswered, and failed on q1 and q2."""
    judgments = pulled_judgments({query: {"a": 1.0} for query in QUERIES})
    whole = {query: in_order("a", "b") for query in QUERIES}
    rankings = {
        "old": pulled_ranking("old", whole),
        "new": pulled_ranking("new", {query: whole[query] for query in QUERIES[3:]}),
    }
    failed = with_failed_queries(rankings["new"].table, ["q1", "q2"])
    rankings["new"] = dataclasses.replace(rankings["new"], content=failed)
    evaluation = evaluation_of(["old", "new"], METRICS)
    with DuckDBEngine(1) as engine:
        loading.load_tables(engine, judgments, Queries(), rankings, evaluation)
        findings = check_tables(engine, judgments, rankings, evaluation)
        score_metrics(engine, evaluation.metric_list)
        return conclude(engine, evaluation, findings)


def test_it_is_no_pair(found: Outcome) -> None:
    assert [(row.metric, row.queries) for row in found.comparisons] == [(METRICS[0], 7), (METRICS[1], 6)]
    first = found.comparisons[0]
    assert first.difference == pytest.approx(-1 / 7), "q0, which found nothing, scores 0; q1 and q2 do not"


def test_it_is_neither_a_scored_query_of_its_system_nor_said_to_be_unanswered(found: Outcome) -> None:
    summaries = {(row.system_id, row.metric): (row.queries, row.unanswered) for row in found.systems}
    assert summaries == {
        ("old", METRICS[0]): (9, 0),
        ("new", METRICS[0]): (7, 1),
        ("old", METRICS[1]): (9, 0),
        ("new", METRICS[1]): (6, 1),
    }
    (unanswered,) = [finding for finding in found.findings if finding.code == "unanswered_query"]
    assert unanswered.count == 1
    assert "'q0'" in unanswered.message


def test_the_working_folder_keeps_it(tmp_path: Path) -> None:
    import pyarrow.parquet as papq

    from ndcg_ab.runs.folder import read_input_table
    from ndcg_ab.sources import RANKING

    pulled = pulled_ranking("new", {"q": in_order("a")})
    papq.write_table(with_failed_queries(pulled.table, ["q1"]), tmp_path / "ranking.parquet")
    again = dataclasses.replace(pulled, content=read_input_table(tmp_path / "ranking.parquet", RANKING))
    assert again.failed == ("q1",)
    assert again.digest != pulled.digest


def test_a_query_that_should_be_the_same_is_not_told_to_differ() -> None:
    """Of drawn queries with probability 0: q2 was answered otherwise, the request for q3 failed."""
    judgments = pulled_judgments({"q1": {"a": 1.0}})
    whole = {query: in_order("a", "b") for query in ("q1", "q2", "q3")}
    rankings = {
        "old": pulled_ranking("old", whole),
        "new": pulled_ranking("new", {"q1": in_order("b", "a"), "q2": in_order("a", "c")}),
        "other": pulled_ranking("other", whole),
    }
    failed = with_failed_queries(rankings["new"].table, ["q3"])
    rankings["new"] = dataclasses.replace(rankings["new"], content=failed)
    columns = {"query_id": ["q1", "q2", "q3", "q4"], "probability": [0.5, 0.0, 0.0, None]}
    log = FileSource(file=in_memory_file("log", pa.table(columns | {"disagreement": [1.0, 0.0, 0.0, 1.0]})))
    queries = Queries(pull_source(log, query_layout(), Path()))
    evaluation = evaluation_of([*rankings], METRICS[:1])
    with DuckDBEngine(1) as engine:
        loading.load_tables(engine, judgments, queries, rankings, evaluation)
        score_metrics(engine, evaluation.metric_list)
        assert read_changed_since_draw(engine, evaluation) == [("new", "q2", 2)]
