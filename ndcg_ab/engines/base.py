"""Define the interface of engines: add input tables, make the tables of SQL files on demand, and return rows.

`Engine` decides when a table is made: once, when it is first needed, after the tables that it reads. Each engine
implements the abstract methods in a module of its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeGuard

import pyarrow as pa

from ndcg_ab.engines.remote_table import RemoteTable
from ndcg_ab.engines.sql_files import SqlFile, affected_tables, needed_files, pipeline_files, prune_file, tables_behind
from ndcg_ab.errors import SqlError
from ndcg_ab.memory import Memory

Value = str | float | int | bool | Sequence[str] | None
Parameters = Mapping[str, Value]
Bound = dict[str, Value]
GIVEN = "given"  # among the parameters of a table that no SQL file made
BATCH = 100_000  # rows converted to Python objects at a time


# Parquet files or tables, each with values that all of its rows have in further columns
Files = Sequence[tuple[Path | pa.Table, Mapping[str, str]]]


class Engine(ABC):
    """The tables of one evaluation; the base class of engines.

    Input tables are added with `put`. Every other table is made by the SQL file with the table's name. `build` and
    `read` make a table when it is first needed, after the tables that it reads.

    Parameters
    ----------
    files : mapping of str to SqlFile, optional
        Table name -> SQL file; by default the files of the pipeline.

    Attributes
    ----------
    files : dict
        Table name -> SQL file.
    settings : dict
        Default values of the parameters of SQL files, by name.
    made : dict
        Name of each table that exists -> the parameter values with which its SQL file was run.
    memory : Memory or None
        The memory limit, which the code that reads inputs for the engine shares; None without a limit.
    """

    # values up to which a condition has one parameter for each; each may carry all texts of the column
    few_values: float = 64

    def __init__(self, files: Mapping[str, SqlFile] | None = None) -> None:
        self.every_file = pipeline_files() if files is None else files
        self.held: dict[str, frozenset[str]] = {}
        self.files = self.every_file
        self.memory: Memory | None = None
        self.settings: dict[str, Value] = {}
        self.made: dict[str, dict[str, Value]] = {}  # table -> the parameters that it was made with
        self.usual: dict[str, dict[str, Value]] = {}  # table that is not there -> those that it had when it was kept

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(self, *error: object) -> None:
        """Close the engine; tables written by `write_tables` stay."""

    def set_defaults(self, **settings: Value) -> None:
        """Set default values of the parameters of SQL files, by name.

        A call of `build` or `read` can override them.
        """
        self.settings |= settings

    def expect_rows(self, rows: int) -> None:  # noqa: B027
        """Announce how many rows of rankings and judgments will be added.

        The number can change the speed, and never a result.
        """

    def declare_values(self, **column_values: Collection[str]) -> None:
        """Declare all values that occur in some columns of the input tables.

        Parts of SQL files that would give no rows for these values are then skipped.
        column_values: column name -> all values that any input table has in this column.
        """
        self.held |= {column: frozenset(values) for column, values in column_values.items()}
        known = frozenset(self.held.items())
        self.files = {name: prune_file(file, known) for name, file in self.every_file.items()}

    def may_have_value(self, column: str, value: str) -> bool:
        """Return whether a column of the input tables may have a value.

        The result is True if the values of the column were not declared with `declare_values`.
        """
        return value in self.held.get(column, {value})

    def declare_texts(self, column: str, texts: Iterable[str]) -> None:  # noqa: B027
        """Declare all texts that input tables have in columns named `column`.

        An engine may store numbers instead of these texts; the rows that it returns do not change.
        """

    def put(self, name: str, table: pa.Table) -> None:
        """Add an input table, or replace the one with this name.

        Tables that were made from the replaced table are made again when they are next read.
        """
        self.put_all(name, [table])

    def put_all(self, name: str, parts: Iterable[pa.Table | RemoteTable]) -> None:
        """Add an input table that consists of several parts, or replace the one with this name.

        parts: Arrow tables, and descriptions of tables that stay on a cluster.
        """
        self._add_parts(name, list(parts))
        self._forget(name)

    def put_files(self, name: str, columns: Mapping[str, str], files: Files, *, is_written: bool = True) -> None:
        """Add an input table from Parquet files and Arrow tables, or replace the one with this name.

        columns: name of a column in the new table -> its name in the files.
        files: pairs of a file or table, and a mapping column -> value with constant columns for all of its rows.
        is_written: whether `write_tables` also writes this table.
        """
        import pyarrow.parquet as papq

        tables = []
        for file, values in files:
            table = papq.read_table(file) if isinstance(file, Path) else file
            table = table.select(list(columns.values())).rename_columns(list(columns))
            for column, value in values.items():
                table = table.append_column(column, pa.repeat(value, table.num_rows))
            tables.append(table)
        self.put(name, pa.concat_tables(tables))

    def replace_input_with(self, name: str, input_name: str) -> None:
        """Replace the rows of the input table `input_name` by the rows of the table `name`."""
        self.put(input_name, self.read(name))

    def put_computed(self, name: str, table: pa.Table) -> None:
        """Add a table that a SQL file would otherwise make; the file is then not run.

        Tables that read the added table are discarded, and made again when they are next read. Tables that this method
        added before are discarded, too: of two such tables, add the one that is read by the other first.
        """
        self.put(name, table)
        self.made[name] = {GIVEN: True}

    def build(self, *targets: str, released: Any = (), **parameters: Value) -> None:
        """Make the tables `targets`, and first all tables that they need, unless they exist.

        released: names of tables to release as soon as no remaining SQL file needs them.
        parameters: values for the parameters of the targets' own SQL files. The other files get the defaults of `set`.
        Raises SqlError, which names the SQL file, if a file fails or a parameter has no value.
        """
        stale = [name for name in targets if not self._is_fresh(self.files[name], parameters)]
        files = needed_files(stale, self.files, self.made)
        for index, file in enumerate(files):
            if file.kind != "query":
                bound = self._bind_parameters(file, parameters if file.name in targets else {})
                self._make(file, bound)
                if file.name in self.made:  # else it is new, as to a file of a version that did not have it
                    self._forget(file.name)
                self.made[file.name] = dict(bound)
            if released:
                later = tables_behind(files[index + 1 :], self.files)
                self.release(*(name for name in released if name not in later))

    def release(self, *names: str) -> None:
        """Drop tables to free memory; a dropped table is made again when it is next read.

        Views that read a dropped table are dropped, too. Stored tables that were computed from it stay. Input tables,
        and tables that do not exist, are ignored.
        """
        for name in names:
            if self.made.pop(name, None) is not None:
                self._drop(name)
                self.release(*(file.name for file in self.files.values() if file.kind == "view" and name in file.reads))

    def read(self, name: str, columns: Sequence[str] = (), **selection: Any) -> pa.Table:
        """Return the rows of a table as an Arrow table; make the table first if it does not exist.

        Parameters
        ----------
        name : str
            Name of the table.
        columns : sequence of str, default ()
            Names of the columns; empty for all.
        **selection
            `where`, a mapping of column to the value, or list of values, that the column must have, by default all
            rows; `order`, the columns to sort by, separated by commas, by default an arbitrary order; and values for
            the parameters of the table's SQL file.

        Returns
        -------
        pyarrow.Table
            The rows.
        """
        return self._run(*self._selected(name, columns, **selection))

    def pieces(self, name: str, columns: Sequence[str], *, where: Parameters | None = None) -> Iterator[pa.Table]:
        """Yield the rows of a table in any order, in pieces that are Arrow tables.

        The engine must not be used for anything else until the last piece has been read.
        columns: names of the columns.
        where: column -> value, or list of values, that the column must have; None for all rows.
        """
        yield self.read(name, columns, where=where)

    def _selected(
        self, name: str, columns: Sequence[str], where: Parameters | None = None, order: str = "", **parameters: Value
    ) -> tuple[str, Bound, SqlFile | None]:
        """Make a table if needed, and return the select statement that reads it.

        The result is (text of the select, values of its parameters, SQL file of the table). The file is None for an
        input table. A file of kind ``query`` makes no table: its text becomes part of the select.
        """
        file = self.files.get(name)
        bound: Bound = {}
        source = f'"{name}"'
        if file is not None and file.kind == "query":
            self.build(*(table for table in file.reads if table in self.files))
            bound = self._bind_parameters(file, parameters)
            source = f'({file.text}) as "{name}"'
        elif file is not None:
            self.build(name, **parameters)
        select = ", ".join(f'"{column}"' for column in columns) or "*"
        text = f"select {select} from {source}"
        tests = [self._condition(column, value, bound) for column, value in (where or {}).items()]
        text += f" where {' and '.join(tests)}" if tests else ""
        return text + (f" order by {order}" if order else ""), bound, file

    def rows(self, name: str, columns: Sequence[str] = (), **selection: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a table as tuples; make the table first if it does not exist.

        Parameters
        ----------
        name : str
            Name of the table.
        columns : sequence of str, default ()
            Names of the columns; empty for all.
        **selection
            Keyword arguments of `read`: `where`, `order`, and parameters of the table's SQL file.

        Returns
        -------
        list of tuple
            The rows.
        """
        return self._rows(*self._selected(name, columns, **selection))

    def iter_rows(self, name: str, columns: Sequence[str] = (), **selection: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table as tuples, one at a time, to save memory.

        Parameters
        ----------
        name : str
            Name of the table.
        columns : sequence of str, default ()
            Names of the columns; empty for all.
        **selection
            Keyword arguments of `read`: `where`, `order`, and parameters of the table's SQL file.

        Yields
        ------
        tuple
            A row.
        """
        yield from as_tuples(self.read(name, columns, **selection))

    def count(self, name: str, where: Parameters | None = None, **parameters: Value) -> int:
        """Return the number of rows of a table; make the table first if it does not exist.

        Parameters
        ----------
        name : str
            Name of the table.
        where : mapping, optional
            Column -> value, or list of values, that the column must have; None counts all rows.
        **parameters
            Values for the parameters of the table's SQL file.

        Returns
        -------
        int
            Number of rows, >= 0.
        """
        text, bound, file = self._selected(name, (), where, "", **parameters)
        return int(self._run(f'select count(*) as "count" from ({text}) as counted', bound, file)["count"][0].as_py())

    def reserve_memory(self, size: int) -> bool:
        """Lower the engine's own memory limit so that the rest of the process can use `size` more bytes.

        Return True if the engine can spill data to disk. Engines that cannot do so change nothing and return False.
        """
        return False

    def has_room(self, name: str, size: int, rows_name: str = "", **parameters: Value) -> bool:
        """Return whether all rows of a table, at `size` bytes each, fit into the memory limit.

        The result is True without a limit. The table is made if it does not exist.
        rows_name: words for the rows in an error message. If they are given, InputError is raised instead of returning
            False.
        parameters: values for the parameters of the table's SQL file.
        """
        if self.memory is None or self.memory.limit is None:
            return True
        rows = self.count(name, None, **parameters)
        self.reserve_memory(rows * size)
        if rows_name:
            self.memory.refuse_beyond(rows, size, rows_name)
        return self.memory.has_room(rows, size)

    def declare_needed_queries(self, queries: Callable[[], Sequence[str]]) -> None:  # noqa: B027
        """Declare that only the judgments and rankings of some queries are needed from now on.

        An engine with tables on a cluster fetches the rows of these queries, and releases all others.
        queries: a function that returns the query ids; it is called only if the engine needs them.
        """

    @abstractmethod
    def may_repeat(self, name: str, columns: Sequence[str]) -> bool:
        """Return whether two rows of an input table may have equal values in all of the given columns.

        False is certain. True may be wrong, if the engine does not check or only compares hashes.
        columns: names of the columns.
        """

    def write_tables(self, path: Path) -> None:
        """Write the tables that are on this machine to a database file, which `StoredTables` can open."""
        raise NotImplementedError

    @abstractmethod
    def _add_parts(self, name: str, parts: Sequence[pa.Table | RemoteTable]) -> None:
        """Make Arrow tables, and tables that stay on a cluster, readable as one table under a name in SQL."""

    @abstractmethod
    def _make(self, file: SqlFile, parameters: Parameters) -> None:
        """Make the table or view of a SQL file; raise SqlError, which names the file."""

    def _drop(self, name: str) -> None:  # noqa: B027
        """Drop a table that was made; do nothing in an engine that keeps its tables until the end."""

    def _rows(self, text: str, parameters: Parameters, file: SqlFile | None) -> list[tuple[Any, ...]]:
        """Return the result of the select `text` as tuples."""
        return list(as_tuples(self._run(text, parameters, file)))

    @abstractmethod
    def _run(self, text: str, parameters: Parameters, file: SqlFile | None) -> pa.Table:
        """Return the result of the select `text`; raise SqlError, which names the SQL file `file` unless it is None."""

    def _condition(self, column: str, value: Value, bound: Bound) -> str:
        """Return the SQL condition that a column has a value, or one of several values.

        The values are added to `bound` as parameters of the condition.
        """
        if is_several(value) and len(value) <= self.few_values:  # planners look for them before windows, not after
            names = {f"where_{column}_{index}": each for index, each in enumerate(value)}
            bound |= names
            return f'"{column}" in ({", ".join(f"${name}" for name in names) or "null"})'
        bound[f"where_{column}"] = value
        name = f"$where_{column}"
        return f'"{column}" in (select unnest({name}))' if is_several(value) else f'"{column}" = {name}'

    def _bind_parameters(self, file: SqlFile, parameters: Parameters) -> dict[str, Value]:
        """Return the values of a SQL file's parameters, by name.

        A value in `parameters` takes precedence over the default value.
        Raises SqlError if a parameter has no value.
        """
        values = {**self.settings, **self.usual.get(file.name, {}), **parameters}
        for name in file.params:
            if name not in values:
                raise SqlError(f"{file.display_path}: its parameter {name} is not given")
        return {name: values[name] for name in file.params}

    def _is_fresh(self, file: SqlFile, parameters: Parameters) -> bool:
        """Return whether a table exists and was made with the given parameters."""
        made_with = self.made.get(file.name)
        return made_with is not None and all(made_with.get(name, value) == value for name, value in parameters.items())

    def _forget(self, name: str) -> None:
        """Mark all tables that were made from the table `name` as not made, so that a later read makes them again."""
        for table in affected_tables(name, self.files) if self.made else ():
            self.made.pop(table, None)


def as_tuples(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in table.to_batches(BATCH):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def is_several(value: Value) -> TypeGuard[Sequence[str]]:
    return not isinstance(value, str) and isinstance(value, Sequence)
