"""DuckDB: SQL errors name their file, the history grows, locks are waited for."""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from ndcg_ab.engines.duckdb import DuckDBEngine, GrowingDatabase, StoredTables
from ndcg_ab.engines.duckdb.engine import encode_texts
from ndcg_ab.engines.duckdb.files import open_history
from ndcg_ab.engines.sql_files import sql_files
from ndcg_ab.errors import InputError, SqlError


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
