"""MLflow's embedded store: made once, whole or not at all."""

import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from ndcg_ab.trackers.mlflow import store as mlflow_store
from ndcg_ab.trackers.mlflow.store import is_there, make_store
from tests.stores import empty_mlflow

pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of one that is not there yet; making it is quick."""
    monkeypatch.setattr(mlflow_store, "make_empty_store", lambda path: shutil.copy(empty_mlflow(), path))
    return tmp_path / "mlflow.db"


def test_an_empty_file_is_none(store: Path) -> None:
    store.touch()
    make_store(f"sqlite:///{store}")
    assert is_there(store)


def test_what_is_there_is_left_alone(store: Path) -> None:
    store.write_bytes(b"no database\n" * 1000)
    make_store(f"sqlite:///{store}")
    assert store.read_bytes() == b"no database\n" * 1000
    assert [path.name for path in store.parent.iterdir()] == ["mlflow.db"]


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
    assert (len(made), is_there(store)) == (1, True)


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
    assert is_there(store)
    assert sorted(path.name for path in store.parent.iterdir()) == [".mlflow.db.lock", "mlflow.db"]


def test_mlflow_takes_what_is_made(tmp_path: Path) -> None:
    import mlflow

    uri = f"sqlite:///{tmp_path / 'out' / 'mlflow.db'}"
    make_store(uri)
    assert is_there(tmp_path / "out" / "mlflow.db")
    assert mlflow.MlflowClient(tracking_uri=uri).get_experiment_by_name("Default").experiment_id == "0"
