"""Values of measures that ir_measures computes, put beside those of the SQL, so that everything after is the same."""

from collections import defaultdict
from collections.abc import Sequence

import pyarrow as pa

from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError
from ndcg_ab.other_measures import Answered, values
from ndcg_core.measures.external_metric import GivenMetric
from ndcg_core.measures.metric import Metric, MetricError


def measured_elsewhere(metrics: Sequence[Metric]) -> list[GivenMetric]:
    """Those of the metrics that another tool computes from our rankings and judgments."""
    return [metric for metric in metrics if isinstance(metric, GivenMetric) and metric.tool]


def own_metrics(metrics: Sequence[Metric]) -> list[Metric]:
    """The others, which SQL and core compute."""
    return [metric for metric in metrics if not isinstance(metric, GivenMetric)]


def add_measured(engine: Engine, metrics: Sequence[GivenMetric]) -> None:
    """Computes every system's values, and adds them to the tables of scores.

    Counted are the queries with a grade above 0, and as everywhere not those on which a system's place failed.
    """
    if not metrics:
        return
    judgments: dict[str, dict[str, float]] = defaultdict(dict)
    for query_id, doc_id, grade in engine.each("judgment", ("query_id", "doc_id", "grade")):
        judgments[query_id][doc_id] = grade
    counted = sorted(query for query, grades in judgments.items() if max(grades.values()) > 0)
    failed = {*engine.rows("pulled_failed_query", ("system_id", "query_id"))}
    tables = {name: engine.read(name) for name in ("scored_query", "query_score", "coverage")}
    scored = [(metric.hash, query, True) for metric in metrics for query in counted]
    rows = []
    for (system,) in engine.rows("system", ("system_id",), order="place"):
        ranking: dict[str, dict[str, float]] = defaultdict(dict)
        columns = ("query_id", "doc_id", "order_score")
        for query_id, doc_id, score in engine.each("ranking", columns, where={"system_id": system}):
            ranking[query_id][doc_id] = score
        for metric in metrics:
            try:
                found = values(metric, Answered(judgments, ranking))
            except MetricError as error:
                raise InputError(str(error)) from None
            rows += [
                (system, query, metric.hash, found[query], query in ranking)
                for query in counted
                if (system, query) not in failed
            ]
    # In the order of the SQL files: what is given makes again what reads it.
    engine.give("scored_query", append_rows(tables["scored_query"], scored))
    engine.give("query_score", append_rows(tables["query_score"], rows))
    engine.give("coverage", plain_texts(tables["coverage"]))


def plain_texts(table: pa.Table) -> pa.Table:
    """The same with texts instead of an engine's own types."""
    types = {"value": pa.float64(), "judged": pa.float64(), "is_answered": pa.bool_(), "is_relevant": pa.bool_()}
    return table.cast(pa.schema([(name, types.get(name, pa.string())) for name in table.column_names]))


def append_rows(table: pa.Table, rows: Sequence[tuple[object, ...]]) -> pa.Table:
    """The table, with rows in the order of its columns."""
    first = plain_texts(table)
    columns = list(zip(*rows, strict=True)) or [()] * first.num_columns
    return pa.concat_tables([first, pa.table([pa.array(each) for each in columns], schema=first.schema)])
