"""What an engine does: takes tables in, makes those of the SQL files when they are asked for, gives them out.

`Engine` keeps the order: a table is made when something that needs it is asked for, with all that it reads, once.
What an engine itself must know (`put`, `_make`, `_run`, `repeats`) is in the module of its name.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeGuard

import pyarrow as pa

from ndcg_ab.engines.remote_table import RemoteTable
from ndcg_ab.engines.sql_files import SqlFile, affected_tables, narrowed, needed_files, pipeline_files, tables_behind
from ndcg_ab.errors import SqlError
from ndcg_ab.memory import Memory

Value = str | float | int | bool | Sequence[str] | None
Parameters = Mapping[str, Value]
Bound = dict[str, Value]
USUALLY = {"placed": ["no"]}  # what tables hold of which nobody says anything
GIVEN = "given"  # among the parameters of a table that no SQL file made
BATCH = 100_000  # rows that become Python's objects at a time
FEW_VALUES = 1_000  # that are parameters of their own in a condition


# Parquet files or tables, each with values that all of its rows have in further columns
Files = Sequence[tuple[Path | pa.Table, Mapping[str, str]]]


class Engine(ABC):
    """The tables of one evaluation.

    ``pulled_…`` tables come in with `put`.  Every other one is made by the SQL file of its name: `build` and `read`
    name a target, and the engine makes what the target needs, in the order of the file numbers.
    memory: what it may take, and those that read for it; None: nobody said.
    """

    def __init__(self, files: Mapping[str, SqlFile] | None = None) -> None:
        self.every_file = pipeline_files() if files is None else files
        self.held: dict[str, frozenset[str]] = {}
        self.narrow(**USUALLY)
        self.whole_files = self.files
        self.memory: Memory | None = None
        self.settings: dict[str, Value] = {}
        self.made: dict[str, dict[str, Value]] = {}  # table -> the parameters that it was made with
        self.usual: dict[str, dict[str, Value]] = {}  # table that is not there -> those that it had when it was kept

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it; what was made stays where it is kept."""

    def set(self, **settings: Value) -> None:
        """Parameters for every file that names them, unless `build` or `read` gives its target others."""
        self.settings |= settings

    def expect(self, rows: int) -> None:  # noqa: B027
        """How many rows of rankings and judgments are going to be put; nothing that is read is another for that."""

    def narrow(self, **held: Collection[str]) -> None:
        """What the tables that are put hold: parts of the SQL files that give no rows then are left out of them.

        held: column -> every value that it has in them.
        """
        self.held |= {column: frozenset(values) for column, values in held.items()}
        known = frozenset(self.held.items())
        self.files = {name: narrowed(file, known) for name, file in self.every_file.items()}

    def may_hold(self, column: str, value: str) -> bool:
        """Whether a column of the tables that are put may have a value, as far as `narrow` was told."""
        return value in self.held.get(column, {value})

    @abstractmethod
    def number(self, column: str, texts: Iterable[str]) -> None:
        """Every text that is in a column of this name in the pulled tables to come.

        An engine may keep numbers in their place; nothing that is read of it is another for that.
        """

    def put(self, name: str, table: pa.Table) -> None:
        """Takes in an Arrow table; what was made from an earlier one of its name is made again when it is needed."""
        self._take(name, table)
        self._forget(name)

    def put_all(self, name: str, parts: Iterable[pa.Table | RemoteTable]) -> None:
        """The same of a table in several parts, of which some may stay where they are."""
        self._take_all(name, list(parts))
        self._forget(name)

    def put_files(self, name: str, columns: Mapping[str, str], files: Files, *, lasting: bool = True) -> None:
        """Take in what is in files, as `put` does; by default through memory.

        columns: what they are called here -> in the files.  lasting: `keep` writes it, too.
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

    def use(self, name: str, instead_of: str) -> None:
        """Puts the rows of one table instead of a pulled one."""
        self.put(instead_of, self.read(name))

    def give(self, name: str, table: pa.Table) -> None:
        """Takes in what a SQL file would make: the file is not run, nor what it reads.

        What was made or given of tables that read it is made again, so that these are given later.
        """
        self.put(name, table)
        self.made[name] = {GIVEN: True}

    def build(self, *targets: str, passing: Any = (), **parameters: Value) -> None:
        """Make the targets and all tables that they need, unless those are there already.

        passing: names of tables that are released as soon as nothing that is still to be made reads them.
        parameters: of the targets' own files; what they read uses the settings, or is as it was made.
        Raises SqlError, which names the file.
        """
        stale = [name for name in targets if not self._is_fresh(self.files[name], parameters)]
        files = needed_files(stale, self.files, self.made)
        for place, file in enumerate(files):
            if file.kind != "query":
                bound = self._bound(file, parameters if file.name in targets else {})
                self._make(file, bound)
                if file.name in self.made:  # else it is new, as to a file of a version that did not have it
                    self._forget(file.name)
                self.made[file.name] = dict(bound)
            if passing:
                later = tables_behind(files[place + 1 :], self.files)
                self.release(*(name for name in passing if name not in later))

    def release(self, *names: str) -> None:
        """Drop tables and the views that read them; each is made again when something needs it.

        Tables that were made from them stay. Memory then holds what is still to be read, and not every step before it.
        """
        for name in names:
            if self.made.pop(name, None) is not None:
                self._drop(name)
                self.release(*(file.name for file in self.files.values() if file.kind == "view" and name in file.reads))

    def read(self, name: str, columns: Sequence[str] = (), **asked: Any) -> pa.Table:
        """A table's rows; it is made first where it is not there yet.

        columns: by default all.  asked: `where`, column -> value that it must have (or a list of them); `order`,
        columns to sort by, with commas between (without it rows come in any order); parameters as for `build`.
        """
        return self._table(name, *self._selected(name, columns, **asked))

    def pieces(self, name: str, columns: Sequence[str], *, where: Parameters | None = None) -> Iterator[pa.Table]:
        """The same a few rows at a time, in any order; nothing else is asked of the engine before the last of them.

        An engine that has the rows here reads them as they are asked for.
        """
        yield self.read(name, columns, where=where)

    def _selected(
        self, name: str, columns: Sequence[str], where: Parameters | None = None, order: str = "", **parameters: Value
    ) -> tuple[str, Bound, SqlFile | None]:
        """The select that reads a table, which is made first, its parameters and the file that makes the table."""
        file = self.files.get(name)
        bound: Bound = {}
        source = f'"{name}"'
        if file is not None and file.kind == "query":
            self.build(*(table for table in file.reads if table in self.files))
            bound = self._bound(file, parameters)
            source = f'({file.text}) as "{name}"'
        elif file is not None:
            self.build(name, **parameters)
        select = ", ".join(f'"{column}"' for column in columns) or "*"
        text = f"select {select} from {source}"
        tests = [self._test(column, value, bound) for column, value in (where or {}).items()]
        text += f" where {' and '.join(tests)}" if tests else ""
        return text + (f" order by {order}" if order else ""), bound, file

    def rows(self, name: str, columns: Sequence[str] = (), **asked: Any) -> list[tuple[Any, ...]]:
        """The same as `read`, as tuples."""
        return self._rows(name, *self._selected(name, columns, **asked))

    def each(self, name: str, columns: Sequence[str] = (), **asked: Any) -> Iterator[tuple[Any, ...]]:
        """The same one after the other, for tables that are larger as Python's objects than memory should be."""
        yield from as_tuples(self.read(name, columns, **asked))

    def count(self, name: str, where: Parameters | None = None, **parameters: Value) -> int:
        """How many rows a table has; it is made first where it is not there yet.  parameters: as for `build`."""
        if name in self.files:
            self.build(name, **parameters)
        bound: Bound = {}
        tests = " and ".join(self._test(column, value, bound) for column, value in (where or {}).items())
        text = f'select count(*) as "count" from "{name}"' + (f" where {tests}" if tests else "")
        return int(self._run(text, bound, self.files.get(name))["count"][0].as_py())

    def leave_room(self, size: int) -> bool:
        """Hold less, so that so many bytes have room beside it; return whether the engine holds what can go to disk."""
        return False

    def has_room(self, name: str, size: int, what: str = "", **parameters: Value) -> bool:
        """Return whether the rows of a table, of so many bytes each, fit into memory; what: else raise InputError."""
        if self.memory is None or self.memory.limit is None:
            return True
        rows = self.count(name, None, **parameters)
        self.leave_room(rows * size)
        if what:
            self.memory.refuse_beyond(rows, size, what)
        return self.memory.has_room(rows, size)

    @abstractmethod
    def settle(self, queries: Callable[[], Sequence[str]]) -> None:
        """From now on nothing is asked of judgments and rankings, but for the rows of some queries.

        An engine whose rows are not here fetches those, and lets go of what is there; others need not know which.
        """

    @abstractmethod
    def repeats(self, name: str, columns: Sequence[str]) -> bool:
        """Whether two rows of a pulled table may agree in these columns; False is certain, True is not."""

    @abstractmethod
    def keep(self, path: Path) -> None:
        """Writes the tables that are here to a database file, which `open_kept` reads."""

    @abstractmethod
    def _take(self, name: str, table: pa.Table) -> None:
        """Makes an Arrow table readable under its name."""

    def _take_all(self, name: str, parts: Sequence[pa.Table | RemoteTable]) -> None:
        """The same of several parts, one above the other."""
        self._take(name, pa.concat_tables(parts))

    @abstractmethod
    def _make(self, file: SqlFile, parameters: Parameters) -> None:
        """Makes a file's table or view; raises SqlError, which names the file."""

    @abstractmethod
    def _drop(self, name: str) -> None:
        """Takes away a table that was made."""

    def _table(self, name: str, text: str, parameters: Parameters, file: SqlFile | None) -> pa.Table:
        """What a select gives that reads a table of this name alone."""
        return self._run(text, parameters, file)

    def _rows(self, name: str, text: str, parameters: Parameters, file: SqlFile | None) -> list[tuple[Any, ...]]:
        """The same as tuples."""
        return list(as_tuples(self._table(name, text, parameters, file)))

    @abstractmethod
    def _run(self, text: str, parameters: Parameters, file: SqlFile | None) -> pa.Table:
        """What a select gives; raises SqlError, which names the file that it comes from."""

    def _test(self, column: str, value: Value, bound: Bound) -> str:
        """The condition that a column has a value, or one of several, which is added to those that are bound."""
        if is_several(value) and len(value) <= FEW_VALUES:  # planners look for them before windows, not after
            return one_by_one(column, value, bound)
        bound[f"where_{column}"] = value
        name = f"$where_{column}"
        return f'"{column}" in (select unnest({name}))' if is_several(value) else f'"{column}" = {name}'

    def _bound(self, file: SqlFile, given: Parameters) -> dict[str, Value]:
        """The file's parameters; raises SqlError for one that nobody gave."""
        known = {**self.settings, **self.usual.get(file.name, {}), **given}
        for name in file.params:
            if name not in known:
                raise SqlError(f"{file.shown}: its parameter {name} is not given")
        return {name: known[name] for name in file.params}

    def _is_fresh(self, file: SqlFile, given: Parameters) -> bool:
        """Whether a table is there as it is asked for."""
        made = self.made.get(file.name)
        return made is not None and all(made.get(name, value) == value for name, value in given.items())

    def _forget(self, name: str) -> None:
        """Marks everything that was made from a table as to be made again."""
        for table in affected_tables(name, self.files) if self.made else ():
            self.made.pop(table, None)


def as_tuples(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in table.to_batches(BATCH):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def one_by_one(column: str, values: Sequence[str], bound: Bound) -> str:
    """The condition that a column has one of several values, each of which is a parameter of its own."""
    names = {f"where_{column}_{place}": each for place, each in enumerate(values)}
    bound |= names
    return f'"{column}" in ({", ".join(f"${name}" for name in names) or "null"})'


def is_several(value: Value) -> TypeGuard[Sequence[str]]:
    return not isinstance(value, str) and isinstance(value, Sequence)
