"""Represent metrics as rows of tables from which the SQL computes them, and run the metrics of other tools."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError
from ndcg_ab.other_measures import measure_values
from ndcg_core.measures.metric import Metric, MetricError, choice_text, format_number
from ndcg_core.measures.notation import ExternalMetric
from ndcg_core.measures.registry import DISCOUNTS, GAINS

EVERYTHING = 2**31 - 1  # a depth that no ranking reaches
TEXT, REAL, WHOLE = pa.string(), pa.float64(), pa.int64()
SCHEMAS = {
    "pulled_metric": pa.schema(
        [("metric_id", TEXT), ("position", WHOLE), ("name", TEXT), ("measure", TEXT), ("cutoff", WHOLE)]
        + [("rank_rule", TEXT), ("gain_rule", TEXT), ("relevance_rule", TEXT), ("discount_rule", TEXT)]
        + [("ideal", TEXT), ("recall_depth", WHOLE), ("max_grade", REAL), ("ideal_cut", TEXT)]
        + [("unanswered", TEXT), ("no_relevant", TEXT)]
    ),
    "pulled_rank_rule": pa.schema(
        [("rank_rule", TEXT), ("ties", TEXT), ("score_precision", TEXT), ("unjudged", TEXT), ("least_grade", REAL)]
    ),
    "pulled_gain_rule": pa.schema([("gain_rule", TEXT), ("kind", TEXT), ("relevant_from", REAL)]),
    "pulled_gain_entry": pa.schema([("gain_rule", TEXT), ("grade", REAL), ("gain", REAL)]),
    "pulled_discount_rule": pa.schema([("discount_rule", TEXT), ("kind", TEXT), ("base", REAL)]),
    "pulled_rank": pa.schema([("rank", WHOLE)]),
}


def rank_rule(metric: Metric) -> str:
    """Return the name of a metric's rank rule: its choices for ties, score precision and unjudged results.

    Such as ``doc_id_desc/double/zero``. ``>=0`` follows if negative grades count as unjudged.
    """
    least = ">=0" if metric.negative == "unjudged" else ""
    return f"{metric.ties}/{metric.score_precision}/{metric.unjudged}{least}"


def gain_rule(metric: Metric) -> str:
    """Return the name of a metric's gain rule, such as ``linear``, ``binary>=2``, ``{1:1, 2:3}`` or ``judged``."""
    least = "" if metric.relevant_from is None else f">={format_number(metric.relevant_from)}"
    return choice_text(metric.effective_gain) + least


def relevance_rule(metric: Metric) -> str:
    """Return the name of the gain rule that decides whether a query has relevant documents, and can be scored.

    It is the metric's own gain rule, unless the gain names another rule for this purpose, as ``judged`` does.
    """
    gain = metric.effective_gain
    return (GAINS[gain].relevance if isinstance(gain, str) else None) or gain_rule(metric)


def discount_rule(metric: Metric) -> str:
    """Return the name of a metric's discount rule, such as ``log2``, ``jarvelin_kekalainen/2`` or ``none``."""
    is_made_with = bool(DISCOUNTS[metric.effective_discount].choices)
    return metric.effective_discount + f"/{format_number(metric.discount_number)}" * is_made_with


def metric_tables(metrics: Sequence[Metric]) -> dict[str, pa.Table]:
    """Return the tables from which the SQL computes the metrics, by table name.

    One table has the metrics; others have each distinct rank rule, gain rule and discount rule, and the gain tables.
    The last table has the ranks from 1 to the largest cutoff of the metrics whose ideal has a gain at every rank.
    """
    rows: dict[str, dict[Any, dict[str, Any]]] = {name: {} for name in SCHEMAS}
    # Coverage (judged@k) is computed for every metric.
    rows["pulled_gain_rule"] = {"judged": {"gain_rule": "judged", "kind": "judged"}}
    rows["pulled_gain_rule"]["binary"] = {"gain_rule": "binary", "kind": "binary"}
    rows["pulled_discount_rule"]["none"] = {"discount_rule": "none", "kind": "none", "base": 2.0}
    for position, metric in enumerate(metrics):
        rows["pulled_metric"][metric.hash] = metric_row(metric, position)
        if isinstance(metric, ExternalMetric):
            continue
        order = {name: getattr(metric, name) for name in ("ties", "score_precision", "unjudged")}
        order["least_grade"] = 0.0 if metric.negative == "unjudged" else None
        rows["pulled_rank_rule"][rank_rule(metric)] = {"rank_rule": rank_rule(metric)} | order
        if (twin := rank_rule(keep_unjudged_results(metric))) != rank_rule(metric):  # for what unjudged results mean
            everything = {"unjudged": "zero", "least_grade": None}
            rows["pulled_rank_rule"][twin] = {"rank_rule": twin} | order | everything
        rule, factor = gain_rule(metric), discount_rule(metric)
        kind = metric.effective_gain if isinstance(metric.effective_gain, str) else "table"
        rows["pulled_gain_rule"][rule] = {"gain_rule": rule, "kind": kind, "relevant_from": metric.relevant_from}
        discount = {"kind": metric.effective_discount, "base": metric.discount_number}
        rows["pulled_discount_rule"][factor] = {"discount_rule": factor} | discount
        for grade, gain in () if isinstance(metric.gain, str) else metric.gain:
            rows["pulled_gain_entry"][rule, grade] = {"gain_rule": rule, "grade": grade, "gain": gain}
    filled = max((metric.cutoff or 0 for metric in metrics if metric.has_endless_ideal), default=0)
    rows["pulled_rank"] = {rank: {"rank": rank} for rank in range(1, filled + 1)}
    return {name: pa.Table.from_pylist(list(rows[name].values()), schema=schema) for name, schema in SCHEMAS.items()}


