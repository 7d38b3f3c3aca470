"""Bundles and the history: two at once, what is damaged, what is made up for, what is removed."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ndcg_ab import __version__
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.engines.duckdb import GrowingDatabase
from ndcg_ab.errors import InputError
from ndcg_ab.flows.cli.exit_codes import report_error
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history import database, working_folder
from ndcg_ab.history.bundle import lock_publishing, mark_published
from ndcg_ab.pipeline.context import Context
from tests.paths import ROOT
from tests.repeated import mostly_soaked
from tests.sentences import refusal_text
from tests.small_evaluation import calling, changed_run, nights, perform_run, rows_of, runs, small, unlogged
from tests.stores import with_store

pytestmark = pytest.mark.usefixtures("plain_pages")
BEGINNING = "import os, sys\nfrom pathlib import Path\n"
RUNNING = (
    "from ndcg_ab.report import bundle_files\nfrom tests.small_evaluation import plain_page, small, unlogged\n"
    "bundle_files.write_report = plain_page\nevaluation = small(Path(sys.argv[1]))\n"
)
# A fork for each run: what takes a second to import is imported once.
TWO_RUNS = (
    RUNNING
    + """
for _ in range(2):
    if os.fork() == 0:
        try:
            os.write(1, f"{unlogged(evaluation, force=True).bundle}\\n".encode())
        except BaseException as error:
            os.write(2, repr(error).encode())
        os._exit(0)
for _ in range(2):
    os.wait()
"""
)
# A fork for each publisher: what takes seconds to import is imported once.
PUBLISHERS = """import os, sys
from pathlib import Path
from mlflow.store.tracking import sqlalchemy_store
from sqlalchemy.orm import configure_mappers
from ndcg_ab.trackers import tracker_for_bundle
configure_mappers()
for name in sys.argv[1:]:
    if os.fork() == 0:
        os.write(1, f"{tracker_for_bundle(None, Path(name)).publish(Path(name)).new}\\n".encode())
        os._exit(0)
for _ in sys.argv[1:]:
    os.wait()
