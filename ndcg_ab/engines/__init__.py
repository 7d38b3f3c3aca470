"""Where the SQL files run."""

from pathlib import Path

from ndcg_ab.engines.base import Engine
from ndcg_ab.engines.remote_table import Cluster

__all__ = ["Cluster", "Engine", "open_engine"]


def open_engine(
    path: Path | None = None,
    threads: int | None = None,
    memory_limit: str | None = None,
    spill: Path | None = None,
    cluster: Cluster | None = None,
    *,
    is_kept: bool = False,
) -> Engine:
    """The engine of an evaluation, to be closed with `with`.

    path: the file that keeps its tables; None keeps them in memory.  threads: what it may use; by default every core.
    memory_limit: of the whole process; by default DuckDB takes 80 % of the memory.  spill: where what does not fit
    goes; by default beside the file, or the folder of temporary files.  cluster: where judgments and rankings are;
    None: here.  is_kept: the file is of a finished evaluation, and is not written.  Raises InputError (`Memory`).
    """
    from ndcg_ab.engines.duckdb import DuckDBEngine

    here = DuckDBEngine(path, threads, memory_limit, spill=spill, is_kept=is_kept)
    if cluster is None:
        return here
    from ndcg_ab.engines.boundary import BoundaryEngine

    def begin() -> Engine:
        from ndcg_ab.engines.spark import SparkEngine

        return SparkEngine(cluster)

    return BoundaryEngine(here, path, begin)
