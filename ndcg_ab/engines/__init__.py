"""Where the SQL files run."""

from pathlib import Path

from ndcg_ab.engines.base import Engine
from ndcg_ab.engines.elsewhere import Cluster

__all__ = ["Cluster", "Engine", "open_engine"]


def open_engine(
    path: Path | None = None,
    threads: int | None = None,
    memory_limit: str | None = None,
    cluster: Cluster | None = None,
) -> Engine:
    """The engine of an evaluation, to be closed with `with`.

    path: the file that keeps its tables; None keeps them in memory.  threads, memory_limit: what it may use; by default
    every core and 80 % of the memory.  cluster: where judgments and rankings are; None: here.
    """
    from ndcg_ab.engines.duckdb import DuckDBEngine

    here = DuckDBEngine(path, threads, memory_limit)
    if cluster is None:
        return here
    from ndcg_ab.engines.boundary import BoundaryEngine

    def begin() -> Engine:
        from ndcg_ab.engines.spark import SparkEngine

        return SparkEngine(cluster)

    return BoundaryEngine(here, path, begin)
