"""`sql`: a metric as a query for the database in which judgments and rankings stand."""

from collections.abc import Mapping

from ndcg_ab.api.arguments import name_arguments_in_errors
from ndcg_ab.errors import InputError, Setting, format_value
from ndcg_ab.warehouse.names import Tables
from ndcg_ab.warehouse.query import write_query
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import parse


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


def make_tables(
    judgments: str,
    rankings: str | None,
    systems: Mapping[str, str] | None,
    judgments_columns: Mapping[str, str] | None,
    columns: Mapping[str, str] | None,
) -> Tables:
    """What was given, with the names that are meant without it; InputError for two places of the rankings."""
    if rankings is not None and systems:
        raise InputError(
            Setting("--rankings"),
            ", ",
            Setting("--system"),
            ": both are given; the rankings are in one table, or in one of each system",
        )
    return Tables(
        judgments, "rankings" if rankings is None else rankings, systems or {}, judgments_columns or {}, columns or {}
    )
