"""Apache Spark, on this machine, on a cluster or behind Spark Connect: the only module that imports it.

Every table is written as Parquet into a database of its own, which is dropped at the end: plans that reach through
views of views of cached tables take Spark longer to think about than to carry out.
"""

import contextlib
import functools
import hashlib
import json
import logging
import math
import secrets
import socket
import time
import urllib.request
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pyarrow as pa
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from ndcg_ab.deadlines import BackgroundTask, OverdueError, run_with_timeout
from ndcg_ab.engines.base import Bound, Engine, Parameters, Value, is_several, one_by_one
from ndcg_ab.engines.dialects import for_spark
from ndcg_ab.engines.remote_table import Cluster, RemoteTable
from ndcg_ab.engines.sql_files import SqlFile
from ndcg_ab.errors import InputError, SqlError, in_short
from ndcg_ab.temporary import folder_of_process

REACHED = 5.0  # seconds in which a master or a server takes a connection
BETWEEN_LOOKS = 5.0  # seconds between two looks at what a cluster does that has not begun
STARTING = 3  # times its patience a cluster is waited for as long as an executor is starting
NAMED = 3  # workers in a sentence
UI_PORT = "8080"  # of a master's web page, where the settings say none
TYPES = {pa.string(): "string", pa.float64(): "double", pa.int64(): "bigint", pa.bool_(): "boolean"}
KEPT = 100_000  # rows of a table from here; with more it is written there, so that it is sent once
QUIET = """rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %m%n
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
for each in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):  # they print the traceback of what is raised
    PySparkLogger.getLogger(each).setLevel(logging.CRITICAL)


class SparkEngine(Engine):
    """Tables on Spark; what is given out goes through Arrow (`ndcg_ab.engines.boundary` says how little that is)."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self.session = open_session(cluster)
        self.database = f"ndcg_ab_{secrets.token_hex(8)}"
        self.written = 0
        where = f"{cluster.scratch.rstrip('/')}/{self.database}" if cluster.scratch else None
        place = " location '{}'".format(where.replace("\\", "\\\\").replace("'", "\\'")) if where else ""
        with name_table_in_errors(f"{cluster.address}: a database for the tables of the evaluation cannot be made"):
            self.session.sql(f"create database {self.database}{place}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(Exception):  # what led here is told, and the folder's name says what it was
            self.session.sql(f"drop database if exists {self.database} cascade")

    def use(self, name: str, instead_of: str) -> None:
        self.build(name)
        self.session.table(name).createOrReplaceTempView(instead_of)
        self._forget(instead_of)

    def repeats(self, name: str, columns: Sequence[str]) -> bool:
        """Looking it up is as much work as the table of what repeats."""
        return True

    def number(self, column: str, texts: Iterable[str]) -> None:
        """Texts stay texts."""

    def settle(self, queries: Callable[[], Sequence[str]]) -> None:
        """Every row is there, and stays until the end."""

    def keep(self, path: Path) -> None:
        raise NotImplementedError("what came over is kept where it came to")

    def _take(self, name: str, table: pa.Table) -> None:
        self._take_all(name, [table])

    def _take_all(self, name: str, parts: Sequence[pa.Table | RemoteTable]) -> None:
        with name_file_in_errors(None):
            frames = [
                select_rows(self.session, part) if isinstance(part, RemoteTable) else self._sent(name, part)
                for part in parts
            ]
            functools.reduce(DataFrame.unionByName, frames).createOrReplaceTempView(name)

    def _make(self, file: SqlFile, parameters: Parameters) -> None:
        with name_file_in_errors(file):
            frame = self.session.sql(for_spark(file.text), args=dict(parameters))
            if file.kind != "view":
                frame = self._kept(file.name, frame)
            frame.createOrReplaceTempView(file.name)

    def _drop(self, name: str) -> None:
        """It stays until the end: room there is cheaper than making it again."""

    def _run(self, text: str, parameters: Parameters, file: SqlFile | None) -> pa.Table:
        with name_file_in_errors(file):
            return self.session.sql(for_spark(text), args=dict(parameters)).toArrow()

    def _test(self, column: str, value: Value, bound: Bound) -> str:
        """Several values are parameters of their own, which Spark looks for in the statistics of Parquet files."""
        return one_by_one(column, value, bound) if is_several(value) else super()._test(column, value, bound)

    def _sent(self, name: str, table: pa.Table) -> DataFrame:
        plain = pa.schema([(field.name, without_dictionary(field.type)) for field in table.schema])
        if table.num_rows == 0:
            return self.session.createDataFrame(
                [], ", ".join(f"{quoted(each.name)} {TYPES[each.type]}" for each in plain)
            )
        frame = self.session.createDataFrame(table.cast(plain))
        return self._kept(name, frame) if table.num_rows > KEPT else frame

    def _kept(self, name: str, frame: DataFrame) -> DataFrame:
        """Written under a new name: the old rows may be what the new ones are made from."""
        self.written += 1
        place = f"{self.database}.{name}_{self.written}"
        frame.write.format("parquet").saveAsTable(place)
        return self.session.table(place)


# ---- reaching it


def open_session(cluster: Cluster) -> SparkSession:
    """A session on the cluster that nobody else uses; InputError, in one sentence, where there is none in time."""
    refuse_deaf(cluster)
    wait = Wait(cluster)
    try:
        return BackgroundTask(lambda: wait_for_session(cluster)).wait(wait.is_over)
    except OverdueError:
        said = f"does not begin to work within {wait.seconds:.0f} s (engine.spark.patience): {wait.seen.words}"
        raise InputError(f"{cluster.address}: {said}") from None
    except InputError:
        raise
    except Exception as error:
        advice = "; Spark needs Java 17 or newer" if "JAVA_GATEWAY_EXITED" in str(error) else ""
        raise InputError(f"{cluster.address}: Spark cannot be reached: {in_short(error)}{advice}") from None


class Seen(NamedTuple):
    """What is seen of a cluster that has not begun to work. is_starting: its process here, or an executor, starts."""

    is_starting: bool
    words: str


NOTHING_SEEN = Seen(False, "has it free workers?")


class Wait:
    """How long a cluster is waited for: its patience, and several times that as long as something is starting.

    seen: at the last look. seconds: waited so far.
    """

    def __init__(self, cluster: Cluster, look: Callable[[Cluster], Seen] | None = None) -> None:
        self.cluster = cluster
        self.look = look or ask_master
        self.seen = NOTHING_SEEN
        self.begin = time.monotonic()
        self.looked = -math.inf

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begin

    def is_over(self) -> bool:
        waited = self.seconds
        if waited <= self.cluster.patience:
            return False
        if waited > self.looked + BETWEEN_LOOKS:
            self.seen, self.looked = self.look(self.cluster), waited
        return not (self.seen.is_starting and waited <= STARTING * self.cluster.patience)


def ask_master(cluster: Cluster) -> Seen:
    """What a standalone master says of this application; other kinds of clusters are not asked."""
    with contextlib.suppress(Exception):  # the sentence is then one about any cluster
        return run_with_timeout(REACHED, lambda: read_master_state(cluster))
    return NOTHING_SEEN


def read_master_state(cluster: Cluster) -> Seen:
    """From the state on the master's web page (`spark.master.ui.port`); raises OSError where it does not answer."""
    context = SparkContext._active_spark_context
    place = urlsplit((cluster.master or "").partition(",")[0])
    if place.scheme != "spark":
        return NOTHING_SEEN
    if context is None:
        return Seen(True, "Spark's own process on this machine is still starting")
    port = cluster.conf.get("spark.master.ui.port", UI_PORT)
    with urllib.request.urlopen(f"http://{place.hostname}:{port}/json/", timeout=REACHED) as page:
        state = json.load(page)
    return parse_master_state(state, context.applicationId)


def parse_master_state(state: Mapping[str, Any], application: str) -> Seen:
    """What a master's state says of an application; state: as its page /json/ has it."""
    own = [each for each in state.get("activeapps", ()) if each["id"] == application]
    if own and own[0]["state"] == "RUNNING":
        return Seen(
            True,
            "an executor was started, and has not reported yet: its machine is busy, or it cannot reach this one"
            " (spark.driver.host)",
        )
    alive = [each for each in state.get("workers", ()) if each["state"] == "ALIVE"]
    if not alive:
        return Seen(False, "no worker is registered with the master")
    free = ", ".join(f"{each['host']} {each['coresfree']} cores and {each['memoryfree']} MB" for each in alive[:NAMED])
    more = f" and {len(alive) - NAMED} more" if len(alive) > NAMED else ""
    needed = f"; an executor needs {own[0]['memoryperexecutor']} MB (spark.executor.memory)" if own else ""
    return Seen(False, f"no worker is free for it: free are {free}{more}{needed}")


def wait_for_session(cluster: Cluster) -> SparkSession:
    """A session whose cluster has done something."""
    builder = SparkSession.builder.appName("ndcg-ab")
    if cluster.remote:
        builder = builder.remote(cluster.remote)
    else:
        folder = folder_of_process()
        quiet = folder / "log4j2.properties"
        quiet.write_text(QUIET)
        settings = {
            "spark.master": cluster.master,
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={quiet} -Djava.io.tmpdir={folder}",
        }
        if str(cluster.master).startswith("local"):
            settings |= {"spark.sql.warehouse.dir": str(folder / "warehouse"), "spark.local.dir": str(folder)}
        for key, value in settings.items():
            builder = builder.config(key, value)
    for key, value in cluster.conf.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session = session if cluster.remote else session.newSession()
    for key, value in {"spark.sql.ansi.enabled": "true", **cluster.conf}.items():
        if key.startswith("spark.sql."):
            with contextlib.suppress(PySparkException):  # what can only be said at the start
                session.conf.set(key, value)
    session.range(1).count()
    return session


def refuse_deaf(cluster: Cluster) -> None:
    """Spark itself tries for minutes to reach a place where nobody listens."""
    place = urlsplit(cluster.remote or (cluster.master or "").partition(",")[0])
    if place.scheme not in ("spark", "sc") or place.hostname is None:
        return
    port = place.port or (15002 if place.scheme == "sc" else 7077)
    try:
        socket.create_connection((place.hostname, port), timeout=REACHED).close()
    except OSError as error:
        raise InputError(f"{cluster.address}: Spark cannot be reached: {in_short(error)}") from None


# ---- rows that stay there


def read_schema(cluster: Cluster, place: RemoteTable) -> pa.Schema:
    """The columns of a table; InputError where there is none."""
    with name_table_in_errors(place.table + (f", where {place.where}" if place.where else "")):
        return read_frame(open_session(cluster), place).limit(0).toArrow().schema


def survey_queries(cluster: Cluster, place: RemoteTable) -> pa.Table:
    """A row for each query: one of its documents, how many rows there are, how many break a rule of a column.

    Columns: those of the place (the lowest of each), ``rows``, ``wrong_…`` for each of them, ``mixed`` and ``added``,
    from which the digest is made: they are the same for any order of the rows.
    """
    there = [column for column in place.columns if column.source is not None]
    with name_table_in_errors(place.table):
        frame = select_rows(open_session(cluster), place)
        content = [F.col(column.name) for column in there]
        found = frame.groupBy("query_id").agg(
            F.count(F.lit(1)).alias("rows"),
            *(F.min(column.name).alias(column.name) for column in place.columns if column.name != "query_id"),
            *(
                F.sum(breaks_rules(column.name, column.type).cast("bigint")).alias(f"wrong_{column.name}")
                for column in there
            ),
            F.bit_xor(F.xxhash64(*content)).alias("mixed"),
            F.sum(F.shiftright(F.xxhash64(F.lit("added"), *content), 32)).alias("added"),
        )
        return found.toArrow()


def survey_digest(place: RemoteTable, surveyed: pa.Table) -> str:
    """SHA-256, 32 hex digits, of what a survey found: the same content, the same digest, in any order of rows."""
    found = hashlib.sha256(repr([column.name for column in place.columns if column.source]).encode())
    ordered = surveyed.select(["query_id", "rows", "mixed", "added"]).sort_by("query_id")
    for batch in ordered.to_batches(KEPT):
        found.update(repr(batch.to_pydict()).encode())
    return found.hexdigest()[:32]


def breaks_rules(name: str, kind: str) -> Any:
    """Whether a value breaks the rules: missing or empty, not finite, no whole number or too large a one."""
    column = F.col(name)
    if kind == "string":
        return column.isNull() | (column == "")
    if kind == "double":
        return column.isNull() | F.isnan(column) | (F.abs(column) == float("inf"))
    return column.isNull() | (F.abs(column) >= 2**53)


def select_rows(session: SparkSession, place: RemoteTable) -> DataFrame:
    """The rows in the columns that are asked for; a number that cannot be read as one is null."""
    frame = read_frame(session, place)
    columns = [
        F.lit(None).cast(column.type).alias(column.name)
        if column.source is None
        else F.col(quoted(column.source)).try_cast(column.type).alias(column.name)
        for column in place.columns
    ]
    if place.system_id is not None:
        columns.append(F.lit(place.system_id).alias("system_id"))
    return frame.select(*columns)


def read_frame(session: SparkSession, place: RemoteTable) -> DataFrame:
    frame = session.read.parquet(place.table) if place.is_path else session.table(place.table)
    return frame.where(place.where) if place.where else frame


def quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def without_dictionary(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


# ---- what it says


@contextlib.contextmanager
def name_table_in_errors(what: str) -> Iterator[None]:
    """An error of Spark's is one sentence about a table of somebody's."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{what}: {in_short(error)}") from None


@contextlib.contextmanager
def name_file_in_errors(file: SqlFile | None) -> Iterator[None]:
    """An error of Spark's says which file it is about."""
    try:
        yield
    except Exception as error:  # of Spark, of its gateway to Java, of the network
        where = f"{file.shown}: " if file else ""
        raise SqlError(f"{where}{type(error).__name__}: {in_short(error)}") from error
