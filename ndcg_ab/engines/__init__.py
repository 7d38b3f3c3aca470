"""Where the SQL files run."""

from pathlib import Path

from ndcg_ab.engines.base import Engine

__all__ = ["Engine", "open_engine"]


def open_engine(path: Path | None = None, threads: int | None = None, memory_limit: str | None = None) -> Engine:
    """The engine of an evaluation, to be closed with `with`.

    path: the file that keeps its tables; None keeps them in memory.  threads, memory_limit: what it may use; by default
    every core and 80 % of the memory.
    """
    from ndcg_ab.engines.duckdb import DuckDBEngine

    return DuckDBEngine(path, threads, memory_limit)
