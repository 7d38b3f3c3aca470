"""MLflow's embedded store: made once, whole or not at all, and made anew where it was left half made."""

import contextlib
import os
import shutil
import signal
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from ndcg_ab.trackers.mlflow import store as mlflow_store
from ndcg_ab.trackers.mlflow.store import is_complete, make_store
from tests.stores import empty_mlflow

pytestmark = pytest.mark.slow


def changed(path: Path, *texts: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        for text in texts:
            database.execute(text)
        database.commit()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of one that is not there yet; making it is quick."""
    monkeypatch.setattr(mlflow_store, "make_empty_store", lambda path: shutil.copy(empty_mlflow(), path))
    return tmp_path / "mlflow.db"


BROKEN = {
    "no version": ["delete from alembic_version"],
    "an earlier version": ["update alembic_version set version_num = '451aebb31d03'"],
    "a table that is missing": ["drop table latest_metrics"],
}
WHOLE = {
    "as it was made": [],
    "another's table": ["create table mine (x)"],
    "an experiment, whatever else": [
        "insert into experiments (experiment_id, name) values (7, 'mine')",
        "delete from alembic_version",
    ],
}


@pytest.mark.parametrize("name", BROKEN)
def test_one_that_is_half_made_is_set_aside(name: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (1, 2):
        shutil.copy(empty_mlflow(), store)
        changed(store, *BROKEN[name])
        broken = store.read_bytes()
        assert not is_complete(store)
        make_store(f"sqlite:///{store}")
        assert is_complete(store)
        aside = store.with_name(f"mlflow.db.broken-{number}")
        assert aside.read_bytes() == broken
        assert f"{store}: was half made, and holds nothing: set aside as {aside.name}" in capsys.readouterr().err


def test_an_empty_file_is_half_made(store: Path) -> None:
    store.touch()
    make_store(f"sqlite:///{store}")
    assert is_complete(store)


@pytest.mark.parametrize("name", WHOLE)
def test_one_that_holds_something_is_left_alone(name: str, store: Path) -> None:
    shutil.copy(empty_mlflow(), store)
    changed(store, *WHOLE[name])
    before = store.read_bytes()
    make_store(f"sqlite:///{store}")
    assert store.read_bytes() == before
    assert [path.name for path in store.parent.iterdir()] == ["mlflow.db"]


@pytest.mark.parametrize("content", [b"no database\n" * 1000, None], ids=["a text", "another's database"])
def test_what_is_no_store_is_left_alone(content: bytes | None, store: Path) -> None:
    if content is None:
        changed(store, "create table mine (x)")
    else:
        store.write_bytes(content)
    before = store.read_bytes()
    make_store(f"sqlite:///{store}")
    assert store.read_bytes() == before


def test_three_at_once_make_one(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def slowly(path: Path) -> None:
        made.append(path)
        time.sleep(0.2)
        assert not store.exists(), "nobody sees it before it is whole"
        shutil.copy(empty_mlflow(), path)

    empty_mlflow()
    monkeypatch.setattr(mlflow_store, "make_empty_store", slowly)
    threads = [threading.Thread(target=make_store, args=(f"sqlite:///{store}",)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), is_complete(store)) == (1, True)


def test_one_that_is_killed_leaves_nothing_in_the_way(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty_mlflow()

    def die(path: Path) -> None:
        path.write_bytes(b"half")
        path.with_name(f"{path.name}-journal").write_bytes(b"half")
        os.kill(os.getpid(), signal.SIGKILL)

    if (child := os.fork()) == 0:
        monkeypatch.setattr(mlflow_store, "make_empty_store", die)
        make_store(f"sqlite:///{store}")
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert not store.exists()
    make_store(f"sqlite:///{store}")
    assert is_complete(store)
    assert sorted(path.name for path in store.parent.iterdir()) == [".mlflow.db.lock", "mlflow.db"]


def test_mlflow_takes_what_is_made(tmp_path: Path) -> None:
    import mlflow

    uri = f"sqlite:///{tmp_path / 'out' / 'mlflow.db'}"
    make_store(uri)
    assert is_complete(tmp_path / "out" / "mlflow.db")
    assert mlflow.MlflowClient(tracking_uri=uri).get_experiment_by_name("Default").experiment_id == "0"
