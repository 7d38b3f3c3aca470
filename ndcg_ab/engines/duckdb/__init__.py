"""Run the SQL files on DuckDB; the only package that imports duckdb."""

from ndcg_ab.engines.duckdb.engine import DuckDBEngine, is_duckdb_error, is_out_of_memory
from ndcg_ab.engines.duckdb.files import GrowingDatabase, StoredTables

__all__ = ["DuckDBEngine", "GrowingDatabase", "StoredTables", "is_duckdb_error", "is_out_of_memory"]
