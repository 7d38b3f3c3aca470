"""The command that writes a metric as a query: sql."""

from collections.abc import Callable, Sequence
from typing import Annotated

from ndcg_ab.errors import InputError, format_value

from ..console import write_or_print
from ..options import of_data, of_metrics, of_output


def sql(
    dialect: Annotated[
        str,
        of_output(
            metavar="DATABASE",
            help="duckdb, postgres, spark, sqlite, clickhouse, datafusion, polars; or, written but not tried,"
            " snowflake, bigquery, trino, databricks, redshift.",
        ),
    ],
    metric: Annotated[
        list[str] | None, of_metrics(metavar="METRIC", help="The metric. (default ndcg@10)", show_default=False)
    ] = None,
    judgments: Annotated[str, of_data(metavar="TABLE", help="The table of the judgments.")] = "judgments",
    rankings: Annotated[
        str | None, of_data(metavar="TABLE", help="The table of all systems' rankings. (default rankings)")
    ] = None,
    system: Annotated[
        list[str] | None,
        of_data(metavar="NAME=TABLE", help="Or a system and the table of its rankings; again for more."),
    ] = None,
    judgments_columns: Annotated[
        str | None,
        of_data(metavar="FIELD=COLUMN,…", help="Names of columns: query_id=qid,doc_id=url,grade=rating"),
    ] = None,
    columns: Annotated[
        str | None,
        of_data(metavar="FIELD=COLUMN,…", help="The same for the rankings (system_id, query_id, doc_id, score, rank)."),
    ] = None,
    mean: Annotated[
        bool, of_output("--mean", help="One row for each system instead of one for each system and query.")
    ] = False,
) -> None:
    """Print a metric as one query for your own database, with its definition in a comment."""
    from ndcg_ab.api.warehouse import make_tables
    from ndcg_ab.config.options.option_parsing import parse_columns
    from ndcg_ab.other_measures import ours
    from ndcg_ab.warehouse.query import write_query

    if len(metrics := metric or ["ndcg@10"]) > 1:
        raise InputError(
            f"--metric is given {len(metrics)} times ({', '.join(map(format_value, metrics))}): one query"
            " computes one"
            " metric; print one for each"
        )
    judged = parse_columns("--judgments-columns", judgments_columns)
    returned = parse_columns("--columns", columns)
    tables = make_tables(judgments, rankings, tables_of_systems(system or ()), judged, returned)
    chosen = ours(metrics[0], "cannot be said in SQL")
    write_or_print(lambda: write_query(chosen, dialect, tables, mean=mean), None, to_standard_output=True)


def tables_of_systems(texts: Sequence[str]) -> dict[str, str]:
    """name -> table of ``--system NAME=TABLE``."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, table = (part.strip() for part in text.partition("="))
        if not equals or not name or not table:
            raise InputError(f"--system {format_value(text)}: must be NAME=TABLE, such as new=search.ranking_new")
        if name in found:
            raise InputError(f"--system {format_value(text)}: {name} is named twice")
        found[name] = table
    return found


COMMANDS: dict[Callable[..., None], str] = {  # each with an example of its options
    sql: "--metric ndcg@10 --dialect postgres --judgments search.judgments --rankings search.rankings"
    " --columns query_id=qid,doc_id=url > ndcg_at_10.sql",
}
