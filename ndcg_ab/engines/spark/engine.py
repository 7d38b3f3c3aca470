"""Hold tables on Apache Spark: on this machine, on a cluster, or behind Spark Connect.

Spark takes longer to plan through views of views than to execute, so every table is materialised: few rows by a
checkpoint in memory, many rows as Parquet in a temporary database, which is dropped at the end.
"""

import contextlib
import functools
import hashlib
import math
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from ndcg_ab import thresholds
from ndcg_ab.engines.base import Engine, Parameters
from ndcg_ab.engines.dialects import translate_for_spark
from ndcg_ab.engines.remote_table import Cluster, Column, RemoteTable
from ndcg_ab.engines.spark.session import open_session
from ndcg_ab.engines.sql_files import SqlFile
from ndcg_ab.errors import InputError, SqlError, error_text

TYPES = {pa.string(): "string", pa.float64(): "double", pa.int64(): "bigint", pa.bool_(): "boolean"}
EXACT = 2**53  # largest range of whole numbers that a double holds exactly
WHOLE_NUMBER = r"^\s*[+-]?[0-9]+(\.0*)?\s*$"
ROWS_OF_PART = 100_000  # that are shuffled, of several rows
INTERPRETED = {  # what few rows need: plans that are interpreted as they are
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


class SparkEngine(Engine):
    """An engine with tables on Spark, which returns rows through Arrow."""

    few_values = math.inf  # one parameter for each lets Spark skip parts of Parquet files

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self.session = open_session(cluster)
        self.given = cluster.conf
        self.has_few_rows = False  # as `expect_rows` announced
        self.database = f"ndcg_ab_{secrets.token_hex(8)}"
        self.written = 0
        where = f"{cluster.scratch.rstrip('/')}/{self.database}" if cluster.scratch else None
        location = " location '{}'".format(where.replace("\\", "\\\\").replace("'", "\\'")) if where else ""
        cluster_name = cluster.address_without_secrets
        with name_table_in_errors(f"{cluster_name}: a database for the tables of the evaluation cannot be made"):
            self.session.sql(f"create database {self.database}{location}")

    def __exit__(self, *error: object) -> None:
        with contextlib.suppress(Exception):  # what led here is told, and the folder's name says what it was
            self.session.sql(f"drop database if exists {self.database} cascade")

    def expect_rows(self, rows: int) -> None:
        """Announce how many rows of rankings and judgments will be added.

        With few rows, fewer partitions are used, and tables stay in memory.
        """
        self.has_few_rows = rows <= thresholds.SPARK_FEW_ROWS
        parts = str(max(2, rows // ROWS_OF_PART))
        fitting = {"spark.sql.shuffle.partitions": parts} if rows <= thresholds.SPARK_SEVERAL_ROWS else {}
        fitting |= INTERPRETED if self.has_few_rows else {}
        for key in ("spark.sql.shuffle.partitions", *INTERPRETED):
            if key in fitting and key not in self.given:
                self.session.conf.set(key, fitting[key])

    def replace_input_with(self, name: str, input_name: str) -> None:
        self.build(name)
        self.session.table(name).createOrReplaceTempView(input_name)
        self._forget(input_name)

    def may_repeat(self, name: str, columns: Sequence[str]) -> bool:
        """Return True without a check: a check would take as long as making the table of repetitions."""
        return True

    def _add_parts(self, name: str, parts: Sequence[pa.Table | RemoteTable]) -> None:
        with name_file_in_errors(None):
            frames = [
                select_rows(self.session, part) if isinstance(part, RemoteTable) else self._send(name, part)
                for part in parts
            ]
            functools.reduce(DataFrame.unionByName, frames).createOrReplaceTempView(name)

    def _make(self, file: SqlFile, parameters: Parameters) -> None:
        with name_file_in_errors(file):
            frame = self.session.sql(translate_for_spark(file.text), args=dict(parameters))
            if file.kind != "view":
                frame = self._materialise(file.name, frame)
            frame.createOrReplaceTempView(file.name)

    def _run(self, text: str, parameters: Parameters, file: SqlFile | None) -> pa.Table:
        with name_file_in_errors(file):
            return self.session.sql(translate_for_spark(text), args=dict(parameters)).toArrow()

    def _send(self, name: str, table: pa.Table) -> DataFrame:
        """Copy an Arrow table to the cluster, and return the table there.

        A table with many rows is written to disk there, so that it is sent only once.
        """
        plain = pa.schema(
            (field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
            for field in table.schema
        )
        if table.num_rows == 0:
            return self.session.createDataFrame(
                [], ", ".join(f"{quote_name(each.name)} {TYPES[each.type]}" for each in plain)
            )
        frame = self.session.createDataFrame(table.cast(plain))
        return self._materialise(name, frame) if table.num_rows > thresholds.SPARK_SENT_ROWS else frame

    def _materialise(self, name: str, frame: DataFrame) -> DataFrame:
        """Return a table whose rows are computed only once.

        If few rows are expected, the rows are computed when first read, and stay in memory. Otherwise the rows are
        written to disk now. The table gets a new name, since its rows may depend on an earlier table `name`.
        """
        if self.has_few_rows:
            return frame.localCheckpoint(eager=False)
        self.written += 1
        table = f"{self.database}.{name}_{self.written}"
        frame.write.format("parquet").saveAsTable(table)
        return self.session.table(table)


# ---- rows that stay there


def read_schema(cluster: Cluster, remote: RemoteTable) -> pa.Schema:
    """Return the schema of a remote table; raise InputError if the table does not exist."""
    with name_table_in_errors(remote.table + (f", where {remote.where}" if remote.where else "")):
        return select_remote_rows(open_session(cluster), remote).limit(0).toArrow().schema


def summarize_queries(cluster: Cluster, remote: RemoteTable, longest: Mapping[str, int]) -> pa.Table:
    """Return a summary of a remote table, with one row per query.

    Besides query_id, the summary has these columns:
    rows: number of rows of the query.
    NAME, for each column of the remote table: its lowest value.
    wrong_NAME, for each column: number of invalid values.
    mixed, added: xor and sum of hashes of the rows, from which `digest_summary` makes a digest.

    longest: column -> largest allowed number of characters of its texts.
    Raises InputError, which names the table, if Spark fails.
    """
    columns = [column for column in remote.columns if column.source is not None]
    with name_table_in_errors(remote.table):
        frame = select_rows(open_session(cluster), remote)
        content = [F.col(column.name) for column in columns]
        survey = frame.groupBy("query_id").agg(
            F.count(F.lit(1)).alias("rows"),
            *(F.min(column.name).alias(column.name) for column in remote.columns if column.name != "query_id"),
            *(
                F.sum(invalid_condition(column, longest.get(column.name)).cast("bigint")).alias(f"wrong_{column.name}")
                for column in columns
            ),
            F.bit_xor(F.xxhash64(*content)).alias("mixed"),
            F.sum(F.shiftright(F.xxhash64(F.lit("added"), *content), 32)).alias("added"),
        )
        return survey.toArrow()


def digest_summary(remote: RemoteTable, summary: pa.Table) -> str:
    """Return a digest (32 hex digits) of the content of a remote table.

    The digest does not depend on the order of the rows.
    summary: the summary of the table, from `summarize_queries`.
    """
    digest = hashlib.sha256(repr([column.name for column in remote.columns if column.source]).encode())
    ordered = summary.select(["query_id", "rows", "mixed", "added"]).sort_by("query_id")
    for batch in ordered.to_batches(thresholds.SPARK_SENT_ROWS):
        digest.update(repr(batch.to_pydict()).encode())
    return digest.hexdigest()[:32]


def invalid_condition(column: Column, longest: int | None) -> Any:
    """Return the Spark condition that a value of a column is invalid.

    Null is invalid, and so are an empty or too long text, a number that is not finite, and a whole number beyond 2**53.
    longest: largest allowed number of characters of a text; None for no limit.
    """
    value = F.col(column.name)
    if column.type == "string":
        wrong = (value == "") if longest is None else (value == "") | (F.length(value) > longest)
    elif column.type == "double":
        wrong = F.isnan(value) | (F.abs(value) == float("inf"))
    else:
        wrong = ~value.between(1 - EXACT, EXACT - 1)
    return value.isNull() | wrong


def read_column(column: Column) -> Any:
    """Return the Spark expression that converts a column to its requested type.

    The result of the expression is null if a value cannot be converted, or if a whole number would lose digits.
    """
    column_value = F.col(quote_name(str(column.source)))
    value = column_value.try_cast(column.type)
    if column.type == "string":
        return value
    if column.type == "bigint":
        return F.when(column_value.try_cast("double") == value, value)
    is_whole = column_value.cast("string").rlike(WHOLE_NUMBER)
    is_held = (F.abs(value) < 2.0**63) & (value.try_cast("bigint") == column_value.try_cast("decimal(38,0)"))
    return F.when((F.abs(value) < EXACT) | ~is_whole | is_held, value)


def select_rows(session: SparkSession, remote: RemoteTable) -> DataFrame:
    """Return the requested columns of a remote table, as a query that Spark runs when its rows are read.

    A number that cannot be converted becomes null.
    """
    frame = select_remote_rows(session, remote)
    columns = [
        (F.lit(None).cast(column.type) if column.source is None else read_column(column)).alias(column.name)
        for column in remote.columns
    ]
    if remote.system_id is not None:
        columns.append(F.lit(remote.system_id).alias("system_id"))
    return frame.select(*columns)


def select_remote_rows(session: SparkSession, remote: RemoteTable) -> DataFrame:
    """Return the rows of a remote table with all columns, as a query that Spark runs when its rows are read."""
    frame = session.read.parquet(remote.table) if remote.is_path else session.table(remote.table)
    return frame.where(remote.where) if remote.where else frame


def quote_name(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


# ---- what it says


@contextlib.contextmanager
def name_table_in_errors(table_name: str) -> Iterator[None]:
    """Raise every error within the context as InputError, in one sentence that begins with `table_name`."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{table_name}: {error_text(error)}") from None


@contextlib.contextmanager
def name_file_in_errors(file: SqlFile | None) -> Iterator[None]:
    """Raise every error within the context as SqlError, which names the SQL file unless `file` is None."""
    try:
        yield
    except Exception as error:  # of Spark, of its gateway to Java, of the network
        where = f"{file.display_path}: " if file else ""
        raise SqlError(f"{where}{type(error).__name__}: {error_text(error)}") from error
