"""MLflow's embedded store: made once, whole or not at all."""

import os
import shutil
import signal
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import mlflow
import pytest

from ndcg_ab.trackers.mlflow import store as mlflow_store
from ndcg_ab.trackers.mlflow.store import is_nonempty_file, make_embedded_store, set_store_tags
from tests.small_evaluation import perform_run, small
from tests.stores import empty_mlflow, with_store

pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of one that is not there yet; making it is quick."""
    monkeypatch.setattr(mlflow_store, "make_empty_store", lambda path: shutil.copy(empty_mlflow(), path))
    return tmp_path / "mlflow.db"


def test_an_empty_file_is_none(store: Path) -> None:
    store.touch()
    make_embedded_store(f"sqlite:///{store}")
    assert is_nonempty_file(store)


def test_what_is_there_is_left_alone(store: Path) -> None:
    store.write_bytes(b"no database\n" * 1000)
    make_embedded_store(f"sqlite:///{store}")
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
    threads = [threading.Thread(target=make_embedded_store, args=(f"sqlite:///{store}",)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), is_nonempty_file(store)) == (1, True)


def test_one_that_is_killed_leaves_nothing_in_the_way(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty_mlflow()

    def die(path: Path) -> None:
        path.write_bytes(b"half")
        path.with_name(f"{path.name}-journal").write_bytes(b"half")
        os.kill(os.getpid(), signal.SIGKILL)

    if (child := os.fork()) == 0:
        monkeypatch.setattr(mlflow_store, "make_empty_store", die)
        make_embedded_store(f"sqlite:///{store}")
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert not store.exists()
    make_embedded_store(f"sqlite:///{store}")
    assert is_nonempty_file(store)
    assert sorted(path.name for path in store.parent.iterdir()) == [".mlflow.db.lock", "mlflow.db"]


def test_mlflow_takes_what_is_made(tmp_path: Path) -> None:
    import mlflow

    uri = f"sqlite:///{tmp_path / 'out' / 'mlflow.db'}"
    make_embedded_store(uri)
    assert is_nonempty_file(tmp_path / "out" / "mlflow.db")
    assert mlflow.MlflowClient(tracking_uri=uri).get_experiment_by_name("Default").experiment_id == "0"


def test_a_later_night_is_noted_in_the_store_without_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MLflow reads the tags that were written in SQL; a run that is not complete is left to MLflow."""
    from ndcg_ab.trackers.mlflow import client

    evaluation = small(with_store(tmp_path), mlflow={"tracking_uri": f"sqlite:///{tmp_path}/mlflow.db"})
    days = [datetime(2026, 11, day, tzinfo=UTC) for day in (20, 21, 22)]
    published = perform_run(evaluation, at=days[0]).published
    monkeypatch.setattr(client, "log_bundle", lambda *_: pytest.fail("MLflow was asked"))
    assert [perform_run(evaluation, at=day).published for day in days[1:]] == [published, published]
    store = mlflow.MlflowClient(tracking_uri=f"sqlite:///{tmp_path}/mlflow.db")
    experiment = store.get_experiment_by_name(evaluation.name)
    assert experiment.tags["mlflow.note.content"].startswith("**2026-11-22 ")
    (run,) = store.search_runs([experiment.experiment_id], "tags.kind = 'comparison'")
    assert (run.data.tags["reused"], run.data.tags["reused_last"]) == ("2", days[2].isoformat())
    store.delete_tag(run.info.run_id, "published")
    wanted = {name: run.data.tags[name] for name in ("bundle_key", "content_key")} | {"published": "true"}
    assert set_store_tags(store.tracking_uri, evaluation.name, wanted, {}, {}, 0) is None
