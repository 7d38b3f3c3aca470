"""Where the SQL files run."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ndcg_ab.engines.base import Engine
from ndcg_ab.engines.remote_table import Cluster
from ndcg_ab.engines.sql_files import SqlFile

if TYPE_CHECKING:
    from ndcg_ab.engines.duckdb import KeptTables

__all__ = ["Cluster", "Engine", "open_engine", "open_kept"]


def open_engine(
    threads: int | None = None,
    memory_limit: str | None = None,
    spill: Path | None = None,
    cluster: Cluster | None = None,
    files: Mapping[str, SqlFile] | None = None,
) -> Engine:
    """The engine of an evaluation, to be closed with `with`.

    threads: what it may use; by default every core.  memory_limit: of the whole process; by default DuckDB takes 80 %
    of the memory.  spill: where what does not fit goes; by default the folder of temporary files.  cluster: where
    judgments and rankings are; None: here.  files: what makes its tables; by default the pipeline.  Raises InputError
    (`Memory`).
    """
    from ndcg_ab.engines.duckdb import DuckDBEngine

    here = DuckDBEngine(threads, memory_limit, files, spill)
    if cluster is None:
        return here
    from ndcg_ab.engines.boundary import BoundaryEngine

    def begin() -> Engine:
        from ndcg_ab.engines.spark import SparkEngine

        return SparkEngine(cluster)

    return BoundaryEngine(here, begin)


def open_kept(
    path: Path, threads: int | None = None, memory_limit: str | None = None, spill: Path | None = None
) -> "KeptTables":
    """The tables of a finished evaluation; the rest is as of `open_engine`.  Raises InputError where they are gone."""
    from ndcg_ab.engines.duckdb import KeptTables

    return KeptTables(path, threads, memory_limit, spill=spill)
