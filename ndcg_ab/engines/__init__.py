"""Open the engines that run the SQL files."""

from collections.abc import Mapping
from pathlib import Path

from ndcg_ab.engines.base import Engine
from ndcg_ab.engines.remote_table import Cluster
from ndcg_ab.engines.sql_files import SqlFile

__all__ = ["Cluster", "Engine", "open_engine"]


def open_engine(
    threads: int | None = None,
    memory_limit: str | None = None,
    spill: Path | None = None,
    cluster: Cluster | None = None,
    files: Mapping[str, SqlFile] | None = None,
) -> Engine:
    """Open the engine that runs the SQL of an evaluation; use the engine as a context manager.

    threads: number of threads; None for all cores.
    memory_limit: limit of the whole process, such as ``4GB``; None lets DuckDB take 80 % of the memory.
    spill: folder for data that does not fit into memory; None for the folder of temporary files.
    cluster: the Spark cluster that holds judgments and rankings; None if they are on this machine.
    files: SQL files by table name; None for all files of an evaluation.
    Raises InputError for an invalid memory limit, and SqlError if DuckDB cannot start.
    """
    from ndcg_ab.engines.duckdb import DuckDBEngine

    local = DuckDBEngine(threads, memory_limit, files, spill)
    if cluster is None:
        return local
    from ndcg_ab.engines.boundary import BoundaryEngine

    def open_spark_engine() -> Engine:
        from ndcg_ab.engines.spark import SparkEngine

        return SparkEngine(cluster)

    return BoundaryEngine(local, open_spark_engine)
