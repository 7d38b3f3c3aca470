"""A full disk and memory that runs out, at every step of a night: the history stands, and nothing lies about."""

import contextlib
import errno
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.duckdb import DuckDBEngine, GrowingDatabase
from ndcg_ab.errors import InputError, SqlError
from ndcg_ab.flows.cli.exit_codes import UNUSABLE, report_error
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history import database, working_folder
from ndcg_ab.history.timeline import read_timeline
from ndcg_ab.pipeline import pulls, stages
from ndcg_ab.report import bundle_files
from ndcg_ab.runs import folder
from ndcg_ab.runs import run as kept_stages
from tests.small_evaluation import calling, changed_run, perform_run, plain_page, small, tables_of, unlogged

FULL = OSError(errno.ENOSPC, "No space left on device")
FULL_DUCKDB = duckdb.IOException('IO Error: Could not write file "x": No space left on device')
MEMORY = MemoryError("Unable to allocate 9 GiB")
MEMORY_DUCKDB = duckdb.OutOfMemoryException("Out of Memory Error: failed to allocate")


def in_sql(cause: Exception) -> SqlError:
    error = SqlError(f"sql/1_check/110_x.sql: {cause}")
    error.__cause__ = cause
    return error


# What fails, as which object's attribute, with what, and what is said.
FAULTS: dict[str, tuple[Any, str, Exception, str]] = {
    "pulled, disk": (folder.papq, "write_table", FULL, "OUT: there is no room (No space left on device): make some"),
    "pulled, memory": (pulls, "pull_source", MEMORY, "memory ran out: Unable to allocate"),
    "history looked at, disk": (
        database,
        "records_table",
        FULL_DUCKDB,
        "make some, and run again; what it holds is unharmed",
    ),
    "history looked at, memory": (database, "records_table", MEMORY_DUCKDB, "memory ran out: Out of Memory Error"),
    "loaded, disk": (DuckDBEngine, "_add_parts", FULL_DUCKDB, "OUT: there is no room (IO Error: Could not write file"),
    "scored, disk": (
        DuckDBEngine,
        "_make",
        in_sql(FULL_DUCKDB),
        "OUT: there is no room (sql/1_check/110_x.sql: IO Error",
    ),
    "scored, memory": (DuckDBEngine, "_make", in_sql(MEMORY_DUCKDB), "memory ran out: sql/1_check/110_x.sql"),
    "values, disk": (kept_stages, "write_table", FULL, "No space left on device"),
    "tested, memory": (stages, "make_outcome", MEMORY, "memory ran out"),
    "entered, disk": (bundles.Bundle, "add_to_history", FULL_DUCKDB, "make some, and run again"),
    "bundle's file, disk": (bundles, "write_text", FULL, "No space left on device"),
    "begun, disk": (working_folder, "lock_folder", FULL, "output = 'OUT': cannot be written: [Errno 28] No space left"),
}


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


@pytest.mark.soak
@pytest.mark.slow
def test_what_runs_out_at_any_step_costs_that_night_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation = small(tmp_path)
    monkeypatch.setattr(bundle_files, "write_report", plain_page)
    first = unlogged(evaluation).bundle
    before, files = tables_of(evaluation), set(first.parent.iterdir())
    changed_run(tmp_path, 3)
    for name, (place, attribute, error, words) in FAULTS.items():
        with monkeypatch.context() as planted, pytest.raises(Exception) as raised:
            planted.setattr(place, attribute, failing(error))
            unlogged(evaluation)
        code = report_error(raised.value)
        said = capsys.readouterr().err
        assert (code, said.count("\n")) == (UNUSABLE, 1), f"{name}: {said}"
        assert words.replace("OUT", str(evaluation.output)) in said, f"{name}: {said}"
        assert set(first.parent.iterdir()) - set(first.parent.glob("*.failed.json")) == files, name
    assert tables_of(evaluation) == before
    whole_without_its_row(evaluation, monkeypatch)
    changed_run(tmp_path, 4)
    unlogged(evaluation)
    tables = tables_of(evaluation)
    assert [row[0] for row in tables["evaluation"]] == [1, 2, 3]
    assert [row for row in tables["comparison"] if row[0] == 1] == before["comparison"]


