"""Open a Spark session, and explain why a cluster does not begin to work."""

import contextlib
import json
import logging
import math
import socket
import time
import urllib.request
import warnings
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from ndcg_ab.deadlines import BackgroundTask, OverdueError, run_with_timeout
from ndcg_ab.engines.remote_table import Cluster
from ndcg_ab.errors import InputError, error_text
from ndcg_ab.temporary import folder_of_process

REACHED = 5.0  # seconds in which a master or a server must accept a connection
BETWEEN_LOOKS = 5.0  # seconds between two looks at the state of a cluster that does not work yet
STARTING = 3  # times the patience that is waited while an executor is starting
NAMED = 3  # workers named in a sentence
UI_PORT = "8080"  # of a master's web page, unless configured
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
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


def open_session(cluster: Cluster) -> SparkSession:
    """Return a session on the cluster, once the cluster has completed a first job.

    Raises InputError, in one sentence, if the cluster cannot be reached or does not begin to work in time.
    """
    refuse_unreachable(cluster)
    wait = ClusterWait(cluster)
    try:
        return BackgroundTask(lambda: wait_for_session(cluster)).wait(wait.is_over)
    except OverdueError:
        message = f"does not begin to work within {wait.seconds:.0f} s (engine.spark.patience): {wait.seen[1]}"
        raise InputError(f"{cluster.address_without_secrets}: {message}") from None
    except InputError:
        raise
    except Exception as error:
        advice = "; Spark needs Java 17 or newer" if "JAVA_GATEWAY_EXITED" in str(error) else ""
        message = f"Spark cannot be reached: {error_text(error)}{advice}"
        raise InputError(f"{cluster.address_without_secrets}: {message}") from None


# State of a cluster that has not begun to work: whether the process here, or an executor, is starting; a description
Seen = tuple[bool, str]
NOTHING_SEEN: Seen = (False, "has it free workers?")


class ClusterWait:
    """The time limit within which a cluster must begin to work.

    The limit is the cluster's `patience`, or three times as long while an executor is starting. The clock starts when
    the object is made.

    Attributes
    ----------
    cluster : Cluster
        The connection settings, with the patience in seconds.
    look : callable
        A function that returns the state of the cluster, as `query_master` does, which is the default.
    seen : tuple
        The last state: whether an executor is starting, and a description.
    """

    def __init__(self, cluster: Cluster, look: Callable[[Cluster], Seen] | None = None) -> None:
        self.cluster = cluster
        self.look = look or query_master
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
        is_starting, _ = self.seen
        return not (is_starting and waited <= STARTING * self.cluster.patience)


def query_master(cluster: Cluster) -> Seen:
    """Return the state of this application, as the master of a standalone cluster reports it.

    The result is (whether an executor is starting, description). It is `NOTHING_SEEN` for other kinds of clusters, and
    if the master does not answer.
    """
    with contextlib.suppress(Exception):  # the sentence is then one about any cluster
        return run_with_timeout(REACHED, lambda: read_master_state(cluster))
    return NOTHING_SEEN


def read_master_state(cluster: Cluster) -> Seen:
    """Return the state of this application from the web page of a standalone cluster's master.

    The result is (whether an executor is starting, description). It is `NOTHING_SEEN` for other kinds of clusters.
    Raises OSError if the page does not answer.
    """
    context = SparkContext._active_spark_context
    address = urlsplit((cluster.master or "").partition(",")[0])
    if address.scheme != "spark":
        return NOTHING_SEEN
    if context is None:
        return True, "Spark's own process on this machine is still starting"
    port = cluster.conf.get("spark.master.ui.port", UI_PORT)
    with urllib.request.urlopen(f"http://{address.hostname}:{port}/json/", timeout=REACHED) as page:
        state = json.load(page)
    return parse_master_state(state, context.applicationId)


def parse_master_state(state: Mapping[str, Any], application: str) -> Seen:
    """Return the state of one application: (whether an executor is starting, description).

    state: content of the page /json/ of a standalone cluster's master.
    application: id of the application.
    """
    apps = [each for each in state.get("activeapps", ()) if each["id"] == application]
    if apps and apps[0]["state"] == "RUNNING":
        message = "an executor was started, and has not reported yet: its machine is busy, or it cannot reach this one"
        return True, f"{message} (spark.driver.host)"
    alive = [each for each in state.get("workers", ()) if each["state"] == "ALIVE"]
    if not alive:
        return False, "no worker is registered with the master"
    free = ", ".join(f"{each['host']} {each['coresfree']} cores and {each['memoryfree']} MB" for each in alive[:NAMED])
    more = f" and {len(alive) - NAMED} more" if len(alive) > NAMED else ""
    needed = f"; an executor needs {apps[0]['memoryperexecutor']} MB (spark.executor.memory)" if apps else ""
    return False, f"no worker is free for it: free are {free}{more}{needed}"


def wait_for_session(cluster: Cluster) -> SparkSession:
    """Open a session, and return it once the cluster has completed a first job."""
    builder = SparkSession.builder.appName("ndcg-ab")
    settings: dict[str, Any] = dict(cluster.conf)
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
        }
        ours = f"-Dlog4j2.configurationFile={quiet} -Djava.io.tmpdir={folder}"
        if str(cluster.master).startswith("local"):
            settings |= {"spark.sql.warehouse.dir": str(folder / "warehouse"), "spark.local.dir": str(folder)}
        settings |= cluster.conf
        settings[JAVA_OPTIONS] = f"{ours} {cluster.conf.get(JAVA_OPTIONS, '')}".strip()
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session = session if cluster.remote else session.newSession()
    for key, value in {"spark.sql.ansi.enabled": "true", **cluster.conf}.items():
        if key.startswith("spark.sql."):
            with contextlib.suppress(PySparkException):  # what can only be said at the start
                session.conf.set(key, value)
    session.range(1).count()
    return session


def refuse_unreachable(cluster: Cluster) -> None:
    """Raise InputError if nothing listens at the cluster's address.

    Spark itself would retry for minutes. Only addresses ``spark://`` and ``sc://`` are checked.
    """
    address = urlsplit(cluster.remote or (cluster.master or "").partition(",")[0])
    if address.scheme not in ("spark", "sc") or address.hostname is None:
        return
    port = address.port or (15002 if address.scheme == "sc" else 7077)
    try:
        socket.create_connection((address.hostname, port), timeout=REACHED).close()
    except OSError as error:
        raise InputError(f"{cluster.address_without_secrets}: Spark cannot be reached: {error_text(error)}") from None
