"""MLflow away, hanging, failing or dying: the night is finished and kept, and delivered once, in order."""

import contextlib
import json
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.environment import DEFAULTS, prepare_environment
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import TrackingError
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history import database
from ndcg_ab.pipeline.context import Context, Stage
from ndcg_ab.pipeline.stages import Call, run_stages
from ndcg_ab.report import bundle_files
from ndcg_ab.runs import run as runs_run
from ndcg_ab.runs import run as stages
from ndcg_ab.runs.folder import RunFolder
from ndcg_ab.trackers import base
from ndcg_ab.trackers import make_tracker as tracker_of_ours
from tests.commands import invoke
from tests.repeated import mostly_soaked
from tests.slow.broken_servers import OUTAGES, closed, configuration, dripping, failing
from tests.small_evaluation import changed_run, nights, perform_run, plain_page, rows_of, runs, small, unlogged
from tests.stores import empty_mlflow, with_store

prepare_environment()

PENDING = 75
TIMEOUT = "MLFLOW_HTTP_REQUEST_TIMEOUT"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle_files, "write_report", plain_page)
    for name, value in ((TIMEOUT, "1"), ("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")):
        monkeypatch.setenv(name, value)


class Tracker:
    """A real MLflow server in a thread, which can be told to die after a number of requests."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.uri = f"http://127.0.0.1:{self.port}"
        self.folder = folder
        self.left = -1
        self.lost: list[str] = []

    @contextlib.contextmanager
    def up(self, requests: int = -1) -> Iterator[None]:
        """It answers; after `requests` of them it closes every connection without a word."""
        from mlflow.server import app
        from werkzeug.serving import WSGIRequestHandler, make_server

        self.left = requests
        tracker = self

        class Mortal(WSGIRequestHandler):
            def run_wsgi(self) -> None:
                tracker.left -= 1
                if tracker.left == -1:
                    tracker.lost.append(self.path)
                if tracker.left < 0 <= requests:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                super().run_wsgi()

            def log(self, *_: object) -> None:
                pass

        server = make_server("127.0.0.1", self.port, app, threaded=True, request_handler=Mortal)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        known = os.environ.get(TIMEOUT, "2")
        os.environ[TIMEOUT] = "30"  # it answers, however busy the machine is
        try:
            yield
        finally:
            os.environ[TIMEOUT] = known
            server.shutdown()
            thread.join()
            server.server_close()


@pytest.fixture(scope="module")
def tracker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tracker]:
    folder = tmp_path_factory.mktemp("tracker")
    names = {"FILE_STORE": f"sqlite:///{folder / 'server.db'}", "REGISTRY_STORE": f"sqlite:///{folder / 'server.db'}"}
    names |= {"ARTIFACT_ROOT": "mlflow-artifacts:/", "SERVE_ARTIFACTS": "true"}
    names |= {"ARTIFACT_DESTINATION": str(folder / "files")}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in names.items():
            patch.setenv(f"_MLFLOW_SERVER_{name}", value)
        made = Tracker(folder)
        shutil.copy(empty_mlflow(), folder / "server.db")
        with made.up():  # it opens its database at the first question
            import mlflow

            mlflow.MlflowClient(tracking_uri=made.uri).get_experiment_by_name("none")
        yield made


def logged_to(tracker: Tracker, folder: Path, **changes: Any) -> Evaluation:
    """An evaluation with an experiment of its own at the server."""
    return small(folder, mlflow={"tracking_uri": tracker.uri, "experiment": folder.name}, **changes)


def publish_one(evaluation: Evaluation, folder: Path) -> Context:
    """A night from the moment when its bundle is kept."""
    (bundle,) = nights(folder, 1)
    kept = Context(evaluation, RunFolder(evaluation, folder), bundle=bundle)
    finish(kept)
    return kept


def finish(kept: Context, call: Call = Stage.perform) -> None:
    """What a run does once its bundle is kept."""
    with runs_run.record_errors_as_pending(kept):
        run_stages(kept, (stages.draw_page, stages.publish), call)


def found_runs(tracker: Tracker, evaluation: Evaluation) -> list[tuple[int, str, bool, str]]:
    with tracker.up():
        return [(run["ordinal"], run["kind"], run["complete"], run["status"]) for run in runs(evaluation)]


def whole(nights: int) -> list[tuple[int, str, bool, str]]:
    """Every night once: a parent run that is complete, and two children."""
    kinds = (("comparison", True), ("system", False), ("system", False))
    return [(ordinal, kind, done, "FINISHED") for ordinal in range(1, nights + 1) for kind, done in kinds]


@pytest.mark.parametrize("outage", mostly_soaked(OUTAGES, kept=["hanging"]))
def test_a_night_without_mlflow_is_whole(outage: str, tmp_path: Path) -> None:
    import mlflow  # noqa: F401  # which takes seconds that are not the server's

    with OUTAGES[outage]() as port:
        evaluation = small(tmp_path, mlflow={"tracking_uri": f"http://127.0.0.1:{port}"})
        began = time.monotonic()
        night = perform_run(evaluation)
        assert time.monotonic() - began < 20
    assert f"http://127.0.0.1:{port}: " in night.pending
    assert bundles.read_bundle(night.bundle).ordinal == 1
    assert rows_of(evaluation, "select ordinal from evaluation") == [(1,)]
    assert bundles.unpublished_bundles(evaluation) == [night.bundle]


def test_a_server_that_hangs_costs_half_a_minute_at_most() -> None:
    """26.7 s measured, with a timeout of 13 s and one retry."""
    attempts = 1 + int(DEFAULTS["MLFLOW_HTTP_REQUEST_MAX_RETRIES"])
    assert attempts * int(DEFAULTS["MLFLOW_HTTP_REQUEST_TIMEOUT"]) <= 28


def test_a_server_that_answers_byte_by_byte_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ndcg_ab.pipeline.context.PUBLISHING", 0.6)
    monkeypatch.setattr(base, "PATIENCE", 0.6)
    with dripping() as port:
        evaluation = small(tmp_path, mlflow={"tracking_uri": f"http://127.0.0.1:{port}"})
        night = publish_one(evaluation, tmp_path)
        assert night.pending == "was given up after 1 s: the server answers, but too slowly"
        assert bundles.unpublished_bundles(evaluation) == [night.bundle]
        with pytest.raises(TrackingError, match="was given up after 1 s"):
            tracker_of_ours(evaluation).publish(night.bundle, evaluation)


@pytest.mark.soak
def test_attempts_and_pending_nights_share_the_time_for_publishing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prefect tries the step again, and then the run goes on without Prefect: each had 180 s of its own."""
    monkeypatch.setattr("ndcg_ab.pipeline.context.PUBLISHING", 3.0)
    seconds = []

    def thrice(stage: Stage, found: Context, part: str) -> str | None:
        for _ in range(2 if stage is stages.publish else 0):
            with contextlib.suppress(TrackingError):
                stage.run(found, part)
        began = time.monotonic()
        try:
            return stage.run(found, part)
        finally:
            seconds.append(time.monotonic() - began)

    evaluation = small(tmp_path)
    nights = []
    for turn in range(3):
        changed_run(tmp_path, turn)
        nights.append(unlogged(evaluation).bundle)
    with dripping() as port:
        evaluation = small(tmp_path, mlflow={"tracking_uri": f"http://127.0.0.1:{port}"})
        began = time.monotonic()
        kept = Context(evaluation, RunFolder(evaluation, tmp_path), bundle=nights[-1])
        finish(kept, thrice)
    assert 3.0 <= time.monotonic() - began < 7.5
    assert seconds[-1] < 0.5, "nothing was left for another attempt"
    assert kept.pending == "was given up after 3 s: the server answers, but too slowly"
    assert len(bundles.unpublished_bundles(evaluation)) == 3


