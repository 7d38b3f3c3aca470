"""DuckDB: the only module that imports it."""

import contextlib
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import pyarrow as pa

from ndcg_ab.engines.base import Engine, Parameters
from ndcg_ab.engines.sql_files import SqlFile, history_files
from ndcg_ab.errors import InputError, SilentError, SqlError

STATE = "engine_state"  # the table in a database file that says which tables were made, with which parameters
READ_ROWS = 1 << 16  # rows that are read at once of a file of somebody else's


class DuckDBEngine(Engine):
    """Tables in DuckDB.

    path: the database file, which remembers what was made in it; None keeps the tables in memory.
    threads, memory_limit: what DuckDB may use; by default every core and 80 % of the memory.
    """

    def __init__(
        self,
        path: Path | None = None,
        threads: int | None = None,
        memory_limit: str | None = None,
        files: Mapping[str, SqlFile] | None = None,
    ) -> None:
        super().__init__(files)
        config: dict[str, Any] = {
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        if threads:
            config["threads"] = threads
        if memory_limit:
            config["memory_limit"] = memory_limit
        if path is None:
            config["temp_directory"] = str(Path(tempfile.gettempdir()) / "ndcg-ab-spill")
        self.in_memory = path is None
        try:
            self.connection = duckdb.connect(str(path) if path else ":memory:", config=config)
        except (duckdb.OutOfMemoryException, duckdb.InvalidInputException, duckdb.ParserException) as error:
            raise SqlError(f"DuckDB cannot start: {error}") from None
        if self.files and not self.in_memory:
            self._recall()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None and self.made and not self.in_memory:
                self._remember()
        finally:
            self.connection.close()

    def settle(self, queries: Callable[[], Sequence[str]]) -> None:
        """Every row is here, and stays."""

    def repeats(self, name: str, columns: Sequence[str]) -> bool:
        """Distinct 64-bit hashes prove distinct rows; sorting them is several times faster than grouping by texts."""
        names = ", ".join(f'"{column}"' for column in columns)
        hashes = self.connection.execute(f'select hash({names}) as hash from "{name}"').fetchnumpy()["hash"]
        hashes.sort()
        return bool((hashes[1:] == hashes[:-1]).any())

    def _take(self, name: str, table: pa.Table) -> None:
        """In place in memory, copied into a database file."""
        if self.in_memory:
            self.connection.register(name, table)
            return
        with self._incoming(table):
            self.connection.execute(f'create or replace table "{name}" as select * from incoming')

    def _make(self, file: SqlFile, parameters: Parameters) -> None:
        with naming(file):
            text = f'create or replace {file.kind} "{file.name}" as {file.text}'
            self.connection.execute(text, dict(parameters) or None).fetchall()

    def _drop(self, name: str) -> None:
        self.connection.execute(f'drop table if exists "{name}"')

    def _run(self, text: str, parameters: Parameters, file: SqlFile | None) -> pa.Table:
        with naming(file) if file else contextlib.nullcontext():
            return self.connection.sql(text, params=dict(parameters) or None).to_arrow_table()

    # ---- a database file that grows: the history, and bundles of earlier versions

    def complete(self, name: str, column: str, kind: str) -> None:
        self.connection.execute(f'alter table if exists "{name}" add column if not exists "{column}" {kind}')

    def append(self, name: str, table: pa.Table) -> None:
        """Adds rows to a table of the database file, which is made with the first of them.

        A column that the table does not have yet is added (null in the older rows).
        """
        with self._incoming(table):
            self.connection.execute(f'create table if not exists "{name}" as select * from incoming limit 0')
            known = {column for column, *_ in self._described(f'"{name}"')}
            for column, kind, *_ in self._described("incoming"):
                if column not in known:
                    self.connection.execute(f'alter table "{name}" add column "{column}" {kind}')
            self.connection.execute(f'insert into "{name}" by name select * from incoming')

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
            raise
        self.connection.execute("commit")

    @contextlib.contextmanager
    def _incoming(self, table: pa.Table) -> Iterator[None]:
        self.connection.register("incoming", table)
        try:
            yield
        finally:
            self.connection.unregister("incoming")

    def _described(self, what: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(f"describe {what}").fetchall()

    # ---- what a database file remembers of what was made in it

    def _remember(self) -> None:
        state = [{"name": "", "parameters": json.dumps(self.settings)}]
        state += [{"name": name, "parameters": json.dumps(made)} for name, made in self.made.items()]
        self._take(STATE, pa.Table.from_pylist(state))

    def _recall(self) -> None:
        there = {name for (name,) in self.connection.execute("show tables").fetchall()}
        if STATE not in there:  # a file of version 0.1.0
            self.made = {name: {} for name in there & self.files.keys()}
            return
        for name, parameters in self.connection.execute(f"select name, parameters from {STATE}").fetchall():
            if name:
                self.made[name] = json.loads(parameters)
            else:
                self.settings = json.loads(parameters)


@contextlib.contextmanager
def naming(file: SqlFile) -> Iterator[None]:
    """An error of DuckDB's says which file it is about."""
    try:
        yield
    except duckdb.Error as error:
        raise SqlError(f"sql/{file.path.name}: {type(error).__name__}: {error}") from error


def is_duckdbs(error: BaseException) -> bool:
    """Whether an error comes from DuckDB, by itself or through a SQL file."""
    return isinstance(error, duckdb.Error) or isinstance(error.__cause__, duckdb.Error)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether DuckDB ran out of memory, by itself or in a SQL file."""
    return any(isinstance(each, duckdb.OutOfMemoryException) for each in (error, error.__cause__))


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


@contextlib.contextmanager
def answering_file(path: Path, query: str) -> Iterator[pa.RecordBatchReader]:
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


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
