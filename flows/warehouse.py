"""Runs the SQL files in DuckDB: the only module that knows which database it is.

A file in `sql/` is one select; its name gives the table that it makes (``310_graded_doc.sql``).  Tables
named ``pulled_…`` come from outside and are put here first.
"""

import contextlib
import functools
import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import pyarrow as pa

from flows.errors import InputError, SqlError

Value = str | float | int | bool | Sequence[str] | None


def sql_directory() -> Path:
    """Where the SQL files are: inside the installed package, or beside it in a checkout."""
    inside = Path(__file__).parent / "sql"
    return inside if inside.is_dir() else Path(__file__).parent.parent / "sql"


@functools.cache
def sql_files() -> dict[str, Path]:
    """Table name -> its file, in the order of the pipeline."""
    return {path.stem.partition("_")[2]: path for path in sorted(sql_directory().glob("[0-9]*_*.sql"))}


def header(text: str) -> dict[str, str]:
    """The keys in the comment at the top of a SQL file: grain, reads, params, kind."""
    found = {}
    for line in text.splitlines():
        key, colon, value = line.removeprefix("-- ").partition(":")
        if not line.startswith("--"):
            break
        if colon and key in ("grain", "reads", "params", "kind"):
            found[key] = value.strip()
    return found


class Warehouse:
    """One evaluation's tables.

    path: the DuckDB file; None keeps them in memory.
    threads, memory_limit: what DuckDB may use; by default every core and 80 % of the memory.
    """

    def __init__(self, path: Path | None = None, threads: int | None = None, memory_limit: str | None = None) -> None:
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

    def __enter__(self) -> "Warehouse":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()

    def put(self, name: str, table: pa.Table) -> None:
        """Makes an Arrow table readable under a name: in place in memory, copied into a database file."""
        if self.in_memory:
            self.connection.register(name, table)
            return
        self.connection.register("incoming", table)
        self.connection.execute(f'create or replace table "{name}" as select * from incoming')
        self.connection.unregister("incoming")

    def append(self, name: str, table: pa.Table) -> None:
        """Adds rows to a table of the database file, which is made with the first of them.

        A column that the table does not have yet is added (null in the older rows).
        """
        self.connection.register("incoming", table)
        self.connection.execute(f'create table if not exists "{name}" as select * from incoming limit 0')
        known = {column[0] for column in self.rows(f'describe "{name}"')}
        for column, kind, *_ in self.rows("describe incoming"):
            if column not in known:
                self.connection.execute(f'alter table "{name}" add column "{column}" {kind}')
        self.connection.execute(f'insert into "{name}" by name select * from incoming')
        self.connection.unregister("incoming")

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

    def build(self, *names: str, **parameters: Value) -> None:
        """Makes the tables of the named SQL files, in the order given, with the parameters that each one names.

        Raises SqlError, which names the file.
        """
        for name in names:
            path = sql_files()[name]
            text = path.read_text(encoding="utf-8")
            kind = header(text).get("kind", "table")
            try:
                statement = self.connection.extract_statements(f"create or replace {kind} {name} as {text}")[0]
                used = {key: parameters[key] for key in statement.named_parameters}
                self.connection.execute(statement, used or None).fetchall()
            except (duckdb.Error, KeyError) as error:
                raise SqlError(f"sql/{path.name}: {type(error).__name__}: {error}") from error

    def rows(self, select: str, parameters: Mapping[str, Value] | None = None) -> list[tuple[Any, ...]]:
        """The rows of a select; values are bound by name."""
        return self.connection.execute(select, dict(parameters) if parameters else None).fetchall()

    def arrow(self, select: str, parameters: Mapping[str, Value] | None = None) -> pa.Table:
        """The same as an Arrow table."""
        return self.connection.sql(select, params=dict(parameters) if parameters else None).to_arrow_table()

    def hashes(self, table: str, columns: Sequence[str]) -> Any:
        """A numpy array of one 64-bit hash for each row, in no order."""
        names = ", ".join(f'"{column}"' for column in columns)
        return self.connection.execute(f'select hash({names}) as hash from "{table}"').fetchnumpy()["hash"]


def open_for_writing(path: Path, patience: float = 60.0) -> Warehouse:
    """A database file that other processes may be writing too: waits for its lock for `patience` seconds.

    Raises InputError that says who holds it.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return Warehouse(path)
        except duckdb.IOException as error:
            if "lock" not in str(error).lower():
                raise InputError(f"{path}: cannot be opened: {error}") from None
            if time.monotonic() > deadline:
                raise InputError(f"{path}: in use for {patience:.0f} s and more: {error}") from None
        time.sleep(random.uniform(0.05, 0.3))
