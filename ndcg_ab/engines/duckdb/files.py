"""DuckDB over files of others: rows in order, somebody's database."""

import contextlib
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from ndcg_ab import thresholds
from ndcg_ab.engines.duckdb.engine import first_line, name_file_in_errors
from ndcg_ab.engines.duckdb.settings import close_off, duckdb_settings
from ndcg_ab.errors import InputError, SilentError
from ndcg_ab.memory import Memory

SORTING = 0.5  # of DuckDB's memory that sorting takes: the tables of an evaluation may be there, too


def sorted_rows(path: Path, columns: Sequence[str], by: Sequence[str], memory: Memory) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file of ours in the order of some columns (texts by their bytes), equal ones as they stand.

    Raises InputError where there is no room to sort them.
    """
    names = ", ".join(f'"{column}"' for column in columns)
    order = ", ".join([*(f'"{column}"' for column in by), "file_row_number"])
    text = f"select {names} from read_parquet($path, file_row_number = true) order by {order}"
    config = duckdb_settings(memory, None, share=SORTING)
    with duckdb.connect(config=config) as connection, name_file_in_errors(None, memory):
        yield from connection.sql(text, params={"path": str(path)}).to_arrow_reader(thresholds.READ_ROWS)


def query_database_file(path: Path, query: str, memory: Memory | None = None) -> Generator[Any, None, None]:
    """Yield the schema of a query's answer, and its batches, from somebody's database file, opened for reading alone.

    memory: its limit and folder; by default no limit, and a folder of its own.
    """
    with contextlib.ExitStack() as stack:
        memory = memory or stack.enter_context(Memory())
        config = duckdb_settings(memory, None, share=SORTING) | {"preserve_insertion_order": True}
        try:
            connection = stack.enter_context(duckdb.connect(str(path), read_only=True, config=config))
        except duckdb.Error as error:
            kind = SilentError if "lock" in str(error).lower() else InputError
            raise kind(f"{path}: the database cannot be opened: {first_line(error)}") from None
        close_off(connection)
        connection.execute("set lock_configuration = true")
        try:
            with name_file_in_errors(None, memory, str(path)):
                found = connection.sql(query).to_arrow_reader(thresholds.READ_ROWS)
                yield found.schema
                yield from found
        except duckdb.Error as error:
            raise InputError(f"{path}: the query fails: {first_line(error)}") from None
