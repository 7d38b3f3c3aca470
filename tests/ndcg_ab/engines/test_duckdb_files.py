"""Somebody's database file: one that another process holds may be free later."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from ndcg_ab.engines.duckdb import GrowingDatabase, StoredTables
from ndcg_ab.engines.duckdb.engine import STATE
from ndcg_ab.engines.duckdb.files import query_database_file
from ndcg_ab.errors import InputError, UnavailableError
from ndcg_ab.memory import Memory
from tests.paths import ROOT


@pytest.mark.parametrize(
    ("said", "is_silent"),
    [("Could not set lock on file: it is held in PID 7", True), ("Cannot open file: Permission denied", False)],
)
def test_one_that_is_held_is_asked_again(said: str, is_silent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise duckdb.IOException(said)

    monkeypatch.setattr(duckdb, "connect", refuse)
    with pytest.raises(InputError, match="the database cannot be opened") as caught:
        next(query_database_file(Path("a.duckdb"), "select 1"))
    assert isinstance(caught.value, UnavailableError) == is_silent


OTHERS = {
    "a text": "read_text('{secret}')",
    "bytes": "read_blob('/proc/self/environ')",
    "a table": "read_csv('{secret}')",
    "a file by its name": "'{secret}'",
    "a folder": "glob('{folder}/*')",
}


def read_as_source(path: Path, name: str) -> Any:
    return list(query_database_file(path, f'select * from "{name}"'))


def read_as_history(path: Path, name: str) -> Any:
    with GrowingDatabase(path) as history:
        return history.columns(name), history.read(name)


@pytest.mark.first_case
@pytest.mark.parametrize("read", [read_as_source, read_as_history])
def test_a_database_file_reads_no_other_file(read: Any, tmp_path: Path) -> None:
    (secret := tmp_path / "secret.csv").write_text("planted\n1\n")
    for number, other in enumerate(OTHERS.values()):
        path = tmp_path / f"{number}.duckdb"
        with duckdb.connect(str(path)) as made:
            made.execute(f"create view judgment as select * from {other.format(secret=secret, folder=tmp_path)}")
        with pytest.raises(InputError, match="Permission Error: Cannot access") as caught:
            read(path, "judgment")
        assert "planted" not in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("read", [read_as_source, read_as_history])
def test_a_database_file_may_hold_views_of_its_own_tables(read: Any, tmp_path: Path) -> None:
    with duckdb.connect(str(path := tmp_path / "a.duckdb")) as made:
        made.execute("create table rows as select 'q1' as query_id")
        made.execute("create view judgment as select * from rows")
    assert read(path, "judgment")


def test_the_tables_of_a_bundle_are_no_views_and_what_reads_them_reads_no_other_file(tmp_path: Path) -> None:
    with duckdb.connect(str(path := tmp_path / "a.duckdb")) as made:
        made.execute("create table judgment as select 'q1' as query_id")
        made.execute("create view query as select * from read_text('/etc/hostname')")
        made.execute(f"create table {STATE} (name text, parameters text)")
    (secret := tmp_path / "secret.csv").write_text("planted\n1\n")
    with StoredTables(path) as tables:
        assert tables.there == {"judgment": "view", STATE: "view"}
        for other in OTHERS.values():
            with pytest.raises(duckdb.PermissionException):
                tables.connection.execute(f"from {other.format(secret=secret, folder=tmp_path)}")
        with pytest.raises(duckdb.InvalidInputException, match="Cannot enable external access"):
            tables.connection.execute("set enable_external_access = true")
        tables.connection.execute("set memory_limit = '1GB'")  # an engine shares memory with the rest of the process


@pytest.mark.slow
def test_rows_that_memory_has_no_room_for_go_to_the_folder(tmp_path: Path) -> None:
    """Sorting 5 million numbers under the limit; nothing is put beside the file."""
    with duckdb.connect(str(path := tmp_path / "a.duckdb")) as made:
        made.execute("create view v as select hash(range) as query_id, range as doc_id from range(5000000)")
    with Memory("1GB") as memory:
        found = query_database_file(path, "select * from v order by query_id", memory)
        assert next(found).names == ["query_id", "doc_id"]
        assert sum(batch.num_rows for batch in found) == 5_000_000
    assert [each.name for each in tmp_path.iterdir()] == ["a.duckdb"]


def test_every_module_that_opens_a_database_file_closes_it_off() -> None:
    """But for `DuckDBEngine.keep`, which makes a new file."""
    opened = {}
    for path in sorted((ROOT / "ndcg_ab" / "engines" / "duckdb").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        if count := text.count("duckdb.connect(str(") + text.count('f"attach '):
            opened[path.name] = (
                count,
                text.count("forbid_file_access(connection") + text.count("forbid_file_access(self.connection"),
            )
    assert opened == {"engine.py": (1, 0), "files.py": (3, 3)}
