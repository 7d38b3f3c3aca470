"""Reduced rankings in an evaluation: when there are any, what is known of them, and when they are read whole."""

from pathlib import Path

import pytest

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.pipeline.stages import evaluate
from ndcg_ab.scoring import needed_results as reducing
from ndcg_ab.sources.files import file as files
from tests.inputs import write_evaluation
from tests.small_evaluation import pull_inputs

QUERIES, DOCUMENTS = 6, 20


def evaluation(folder: Path, metrics: tuple[str, ...] = ("ndcg@3",), spelt: str = "d{}") -> Evaluation:
    """Two systems, of which the second is the first but for one document far down."""
    queries, first = [f"q{query}" for query in range(QUERIES)], [f"d{index}" for index in range(DOCUMENTS - 1)]
    rankings = {name: dict.fromkeys(queries, (*first, last)) for name, last in (("old", "d19"), ("new", "other"))}
    grades = {query: {spelt.format(place): 1 for place in (0, 5)} for query in queries}
    return write_evaluation(folder, grades, rankings, metrics=list(metrics))


@pytest.mark.parametrize("metric", ["rr@3", "ndcg", "ndcg(unjudged=condense)@3", "ndcg(ideal=recall)@3"])
@pytest.mark.parametrize("whole", [False, True])
def test_rankings_come_in_reduced_where_no_metric_looks_beyond_its_cutoff(
    tmp_path: Path, metric: str, whole: bool
) -> None:
    rankings = pull_inputs(evaluation(tmp_path, ("ndcg@3", metric)), whole=whole).rankings
    assert [bool(pulled.reduced) for pulled in rankings.values()] == [metric == "rr@3" and not whole] * 2


def test_one_rank_more_than_the_metrics_count_is_kept(tmp_path: Path) -> None:
    """It shows whether the last of them is tied; q0 and the other queries of the parity check are kept whole."""
    judgments = pull_inputs(given := evaluation(tmp_path, ("ndcg@3", "rr@7")), whole=True).judgments
    wanted = reducing.find_needed_results(given.metric_list, judgments, 2)
    assert wanted is not None and wanted.depth == 7 + 1


def test_what_is_known_of_a_reduced_ranking_is_true_of_its_table(tmp_path: Path) -> None:
    reduced = pull_inputs(evaluation(tmp_path), whole=False).rankings["new"]
    whole = pull_inputs(evaluation(tmp_path), whole=True).rankings["new"]
    assert reduced.count == whole.count == QUERIES * DOCUMENTS
    assert reduced.query_ids == whole.query_ids
    assert [reduced.lacks(name) for name in ("score", "rank")] == [False, False]
    assert reduced.table.equals(whole.table) and reduced.digest == whole.digest
    assert reduced.with_all_rows().reduced is None


@pytest.mark.parametrize("answered", [2, 3])
def test_a_ranking_that_answers_few_of_the_first_judged_queries_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answered: int
) -> None:
    monkeypatch.setattr(reducing, "LOOKED_AT", 4)
    monkeypatch.setattr(reducing, "FIRST_QUERIES", 3)
    given = evaluation(tmp_path)
    lines = (tmp_path / "new.run").read_text().splitlines(keepends=True)
    left_out = tuple(f"q{query} " for query in range(4 - answered))
    (tmp_path / "new.run").write_text("".join(line for line in lines if not line.startswith(left_out)))
    rankings = pull_inputs(given, whole=False).rankings
    assert rankings["old"].reduced and bool(rankings["new"].reduced) == (answered == 3)


@pytest.mark.slow
def test_ids_that_hardly_meet_are_looked_at_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reducing, "LOOKED_AT", 2)
    asked = []
    answer = files.File.answer
    monkeypatch.setattr(files.File, "answer", lambda self, *rest: asked.append(self.origin) or answer(self, *rest))
    given = evaluation(tmp_path, spelt="x{}y")
    found = []
    for whole in (False, True):
        with DuckDBEngine(1) as engine:
            found.append(run_pipeline_text(given, engine, whole=whole))
    assert found[0] == found[1] and "no_judged_result" in found[0]
    assert len([origin for origin in asked if origin.endswith(".run")]) == 4  # both files by both


def run_pipeline_text(given: Evaluation, engine: DuckDBEngine, *, whole: bool) -> str:
    try:
        return evaluate(given, engine, complete=whole)[0].to_json()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
