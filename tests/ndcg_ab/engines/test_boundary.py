"""The engine boundary, with a second DuckDB in the place of a cluster: what is found is the same to the last bit."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ndcg_ab.comparing import changes
from ndcg_ab.engines.base import Parameters
from ndcg_ab.engines.boundary import CROSSING, LARGE, BoundaryEngine, remote_tables
from ndcg_ab.engines.duckdb import DuckDBEngine, StoredTables
from ndcg_ab.engines.sql_files import SqlFile, pipeline_files
from ndcg_ab.history.bundle import TABLES, read_bundle, read_content
from ndcg_ab.pipeline import conclude as concluding
from ndcg_ab.pipeline import stages
from ndcg_ab.report.page.data import PageData, gather_page_data
from ndcg_ab.runs import folder as folder_store
from tests.small_evaluation import small, undrawn

SPARK = {"spark": {"master": "local[2]"}}  # what is asked then, is asked of the stand-in
METRICS = ["ndcg@10", "ndcg(ties=average)@3", "ndcg(unjudged=condense)@5", "ndcg(ideal=recall)@5", "rr"]


class There(DuckDBEngine):
    """A stand-in for a cluster, which counts the rows that leave it and says whether it was left."""

    def __init__(self) -> None:
        super().__init__()
        self.given: dict[str, int] = {}
        self.was_left = False

    def __exit__(self, *args: Any) -> None:
        self.was_left = True
        super().__exit__(*args)

    def _run(self, text: str, parameters: Parameters, file: SqlFile | None) -> pa.Table:
        found = super()._run(text, parameters, file)
        name = file.name if file else ""
        self.given[name] = max(self.given.get(name, 0), found.num_rows)
        return found


@dataclasses.dataclass
class Cluster:
    begun: list[There] = dataclasses.field(default_factory=list)

    def begin(self) -> There:
        self.begun.append(There())
        return self.begun[-1]

    def engine(self) -> BoundaryEngine:
        return BoundaryEngine(DuckDBEngine(), self.begin)


@pytest.mark.slow
def test_documents_that_stand_twice_are_taken_out_there(tmp_path: Path) -> None:
    evaluation, cluster = small(tmp_path, metrics=["ndcg(duplicates=first)@10"]), Cluster()
    ranking = tmp_path / "inputs" / "new.run"
    ranking.write_text(ranking.read_text() + ranking.read_text().splitlines()[0] + "\n")
    with DuckDBEngine() as engine:
        alone = stages.evaluate(evaluation, engine)[0]
    assert "duplicate_document" in {finding.code for finding in alone.findings}
    with cluster.engine() as engine:
        assert stages.evaluate(evaluation, engine)[0].to_json() == alone.to_json()


def page_of(bundle: Path) -> PageData:
    with StoredTables(bundle / TABLES) as engine:
        return gather_page_data(engine, read_bundle(bundle).outcome, read_content(bundle))


def performed(folder: Path, monkeypatch: pytest.MonkeyPatch, cluster: Cluster | None, **changes: Any) -> Path:
    if cluster:
        monkeypatch.setattr(folder_store, "open_engine_for", lambda evaluation, spill: cluster.engine())
    return undrawn(small(folder, **changes)).bundle


@pytest.mark.slow
def test_a_run_of_several_steps_begins_it_once_and_has_the_same_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster()
    bundles = [
        performed(tmp_path / name, monkeypatch, each, metrics=METRICS)
        for name, each in (("here", None), ("there", cluster))
    ]
    assert len(cluster.begun) == 1
    assert cluster.begun[0].was_left
    alone, outcome = (read_bundle(bundle).outcome for bundle in bundles)
    assert alone.to_json() == outcome.to_json()
    assert any(row.unjudged and row.unjudged.documents for row in alone.comparisons) and alone.changes
    here, there = map(page_of, bundles)
    for table in ("queries", "rankings", "missed"):
        assert getattr(there, table).to_pylist() == getattr(here, table).to_pylist(), table


@pytest.mark.slow
def test_little_comes_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rankings the rows of the queries that are recomputed, checked for placeholders, or shown on the page."""
    monkeypatch.setattr(concluding, "SHOWN_QUERIES", 3)
    monkeypatch.setattr("ndcg_ab.scoring.parity.SAMPLE", 2)
    monkeypatch.setattr("ndcg_ab.checks.plausibility_checks.QUERIES", 2)
    cluster = Cluster()
    without = {"resamples": 100, "bounds": False}
    page = page_of(performed(tmp_path, monkeypatch, cluster, metrics=METRICS, statistics=without))
    given = cluster.begun[0].given
    results = 2 * 20 * 10
    assert 0 < given["ranking"] <= results / 20 * 2
    assert 0 < given["graded_doc"] <= len(METRICS) * results / 20 * 3
    assert 0 < given["ranked_doc"] <= results / 20 * 2
    assert not {"query_dcg", "dcg_by_rank", "pulled_ranking", ""} & given.keys()
    assert len(set(page.rankings["query_id"].to_pylist())) == 3


@pytest.mark.slow
def test_the_doubt_takes_first_places_and_counts(tmp_path: Path) -> None:
    """What comes over for tipping factors: no more rows of the rankings."""
    given = {}
    for complete in (True, False):
        cluster = Cluster()
        evaluation = small(tmp_path, metrics=["ndcg@10", "recall@5"], engine=SPARK)
        assert evaluation.judgments is not None
        judgments = evaluation.judgments.model_copy(update={"complete": complete})
        with cluster.engine() as engine:
            stages.evaluate(evaluation.model_copy(update={"judgments": judgments}), engine)
        given[complete] = cluster.begun[0].given
    more = given[False].keys() - given[True].keys()
    assert {"top_result"} <= more <= {"top_result", "grade_count"}
    assert given[True]["ranking"] == given[False]["ranking"]


def test_where_a_cluster_has_too_many_places_the_answer_says_what_was_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "MOST_DOCUMENTS", 50)
    evaluation, cluster = small(tmp_path, engine=SPARK), Cluster()
    with cluster.engine() as engine:
        outcome = stages.evaluate(evaluation, engine)[0]
    assert not outcome.changes
    said = [found.message for found in outcome.findings if found.code == "not_asked"]
    assert said == ["what changed in the first places was left out: they are too many"]
    assert cluster.begun[0].given.get("top_document", 0) <= 1  # how many there are is one row


@pytest.mark.slow
@pytest.mark.parametrize("where", ["SCORE", "DRAW"])
def test_it_is_left_where_a_step_fails(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster()

    def fails(engine: Any, metrics: Sequence[Any], **_: Any) -> None:
        raise ZeroDivisionError

    if where == "SCORE":
        monkeypatch.setattr(stages, "score_metrics", fails)
    else:
        monkeypatch.setattr(stages, "recompute_sample", fails)
    with pytest.raises(ZeroDivisionError):
        performed(tmp_path, monkeypatch, cluster)
    assert [there.was_left for there in cluster.begun] == [True]


def test_which_tables_are_far() -> None:
    files = pipeline_files()
    far = remote_tables(files)
    assert far >= {"judgment", "ranking", "ranked_doc", "tied_query", "finding", *CROSSING}
    assert not far & {"metric", "system", "paired_difference", "slice_difference", "extreme_difference", "metric_value"}
    assert all(name in LARGE or name in files for name in (*LARGE, *CROSSING))