def metric_row(metric: Metric, position: int) -> dict[str, Any]:
    """Return the row of `pulled_metric` for a metric; for a metric of another tool, all choices are null."""
    if isinstance(metric, ExternalMetric):  # every choice is null, and the SQL computes nothing of it
        return {"metric_id": metric.hash, "position": position, "name": metric.name, "measure": metric.source_name}
    same = ("name", "measure", "cutoff", "recall_depth", "max_grade", "ideal_cut", "unanswered", "no_relevant")
    return {name: getattr(metric, name) for name in same} | {
        "metric_id": metric.hash,
        "position": position,
        "rank_rule": rank_rule(metric),
        "gain_rule": gain_rule(metric),
        "relevance_rule": relevance_rule(metric),
        "discount_rule": discount_rule(metric),
        "ideal": metric.effective_ideal,
    }


def keep_unjudged_results(metric: Metric) -> Metric:
    """Return the metric with unjudged results kept as not relevant instead of removed.

    A metric that does not remove unjudged results is returned unchanged.
    """
    if metric.unjudged != "condense":
        return metric
    negative = "zero" if metric.negative == "unjudged" else metric.negative
    return replace(metric, unjudged="zero", negative=negative)


def depth_of(metrics: Sequence[Metric]) -> int:
    """Return the largest number of top ranks that any of the metrics reads; EVERYTHING if a metric reads all ranks."""
    return max(metric.depth or EVERYTHING for metric in metrics)


def deepest_cutoff(metrics: Sequence[Metric]) -> int:
    """Return the largest cutoff of the metrics; EVERYTHING - 1 if a metric has no cutoff."""
    return max(metric.cutoff or EVERYTHING - 1 for metric in metrics)


def reads_below_cutoff(metric: Metric) -> bool:
    """Return whether a metric's value can depend on results below its cutoff."""
    return metric.cutoff is None or metric.has_deeper_ideal or metric.unjudged == "condense"


def metrics_of_other_tools(metrics: Sequence[Metric]) -> list[ExternalMetric]:
    """Return the metrics that another tool computes from the rankings and judgments."""
    return [metric for metric in metrics if isinstance(metric, ExternalMetric) and metric.tool]


def own_metrics(metrics: Sequence[Metric]) -> list[Metric]:
    """Return the built-in metrics, which the SQL and `ndcg_core` compute."""
    return [metric for metric in metrics if not isinstance(metric, ExternalMetric)]


def add_external_values(engine: Engine, metrics: Sequence[ExternalMetric]) -> None:
    """Compute the values of another tool's metrics, and add them to the score tables of the engine.

    Queries with a grade above 0 count, except those on which a system's request failed. Raises InputError if a metric
    cannot be computed.
    """
    if not metrics:
        return
    judgments: dict[str, dict[str, float]] = defaultdict(dict)
    for query_id, doc_id, grade in engine.iter_rows("judgment", ("query_id", "doc_id", "grade")):
        judgments[query_id][doc_id] = grade
    query_ids = sorted(query for query, grades in judgments.items() if max(grades.values()) > 0)
    failed = {*engine.rows("pulled_failed_query", ("system_id", "query_id"))}
    tables = {name: engine.read(name) for name in ("scored_query", "query_score", "coverage")}
    scored = [(metric.hash, query, True) for metric in metrics for query in query_ids]
    rows = []
    for (system,) in engine.rows("system", ("system_id",), order="position"):
        ranking: dict[str, dict[str, float]] = defaultdict(dict)
        columns = ("query_id", "doc_id", "order_score")
        for query_id, doc_id, score in engine.iter_rows("ranking", columns, where={"system_id": system}):
            ranking[query_id][doc_id] = score
        for metric in metrics:
            try:
                measured = measure_values(metric, judgments, ranking)
            except MetricError as error:
                raise InputError(str(error)) from None
            rows += [
                (system, query, metric.hash, measured[query], query in ranking)
                for query in query_ids
                if (system, query) not in failed
            ]
    # In the order of the SQL files: what is given makes again what reads it.
    engine.put_computed("scored_query", append_rows(tables["scored_query"], scored))
    engine.put_computed("query_score", append_rows(tables["query_score"], rows))
    engine.put_computed("coverage", plain_texts(tables["coverage"]))


def plain_texts(table: pa.Table) -> pa.Table:
    """Return a score table with plain strings and numbers instead of the engine's types."""
    types = {"value": pa.float64(), "judged": pa.float64(), "is_answered": pa.bool_(), "is_relevant": pa.bool_()}
    return table.cast(pa.schema([(name, types.get(name, pa.string())) for name in table.column_names]))


def append_rows(table: pa.Table, rows: Sequence[tuple[object, ...]]) -> pa.Table:
    """Return a score table with rows added at the end. rows: tuples in the order of the columns."""
    first = plain_texts(table)
    columns = list(zip(*rows, strict=True)) or [()] * first.num_columns
    return pa.concat_tables([first, pa.table([pa.array(each) for each in columns], schema=first.schema)])
