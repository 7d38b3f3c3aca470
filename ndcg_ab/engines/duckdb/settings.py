"""How DuckDB is set."""

from typing import Any

import duckdb

from ndcg_ab.memory import Memory

USUAL = {
    "preserve_insertion_order": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
# Of DuckDB's optimizers those that few rows need; the others take longer than they save.
OPTIMIZERS = ("deliminator", "expression_rewriter", "filter_pushdown", "unnest_rewriter", "unused_columns")


def close_off(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep a database, such as the views in it, from reading another file; no setting can allow it again.

    Files that are attached, and the temporary folder, stay within reach.
    """
    connection.execute("set enable_external_access = false")


def duckdb_settings(memory: Memory, threads: int | None, share: float = 1.0) -> dict[str, Any]:
    """The settings of DuckDB; share: of its memory."""
    config: dict[str, Any] = dict(USUAL)
    if threads := memory.threads(threads):
        config["threads"] = threads
    if memory.for_duckdb is not None:
        config["memory_limit"] = f"{round(memory.for_duckdb * share) // 1000}KB"
    if memory.folder is not None:
        config["temp_directory"] = str(memory.folder)
    return config
