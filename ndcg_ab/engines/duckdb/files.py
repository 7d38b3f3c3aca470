"""DuckDB over single files: the history, a finished evaluation in little room, rows in order, somebody's database."""

import contextlib
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from ndcg_ab.engines.duckdb.engine import (
    KEPT,
    READ_ROWS,
    SMALL_FILE,
    STATE,
    DuckDBEngine,
    few_rows,
    first_line,
    name_file_in_errors,
)
from ndcg_ab.engines.duckdb.settings import duckdb_settings
from ndcg_ab.engines.sql_files import history_files
from ndcg_ab.engines.views import literal, make_views, remembered_state
from ndcg_ab.errors import InputError, SilentError
from ndcg_ab.memory import Memory

BLOCK = 16_384  # bytes; a table takes a block at least, and DuckDB's own are of 262,144
SMALL = 1_000_000  # rows that were pulled; of no more, tables are made again in a moment
SORTING = 0.5  # of DuckDB's memory that sorting takes: the tables of an evaluation may be there, too


def condense_database(path: Path) -> None:
    """Rewrites the file of a finished evaluation, in a fraction of its room.

    In small blocks; and where it is small, a table that a SQL file makes of others is kept as the view that makes it.
    """
    with DuckDBEngine(path) as engine:
        tables = engine._tables()
        pulled = sum(engine.count(name) for name in tables if name.startswith("pulled_"))
        views = make_views(engine.files, engine.made, tables, are_small=pulled <= SMALL)
        tables -= views.keys()
        state = remembered_state(engine.settings, engine.made, views)
    partial = path.with_name(f"{path.stem}.condensed{path.suffix}")
    partial.unlink(missing_ok=True)
    config = {"default_block_size": BLOCK} | (few_rows() if path.stat().st_size <= SMALL_FILE else {})
    with duckdb.connect(str(partial), config=config) as connection:
        connection.execute(f"attach {literal(str(path))} as {KEPT} (read_only)")
        connection.execute("begin")
        for name in sorted(tables - {STATE}):
            connection.execute(f'create table "{name}" as select * from {KEPT}."{name}"')
        for name in views:
            connection.execute(f'create table "{name}" as select * from {KEPT}."{name}" limit 0')
        connection.register("incoming", state)
        connection.execute(f"create table {STATE} as select * from incoming")
        for name, text in reversed(views.items()):  # what reads others first: to bind views of views takes much longer
            connection.execute(f'drop table "{name}"')
            connection.execute(f'create view "{name}" as {text}')
        connection.execute("commit")
    partial.replace(path)


def open_history(path: Path, patience: float = 60.0) -> DuckDBEngine:
    """A database file that other processes may be writing too: waits for its lock for `patience` seconds.

    Raises InputError that says who holds it.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return DuckDBEngine(path, files=history_files())
        except duckdb.IOException as error:
            if "lock" not in str(error).lower():
                raise InputError(f"{path}: cannot be opened: {error}") from None
            if time.monotonic() > deadline:
                raise InputError(f"{path}: in use for {patience:.0f} s and more: {error}") from None
        time.sleep(random.uniform(0.05, 0.3))


def sorted_rows(path: Path, columns: Sequence[str], by: Sequence[str], memory: Memory) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file of ours in the order of some columns (texts by their bytes), equal ones as they stand.

    Raises InputError where there is no room to sort them.
    """
    names = ", ".join(f'"{column}"' for column in columns)
    order = ", ".join([*(f'"{column}"' for column in by), "file_row_number"])
    text = f"select {names} from read_parquet($path, file_row_number = true) order by {order}"
    config = duckdb_settings(memory, None, share=SORTING)
    with duckdb.connect(config=config) as connection, name_file_in_errors(None, memory):
        yield from connection.sql(text, params={"path": str(path)}).to_arrow_reader(READ_ROWS)


@contextlib.contextmanager
def query_database_file(path: Path, query: str) -> Iterator[pa.RecordBatchReader]:
    """What somebody's database file answers a query with, batch by batch; the file is opened for reading alone."""
    config: dict[str, Any] = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    try:
        connection = duckdb.connect(str(path), read_only=True, config=config)
    except duckdb.IOException as error:
        kind = SilentError if "lock" in str(error).lower() else InputError
        raise kind(f"{path}: the database cannot be opened: {first_line(error)}") from None
    with connection:
        try:
            found = connection.sql(query)
            if found is None:
                raise InputError(f"{path}: the query gives no table: it must be a SELECT")
            yield found.to_arrow_reader(READ_ROWS)
        except duckdb.Error as error:
            raise InputError(f"{path}: the query fails: {first_line(error)}") from None
