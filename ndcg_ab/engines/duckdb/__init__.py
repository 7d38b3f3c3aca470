"""DuckDB: the only package that imports it."""

from ndcg_ab.engines.duckdb.engine import DuckDBEngine, is_duckdbs, is_out_of_memory

__all__ = ["DuckDBEngine", "is_duckdbs", "is_out_of_memory"]
