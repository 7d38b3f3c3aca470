"""The functions `power`, which plans numbers of queries, and `sql_query`, which writes a metric as a database query."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from ndcg_ab.api import arguments
from ndcg_ab.api.results import CompareResult
from ndcg_ab.config.model.inputs.connections import InMemoryFile
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.external_scores import SCORE
from ndcg_ab.sources.tables.in_memory import python_number, read_in_memory
from ndcg_ab.studies.power import Plan, PowerSettings, Scores, make_plans, parse_scores, parse_settings, plans_to_json
from ndcg_ab.warehouse.dialects import Tables
from ndcg_ab.warehouse.query import write_query
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import parse


@dataclass(frozen=True, repr=False)
class PowerResult(arguments.ShownInNotebook):
    """Numbers of queries that differences need, and differences that numbers of queries can detect.

    In a notebook the result displays itself, and `print` writes the tables of `ndcg-ab power`.

    Attributes
    ----------
    plans : tuple of Plan
        One plan for each candidate and metric, or one for a given deviation: standard deviation, queries needed, and
        detectable differences.
    settings : PowerSettings
        The effects, numbers of queries, alpha and power that the plans are for.
    """

    plans: tuple[Plan, ...]
    settings: PowerSettings

    def to_json(self) -> str:
        """Return the JSON that `ndcg-ab power --json` writes."""
        return plans_to_json(self.plans, self.settings)

    def __repr__(self) -> str:
        more = f" and {len(self.plans) - 1} more" if len(self.plans) > 1 else ""
        return f"<PowerResult: {self.plans[0].name}{more}>"

    def __str__(self) -> str:
        from ndcg_ab.report.terminal.grid import format_printed
        from ndcg_ab.report.terminal.studies import print_plans

        return format_printed(print_plans, self.plans, self.settings)


def power(
    scores: arguments.Data | CompareResult | None = None,
    *,
    deviation: float | None = None,
    baseline: str | None = None,
    candidates: str | Sequence[str] | None = None,
    metrics: str | Metric | Sequence[str | Metric] | None = None,
    effects: float | Sequence[float] | None = None,
    queries: int | Sequence[int] | None = None,
    weights: arguments.Data | None = None,
    clusters: arguments.Data | None = None,
    cluster_prefix: str | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    comparisons: int = 1,
) -> PowerResult:
    """Compute how many queries a difference needs, and which differences a number of queries can detect.

    The command `ndcg-ab power` prints these numbers. A "dataset" is a path, an Arrow table, or nested dictionaries
    or lists as in docs/python.md.

    Parameters
    ----------
    scores : CompareResult or dataset, optional
        A result of `compare`, or a path or table of per-query values with the columns system_id, query_id, metric and
        value.
    deviation : float, optional
        Standard deviation (>= 0) of the per-query differences in the unit of the metric, instead of `scores`.
    baseline : str, optional
        Name of the system that the others are compared with; by default the first system of the scores.
    candidates : str or sequence of str, optional
        Systems to plan for; by default all but the baseline.
    metrics : str, Metric, or sequence of them, optional
        Metrics to plan for; by default all metrics of the scores.
    effects : float or sequence of float, optional
        Differences (> 0) to detect, in the unit of the metric; by default 0.005, 0.01 and 0.02.
    queries : int or sequence of int, optional
        Numbers of queries (>= 2) whose detectable differences are computed; by default seven from 50 to 5000.
    weights : dataset, optional
        Queries with their weights, or queries that `draw` drew. Required if the scores come from a weighted
        comparison.
    clusters : dataset, optional
        Queries with their clusters. Required if the scores come from a clustered comparison and there is no
        `cluster_prefix`.
    cluster_prefix : str, optional
        Separator for clusters of queries: ids that agree up to its last occurrence form a cluster, "_" for 106_1.
    alpha : float, default 0.05
        Significance level of the two-sided test, in (0, 1).
    power : float, default 0.8
        Probability of detecting a difference, in (alpha, 1).
    comparisons : int, default 1
        Number of comparisons (>= 1) that are adjusted together: candidates times metrics.

    Returns
    -------
    PowerResult
        One plan for each candidate and metric.

    Raises
    ------
    InputError
        If an argument or the data are invalid; the message names the argument, the row, the value and the rule.
    """
    with arguments.name_arguments_in_errors():
        settings = parse_settings(
            list_numbers("effects", effects),
            list_numbers("queries", queries, is_integer=True),
            check_number("alpha", alpha),
            check_number("power", power),
            check_number("comparisons", comparisons, is_integer=True),
        )
        spread = None if deviation is None else check_number("deviation", deviation)
        chosen = [candidates] if isinstance(candidates, str) else candidates
        if weights is None and isinstance(scores, CompareResult) and scores.is_weighted:
            raise InputError("weights: is missing: the comparison was weighted; give the queries that it was given")
        weighing = None if weights is None else arguments.make_source("weights", weights)
        if clusters is None and cluster_prefix is None and isinstance(scores, CompareResult) and scores.is_clustered:
            raise InputError("clusters: is missing: the comparison had clusters; give the queries that it was given")
        grouping = None if clusters is None else arguments.make_source("clusters", clusters)
        names = arguments.as_configured("metrics", metrics)
        for name in names or ():
            if not isinstance(name, str):
                raise InputError(f"metrics = {format_value(name)}: must be text like ndcg@10")
        plans = make_plans(
            spread, read_scores_argument(scores), baseline, chosen, names, settings, weighing, grouping, cluster_prefix
        )
    return PowerResult(tuple(plans), settings)


def check_number(argument: str, value: Any, *, is_integer: bool = False) -> Any:
    if isinstance(value, bool) or not isinstance(value, Integral if is_integer else Real):
        raise InputError(f"{argument} = {format_value(value)}: must be a {'whole ' * is_integer}number")
    return python_number(value)


def list_numbers(argument: str, numbers: Any, *, is_integer: bool = False) -> Any:
    """Return the numbers of an argument as a list, even if the argument is a single number; None stays None.

    Raise InputError, which names the argument, if an item is no number. is_integer: accept whole numbers only.
    """
    values = [numbers] if isinstance(numbers, Real) else numbers
    return None if values is None else [check_number(argument, value, is_integer=is_integer) for value in values]


def read_scores_argument(scores: arguments.Data | CompareResult | None) -> Path | Scores | None:
    """Return the path of per-query scores, or the scores themselves if they are in memory.

    None stays None. Raise InputError for data of another type, or without the columns of scores.
    """
    if scores is None:
        return None
    if isinstance(scores, str | os.PathLike):
        return Path(scores).expanduser()
    file = arguments.read_argument("scores", scores.query_scores if isinstance(scores, CompareResult) else scores)
    if not isinstance(file, InMemoryFile) or isinstance(file.data, Mapping):
        raise InputError("scores: must be what compare() returned, or a table of system_id, query_id, metric and value")
    return parse_scores(read_in_memory(file, SCORE, {}), file)


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
    """Return one SQL query that computes a metric in the database that holds judgments and rankings.

    The command `ndcg-ab sql` writes this query. A dbt expression in ``{{ }}`` in the name of a table is kept.

    Parameters
    ----------
    metric : str or Metric, default "ndcg@10"
        Metric to compute.
    dialect : str
        SQL dialect: duckdb, postgres, spark, sqlite, clickhouse, datafusion, polars, snowflake, bigquery, trino,
        databricks or redshift.
    judgments : str, default "judgments"
        Name of the table of judgments.
    rankings : str, optional
        Name of one table with the rankings of all systems; by default ``rankings``.
    systems : mapping of str to str, optional
        System name -> name of a table with the rankings of that system, instead of `rankings`.
    columns : mapping of str to str, optional
        Field -> column name in the rankings; the fields are system_id, query_id, doc_id, score and rank.
    judgments_columns : mapping of str to str, optional
        Field -> column name in the judgments; the fields are query_id, doc_id and grade.
    mean : bool, default False
        Whether the query returns one row for each system instead of one for each system and query.

    Returns
    -------
    str
        The query as text.

    Raises
    ------
    InputError
        If a name cannot be a table, or the dialect cannot express the metric.
    MetricError
        If the metric is invalid.
    """
    chosen = parse(metric) if isinstance(metric, str) else metric
    if not isinstance(chosen, Metric):
        raise InputError(f"metric = {format_value(metric)}: must be text like ndcg@10, or a Metric")
    with arguments.name_arguments_in_errors():
        tables = Tables(judgments, rankings, systems or {}, judgments_columns or {}, columns or {})
        return write_query(chosen, dialect, tables, mean=mean)