def whole_without_its_row(evaluation: Evaluation, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundle is in its place, and the transaction cannot be ended: the next to open the history enters it."""

    transaction = GrowingDatabase.transaction

    @contextlib.contextmanager
    def full(database: GrowingDatabase) -> Iterator[None]:
        with transaction(database):
            yield
            raise duckdb.TransactionException("Failed to commit: No space left on device")

    with monkeypatch.context() as planted, pytest.raises(InputError, match=r"is whole.*the next run enters it"):
        planted.setattr(GrowingDatabase, "transaction", full)
        unlogged(evaluation)
    assert len(bundles.finished_bundles(evaluation.output_directory / "small")) == 2
    assert len(tables_of(evaluation)["evaluation"]) == 1


@pytest.mark.slow
def test_what_runs_out_when_the_bundle_is_safe_costs_no_night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = small(tmp_path, retention={"query_scores": 1})
    seen = []

    def draw(bundle: Path) -> None:
        seen.append((len(tables_of(evaluation)["evaluation"]), bundles.read_bundle(bundle).ordinal))
        raise MEMORY

    monkeypatch.setattr(bundle_files, "write_report", draw)
    monkeypatch.setattr(database, "delete_old_query_scores", failing(MEMORY_DUCKDB))
    call = calling(publish=failing(OSError(errno.ENOSPC, "database or disk is full")))
    performed = perform_run(evaluation, call, at=datetime.now(UTC) - timedelta(minutes=1))
    assert seen == [(1, 1)], "the history has it before anything is drawn"
    assert "there is no room (No space left on device)" in performed.pending
    assert "the page cannot be drawn: MemoryError" in (performed.bundle / bundle_files.PAGE).read_text()
    with monkeypatch.context() as planted, pytest.raises(InputError, match="No space left"):
        planted.setattr(bundles, "write_text", failing(FULL))
        unlogged(evaluation)
    assert unlogged(evaluation).reused
    assert read_timeline(evaluation, None, None).evaluations[0].ordinal == 1


def test_a_history_that_cannot_be_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "history.duckdb"
    with database.open_history_for(path):
        pass
    monkeypatch.setattr(database.os, "access", lambda *_: False)
    monkeypatch.setattr(database, "create_history", lambda found: found == path and pytest.fail("it is written to"))
    with database.open_history_to_read(path) as past:
        assert database.ordinals(past) == set()
    assert [found.name for found in tmp_path.iterdir()] == ["history.duckdb"]


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ('Cannot open file "h": Read-only file system', "make its folder writable, or name another `output`"),
        ('Cannot open file "h": Permission denied', "make its folder writable"),
        ("Failed to commit: No space left on device", "make some, and run again"),
        ("The file is not a valid DuckDB database file!", "if it is damaged, move it away"),
    ],
)
def test_the_advice_is_that_of_the_trouble(said: str, advice: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=advice), database.open_history_for(tmp_path / "history.duckdb"):
        raise duckdb.IOException(said)


def test_the_folder_of_bundles_that_cannot_be_written_is_said_when_publishing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles.Path, "open", failing(OSError(errno.EROFS, "Read-only file system")))
    with (
        pytest.raises(InputError, match="publishing is noted beside the bundle: make the folder writable"),
        bundles.lock_publishing(tmp_path / "bundle"),
    ):
        pass


def test_a_backslash_in_the_output_is_refused(tmp_path: Path) -> None:
    evaluation = small(tmp_path, output=tmp_path / "a\\b")
    with pytest.raises(InputError, match="holds a backslash"):
        unlogged(evaluation)
    assert [path.name for path in tmp_path.iterdir()] == ["inputs"]


def test_a_history_that_cannot_be_begun_leaves_no_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The disk is full when its tables are written."""

    def fill(self: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(database.GrowingDatabase, "close", fill)
    with pytest.raises(OSError, match="No space left"):
        database.create_history(tmp_path / "history.duckdb")
    assert list(tmp_path.iterdir()) == []