"""


def process(code: str, folder: Path, **options: Any) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", BEGINNING + code, str(folder)]
    return subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.PIPE, **options
    )


def ordinals(folders: list[Path]) -> list[int]:
    return [bundles.read_bundle(folder).ordinal for folder in folders]


@pytest.mark.slow
def test_two_runs_at_once_wait_for_each_other(tmp_path: Path) -> None:
    small(tmp_path)
    said, errors = process(TWO_RUNS, tmp_path).communicate(timeout=120)
    folders = [Path(line) for line in said.splitlines()]
    assert len(folders) == 2, errors
    assert sorted(ordinals(folders)) == [1, 2]
    assert rows_of(small(tmp_path), "select ordinal from evaluation order by ordinal") == [(1,), (2,)]
    assert sorted(path.name for path in (tmp_path / "out" / "small").glob("*")) == sorted(
        [*(folder.name for folder in folders), "history.duckdb", "inputs"]
    )


@pytest.mark.soak
def test_threads_of_one_process_wait_too(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    evaluation = small(tmp_path)
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: unlogged(evaluation, force=True), range(3)))
    assert sorted(ordinals([night.bundle for night in found])) == [1, 2, 3]


@pytest.mark.slow
def test_who_holds_the_history_is_said(tmp_path: Path) -> None:
    nights(tmp_path, 1)
    evaluation = small(tmp_path)
    code = (
        "from ndcg_ab.history import database\n"
        f"with database.open_history_for(Path({str(database.history_path(evaluation))!r})):\n"
        "    print('open', flush=True)\n    sys.stdin.readline()\n"
    )
    holder = process(code, tmp_path)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with (
            pytest.raises(InputError) as caught,
            database.open_history_for(database.history_path(evaluation), patience=0.3),
        ):
            pass
        text = str(caught.value)
        assert f"process {holder.pid} has had it open" in text
        assert "\n" not in text
        retained = small(tmp_path, retention={"query_scores": 1})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(database.open_history_for.__wrapped__, "__defaults__", (0.3,))
            assert bundles.remove_old_bundles(retained) == [], "the next night will do it"
    finally:
        holder.communicate("\n", timeout=60)


@pytest.mark.soak
def test_two_publishers_log_one_bundle_once(tmp_path: Path) -> None:
    evaluation = small(with_store(tmp_path))
    bundle = unlogged(evaluation).bundle
    names = [str(bundle), os.path.relpath(bundle, ROOT)]
    command = [sys.executable, "-c", PUBLISHERS, *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert sorted(done.stdout.split()) == ["False", "True"], done.stderr
    assert [run["kind"] for run in runs(evaluation)] == ["comparison", "system", "system"]
    digests = {row["name"]: row["digest"] for row in bundles.read_bundle(bundle).inputs}
    parent, *children = runs(evaluation)
    assert parent["inputs"] == {
        "judgments judgments.qrels": digests["judgments.qrels"],
        "ranking old": digests["old"],
        "ranking new": digests["new"],
        "configuration small": bundles.read_bundle(bundle).configuration_key,
    }
    assert all(len(child["inputs"]) == 3 for child in children)


def test_a_kill_is_told_from_a_night_at_work(tmp_path: Path) -> None:
    evaluation = small(tmp_path)
    with working_folder.working_folder(evaluation) as folder:
        code = "from ndcg_ab.history.working_folder import clear_abandoned\n"
        code += "clear_abandoned(Path(sys.argv[1]) / 'out' / 'small')\n"
        assert process(code, tmp_path).wait(60) == 0
        assert folder.is_dir()
        (folder.parent / ".20200101T000000Z.partial").mkdir()
        os.utime(folder.parent / ".20200101T000000Z.partial", (0, 0))
        with working_folder.working_folder(evaluation) as second:
            assert second != folder
            assert len(list(folder.parent.iterdir())) == 2, "the old one is gone, the one at work is not"
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_damaged_history_is_said_and_made_anew_from_the_bundles(tmp_path: Path) -> None:
    evaluation = small(tmp_path, retention={"bundles": 2})
    folders = nights(tmp_path, 2)
    for folder in folders:
        mark_published(folder, {})
    changed_run(tmp_path, 5)
    folders.append(unlogged(evaluation).bundle)
    assert not folders[0].exists()
    path = database.history_path(evaluation)
    before = rows_of(evaluation, "select * from comparison where ordinal > 1 order by all")
    content = path.read_bytes()
    for damaged in (b"", b"no database at all" * 1000, content[:9000]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"move it away with history\.duckdb\.wal: the next run") as caught:
            unlogged(evaluation)
        assert "\n" not in str(caught.value)
    path.rename(tmp_path / "damaged.duckdb")
    assert unlogged(evaluation).reused, "the bundles are entered again first"
    assert rows_of(evaluation, "select ordinal from evaluation order by ordinal") == [(2,), (3,)]
    assert rows_of(evaluation, "select * from comparison order by all") == before
    with database.open_history_for(path) as history:
        assert database.next_ordinal(history) == 4


@pytest.mark.soak
def test_damaged_bundles_keep_nobody_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluation = small(tmp_path)
    folders = nights(tmp_path, 5)
    database.history_path(evaluation).unlink()
    (folders[0] / "bundle.json").write_text('{"key": "small/x", "ordinal"')
    (folders[1] / "bundle.json").write_text('{"key": "small/y", "ordinal": 2, "outcome": []}')
    (folders[2] / "query_scores.parquet").write_bytes(b"PAR1")
    changed_run(tmp_path, 9)
    assert bundles.read_bundle(unlogged(evaluation).bundle).ordinal == 6
    assert rows_of(evaluation, "select ordinal from evaluation order by ordinal") == [(4,), (5,), (6,)]
    said = capsys.readouterr().err.splitlines()
    assert all(any(str(folder) in line for line in said) for folder in folders[:3])
    assert [folder.name for folder in bundles.unpublished_bundles(evaluation)][1:3] == [
        folder.name for folder in folders[3:]
    ]


@pytest.mark.slow
def test_a_copy_of_a_bundle_is_no_other_night(tmp_path: Path) -> None:
    (folder,) = nights(tmp_path, 1)
    shutil.copytree(folder, folder.with_name(folder.name + "-copy"))
    changed_run(tmp_path, 4)
    unlogged(small(tmp_path))
    assert rows_of(small(tmp_path), "select count(*) from evaluation") == [(2,)]


@pytest.mark.slow
def test_a_night_that_is_made_up_for_is_not_the_oldest(tmp_path: Path) -> None:
    """Retention goes by the order in which evaluations were finished, not by the days they stand for."""
    folders = nights(tmp_path, 2)
    for folder in folders:
        mark_published(folder, {})
    evaluation = small(tmp_path, retention={"bundles": 2})
    changed_run(tmp_path, 7)

    def mark(run: Context, _: str) -> None:
        mark_published(run.bundle, {})

    at = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
    night = perform_run(evaluation, calling(publish=mark), at=at)
    assert night.bundle.name == "20200102T030405Z"
    assert [path.exists() for path in (*folders, night.bundle)] == [False, True, True]
    bundle = bundles.read_bundle(night.bundle)
    assert (bundle.ordinal, bundle.began, bundle.finished) == (3, at, at)


def test_retention(tmp_path: Path) -> None:
    folders = nights(tmp_path, 3)
    for folder in (folders[0], folders[2]):
        mark_published(folder, {})
    evaluation = small(tmp_path, retention={"bundles": 1, "query_scores": 2})
    assert bundles.remove_old_bundles(evaluation) == [folders[0]]
    assert [folder.exists() for folder in folders] == [False, True, True], "never an unpublished one"
    assert rows_of(evaluation, "select distinct ordinal from query_score order by all") == [(2,), (3,)]
    assert rows_of(evaluation, "select count(*) from evaluation") == [(3,)]
    assert rows_of(evaluation, "select count(distinct ordinal) from comparison") == [(3,)]
    assert bundles.remove_old_bundles(evaluation) == []
    assert bundles.remove_old_bundles(small(tmp_path)) == [], "by default everything stays"


def test_a_file_in_the_way_of_the_output_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluation = small(tmp_path)
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError) as caught:
        unlogged(evaluation)
    assert report_error(caught.value) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(f"ndcg-ab: output = {str(tmp_path / 'out')!r}: {tmp_path / 'out'} is no folder: ")


@pytest.mark.slow
@pytest.mark.parametrize("size", mostly_soaked([100, 30_000], kept=[30_000]), ids=["at once", "at a commit"])
def test_an_output_directory_that_is_full(size: int, tmp_path: Path) -> None:
    nights(tmp_path, 1)
    evaluation = small(tmp_path)
    changed_run(tmp_path, 1)
    limit = "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limit += f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
    code = limit + (
        "from ndcg_ab.flows.cli.exit_codes import report_error\ntry:\n    unlogged(evaluation)\n"
        "except Exception as error:\n    sys.exit(report_error(error))\n"
    )
    one = process(RUNNING + code, tmp_path)
    _, said = one.communicate(timeout=60)
    assert (one.returncode, len(said.splitlines())) == (2, 1), said
    assert said.startswith(f"ndcg-ab: output = {str(tmp_path / 'out')!r}: cannot be written: ")
    assert list((tmp_path / "out" / "small").glob(".2*")) == []
    assert rows_of(evaluation, "select count(*) from evaluation") == [(1,)]


@pytest.mark.slow
def test_waiting_for_a_publisher_has_an_end(tmp_path: Path) -> None:
    (tmp_path / "bundle").mkdir()
    began = time.monotonic()
    with (
        lock_publishing(tmp_path / "bundle"),
        pytest.raises(InputError, match="another process has been publishing"),
        lock_publishing(tmp_path / "bundle", patience=0.3),
    ):
        pass
    assert time.monotonic() - began < 5


def test_a_bundle_is_read_as_it_was_written(tmp_path: Path) -> None:
    (folder,) = nights(tmp_path, 1)
    content = json.loads((folder / "bundle.json").read_text())
    bundle = bundles.read_bundle(folder)
    assert json.loads(bundle.outcome.to_json()) == content["outcome"]
    assert bundle.content_key == content["content_key"]
    with pytest.raises(InputError, match=r"holds no bundle\.json"):
        bundles.read_bundle(tmp_path)


def test_what_earlier_versions_wrote_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / bundles.BUNDLE).write_text('{"schema": 1, "program": "0.1.0"}')
    assert refusal_text(bundles.read_bundle, tmp_path) == (
        f"{tmp_path / bundles.BUNDLE}: ndcg-ab 0.1.0 wrote it, and {__version__} cannot read it: read it with that"
        " version, or move the folder away"
    )
    history = tmp_path / database.HISTORY
    with GrowingDatabase(history) as past:
        past.append("evaluation", pa.table({"ordinal": [1]}))
    with pytest.raises(InputError) as caught, database.open_history_for(history):
        pass
    assert str(caught.value) == (
        f"{history}: a version before 0.3.0 wrote it: move it away; the next run begins a new history"
    )


def test_a_bundle_keeps_no_plain_secret_wherever_it_stands(tmp_path: Path) -> None:
    """Not even at a key that is not looked up when it is used, or in what a source calls its place."""
    shutil.copy(nights(tmp_path / "kept", 1)[0] / bundles.BUNDLE, tmp_path)
    bundle = bundles.read_bundle(tmp_path)
    address = "https://me:pl4in-w0rd@data.example/qrels?api_key=k3y-in-a-query"
    evaluation = bundle.evaluation.model_copy(update={"documents": FileSource(file=Path(address))})
    inputs = tuple({**row, "origin": address} for row in bundle.inputs)
    dataclasses.replace(bundle, evaluation=evaluation, inputs=inputs).write()
    text = (tmp_path / bundles.BUNDLE).read_text()
    assert text.count("https://me:•••@data.example/qrels?api_key=•••") == len(inputs)
    assert text.count("https:/me:•••@data.example/qrels?api_key=•••") == 1, "a path has one slash less"
    assert "pl4in" not in text
    assert "k3y" not in text
