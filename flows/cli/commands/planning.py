"""Define the commands `power`, which plans an evaluation, and `sql`, which writes a metric as a query."""

import sys
from pathlib import Path
from typing import Any

from ndcg_ab.errors import InputError, format_value
from ndcg_ab.visible import visible_json

from ..console import Output
from ..options import JSON_FILE, PICTURE, QUIET, of_data, of_metrics, of_output, option, takes


@takes("cluster_prefix")
def power(
    deviation: float | None = option("S", "Standard deviation of the per-query differences."),
    scores: Path | None = option("FILE", "Per-query values from `compare --per-query`, instead."),
    weights: Path | None = option(
        "FILE", "Queries with the weights of that comparison, or drawn ones: CSV, TSV, JSONL, Parquet."
    ),
    clusters: Path | None = option("FILE", "Queries with a column `cluster`, as in that comparison."),
    baseline: str | None = option("NAME", "Baseline. (default the first system of the file)"),
    candidate: list[str] | None = option("NAME", "Candidate; again for more. (default all others)"),
    metric: list[str] | None = option("METRIC", "Metric; again for more. (default all of the file)"),
    effect: list[float] | None = option(
        "E", "Effect to detect; again for more. (default three)", "--effect", "--smallest-effect"
    ),
    queries: list[int] | None = option("N", "Number of queries; again for more. (default seven)", "--queries", "-n"),
    alpha: float = option("A", "Level of the two-sided test. (default 0.05)", show_default=False, default=0.05),
    power: float = option("P", "Probability of detecting. (default 0.8)", show_default=False, default=0.8),
    comparisons: int = option(
        "N", "Comparisons adjusted together: candidates x metrics. (default 1)", show_default=False, default=1
    ),
    picture: Path | None = PICTURE,
    json: str | None = JSON_FILE,
    quiet: bool = QUIET,
    **options: Any,
) -> None:
    """Compute how many queries a difference needs, and what a number of queries can show.

    Example: ndcg-ab power --scores scores.parquet --metric ndcg@10 --effect 0.005 --picture power.svg
    """
    from ndcg_ab.report.terminal.studies import print_plans
    from ndcg_ab.studies.power import make_plans, parse_settings, plans_to_json

    settings = parse_settings(effect, queries, alpha, power, comparisons)
    output = Output([file for file in (scores, weights, clusters) if file], quiet=quiet, json=json, picture=picture)
    prefix = options["cluster_prefix"]
    plans = make_plans(deviation, scores, baseline, candidate, metric, settings, weights, clusters, prefix)
    output.finish(lambda: plans_to_json(plans, settings), print_plans, plans, settings)


def sql(
    dialect: str = of_output(
        "DATABASE",
        "duckdb, postgres, spark, sqlite, clickhouse, datafusion, polars; or, written but not tried,"
        " snowflake, bigquery, trino, databricks, redshift.",
        default=...,
    ),
    metric: list[str] | None = of_metrics("METRIC", "The metric. (default ndcg@10)", show_default=False),
    judgments: str = of_data("TABLE", "The table of the judgments.", default="judgments"),
    rankings: str | None = of_data("TABLE", "The table of all systems' rankings. (default rankings)"),
    system: list[str] | None = of_data("NAME=TABLE", "Or a system and the table of its rankings; again for more."),
    judgments_columns: str | None = of_data("FIELD=COLUMN,…", "Names of columns: query_id=qid,doc_id=url,grade=rating"),
    columns: str | None = of_data(
        "FIELD=COLUMN,…", "The same for the rankings (system_id, query_id, doc_id, score, rank)."
    ),
    mean: bool = of_output(None, "One row for each system instead of one for each system and query.", "--mean"),
    json: str | None = JSON_FILE,
) -> None:
    """Print one SQL query that computes a metric in your own database, with its definition in a comment.

    Example: ndcg-ab sql --metric ndcg@10 --dialect postgres --judgments search.judgments --rankings search.rankings
    --columns query_id=qid,doc_id=url > ndcg_at_10.sql
    """
    from ndcg_ab.config.options.from_options import parse_columns, parse_pairs
    from ndcg_ab.other_measures import parse_own_metric
    from ndcg_ab.warehouse.dialects import Tables
    from ndcg_ab.warehouse.query import write_query

    if len(metrics := metric or ["ndcg@10"]) > 1:
        raise InputError(
            f"--metric is given {len(metrics)} times ({', '.join(map(format_value, metrics))}): one query"
            " computes one metric; print one for each"
        )
    judged = parse_columns("--judgments-columns", judgments_columns)
    returned = parse_columns("--columns", columns)
    named = parse_pairs("--system", system or (), "must be NAME=TABLE, such as new=search.ranking_new")
    tables = Tables(judgments, rankings, named, judged, returned)
    chosen = parse_own_metric(metrics[0], "cannot be said in SQL")
    output, text = Output((), json=json), write_query(chosen, dialect, tables, mean=mean)
    output.write_json(metric=chosen.name, dialect=dialect, sql=text)
    if output.is_shown:
        sys.stdout.write(visible_json(text))


COMMANDS = (power, sql)
