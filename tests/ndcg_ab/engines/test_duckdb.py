"""DuckDB: SQL errors name their file, the history grows, locks are waited for."""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from ndcg_ab.engines.duckdb import DuckDBEngine, open_history
from ndcg_ab.engines.sql_files import sql_files
from ndcg_ab.errors import InputError, SqlError


def test_an_error_in_a_sql_file_names_the_file() -> None:
    broken = replace(sql_files()["rank_rule"], text="select nonsense from nowhere")
    said = r"sql/080_rank_rule\.sql: .*nowhere"
    with DuckDBEngine(files={"rank_rule": broken}) as tables, pytest.raises(SqlError, match=said):
        tables.build("rank_rule")
    asked = replace(broken, kind="query")
    with DuckDBEngine(files={"rank_rule": asked}) as tables, pytest.raises(SqlError, match=said):
        tables.read("rank_rule")


def test_a_missing_parameter_is_an_error() -> None:
    with DuckDBEngine() as tables, pytest.raises(SqlError, match=r"sql/040_system\.sql: .*baseline"):
        tables.put("pulled_system", pa.table({"system_id": ["old"], "place": [0]}))
        tables.build("system")


def test_rows_are_added_and_so_are_new_columns(tmp_path: Path) -> None:
    with DuckDBEngine(tmp_path / "history.duckdb") as history:
        history.append("night", pa.table({"ordinal": [1]}))
        history.append("night", pa.table({"verdict": ["improved"], "ordinal": [2]}))
        assert history.rows("night", ("ordinal", "verdict"), order="ordinal") == [(1, None), (2, "improved")]


def test_a_transaction_is_whole_or_not_at_all(tmp_path: Path) -> None:
    with DuckDBEngine(tmp_path / "history.duckdb") as history:
        history.append("night", pa.table({"ordinal": [1]}))
        with pytest.raises(ZeroDivisionError), history.transaction():
            history.append("night", pa.table({"ordinal": [2]}))
            raise ZeroDivisionError
        assert history.rows("night", ("ordinal",)) == [(1,)]


HOLDER = """
import sys, time
from pathlib import Path
from ndcg_ab.engines.duckdb import DuckDBEngine
with DuckDBEngine(Path(sys.argv[1])):
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
