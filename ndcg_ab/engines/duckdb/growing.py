"""A database file that grows: the history."""

import contextlib
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from ndcg_ab.engines.duckdb.engine import DuckDBEngine, few_rows, name_file_in_errors
from ndcg_ab.engines.duckdb.settings import close_off
from ndcg_ab.engines.sql_files import SqlFile, history_files
from ndcg_ab.errors import InputError

SMALL_FILE = 1 << 24  # bytes of a database file that holds few rows: every table takes a block of 262,144 at least


class GrowingDatabase(DuckDBEngine):
    """Tables of a database file, to which rows are added, and what SQL files make of them when they are read.

    files: all of kind ``query``; by default those that read the history.
    """

    def __init__(self, path: Path, files: Mapping[str, SqlFile] | None = None) -> None:
        super().__init__(files=history_files() if files is None else files)
        self._columns: dict[str, set[str]] = {}  # of tables, once somebody asked
        is_small = path.exists() and path.stat().st_size <= SMALL_FILE
        try:
            self.connection = duckdb.connect(str(path), config=self.config | (few_rows() if is_small else {}))
            close_off(self.connection)
        except BaseException:
            self.memory.close()
            raise

    def close(self) -> None:
        self.__exit__(None, None, None)

    def append(self, name: str, table: pa.Table) -> None:
        """Adds rows to a table, which is made with the first of them.

        A column that the table does not have yet is added (null in the older rows).
        """
        known = self.columns(name)
        lacking = set(table.column_names) - known
        if not lacking and not table.num_rows:
            return
        with self._incoming(table):
            if not known:
                self.connection.execute(f'create table "{name}" as select * from incoming limit 0')
            elif lacking:
                for column, kind, *_ in self.connection.execute("describe incoming").fetchall():
                    if column in lacking:
                        self.connection.execute(f'alter table "{name}" add column "{column}" {kind}')
            self._columns[name] = known | lacking
            self.connection.execute(f'insert into "{name}" by name select * from incoming')

    def columns(self, name: str) -> set[str]:
        """Of a table; none where it is not there."""
        if name not in self._columns:
            try:
                with name_file_in_errors(None, self.memory):
                    described = self.connection.execute(f'describe "{name}"').fetchall()
            except duckdb.CatalogException:
                return set()
            self._columns[name] = {column for column, *_ in described}
        return self._columns[name]

    def delete(self, name: str, column: str, values: Sequence[int]) -> None:
        """Takes away the rows that have one of these values in a column."""
        self.connection.execute(
            f'delete from "{name}" where "{column}" in (select unnest($values))', {"values": values}
        )

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is done inside, or nothing."""
        self.connection.execute("begin")
        try:
            yield
        except BaseException:
            self.connection.execute("rollback")
            self._columns.clear()
            raise
        self.connection.execute("commit")


def open_history(path: Path, patience: float = 60.0) -> GrowingDatabase:
    """A database file that other processes may be writing too: waits for its lock for `patience` seconds.

    Raises InputError that says who holds it.
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