def test_a_server_of_something_else_is_said(tmp_path: Path) -> None:
    with failing(200, b"{}") as port:
        night = publish_one(small(tmp_path, mlflow={"tracking_uri": f"http://127.0.0.1:{port}"}), tmp_path)
    said = f"http://127.0.0.1:{port}: answers, but not as an MLflow server does; is it one?"
    assert night.pending == said


def test_uploads_get_more_time_unless_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    from ndcg_ab.config.environment import extend_upload_timeout

    name = "MLFLOW_HTTP_REQUEST_TIMEOUT"
    for given, during in ((DEFAULTS[name], "60"), ("5", "5")):
        monkeypatch.setenv(name, given)
        with extend_upload_timeout():
            assert os.environ[name] == during
        assert os.environ[name] == given


def test_three_pending_nights_are_delivered_by_the_next(tracker: Tracker, tmp_path: Path) -> None:
    evaluation = logged_to(tracker, tmp_path)
    folders = nights(tmp_path, 3)
    assert bundles.unpublished_bundles(evaluation) == folders
    (folders[1] / "bundle.json").write_text("{}")  # one of them is damaged
    changed_run(tmp_path, 3)
    with tracker.up():
        night = perform_run(evaluation)
        assert (night.pending, night.published["delivered"]) == (None, 2)
        assert perform_run(evaluation).published["delivered"] == 0
    assert found_runs(tracker, evaluation) == [row for row in whole(4) if row[0] != 2]


