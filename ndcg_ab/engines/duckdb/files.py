"""Open files with DuckDB: tables of a finished evaluation, the history, Parquet files to sort, databases of users."""

import contextlib
import json
import random
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from ndcg_ab import thresholds
from ndcg_ab.engines.base import Parameters
from ndcg_ab.engines.duckdb.engine import (
    STATE,
    VIEW,
    DuckDBEngine,
    duckdb_settings,
    first_line,
    name_file_in_errors,
    small_settings,
    text_literal,
)
from ndcg_ab.engines.sql_files import SqlFile, history_files
from ndcg_ab.errors import InputError, UnavailableError
from ndcg_ab.memory import Memory

KEPT = "kept"  # name under which the engine attaches the file of a finished evaluation
SMALL_FILE = 1 << 24  # bytes of a database file with few rows: every table takes a block of 262,144 at least
SORTING = 0.5  # share of DuckDB's memory for sorting, besides the tables of an evaluation


def forbid_file_access(opened: duckdb.DuckDBPyConnection) -> None:
    """Forbid an open database to read any other file, also through its views.

    Attached files and the temporary folder stay accessible.
    """
    opened.execute("set enable_external_access = false")


class StoredTables(DuckDBEngine):
    """The stored tables of a finished evaluation, opened read-only.

    A table that the file lacks is made in memory when it is read.
    path: the database file.
    settings: the arguments of `DuckDBEngine`.
    Raises InputError if the database file is missing or empty.
    """

    def __init__(self, path: Path, **settings: Any) -> None:
        super().__init__(**settings)
        try:
            self._attach_file(path)
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def _make(self, file: SqlFile, parameters: Parameters) -> None:
        self._drop(file.name)
        super()._make(file, parameters)

    def _attach_file(self, path: Path) -> None:
        """Attach the database file, and make its tables readable; raise InputError if the file is missing or empty."""
        if not path.is_file():
            raise InputError(f"{path}: is gone, and with it the judgments and rankings of the evaluation")
        self.connection.execute(f"attach {text_literal(str(path))} as {KEPT} (read_only)")
        forbid_file_access(self.connection)
        query = f"select table_name from duckdb_tables() where database_name = {text_literal(KEPT)}"
        names = {name for (name,) in self.connection.execute(query).fetchall()}
        if STATE not in names:
            raise InputError(f"{path}: holds no table: the judgments and rankings of the evaluation are gone")
        for name in names:
            self._create("temp view", name, f'select * from {KEPT}."{name}"')
        for name, parameters in self.connection.execute(f"select name, parameters from {STATE}").fetchall():
            if name.startswith(VIEW):
                self.usual[name.removeprefix(VIEW)] = json.loads(parameters)
            elif name:
                self.made[name] = json.loads(parameters)
            else:
                self.settings = json.loads(parameters)


# ---- the history: a file that grows


class GrowingDatabase(DuckDBEngine):
    """A database file to which rows can be added, such as the history, and the history's SQL files of kind ``query``.

    path: the database file, which is created if missing.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(files=history_files())
        self._columns: dict[str, set[str]] = {}  # by table; empty until somebody asks
        is_small = path.exists() and path.stat().st_size <= SMALL_FILE
        try:
            self.connection = duckdb.connect(str(path), config=self.config | (small_settings() if is_small else {}))
            forbid_file_access(self.connection)
        except BaseException:
            self.memory.close()
            raise

    def close(self) -> None:
        self.__exit__(None, None, None)

    def append(self, name: str, table: pa.Table) -> None:
        """Add rows to a table, which is created if missing.

        A column that the table lacks is added to it, with null in older rows.
        """
        columns = self.columns(name)
        lacking = set(table.column_names) - columns
        if not lacking and not table.num_rows:
            return
        with self._incoming(table):
            if not columns:
                self.connection.execute(f'create table "{name}" as select * from incoming limit 0')
            elif lacking:
                for column, kind, *_ in self.connection.execute("describe incoming").fetchall():
                    if column in lacking:
                        self.connection.execute(f'alter table "{name}" add column "{column}" {kind}')
            self._columns[name] = columns | lacking
            self.connection.execute(f'insert into "{name}" by name select * from incoming')

    def columns(self, name: str) -> set[str]:
        """Return the names of the columns of a table; an empty set if the table does not exist."""
        if not self._columns:
            with name_file_in_errors(None, self.memory):
                text = "select table_name, column_name from duckdb_columns() where not internal"
                described = self.connection.execute(text).fetchall()
            for table, column in described:
                self._columns.setdefault(table, set()).add(column)
        return self._columns.get(name, set())

    def delete(self, name: str, column: str, values: Sequence[int]) -> None:
        """Delete the rows of the table `name` that have one of `values` in a column."""
        self.connection.execute(
            f'delete from "{name}" where "{column}" in (select unnest($values))', {"values": values}
        )

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the statements inside the context as one transaction, undone by an exception."""
        self.connection.execute("begin")
        try:
            yield
        except BaseException:
            self.connection.execute("rollback")
            self._columns.clear()
            raise
        self.connection.execute("commit")


def open_history(path: Path, patience: float = 60.0) -> GrowingDatabase:
    """Open the history's database file, and return the database.

    If another process has locked the file, wait at most `patience` seconds. Raises InputError if the file cannot be
    opened, or if it is still locked after this time; the message names the other process.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return GrowingDatabase(path)
        except duckdb.IOException as error:
            if "lock" not in str(error).lower():
                raise InputError(f"{path}: cannot be opened: {error}") from None
            if time.monotonic() > deadline:
                raise InputError(f"{path}: in use for {patience:.0f} s and more: {error}") from None
        time.sleep(random.uniform(0.05, 0.3))


# ---- files of others


def query_database_file(path: Path, query: str, memory: Memory | None = None) -> Generator[Any, None, None]:
    """Run a query on a user's DuckDB file, and yield first the schema of the result, then its record batches.

    The file is opened read-only.
    memory: the memory limit, with the folder for data that does not fit; None for no limit and a new folder.
    Raises InputError if the file cannot be opened or the query fails, and UnavailableError if the file is locked.
    """
    with contextlib.ExitStack() as stack:
        memory = memory or stack.enter_context(Memory())
        config = duckdb_settings(memory, None, share=SORTING) | {"preserve_insertion_order": True}
        try:
            connection = stack.enter_context(duckdb.connect(str(path), read_only=True, config=config))
        except duckdb.Error as error:
            kind = UnavailableError if "lock" in str(error).lower() else InputError
            raise kind(f"{path}: the database cannot be opened: {first_line(error)}") from None
        forbid_file_access(connection)
        connection.execute("set lock_configuration = true")
        try:
            with name_file_in_errors(None, memory, str(path)):
                reader = connection.sql(query).to_arrow_reader(thresholds.READ_ROWS)
                yield reader.schema
                yield from reader
        except duckdb.Error as error:
            raise InputError(f"{path}: the query fails: {first_line(error)}") from None
