"""`power`: how many queries a difference needs; `sql_query`: a metric as a query for a database."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from ndcg_ab.api.arguments import (
    Data,
    ShownInNotebook,
    as_configured,
    make_source,
    name_arguments_in_errors,
    read_argument,
)
from ndcg_ab.api.results import CompareResult
from ndcg_ab.config.model.inputs.connections import InMemoryFile
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.external_scores import SCORE
from ndcg_ab.sources.tables.in_memory import python_number, read_given
from ndcg_ab.studies.power import Asked, Plan, make_plans, parse_questions, plans_to_json
from ndcg_ab.studies.query_scores import Scores, parse_scores
from ndcg_ab.warehouse.dialects import make_tables
from ndcg_ab.warehouse.query import write_query
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import parse


@dataclass(frozen=True, repr=False)
class PowerResult(ShownInNotebook):
    """Answers; in a notebook they show themselves, `print` writes what the command writes.

    plans: one for each candidate and metric, or one for a deviation: spread, queries needed, detectable differences.
    asked: the effects, numbers of queries, alpha and power that they are for.
    """

    plans: tuple[Plan, ...]
    asked: Asked

    def to_json(self) -> str:
        """What `ndcg-ab power --json` writes."""
        return plans_to_json(self.plans, self.asked)

    def __repr__(self) -> str:
        more = f" and {len(self.plans) - 1} more" if len(self.plans) > 1 else ""
        return f"<PowerResult: {self.plans[0].name}{more}>"

    def __str__(self) -> str:
        from ndcg_ab.report.notebook import format_printed
        from ndcg_ab.report.terminal.studies import print_plans

        return format_printed(print_plans, self.plans, self.asked)


def power(
    scores: Data | CompareResult | None = None,
    *,
    deviation: float | None = None,
    baseline: str | None = None,
    candidates: str | Sequence[str] | None = None,
    metrics: str | Metric | Sequence[str | Metric] | None = None,
    effects: float | Sequence[float] | None = None,
    queries: int | Sequence[int] | None = None,
    weights: Data | None = None,
    clusters: Data | None = None,
    cluster_prefix: str | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    comparisons: int = 1,
) -> PowerResult:
    """How many queries a difference needs, and what a number of queries can show.  As `ndcg-ab power`.

    scores: what `compare` returned, or a path or a table of per-query values: system_id, query_id, metric, value.
    deviation: instead of them the standard deviation of the per-query differences, >= 0, in the metric's unit.
    baseline, candidates, metrics: choose from the scores; by default the first system, all others, all metrics.
    effects: differences > 0 to detect.  queries: numbers of queries, >= 2.  weights: queries with their weights,
    or drawn ones.  clusters: queries with their clusters.
    cluster_prefix: or clusters of ids that agree up to the last of this text.
    alpha: of the two-sided test, in (0, 1).  power: probability of detecting, in (alpha, 1).
    comparisons: how many will be adjusted together (candidates x metrics), >= 1.
    Raises InputError (argument, row, value, rule).
    """
    with name_arguments_in_errors():
        asked = parse_questions(
            list_numbers("effects", effects),
            list_numbers("queries", queries, whole=True),
            check_number("alpha", alpha),
            check_number("power", power),
            check_number("comparisons", comparisons, whole=True),
        )
        spread = None if deviation is None else check_number("deviation", deviation)
        chosen = [candidates] if isinstance(candidates, str) else candidates
        if weights is None and isinstance(scores, CompareResult) and scores.is_weighted:
            raise InputError("weights: is missing: the comparison was weighted; give the queries that it was given")
        weighing = None if weights is None else make_source("weights", weights)
        if clusters is None and cluster_prefix is None and isinstance(scores, CompareResult) and scores.is_clustered:
            raise InputError("clusters: is missing: the comparison had clusters; give the queries that it was given")
        grouping = None if clusters is None else make_source("clusters", clusters)
        names = metric_names(metrics)
        plans = make_plans(
            spread, scores_place(scores), baseline, chosen, names, asked, weighing, grouping, cluster_prefix
        )
    return PowerResult(tuple(plans), asked)


def check_number(argument: str, value: Any, *, whole: bool = False) -> Any:
    if isinstance(value, bool) or not isinstance(value, Integral if whole else Real):
        raise InputError(f"{argument} = {format_value(value)}: must be a {'whole ' * whole}number")
    return python_number(value)


def list_numbers(argument: str, given: Any, *, whole: bool = False) -> Any:
    """A list, of one number too."""
    values = [given] if isinstance(given, Real) else given
    return None if values is None else [check_number(argument, value, whole=whole) for value in values]


def metric_names(metrics: Any) -> list[str] | None:
    names: list[Any] | None = as_configured("metrics", metrics)
    for name in names or ():
        if not isinstance(name, str):
            raise InputError(f"metrics = {format_value(name)}: must be text like ndcg@10")
    return names


def scores_place(given: Data | CompareResult | None) -> Path | Scores | None:
    """The path to read, or the values that were given."""
    if given is None:
        return None
    if isinstance(given, str | os.PathLike):
        return Path(given).expanduser()
    file = read_argument("scores", given.query_scores if isinstance(given, CompareResult) else given)
    if not isinstance(file, InMemoryFile) or isinstance(file.given.data, Mapping):
        raise InputError("scores: must be what compare() returned, or a table of system_id, query_id, metric and value")
    return parse_scores(read_given(file.given, SCORE, {}), file)


def sql_query(
    metric: str | Metric = "ndcg@10",
    *,
    dialect: str,
    judgments: str = "judgments",
    rankings: str | None = None,
    systems: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    judgments_columns: Mapping[str, str] | None = None,
    mean: bool = False,
) -> str:
    """One query that computes the metric where the data are.  As `ndcg-ab sql`.

    dialect: duckdb, postgres, spark, sqlite, clickhouse, datafusion, polars, snowflake, bigquery, trino, databricks or
        redshift.
    judgments: a table, by its path.  rankings: a table of all systems, by default ``rankings``; or systems: name ->
        the table of one.  A dbt expression in {{ }} stays as it is.
    columns, judgments_columns: field -> column, where the names differ; fields of rankings are system_id, query_id,
        doc_id, score and rank, of judgments query_id, doc_id and grade.
    mean: one row for each system instead of one for each system and query.
    Raises InputError for a name that no table can have and for what cannot be said in that database, MetricError.
    """
    chosen = parse(metric) if isinstance(metric, str) else metric
    if not isinstance(chosen, Metric):
        raise InputError(f"metric = {format_value(metric)}: must be text like ndcg@10, or a Metric")
    with name_arguments_in_errors():
        return write_query(
            chosen, dialect, make_tables(judgments, rankings, systems, judgments_columns, columns), mean=mean
        )
