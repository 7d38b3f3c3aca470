"""Hold the tables of an evaluation in DuckDB."""

import atexit
import contextlib
import functools
import json
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab import thresholds
from ndcg_ab.engines.base import GIVEN, Engine, Files, Parameters, Value
from ndcg_ab.engines.remote_table import RemoteTable
from ndcg_ab.engines.sql_files import SqlFile
from ndcg_ab.errors import LONGEST, InputError, SqlError, shorten
from ndcg_ab.memory import Memory

STATE = "engine_state"  # table in a database file that records which tables were made with which parameters
VIEW = "view "  # prefix in the state of the names of views
NO_ROOM = ("max_temp_directory_size", "No space left", "quota exceeded")  # words of an error of the spill folder
BLOCK = 16_384  # bytes; a table in a file takes one block at least, and DuckDB's default is 262,144
WRITING = 0.25  # share of DuckDB's memory for writing a file, besides the tables


USUAL = {
    "preserve_insertion_order": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
# Of DuckDB's optimizers those that few rows need; the others take longer than they save.
OPTIMIZERS = ("deliminator", "expression_rewriter", "filter_pushdown", "unnest_rewriter", "unused_columns")


def duckdb_settings(memory: Memory, threads: int | None, share: float = 1.0) -> dict[str, Any]:
    """Return the settings for opening a DuckDB database.

    threads: number of threads; None for all cores.
    share: share of the memory for DuckDB that this database may use, in (0, 1].
    """
    config: dict[str, Any] = dict(USUAL)
    if threads := memory.threads(threads):
        config["threads"] = threads
    if memory.duckdb_bytes is not None:
        config["memory_limit"] = f"{round(memory.duckdb_bytes * share) // 1000}KB"
    if memory.folder is not None:
        config["temp_directory"] = str(memory.folder)
    return config


class DuckDBEngine(Engine):
    """An engine with tables in the memory of DuckDB.

    threads: number of threads; None for all cores.
    memory_limit: limit of the whole process, such as ``4GB``; None lets DuckDB take 80 % of the memory.
    files: SQL files by table name; None for all files of an evaluation.
    spill: folder for data that does not fit into memory; None for the folder of temporary files.
    Raises InputError for an invalid memory limit, and SqlError if DuckDB cannot start.
    """

    memory: Memory

    def __init__(
        self,
        threads: int | None = None,
        memory_limit: str | None = None,
        files: Mapping[str, SqlFile] | None = None,
        spill: Path | None = None,
    ) -> None:
        super().__init__(files)
        self.memory = Memory(memory_limit, spill)
        self.threads = threads
        self.enum_types: dict[str, str] = {}  # column -> the enum type of its texts
        self.enum_count = 0  # enum types created so far
        self.has_few_rows = False  # as `expect_rows` announced
        self.input_names: set[str] = set()  # the names of tables that no SQL file made
        self.created: dict[str, str] = {}  # name -> "table" or "view"
        self.config = duckdb_settings(self.memory, threads)
        try:
            if self.config.keys() & {"threads", "memory_limit"}:
                self.connection = duckdb.connect(config=self.config)
        except (duckdb.OutOfMemoryException, duckdb.InvalidInputException, duckdb.ParserException) as error:
            self.memory.close()
            raise SqlError(f"DuckDB cannot start: {error}") from None

    def __exit__(self, *error: object) -> None:
        if "connection" in self.__dict__:
            self.connection.close()
        self.memory.close()

    @functools.cached_property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """Return the connection to the database, which is opened on first use.

        If few rows are expected, and there is no limit of threads or memory, this is a database that several engines
        share (`shared_database`). Otherwise it is a database of this engine alone.
        """
        return shared_database(os.getpid()).cursor() if self.has_few_rows else duckdb.connect(config=self.config)

    def expect_rows(self, rows: int) -> None:
        """Announce how many rows of rankings and judgments will be added.

        If there are few, the engine uses a database that several engines share. It then works with one thread, and
        never releases a table.
        """
        if not (self.has_few_rows and "connection" in self.__dict__):  # a shared database that is in use stays
            self.has_few_rows = rows <= thresholds.FEW_ROWS

    def release(self, *names: str) -> None:
        if not self.has_few_rows:
            super().release(*names)

    def may_repeat(self, name: str, columns: Sequence[str]) -> bool:
        """Return whether two rows may have equal values in all of the given columns.

        The result is False if the 64-bit hashes of all rows differ; equal hashes count as equal values. Sorting hashes
        is several times faster than grouping by texts. If there are too many hashes for the memory limit, DuckDB groups
        them, on disk if need be.
        """
        names = ", ".join(f'"{column}"' for column in columns)
        if self.memory.limit is not None and self.count(name) > thresholds.SORTED_HASHES:
            hashed = f'select hash({names}) as hash from "{name}"'
            text = f"select 1 from ({hashed}) group by hash having count(*) > 1 limit 1"
            with name_file_in_errors(None, self.memory):
                return bool(self.connection.execute(text).fetchall())
        hashes = self.connection.execute(f'select hash({names}) as hash from "{name}"').fetchnumpy()["hash"]
        hashes.sort()
        return bool((hashes[1:] == hashes[:-1]).any())

    def declare_texts(self, column: str, texts: Iterable[str]) -> None:
        """Create an enum type for the texts of a column, so that joins, windows and groups use numbers.

        The numbers sort like the texts. Nothing is done if few rows are expected.
        """
        distinct = pa.array(set(texts), pa.string())
        if self.has_few_rows or not len(distinct):
            return
        self.enum_count += 1
        self.enum_types[column] = f"{column} {self.enum_count}"
        with self._incoming(pa.table({"text": distinct})):
            select = "select text from incoming order by text"
            self.connection.execute(f'create type "{self.enum_types[column]}" as enum ({select})')

    def _add_parts(self, name: str, parts: Sequence[pa.Table | RemoteTable]) -> None:
        """Make Arrow tables readable as one table without copying them; no part may be a table on a cluster."""
        table = pa.concat_tables(parts)
        self._drop(name)
        self.input_names.add(name)
        if self.enum_types.keys().isdisjoint(table.column_names):
            self.connection.register(name, table)
            return
        source = self._register(f"{name} as text", table)
        self._create("temp view", name, self._with_numbers(table.column_names, source))

    def put_files(self, name: str, columns: Mapping[str, str], files: Files, *, is_written: bool = True) -> None:
        """Make files and Arrow tables readable as one input table, without copying them."""
        chosen = ", ".join(f'"{theirs}" as "{ours}"' for ours, theirs in columns.items())
        names = [*columns, *(files[0][1] if files else ())]
        parts = []
        for at, (file, values) in enumerate(files):
            source = f'"{name} {at}"'
            if isinstance(file, Path):
                source = f"read_parquet({text_literal(str(file))})"
            else:
                source = self._register(f"{name} {at}", file)
            more = "".join(f', {text_literal(value)} as "{column}"' for column, value in values.items())
            parts.append(f"select {chosen}{more} from {source}")
        self._drop(name)
        self.input_names |= {name} if is_written else set()
        with name_file_in_errors(None, self.memory):
            self._create("temp view", name, self._with_numbers(names, f"({' union all '.join(parts)})"))
        self._forget(name)

    def _register(self, name: str, table: pa.Table) -> str:
        """Make an Arrow table readable under a name, and return the text to put after ``from`` in a select.

        This text is the quoted name or a join in parentheses. In a large table, a dictionary-encoded column of declared
        texts is converted to enum numbers by a join, which takes a third of the time of a cast in every row.
        """
        source = f'"{name}"'
        are_many = table.num_rows >= thresholds.JOINED_ROWS
        for column in self.enum_types.keys() & set(table.column_names) if are_many else ():
            if not pa.types.is_dictionary(table[column].type) or table[column].null_count:
                continue
            texts, codes = encode_texts(table[column])
            code, cast = f"{column} code", f'cast("text" as "{self.enum_types[column]}") as "{column}"'
            table = table.set_column(table.column_names.index(column), code, codes)
            with self._incoming(pa.table({code: pa.array(range(len(texts)), codes.type), "text": texts})):
                self._create("temp table", f"{name} {column}", f'select "{code}", {cast} from incoming')
            source = f'({source} inner join "{name} {column}" using ("{code}"))'
        self.connection.register(name, table)
        return source

    def _with_numbers(self, columns: Iterable[str], source: str) -> str:
        """Return the text of a select that reads columns from a source, with declared texts cast to enum numbers."""
        kinds = ((column, self.enum_types.get(column)) for column in columns)
        cast = (f'cast("{column}" as "{kind}") as "{column}"' if kind else f'"{column}"' for column, kind in kinds)
        return f"select {', '.join(cast)} from {source}"

    def replace_input_with(self, name: str, input_name: str) -> None:
        """Rename the table `name` to `input_name`, which replaces the input table of that name without a copy.

        The table `name` is made again when it is next read.
        """
        self.build(name)
        self._drop(input_name)
        self.connection.execute(f'alter table "{name}" rename to "{input_name}"')
        self.created[input_name] = self.created.pop(name)
        self.made.pop(name)
        self._forget(input_name)

    def _drop(self, name: str) -> None:
        """Remove whatever has a name: an Arrow table, a view or a table."""
        for registered in (name, f"{name} as text"):
            self.connection.unregister(registered)
        if kind := self.created.pop(name, None):
            self.connection.execute(f'drop {kind} if exists "{name}"')

    def _create(self, kind: str, name: str, select: str, parameters: Parameters | None = None) -> None:
        """Create or replace a table or view from a select.

        kind: the kind of object in SQL, such as `temp view`.
        parameters: values of the parameters in the select; None if it has none.
        """
        if self.created.get(name, kind) not in kind:
            self._drop(name)
        self._execute(f'create or replace {kind} "{name}" as {select}', parameters).fetchall()
        self.created[name] = kind.split()[-1]

    def reserve_memory(self, size: int = 0) -> bool:
        """Set DuckDB's memory limit to the part of the configured limit that the rest of the process leaves free.

        Data that does not fit goes to disk, so that the result is always True. Nothing is done without a configured
        limit, or if few rows are expected. size: bytes to leave free in addition.
        """
        if self.memory.limit is None or self.has_few_rows:
            return True
        used = self.connection.execute("select sum(memory_usage_bytes)::bigint from duckdb_memory()").fetchall()[0][0]
        share = self.memory.duckdb_bytes_beside(used, size)
        with contextlib.suppress(duckdb.OutOfMemoryException):  # more is in use, and cannot leave
            self.connection.execute(f"set memory_limit = '{share // 1000}KB'")
        return True

    def _make(self, file: SqlFile, parameters: Parameters) -> None:
        self.reserve_memory()
        with name_file_in_errors(file, self.memory):
            self._create(f"temp {file.kind}" if self.has_few_rows else file.kind, file.name, file.text, parameters)

    def _execute(self, text: str, parameters: Parameters | None) -> duckdb.DuckDBPyConnection:
        return self.connection.execute(self._text_or_statement(text), dict(parameters or {}) or None)

    def _text_or_statement(self, text: str) -> str | duckdb.Statement:
        return parse_statement(os.getpid(), text) if self.has_few_rows else text

    def _run(self, text: str, parameters: Parameters, file: SqlFile | None) -> pa.Table:
        self.reserve_memory()
        with name_file_in_errors(file, self.memory):
            result = self.connection.sql(self._text_or_statement(text), params=dict(parameters) or None)
            return as_texts(result.to_arrow_table())

    def _rows(self, text: str, parameters: Parameters, file: SqlFile | None) -> list[tuple[Any, ...]]:
        """Return the result of a select as tuples.

        Without an Arrow table in between, this takes half the time for few rows.
        """
        with name_file_in_errors(file, self.memory):
            return self._execute(text, parameters).fetchall()

    def pieces(self, name: str, columns: Sequence[str], *, where: Parameters | None = None) -> Iterator[pa.Table]:
        text, bound, file = self._selected(name, columns, where)
        with name_file_in_errors(file, self.memory):
            for batch in self.connection.sql(text, params=dict(bound) or None).to_arrow_reader(thresholds.READ_ROWS):
                yield as_texts(pa.Table.from_batches([batch]))

    @contextlib.contextmanager
    def _incoming(self, table: pa.Table) -> Iterator[None]:
        """Make an Arrow table readable as `incoming` within the context."""
        self.connection.register("incoming", table)
        try:
            yield
        finally:
            self.connection.unregister("incoming")

    def write_tables(self, path: Path) -> None:
        """Write the tables to a database file, which `StoredTables` can open.

        If the inputs are small, tables that a SQL file makes are written as views instead. A separate connection writes
        the file, in small blocks, so that a full disk breaks no other connection.
        """
        names = self.input_names | {name for name in self.made if self.files[name].kind == "table"}
        pulled = sum(self.count(name) for name in self.input_names if name.startswith("pulled_"))
        are_small = pulled <= thresholds.QUICKLY_MADE_ROWS
        views = make_views(self.every_file, self.made, names, are_small=are_small)
        made_with = {name: self.made[name] for name in self.made if name in names or name in views}
        config = duckdb_settings(self.memory, self.threads, WRITING) | (small_settings() if self.has_few_rows else {})
        with duckdb.connect(str(path), config=config | {"default_block_size": BLOCK}) as file:
            file.execute("begin")
            for name in sorted(names | views.keys()):
                found = self.connection.sql(f'from "{name}"' + " limit 0" * (name in views))
                rows = found.to_arrow_reader(thresholds.READ_ROWS)
                file.register("incoming", rows)
                file.execute(f'create table "{name}" as select * from incoming')
            file.register("incoming", state_table(self.settings, made_with, views))
            file.execute(f"create table {STATE} as select * from incoming")
            for name, text in reversed(views.items()):  # what reads others first: views of views are slow to bind
                file.execute(f'drop table "{name}"')
                file.execute(f'create view "{name}" as {text}')
            file.execute("commit")


def encode_texts(column: pa.ChunkedArray) -> tuple[pa.Array, pa.ChunkedArray]:
    """Return the distinct texts of a dictionary column, and the index of each row's text among these texts."""
    texts = pa.chunked_array([piece.dictionary for piece in column.chunks]).unique()
    if all(piece.dictionary.equals(texts) for piece in column.chunks):
        return texts, pa.chunked_array([piece.indices for piece in column.chunks])
    kind = np.min_scalar_type(-len(texts))
    numbers = (np.asarray(pc.index_in(piece.dictionary, value_set=texts)).astype(kind) for piece in column.chunks)
    pieces = zip(numbers, column.chunks, strict=True)
    return texts, pa.chunked_array([pa.array(number[piece.indices.to_numpy()]) for number, piece in pieces])


@functools.cache
def shared_database(process: int) -> duckdb.DuckDBPyConnection:
    """Return the in-memory database that all engines with few rows in this process share.

    Each engine has its own temporary tables in it. Opening a database takes as long as twenty statements. The database
    has one thread, so that it also works in a forked process.
    process: id of the process, the key of the cache, since a forked process needs a database of its own.
    """
    atexit.register(shared_database.cache_clear)
    atexit.register(parse_statement.cache_clear)
    database = duckdb.connect(config={**USUAL, "threads": 1})
    left_out = (name for (name,) in database.execute("from duckdb_optimizers()").fetchall() if name not in OPTIMIZERS)
    database.execute(f"set global disabled_optimizers = {text_literal(','.join(left_out))}")
    return database


@functools.lru_cache(maxsize=1000)
def parse_statement(process: int, text: str) -> duckdb.Statement:
    """Return a parsed SQL statement, from a cache per process.

    On small tables, parsing takes a sixth of the time of a statement.
    process: id of the process.
    """
    (statement,) = shared_database(process).extract_statements(text)
    return statement


@functools.cache
def small_settings() -> dict[str, Any]:
    """Return the settings of `shared_database`, for opening another small database."""
    with shared_database(os.getpid()).cursor() as shared:
        found = shared.execute("select current_setting('threads'), current_setting('disabled_optimizers')").fetchall()
    return dict(zip(("threads", "disabled_optimizers"), found[0], strict=True))


@contextlib.contextmanager
def name_file_in_errors(file: SqlFile | None, memory: Memory, where: str = "a database file") -> Iterator[None]:
    """Convert errors of DuckDB within the context to errors for users.

    A full disk, and a query or view that reads another file, become InputError. Every other error becomes SqlError with
    the name of the SQL file; if `file` is None, every other error is raised unchanged.
    memory: the memory limit, whose folder is named if the disk is full.
    where: the name of the database in the message about another file.
    """
    try:
        yield
    except duckdb.Error as error:
        if memory.folder is not None and any(words in str(error) for words in NO_ROOM):
            raise memory.no_room(first_line(error)) from error
        if isinstance(error, duckdb.PermissionException):  # of `forbid_file_access`
            raise InputError(f"{where}: a query or a view reads another file: {first_line(error)}") from None
        if file is None:
            raise
        raise SqlError(f"{file.display_path}: {type(error).__name__}: {error}") from error


def is_duckdb_error(error: BaseException) -> bool:
    """Return whether an error, or the error that caused it, comes from DuckDB."""
    return isinstance(error, duckdb.Error) or isinstance(error.__cause__, duckdb.Error)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error, or the error that caused it, says that DuckDB ran out of memory."""
    return any(isinstance(each, duckdb.OutOfMemoryException) for each in (error, error.__cause__))


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, without the SQL that follows."""
    return shorten(str(error), LONGEST).strip().partition("\n")[0]


def state_table(settings: Parameters, made_with: Mapping[str, Parameters], views: Container[str] = ()) -> pa.Table:
    """Return the table that records with which parameter values each table of a database file was made.

    Its columns are name and parameters (JSON). There is one row per table; the row with the name "" has the default
    values of all parameters.
    settings: the default values of parameters.
    made_with: table name -> parameter values.
    views: names of the tables that are stored as views; in their rows the name begins with `VIEW`.
    """
    states = {"": settings} | {VIEW * (name in views) + name: parameters for name, parameters in made_with.items()}
    texts = [json.dumps(parameters) for parameters in states.values()]
    return pa.table({"name": pa.array(states, pa.string()), "parameters": pa.array(texts, pa.string())})


def make_views(
    files: Mapping[str, SqlFile], made_with: Mapping[str, Parameters], tables: Container[str], *, are_small: bool
) -> dict[str, str]:
    """Return {name: select} of the tables that a database file holds as views, in the order of creation.

    A table is left out if its parameter values are unknown, or if a table that it reads is neither stored nor a view.
    made_with: table name -> parameter values with which the table was made.
    tables: names of the stored tables.
    are_small: whether the inputs are small. Then SQL files of kind ``table`` give views, too, since these views take
        little time; otherwise only SQL files of kind ``view`` do.
    """
    views: dict[str, str] = {}
    for file in sorted(files.values(), key=lambda file: file.number):
        parameters = made_with.get(file.name, {GIVEN: True})
        is_known = GIVEN not in parameters and {*file.params} <= parameters.keys()
        is_wanted = file.kind == "view" or (file.kind == "table" and are_small)
        if is_known and is_wanted and all(name in tables or name in views for name in file.reads):
            views[file.name] = fill_parameters(file, parameters)
    return views


def text_literal(text: str) -> str:
    """Return a text as a SQL literal, for views, in which parameters cannot be bound."""
    return "'" + text.replace("'", "''") + "'"


def fill_parameters(file: SqlFile, parameters: Parameters) -> str:
    """Return the select of a SQL file with its parameter values filled in, for a view."""
    lines = [line for line in file.text.splitlines() if not line.startswith("--")]
    return re.sub(r"\$(\w+)", lambda match: sql_literal(parameters[match[1]]), "\n".join(lines))


def sql_literal(value: Value) -> str:
    """Return a parameter value as SQL: null, a text, a number, a boolean, or a list of texts."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return text_literal(value)
    if isinstance(value, bool | int | float):
        return str(value).lower()
    return f"[{', '.join(map(text_literal, value))}]"


def as_texts(table: pa.Table) -> pa.Table:
    """Return a table with plain columns instead of dictionary-encoded ones."""
    for index, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(index, field.name, table.column(index).cast(field.type.value_type))
    return table
