"""An evaluation of reduced rankings is that of the whole ones: outcome, values, and what the page shows."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ndcg_ab.config.model import Evaluation
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.evaluation import parity, pipeline, reduced, unmatched_ids
from ndcg_ab.evaluation.data_checks import check
from ndcg_ab.evaluation.parity import verify
from ndcg_ab.report.page.data import gather
from ndcg_ab.sources import RANKING, Pulled, Queries

METRICS = ["ndcg@3", "ndcg(ties=average)@5", "ndcg(ties=given)@2", "ndcg(score_precision=float32)@3", "precision@4"]
QUERIES, DEPTH = 40, 30


@pytest.fixture(autouse=True)
def _few_whole_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every query of a small evaluation would be kept whole."""
    monkeypatch.setattr(parity, "SAMPLE", 3)
    for module in (reduced, unmatched_ids):
        monkeypatch.setattr(module, "FIRST_QUERIES", 2)


def ranking(chance: random.Random, folder: Path, name: str, ranks: str = "plain", scores: str = "tied") -> None:
    lines = []
    for query in range(QUERIES):
        depth = chance.randrange(1, DEPTH)
        documents = chance.sample(range(60), depth)
        values = sorted((round(chance.uniform(-1, 1), 1) for _ in documents), reverse=True)
        if scores == "near":
            values = [7.0 - place * 1e-9 for place in range(depth)]
        if scores == "level":  # as deep as is looked at, and beyond
            values = [2.0] * min(depth, 8) + values[8:]
        if scores == "large":
            values = [value * 1e300 for value in values]
        if scores == "rising" and query == QUERIES - 1:
            values = [*values[1:], max(values) + 1]
        for place, (document, value) in enumerate(zip(documents, values, strict=True)):
            rank = place + 1 if ranks == "plain" else place if ranks == "from 0" else place * 2 + 1
            lines.append(f"q{query:02} Q0 d{document:02} {rank} {value!r} {name}\n")
    (folder / f"{name}.run").write_text("".join(lines))


def made(folder: Path, seed: int, **options: str) -> Evaluation:
    chance = random.Random(seed)
    judged = [
        f"q{query:02} 0 d{document:02} {chance.choice([-1, 0, 0, 1, 2, 3])}\n"
        for query in range(QUERIES - 2)
        for document in chance.sample(range(60), 25)
    ]
    (folder / "judgments.qrels").write_text("".join(judged))
    for name in ("old", "new"):
        ranking(chance, folder, name, **options)
    content = {
        "name": "reduced",
        "directory": folder,
        "judgments": {"file": "judgments.qrels"},
        "systems": [{"name": name, "file": f"{name}.run"} for name in ("old", "new")],
        "metrics": METRICS,
        "statistics": {"resamples": 100},
    }
    return Evaluation.model_validate(content)


def pulled(evaluation: Evaluation) -> tuple[Pulled, dict[str, Pulled]]:
    judgments, _, rankings = pipeline.pull_all(evaluation, lambda step: None)
    return judgments, rankings


def found(engine: DuckDBEngine, evaluation: Evaluation, judgments: Pulled, rankings: dict[str, Pulled]) -> Any:
    """All that an evaluation shows, after it was loaded."""
    findings = check(engine, judgments, rankings, evaluation)
    pipeline.score(engine, evaluation.metric_list)
    outcome = pipeline.conclude(engine, evaluation, findings, verify(engine, evaluation.metric_list))
    page = gather(engine, outcome, {})
    tables = [page.queries, page.scores.sort_by([(name, "ascending") for name in page.scores.column_names])]
    return outcome.to_json(), *(table.to_pylist() for table in (*tables, page.rankings, page.missed))


def whole_and_short(evaluation: Evaluation) -> tuple[Any, dict[str, reduced.Reduced | None]]:
    judgments, rankings = pulled(evaluation)
    with DuckDBEngine() as engine:
        pipeline.load(engine, judgments, Queries(), rankings, evaluation)
        whole = found(engine, evaluation, judgments, rankings)
        short = {name: reduced.reduce(engine, name, each, evaluation.metric_list) for name, each in rankings.items()}
    return whole, short