def test_a_night_in_which_nothing_changed_reaches_mlflow_once(tracker: Tracker, tmp_path: Path) -> None:
    """Its tags; what MLflow could not be told is told by the next run."""
    evaluation = logged_to(tracker, tmp_path)
    days = [datetime(2026, 11, day, tzinfo=UTC) for day in (20, 21, 22)]
    with tracker.up():
        assert perform_run(evaluation, at=days[0]).pending is None
    night = perform_run(evaluation, at=days[1])
    assert (night.reused, bundles.unpublished_bundles(evaluation)) == (True, [night.bundle])
    for _ in range(2):
        with tracker.up():
            assert perform_run(evaluation, at=days[2]).pending is None
            tags = parent_tags(tracker, evaluation)
        assert (tags["reused"], tags["reused_last"]) == ("2", days[2].isoformat())
    assert bundles.unpublished_bundles(evaluation) == []
    assert found_runs(tracker, evaluation) == whole(1)


def parent_tags(tracker: Tracker, evaluation: Evaluation) -> dict[str, str]:
    import mlflow

    client = mlflow.MlflowClient(tracking_uri=tracker.uri)
    experiment = client.get_experiment_by_name(evaluation.mlflow.experiment)
    (parent,) = client.search_runs([experiment.experiment_id], "tags.kind = 'comparison'")
    found: dict[str, str] = parent.data.tags
    return found


@pytest.mark.parametrize("requests", mostly_soaked([0, 1, 5, 9, 16, 23, 29], kept=[16]))
def test_a_server_that_dies_half_way_has_the_night_once(requests: int, tracker: Tracker, tmp_path: Path) -> None:
    evaluation = logged_to(tracker, tmp_path)
    with tracker.up(requests):
        night = perform_run(evaluation)
    if requests < 30:
        assert night.pending, tracker.lost
    with tracker.up():
        again = perform_run(evaluation)
    assert again.reused
    assert again.pending is None
    assert found_runs(tracker, evaluation) == whole(1)
    with tracker.up():
        assert model_values(tracker, evaluation) == [("new", 9), ("old", 2)]


def model_values(tracker: Tracker, evaluation: Evaluation) -> list[tuple[str, int]]:
    import mlflow

    client = mlflow.MlflowClient(tracking_uri=tracker.uri)
    experiment = client.get_experiment_by_name(evaluation.mlflow.experiment)
    models = client.search_logged_models([experiment.experiment_id])
    return sorted((model.name, len(model.metrics or [])) for model in models)


