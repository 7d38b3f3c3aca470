"""The room that knows DuckDB: SQL errors name their file, the history grows, locks are waited for."""

import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from flows import warehouse
from flows.errors import InputError, SqlError
from flows.warehouse import Warehouse, open_for_writing, sql_files


def test_an_error_in_a_sql_file_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "210_ranked_doc.sql"
    path.write_text("select nonsense from nowhere")
    monkeypatch.setattr(warehouse, "sql_files", lambda: {**sql_files(), "ranked_doc": path})
    with Warehouse() as tables, pytest.raises(SqlError, match=r"sql/210_ranked_doc\.sql: .*nowhere"):
        tables.build("ranked_doc", depth=10)


def test_a_missing_parameter_is_an_error() -> None:
    with Warehouse() as tables, pytest.raises(SqlError, match=r"sql/030_system\.sql: .*baseline"):
        tables.put("pulled_system", pa.table({"system_id": ["old"], "place": [0]}))
        tables.build("system")


def test_rows_are_added_and_so_are_new_columns(tmp_path: Path) -> None:
    with Warehouse(tmp_path / "history.duckdb") as history:
        history.append("night", pa.table({"ordinal": [1]}))
        history.append("night", pa.table({"verdict": ["improved"], "ordinal": [2]}))
        assert history.rows("select ordinal, verdict from night order by ordinal") == [(1, None), (2, "improved")]


def test_a_transaction_is_whole_or_not_at_all(tmp_path: Path) -> None:
    with Warehouse(tmp_path / "history.duckdb") as history:
        history.append("night", pa.table({"ordinal": [1]}))
        with pytest.raises(ZeroDivisionError), history.transaction():
            history.append("night", pa.table({"ordinal": [2]}))
            raise ZeroDivisionError
        assert history.rows("select ordinal from night") == [(1,)]


HOLDER = """
import sys, time
from pathlib import Path
from flows.warehouse import Warehouse
with Warehouse(Path(sys.argv[1])):
    print("open", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def test_a_lock_is_waited_for_and_its_holder_named(tmp_path: Path) -> None:
    path = tmp_path / "history.duckdb"
    with subprocess.Popen([sys.executable, "-c", HOLDER, path, "2"], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(InputError, match=f"in use .*PID {holder.pid}"):
            open_for_writing(path, patience=0.2)
        start = time.monotonic()
        open_for_writing(path, patience=30).connection.close()
        assert time.monotonic() - start > 0.2


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "history.duckdb").write_text("this is not a database, but some words in a file\n" * 100)
    with pytest.raises(InputError, match=r"history\.duckdb: cannot be opened"):
        open_for_writing(tmp_path / "history.duckdb")
