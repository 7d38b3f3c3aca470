"""Read tables in Spark: the rows stay on the cluster, and one row per query with counts and a digest is fetched.

Values that break a rule are counted by the same Spark query.
"""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.inputs.connections import ADDRESS, safe_address
from ndcg_ab.config.model.inputs.sources import SparkSource
from ndcg_ab.config.model.operation import Spark
from ndcg_ab.config.secrets.lookup import reveal_secrets
from ndcg_ab.engines.remote_table import Cluster, Column, RemoteTable
from ndcg_ab.errors import InputError, format_value, require_libraries
from ndcg_ab.files import resolve_path
from ndcg_ab.sources.base import STAYING, Source, with_metadata
from ndcg_ab.sources.tables.schema import IDS, LONGEST_ID, Layout, check_types

TYPES = {pa.string(): "string", pa.float64(): "double", pa.int64(): "bigint"}
RULES = {
    "string": f"every row needs one, which is not empty, and an id has no more than {LONGEST_ID:,} characters",
    "double": "every row needs a finite number, and no whole number beyond 2^53 that a double cannot hold, so that"
    " different numbers become equal: divide all, or write their ranks",
    "bigint": "every row needs a whole number between -2^53 and 2^53",
}


def make_cluster(spark: Spark, directory: Path) -> Cluster:
    """Return the connection settings of the configured Spark cluster, with secrets looked up.

    directory: the folder from which relative paths start.
    """
    require_libraries("engine.spark", "pyspark", "sqlglot")
    conf = {key: reveal_secrets(value, f"engine.spark.conf.{key}", directory) for key, value in spark.conf.items()}
    remote = reveal_secrets(spark.remote, "engine.spark.remote", directory)
    scratch = resolve_address(spark.scratch, directory) if spark.scratch else None
    return Cluster(spark.master, remote, conf, scratch, spark.patience)


def resolve_address(path: str, directory: Path) -> str:
    """Return an address unchanged, or a path relative to the directory as an absolute path."""
    return path if ADDRESS.match(path) else str(resolve_path(directory / Path(path).expanduser()))


class ClusterTable(Source):
    """A source that reads a table of the Spark catalogue, or Parquet files, on a cluster."""

    limits_key = "cluster"

    def __init__(self, described: SparkSource, directory: Path) -> None:
        super().__init__(described, directory)
        self.origin = f"table {safe_address(described.table)}"

    def pull(self, layout: Layout, queries: Mapping[str, str]) -> pa.Table:
        from ndcg_ab.engines import spark

        described = self.described
        assert described.spark is not None, "an evaluation accepts no table without it"
        layout.refuse_unknown(self.origin, described.columns)
        cluster = make_cluster(described.spark, self.directory)
        table = resolve_address(described.table, self.directory) if "/" in described.table else described.table
        remote = RemoteTable(table, described.where, ())
        schema = spark.read_schema(cluster, remote)
        chosen = layout.check_columns(self.origin, schema.names, described.columns)
        check_types(schema, layout, chosen, self.origin)
        columns = tuple(Column(field.name, chosen.get(field.name), TYPES[field.type]) for field in layout.fields)
        remote = RemoteTable(table, described.where, columns)
        query_rows = spark.summarize_queries(cluster, remote, dict.fromkeys(IDS, LONGEST_ID)).sort_by("query_id")
        if query_rows.num_rows == 0:
            raise InputError(f"{self.origin}: there is no {layout.kind} in it")
        self.refuse_invalid_values(query_rows, remote)
        rows = int(pc.sum(query_rows["rows"]).as_py())
        remote = RemoteTable(table, described.where, columns, rows, spark.digest_summary(remote, query_rows))
        table_of_queries = query_rows.select(layout.schema.names).cast(layout.schema)
        return with_metadata(table_of_queries, {STAYING: remote.to_json().encode()})

    def refuse_invalid_values(self, rows: pa.Table, remote: RemoteTable) -> None:
        """Raise InputError for the first column with missing or invalid values.

        rows: one row per query_id; its column ``wrong_COLUMN`` is the number of invalid values in that column.
        """
        for column in remote.columns:
            if column.source is None:
                continue
            counts = rows[f"wrong_{column.name}"]
            count = pc.sum(counts).as_py()
            if not count:
                continue
            first = rows["query_id"].filter(pc.greater(counts, 0))[0].as_py()
            such = f" (such as in query {format_value(first)})" if first else ""
            are = "value is" if count == 1 else "values are"
            raise InputError(
                f"{self.origin}: column {column.source}: {count} {are} missing or against the rule{such}:"
                f" {RULES[column.type]}"
            )
