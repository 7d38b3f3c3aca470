"""DuckDB: files of others, SQL errors that name their file, texts as numbers, the history and its lock."""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from ndcg_ab.engines.duckdb import DuckDBEngine, GrowingDatabase, StoredTables
from ndcg_ab.engines.duckdb.engine import STATE, encode_texts
from ndcg_ab.engines.duckdb.files import open_history, query_database_file
from ndcg_ab.engines.sql_files import sql_files
from ndcg_ab.errors import InputError, SqlError, UnavailableError
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
    with duckdb.connect(str(path := tmp_path / "own.duckdb")) as made:
        made.execute("create table rows as select 'q1' as query_id")
        made.execute("create view judgment as select * from rows")
    assert read(path, "judgment"), "a view of its own tables"


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


def test_an_error_in_a_sql_file_names_the_file() -> None:
    broken = replace(sql_files()["rank_rule"], text="select nonsense from nowhere")
    said = r"sql/0_load/080_rank_rule\.sql: .*nowhere"
    with DuckDBEngine(files={"rank_rule": broken}) as tables, pytest.raises(SqlError, match=said):
        tables.build("rank_rule")
    asked = replace(broken, kind="query")
    with DuckDBEngine(files={"rank_rule": asked}) as tables, pytest.raises(SqlError, match=said):
        tables.read("rank_rule")


def test_a_transaction_is_whole_or_not_at_all(tmp_path: Path) -> None:
    with GrowingDatabase(tmp_path / "history.duckdb") as history:
        history.append("night", pa.table({"ordinal": [1]}))
        with pytest.raises(ZeroDivisionError), history.transaction():
            history.append("night", pa.table({"ordinal": [2]}))
            raise ZeroDivisionError
        assert history.rows("night", ("ordinal",)) == [(1,)]


IDS = ["é", "Z", "a", "\uffff", "\U0001f600", "10", "9", " ", "it's"]


def test_numbers_in_the_place_of_texts_are_seen_by_nobody(tmp_path: Path) -> None:
    """A database file holds texts, which later versions read."""
    answers = pa.table({"query_id": IDS, "system_id": ["new"] * len(IDS)})
    with DuckDBEngine() as engine:
        engine.declare_texts("query_id", reversed(IDS))
        engine.put("pulled_failed_query", answers)
        engine.write_tables(tmp_path / "kept.duckdb")
        for tables, kind in ((engine, "ENUM"), (StoredTables(tmp_path / "kept.duckdb"), "VARCHAR")):
            kinds = tables.connection.execute('select distinct typeof(query_id) from "pulled_failed_query"').fetchall()
            assert [each.startswith(kind) for (each,) in kinds] == [True]
            found = tables.read("pulled_failed_query", order="query_id")
            assert found == answers.sort_by("query_id")
            assert [text.encode() for text in found["query_id"].to_pylist()] == sorted(text.encode() for text in IDS)
            assert tables.rows("pulled_failed_query", ("query_id",), where={"query_id": ["a", "unknown"]}) == [("a",)]


def test_texts_are_numbered_anew_with_what_is_pulled_anew() -> None:
    with DuckDBEngine() as tables:
        for ids in (["a", "b"], ["b", "c"]):
            tables.declare_texts("query_id", ids)
            tables.put("pulled_failed_query", pa.table({"system_id": ["new", "new"], "query_id": ids}))
            assert tables.rows("pulled_failed_query", ("query_id",), order="query_id") == [(each,) for each in ids]
        tables.put("pulled_failed_query", pa.table({"system_id": ["new"], "query_id": ["a"]}))
        with pytest.raises(duckdb.ConversionException, match="Could not convert string 'a'"):
            tables.rows("pulled_failed_query")


HOLDER = """
import sys, time
from pathlib import Path
from ndcg_ab.engines.duckdb import GrowingDatabase
with GrowingDatabase(Path(sys.argv[1])):
    print("open", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@pytest.mark.slow
def test_a_lock_is_waited_for_and_its_holder_named(tmp_path: Path) -> None:
    path = tmp_path / "history.duckdb"
    with subprocess.Popen([sys.executable, "-c", HOLDER, path, "2"], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(InputError, match=f"in use .*PID {holder.pid}"):
            open_history(path, patience=0.2)
        start = time.monotonic()
        open_history(path, patience=30).connection.close()
        assert time.monotonic() - start > 0.2


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "history.duckdb").write_text("this is not a database, but some words in a file\n" * 100)
    with pytest.raises(InputError, match=r"history\.duckdb: cannot be opened"):
        open_history(tmp_path / "history.duckdb")


@pytest.mark.parametrize(("second", "are_alike"), [("ab", True), ("ab", False), ("caa", False)])
def test_texts_that_many_rows_share_have_one_number_in_every_piece(second: str, are_alike: bool) -> None:
    pieces = [["b", "a", "b", "b"], [*second], []]
    pieces_of_column = [pa.array(piece, pa.string()).dictionary_encode() for piece in pieces]
    if are_alike:
        texts = pieces_of_column[0].dictionary
        places = [pa.array([texts.to_pylist().index(text) for text in piece], pa.int32()) for piece in pieces]
        pieces_of_column = [pa.DictionaryArray.from_arrays(each, texts) for each in places]
    texts, numbers = encode_texts(pa.chunked_array(pieces_of_column))
    assert texts.take(numbers.combine_chunks()).to_pylist() == [text for piece in pieces for text in piece]
    assert len(set(texts.to_pylist())) == len(texts)
