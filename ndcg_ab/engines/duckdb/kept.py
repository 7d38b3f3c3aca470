"""The tables of a finished evaluation, in the database file that `DuckDBEngine.keep` wrote."""

import json
from collections.abc import Mapping
from pathlib import Path

from ndcg_ab.engines.base import Parameters
from ndcg_ab.engines.duckdb.engine import STATE, DuckDBEngine
from ndcg_ab.engines.duckdb.settings import close_off
from ndcg_ab.engines.sql_files import SqlFile
from ndcg_ab.engines.views import VIEW, literal
from ndcg_ab.errors import InputError

KEPT = "kept"  # the file, as the engine that reads it calls it


class KeptTables(DuckDBEngine):
    """The tables of a finished evaluation: its file is not written, and what it lacks is made in memory.

    Raises InputError where the file is gone, or holds nothing.
    """

    def __init__(
        self,
        path: Path,
        threads: int | None = None,
        memory_limit: str | None = None,
        files: Mapping[str, SqlFile] | None = None,
        spill: Path | None = None,
    ) -> None:
        super().__init__(threads, memory_limit, files, spill)
        try:
            self._look_into(path)
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def _make(self, file: SqlFile, parameters: Parameters) -> None:
        self._clear(file.name)
        super()._make(file, parameters)

    def _look_into(self, path: Path) -> None:
        if not path.is_file():
            raise InputError(f"{path}: is gone, and with it the judgments and rankings of the evaluation")
        self.connection.execute(f"attach {literal(str(path))} as {KEPT} (read_only)")
        close_off(self.connection)
        found = f"select table_name from duckdb_tables() where database_name = {literal(KEPT)}"
        names = {name for (name,) in self.connection.execute(found).fetchall()}
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
