"""DuckDB: files of others, SQL errors that name their file, texts as numbers, the history, its lock, targets."""

import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from ndcg_ab import thresholds
from ndcg_ab.engines.duckdb import DuckDBEngine, GrowingDatabase, StoredTables
from ndcg_ab.engines.duckdb.engine import STATE, encode_texts
from ndcg_ab.engines.duckdb.files import open_history, query_database_file
from ndcg_ab.engines.sql_files import SqlFile, sql_files
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
        assert tables.created == {"judgment": "view", STATE: "view"}
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


# ---- targets: what is built for what is asked, once, and anew when what it comes from has changed


def file(number: int, name: str, text: str, reads: str = "", params: str = "", kind: str = "table") -> SqlFile:
    return SqlFile(name, number, Path(f"{number}_{name}.sql"), text, tuple(reads.split()), tuple(params.split()), kind)


FILES = {
    each.name: each
    for each in (
        file(10, "number", "select n from pulled_number", "pulled_number"),
        file(20, "large", "select n from number where n >= $least", "number", "least"),
        file(30, "square", "select n * n as n from large", "large"),
        file(40, "sum", "select cast(sum(n) as bigint) as n from square", "square", kind="query"),
        file(50, "other", "select n from number", "number"),
    )
}


class Logged(DuckDBEngine):
    """Says what it makes."""

    def __init__(self, *given: Any) -> None:
        self.log: list[str] = []
        super().__init__(*given, files=FILES)

    def _make(self, file: SqlFile, parameters: object) -> None:
        self.log.append(file.name)
        super()._make(file, parameters)  # type: ignore[arg-type]

    def new(self) -> list[str]:
        found, self.log = self.log, []
        return found


class Kept(Logged, StoredTables):
    """Of a file."""


@pytest.fixture
def engine() -> Iterator[Logged]:
    with Logged() as made:
        made.put("pulled_number", pa.table({"n": [1, 2, 3]}))
        made.set_defaults(least=2)
        yield made


def test_a_target_brings_what_it_needs_and_nothing_else(engine: Logged) -> None:
    assert engine.read("square", order="n").to_pydict() == {"n": [4, 9]}
    assert engine.new() == ["number", "large", "square"]
    assert engine.rows("sum") == [(13,)]
    assert engine.new() == [], "what is there is not built again, and a query leaves nothing behind"


def test_a_new_pulled_table_makes_everything_that_comes_from_it_anew(engine: Logged) -> None:
    engine.build("square", "other")
    engine.new()
    engine.put("pulled_number", pa.table({"n": [5]}))
    assert engine.rows("square") == [(25,)]
    assert engine.new() == ["number", "large", "square"]
    assert engine.rows("other") == [(5,)]


def test_parameters_are_those_of_the_target(engine: Logged) -> None:
    assert engine.count("large") == 2
    engine.build("large", least=3)
    assert engine.rows("square") == [(9,)], "what reads it is made anew, too"
    assert engine.new() == ["number", "large", "large", "square"]
    engine.build("large", least=3)
    engine.build("square")
    assert engine.new() == []


def test_a_parameter_that_nobody_gives_is_named() -> None:
    with Logged() as engine:
        engine.put("pulled_number", pa.table({"n": [1]}))
        with pytest.raises(SqlError, match=r"sql/20_large\.sql: its parameter least is not given"):
            engine.build("square")


def test_a_table_can_take_the_place_of_a_pulled_one(engine: Logged) -> None:
    engine.replace_input_with("large", input_name="pulled_number")
    assert engine.rows("number", order="n") == [(2,), (3,)]


def test_rows_are_chosen_and_ordered(engine: Logged) -> None:
    assert engine.rows("number", ("n",), where={"n": [3, 1]}, order="n desc") == [(3,), (1,)]
    assert engine.rows("number", where={"n": 2}) == [(2,)]
    assert engine.count("number", {"n": 2}) == 1


@pytest.mark.parametrize(("small", "made"), [(0, []), (thresholds.QUICKLY_MADE_ROWS, ["number", "large"])])
def test_a_database_file_remembers_what_was_made_in_it(
    small: int, made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And with which parameters; where it is small, they are made again."""
    monkeypatch.setattr(thresholds, "QUICKLY_MADE_ROWS", small)
    with Logged() as engine:
        engine.put("pulled_number", pa.table({"n": [1, 2, 3]}))
        engine.set_defaults(least=3)
        engine.build("large")
        engine.write_tables(tmp_path / "t.duckdb")
    with Kept(tmp_path / "t.duckdb") as kept:
        assert kept.rows("square") == [(9,)]
        assert kept.new() == [*made, "square"]
        kept.build("large", least=1)
        assert kept.new() == ["large"]


def test_repeated_rows_are_noticed(engine: Logged) -> None:
    assert not engine.may_repeat("pulled_number", ["n"])
    engine.put("pulled_number", pa.table({"n": [1, 2, 1]}))
    assert engine.may_repeat("pulled_number", ["n"])


def test_what_is_released_is_made_anew_and_what_came_from_it_stays() -> None:
    with Logged() as engine:
        engine.set_defaults(least=2)
        engine.put("pulled_number", pa.table({"n": [1, 2]}))
        engine.build("square")
        engine.release("large", "number", "other")
        engine.log.clear()
        assert engine.rows("square") == [(4,)]
        assert engine.log == []
        assert engine.rows("large") == [(2,)]
        assert engine.log == ["number", "large"]