def again(evaluation: Evaluation, known: dict[str, reduced.Reduced], read: list[str]) -> Any:
    judgments, rankings = pulled(evaluation)
    for name, each in known.items():
        table, source = rankings[name].table, rankings[name].source

        def whole(table: pa.Table = table, name: str = name) -> pa.Table:
            read.append(name)
            return table

        rows = each.rows.cast(RANKING.schema).replace_schema_metadata(table.schema.metadata)
        rankings[name] = Pulled(rows, RANKING, source, count=each.count, whole=whole)
    with DuckDBEngine() as engine:
        pipeline.load(engine, judgments, Queries(), rankings, evaluation, known)
        return found(engine, evaluation, judgments, rankings)


@pytest.mark.parametrize(
    "options",
    [{}, {"ranks": "from 0"}, {"scores": "near"}, {"scores": "level"}],
    ids=str,
)
@pytest.mark.slow
@pytest.mark.parametrize("which", [("old",), ("old", "new")], ids=str)
def test_reduced_rankings_come_to_the_same(options: dict[str, str], which: tuple[str, ...], tmp_path: Path) -> None:
    evaluation = made(tmp_path, seed=len(options) + len(which), **options)
    whole, short = whole_and_short(evaluation)
    known = {name: each for name in which if (each := short[name])}
    assert len(known) == len(which)
    if options.get("scores") != "near":
        assert all(each.rows.num_rows < 0.8 * each.count for each in known.values())
    read: list[str] = []
    short_one = again(evaluation, known, read)
    for before, after in zip(whole, short_one, strict=True):
        assert after == before
    assert not read, "nothing needed the rest"
    assert any(row["rank"] for row in whole[-1])


@pytest.mark.parametrize("options", [{"scores": "rising"}, {"ranks": "every other"}, {"scores": "large"}], ids=str)
def test_what_is_not_plain_is_kept_whole(options: dict[str, str], tmp_path: Path) -> None:
    _, short = whole_and_short(made(tmp_path, seed=1, **options))
    assert short == {"old": None, "new": None}


@pytest.mark.slow
def test_copies_are_seen_when_both_are_reduced(tmp_path: Path) -> None:
    evaluation = made(tmp_path, seed=1)
    lines = (tmp_path / "old.run").read_text().splitlines(keepends=True)
    queries = [[line for line in lines if line.startswith(f"q{place:02}")] for place in range(QUERIES)]
    (tmp_path / "new.run").write_text("".join(line for each in reversed(queries) for line in each))
    whole, short = whole_and_short(evaluation)
    assert "same_ranking" in {row["code"] for row in json.loads(whole[0])["findings"]}
    read: list[str] = []
    assert again(evaluation, {name: each for name, each in short.items() if each}, read)[0] == whole[0]
    assert read == ["old", "new"]


@pytest.mark.parametrize("metric", ["ndcg", "ndcg(unjudged=condense)@3", "ndcg(duplicates=first)@3"])
def test_metrics_that_look_at_everything(metric: str, tmp_path: Path) -> None:
    evaluation = made(tmp_path, seed=1)
    assert reduced.can_reduce(evaluation.metric_list)
    assert not reduced.can_reduce(evaluation.model_copy(update={"metrics": (metric,)}).metric_list)


def test_rankings_whose_documents_are_hardly_judged_are_kept_whole(tmp_path: Path) -> None:
    evaluation = made(tmp_path, seed=1)
    (tmp_path / "old.run").write_text((tmp_path / "old.run").read_text().replace(" d", " other"))
    evaluation = evaluation.model_copy(update={"findings": {"unmatched_document": "note"}})
    judgments, rankings = pulled(evaluation)
    with DuckDBEngine() as engine:
        pipeline.load(engine, judgments, Queries(), rankings, evaluation)
        assert reduced.reduce(engine, "old", rankings["old"], evaluation.metric_list) is None
        assert reduced.reduce(engine, "new", rankings["new"], evaluation.metric_list)
