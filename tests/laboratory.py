"""A small laboratory: judgments and rankings as dictionaries, scored by the SQL and by the core."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.engines import base
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.engines.sql_files import pipeline_files
from ndcg_ab.pipeline.conclude import make_outcome
from ndcg_ab.pipeline.context import Context
from ndcg_ab.pipeline.store import Store
from ndcg_ab.results.outcome import Finding, Outcome
from ndcg_ab.scoring import loading
from ndcg_ab.scoring.parity import recompute_sample
from ndcg_ab.scoring.scoring import score_metrics
from ndcg_ab.sources import JUDGMENT, RANKING, Pulled, Queries, make_source
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import parse
from ndcg_core.measures.score import Result, score_query

Judgments = Mapping[str, Mapping[str, float]]
Ranking = Mapping[str, Sequence[Result]]
Scores = dict[tuple[str, str, str], float]


def results(documents: Mapping[str, float]) -> list[Result]:
    """The results of one query from doc_id -> score."""
    return [Result(doc_id, score) for doc_id, score in documents.items()]


def in_order(*doc_ids: str) -> list[Result]:
    """Results in rank order, with falling scores."""
    return [Result(doc_id, float(len(doc_ids) - index)) for index, doc_id in enumerate(doc_ids)]


def evaluation_of(systems: Sequence[str], metrics: Sequence[str], **keys: object) -> Evaluation:
    """Every metric decides, where `keys` do not say otherwise."""
    content: dict[str, Any] = {
        "name": "test",
        "judgments": {"file": "qrels"},
        "systems": [{"name": name, "file": f"{name}.run"} for name in systems],
        "metrics": list(metrics),
        "primary_metrics": "all",
    }
    return Evaluation(**(content | keys))


def pulled_judgments(judgments: Judgments) -> Pulled:
    rows = [
        {"query_id": query, "doc_id": doc, "grade": float(grade)}
        for query, grades in judgments.items()
        for doc, grade in grades.items()
    ]
    return Pulled(
        pa.Table.from_pylist(rows, schema=JUDGMENT.schema), JUDGMENT, make_source(FileSource(file="qrels"), Path())
    )


def pulled_ranking(name: str, ranking: Ranking) -> Pulled:
    rows = [
        {"query_id": query, "doc_id": row.doc_id, "score": row.score, "rank": row.rank_given}
        for query, found in ranking.items()
        for row in found
    ]
    table = pa.Table.from_pylist(rows, schema=RANKING.schema)
    return Pulled(table, RANKING, make_source(FileSource(file=f"{name}.run"), Path()))


def fill(engine: DuckDBEngine, judgments: Judgments, rankings: Mapping[str, Ranking], metrics: Sequence[str]) -> None:
    """Loads and scores in the engine, without the data check."""
    tables = {name: pulled_ranking(name, ranking) for name, ranking in rankings.items()}
    evaluation = evaluation_of(list(rankings), metrics)
    loading.load_tables(engine, pulled_judgments(judgments), Queries(), tables, evaluation)
    score_metrics(engine, evaluation.metric_list)


def sql_scores(
    judgments: Judgments, rankings: Mapping[str, Ranking], metrics: Sequence[str], threads: int | None = 1
) -> Scores:
    """(system_id, query_id, metric name) -> value, as the SQL computes it; small tables need no second thread."""
    with DuckDBEngine(threads) as engine:
        fill(engine, judgments, rankings, metrics)
        rows = engine.rows("metric_value", ("system_id", "query_id", "metric", "value"))
    return {(system, query, name): value for system, query, name, value in rows}


def plant_fault(monkeypatch: pytest.MonkeyPatch, table: str, right: str, wrong: str) -> None:
    """Puts a fault into a SQL file, for every engine made from here on."""
    files = pipeline_files()
    assert right in files[table].text, "the fault has nowhere to go: mend this test"
    faulty = dataclasses.replace(files[table], text=files[table].text.replace(right, wrong))
    monkeypatch.setattr(base, "pipeline_files", lambda: files | {table: faulty})


def core_scores(judgments: Judgments, rankings: Mapping[str, Ranking], metrics: Sequence[str]) -> Scores:
    """The same from the Python core."""
    highest = max(grade for grades in judgments.values() for grade in grades.values())
    found: Scores = {}
    for name in metrics:
        metric = parse(name)
        for system, ranking in rankings.items():
            for query, grades in judgments.items():
                value = score_query(metric, ranking.get(query, []), grades, highest)
                if value is not None:
                    found[system, query, metric.name] = value
    return found


def both_values(judgments: Judgments, results: Sequence[Result], metric: str | Metric) -> tuple[float, float]:
    """One query's value from the SQL and from the core."""
    (found,) = both_of_metrics(judgments, results, [metric]).values()
    return found


def both_of_metrics(
    judgments: Judgments, results: Sequence[Result], metrics: Sequence[str | Metric]
) -> dict[str, tuple[float, float]]:
    """The same of several metrics in one evaluation, by their canonical names."""
    names = [parse(metric if isinstance(metric, str) else metric.name).name for metric in metrics]
    rankings = {"new": {"q": results}}
    sql, core = sql_scores(judgments, rankings, names), core_scores(judgments, rankings, names)
    return {name: (sql["new", "q", name], core["new", "q", name]) for name in names}


class Case(NamedTuple):
    """One query: its grades, what was returned, and a metric."""

    grades: Mapping[str, float]
    returned: Sequence[Result]
    metric: str


def both_of_cases(cases: Sequence[Case]) -> list[tuple[float, float]]:
    """Each case's value from the SQL and from the core, in as few evaluations as give the same.

    Apart are cases of another highest grade, which some metrics look at; grades below 0, and those that a table of
    gains may lack, are for the metrics of their own case alone.
    """
    groups: dict[tuple[object, ...], list[int]] = {}
    for at, case in enumerate(cases):
        is_apart = min(case.grades.values()) < 0 or not isinstance(parse(case.metric).gain, str)
        groups.setdefault((max(case.grades.values()), at if is_apart else None), []).append(at)
    found: dict[int, tuple[float, float]] = {}
    for places in groups.values():
        judgments = {f"q{at}": cases[at].grades for at in places}
        rankings = {"new": {f"q{at}": cases[at].returned for at in places}}
        names = {at: parse(cases[at].metric).name for at in places}
        sql, core = (score(judgments, rankings, sorted({*names.values()})) for score in (sql_scores, core_scores))
        found |= {at: (sql["new", f"q{at}", name], core["new", f"q{at}", name]) for at, name in names.items()}
    return [found[at] for at in range(len(cases))]


def outcome_of(judgments: Judgments, rankings: Mapping[str, Ranking], metrics: Sequence[str], **keys: Any) -> Outcome:
    """The whole evaluation without files."""
    evaluation = evaluation_of(list(rankings), metrics, **keys)
    with DuckDBEngine(1) as engine:
        fill(engine, judgments, rankings, metrics)
        return conclude(engine, evaluation)


def conclude(engine: DuckDBEngine, evaluation: Evaluation, findings: Sequence[Finding] = ()) -> Outcome:
    """The outcome of an evaluation whose scores are there."""
    count = recompute_sample(engine, evaluation.metric_list)
    store = Store(evaluation, engine)
    return make_outcome(engine, Context(evaluation, store, findings=list(findings), parity_queries=count))
