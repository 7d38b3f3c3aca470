"""Combine two engines: judgments and rankings on a cluster, and everything made from them on this machine.

Each table is computed in the engine that holds its inputs. Only the tables of `CROSSING` and, at the end, the rows of
the few queries that the page shows move from the cluster to this machine. Callers need not know which engine holds a
table.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from ndcg_ab.engines.base import Engine, Parameters
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.engines.remote_table import RemoteTable
from ndcg_ab.engines.sql_files import SqlFile, needed_files

LARGE = ("pulled_judgment", "pulled_ranking")
CROSSING = ("query", "answered_query", "query_score", "coverage", "system_summary", "query_change")
SHOWN = ("judgment", "ordered_result", "graded_doc")  # tables of which the page shows the rows of some queries
SHOWN_WHOLE = ("gain",)


class BoundaryEngine(Engine):
    """An engine that combines an engine on this machine with an engine on a cluster.

    Each table is computed where its inputs are. Callers need not know where that is.

    Attributes
    ----------
    local : DuckDBEngine
        The engine on this machine, which also holds the tables that are copied from the cluster.
    remote : Engine or None
        The engine on the cluster; None before it is first needed, and after its inputs were released.
    begin : callable
        A function that opens the engine on the cluster.
    """

    few_values = math.inf  # the engine on the cluster takes no lists

    def __init__(self, local: DuckDBEngine, begin: Callable[[], Engine]) -> None:
        super().__init__(local.files)
        self.local = local
        self.remote: Engine | None = None
        self.expected = 0  # rows, that `expect` was told
        self.begin = begin
        self.settings = local.settings
        self.memory = local.memory
        self.remote_names = remote_tables(self.files)
        read_there = {name for far in self.remote_names for name in self.files[far].reads}
        self.on_both = {file.name for file in needed_files([*self.remote_names], self.files)} - self.remote_names
        self.sent = read_there | {name for other in self.on_both for name in self.files[other].reads}

    def __exit__(self, *error: object) -> None:
        try:
            if self.remote is not None:
                self.remote.__exit__(*error)
        finally:
            self.local.__exit__(*error)

    def write_tables(self, path: Path) -> None:
        self.local.settings = self.settings
        self.local.made = {name: made for name, made in self.made.items() if not self._is_remote(name)}
        self.local.write_tables(path)

    def expect_rows(self, rows: int) -> None:
        self.expected = rows
        if self.remote is not None:
            self.remote.expect_rows(rows)

    def replace_input_with(self, name: str, input_name: str) -> None:
        if input_name not in LARGE:
            super().replace_input_with(name, input_name)
            return
        self._open_remote().replace_input_with(name, input_name)
        self._forget(input_name)

    def release(self, *names: str) -> None:
        """Drop local tables; tables on the cluster stay until the end."""
        super().release(*(name for name in names if not self._is_remote(name)))

    def may_repeat(self, name: str, columns: Sequence[str]) -> bool:
        return self.local.may_repeat(name, columns)

    def declare_needed_queries(self, queries: Callable[[], Sequence[str]]) -> None:
        if self.remote is None:
            return
        chosen = list(queries())
        for name in (*SHOWN, *SHOWN_WHOLE):
            table = self.read(name, where=None if name in SHOWN_WHOLE else {"query_id": chosen})
            self.local._add_parts(name, [table])
        self.made = {
            name: made
            for name, made in self.made.items()
            if not self._is_remote(name) or name in (*SHOWN, *SHOWN_WHOLE)
        }
        self.remote.__exit__(None, None, None)
        self.remote = None
        self.remote_names = set()

    def _is_remote(self, name: str) -> bool:
        """Return whether a table exists only on the cluster.

        The small tables in `CROSSING` are made on the cluster, and copied to this machine.
        """
        return name in self.remote_names and name not in CROSSING

    def _open_remote(self) -> Engine:
        if self.remote is None:
            self.remote = self.begin()
            self.remote.expect_rows(self.expected)
        return self.remote

    def _add_parts(self, name: str, parts: Sequence[pa.Table | RemoteTable]) -> None:
        if name not in LARGE:
            self.local._add_parts(name, parts)
        if name in self.sent:
            self._open_remote()._add_parts(name, parts)

    def _make(self, file: SqlFile, parameters: Parameters) -> None:
        if file.name in self.remote_names or file.name in self.on_both:
            self._open_remote()._make(file, parameters)
        if file.name in CROSSING and file.name in self.remote_names:
            table = self._open_remote()._run(f'select * from "{file.name}"', {}, file)
            self.local._add_parts(file.name, [table])
        elif file.name not in self.remote_names:
            self.local._make(file, parameters)

    def _drop(self, name: str) -> None:
        self.local._drop(name)

    def _run(self, text: str, parameters: Parameters, file: SqlFile | None) -> pa.Table:
        side = self._open_remote() if file is not None and self._is_remote(file.name) else self.local
        return side._run(text, parameters, file)


def remote_tables(files: Mapping[str, SqlFile]) -> set[str]:
    """Return the names of the tables that are made on the cluster.

    These are all tables that read judgments or rankings as they were pulled (`LARGE`), or that read another table that
    exists only on the cluster.
    """
    names: set[str] = set()
    for file in files.values():
        if any(name in LARGE or (name in names and name not in CROSSING) for name in file.reads):
            names.add(file.name)
    return names