@pytest.mark.soak
def test_the_commands_say_what_is_pending_and_deliver_it(
    tracker: Tracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def command(*words: Any) -> tuple[int, str, str]:
        found = invoke([str(word) for word in words])
        return found.exit_code, found.stdout, found.stderr

    evaluation = logged_to(tracker, tmp_path)
    config = configuration(evaluation, tmp_path)
    for turn in range(3):
        changed_run(tmp_path, turn)
        perform_run(evaluation)
    folders = bundles.unpublished_bundles(evaluation)
    code, _, said = command("publish", folders[0])
    assert (code, f"the address of a server in a bundle ({tracker.uri}) is not trusted" in said) == (2, True)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", tracker.uri)
    code, _, said = command("publish", folders[0])
    assert code == PENDING
    assert f"logging of 1 evaluations is still pending: {tracker.uri}: " in said
    code, _, said = command("publish", config)
    assert (code, "logging of 3 evaluations" in said) == (PENDING, True)
    with tracker.up():
        code, out, _ = command("publish", folders[0])
        assert (code, out[:8]) == (0, "logged: "), out + said
        (folders[1] / "bundle.json").rename(tmp_path / "kept.json")
        (folders[1] / "bundle.json").write_text("{}")
        code, out, said = command("publish", config)
        assert (code, out.count("logged: "), str(folders[1]) in said) == (0, 1, True), "the others are delivered"
        (tmp_path / "kept.json").rename(folders[1] / "bundle.json")
        assert command("publish", config)[1].count("logged: ") == 1
        assert command("publish", config)[:2] == (0, "nothing is pending\n")
        assert command("publish", folders[2])[1].startswith("already there: ")
    assert found_runs(tracker, evaluation) == whole(3)


@pytest.mark.soak
def test_an_experiment_that_is_deleted_is_said(tmp_path: Path) -> None:
    import mlflow

    evaluation = small(with_store(tmp_path))
    perform_run(evaluation)
    client = mlflow.MlflowClient(tracking_uri=evaluation.mlflow.tracking_uri)
    experiment_id = client.get_experiment_by_name("small").experiment_id
    client.delete_experiment(experiment_id)
    changed_run(tmp_path, 1)
    night = perform_run(evaluation)
    assert "experiment 'small' is deleted" in night.pending
    assert "restore it, or name another one" in night.pending
    client.restore_experiment(experiment_id)
    assert perform_run(evaluation).pending is None
    assert [run["ordinal"] for run in runs(evaluation)] == [1, 1, 1, 2, 2, 2]


def test_a_store_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    import sqlite3

    from ndcg_ab.trackers import tracker_for_bundle

    evaluation = small(with_store(tmp_path))
    night = perform_run(evaluation)
    with contextlib.closing(sqlite3.connect(tmp_path / "mlflow.db")) as database:
        database.execute("create trigger t before insert on runs begin select raise(abort, 'readonly database'); end")
        database.commit()
    changed_run(tmp_path, 1)
    second = perform_run(evaluation)
    assert "readonly database" in second.pending
    assert "\n" not in second.pending
    with pytest.raises(TrackingError, match="readonly database"):
        tracker_for_bundle(None, second.bundle).publish(second.bundle)
    (tmp_path / "words.db").write_text("no database\n" * 1000)
    tracking = evaluation.mlflow.model_copy(update={"tracking_uri": f"sqlite:///{tmp_path / 'words.db'}"})
    elsewhere = evaluation.model_copy(update={"mlflow": tracking})
    with pytest.raises(TrackingError, match=r"words\.db: "):
        tracker_for_bundle(elsewhere, night.bundle).publish(night.bundle, elsewhere)
    with contextlib.closing(sqlite3.connect(tmp_path / "mlflow.db")) as database:
        database.execute("drop trigger t")
        database.commit()
    assert perform_run(evaluation).pending is None
    assert [run["ordinal"] for run in runs(evaluation)] == [1, 1, 1, 2, 2, 2]


def test_bundles_of_two_places_with_one_key_are_two(tmp_path: Path) -> None:
    """Two output directories, one tracker, nights of the same name and moment."""
    from ndcg_ab.trackers import tracker_for_bundle

    first = small(with_store(tmp_path / "a"))
    second = small(tmp_path / "b", mlflow={"tracking_uri": f"sqlite:///{tmp_path / 'a' / 'mlflow.db'}"})
    changed_run(tmp_path / "b", 1)
    folders = [unlogged(evaluation).bundle for evaluation in (first, second)]
    content = json.loads((folders[1] / "bundle.json").read_text()) | {"key": bundles.read_bundle(folders[0]).key}
    (folders[1] / "bundle.json").write_text(json.dumps(content))
    assert [tracker_for_bundle(None, folder).publish(folder).new for folder in folders] == [True, True]
    assert [tracker_for_bundle(None, folder).publish(folder).new for folder in folders] == [False, False]
    assert len(runs(first)) == 6


def test_the_history_is_not_touched_by_outages(tmp_path: Path) -> None:
    with closed() as port:
        evaluation = small(tmp_path, mlflow={"tracking_uri": f"http://127.0.0.1:{port}"}, retention={"bundles": 1})
        for turn in range(2):
            changed_run(tmp_path, turn)
            perform_run(evaluation)
    assert len(bundles.unpublished_bundles(evaluation)) == 2, "retention takes none that is pending"
    assert database.history_path(evaluation).exists()
