"""A night that could not run: what is kept of it, where it is shown, and that it never counts as an evaluation."""

import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from flows.run import run_evaluation
from ndcg_ab.deadlines import Budget
from ndcg_ab.errors import InputError
from ndcg_ab.history import database
from ndcg_ab.history.digest import make_digest
from ndcg_ab.history.failed_nights import FailedNight, read_failed_nights, record_failed_night
from ndcg_ab.history.timeline import ReusedNight, read_timeline
from ndcg_ab.history.working_folder import KEEPING
from tests.ndcg_ab.history.test_digest import printed as printed_digest
from tests.ndcg_ab.history.test_timeline import printed
from tests.small_evaluation import nights, rows_of, small, tables_of, undrawn
from tests.stores import with_store

NIGHT = datetime(2031, 11, 26, 2, tzinfo=UTC)  # after those that are made once for all tests
SENTENCE = "new.run, line 7: score = 'abc': must be a number"


def break_run(folder: Path) -> None:
    """Gives the candidate's ranking a seventh line that is none."""
    path = folder / "inputs" / "new.run"
    lines = path.read_text().splitlines()
    lines[6] = " ".join([*lines[6].split()[:4], "abc", "new"])
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.slow
def test_a_failed_night_is_a_row_and_no_evaluation(tmp_path: Path) -> None:
    nights(tmp_path, 2)
    evaluation = small(tmp_path)
    before, ranking = tables_of(evaluation), (tmp_path / "inputs" / "new.run").read_text()
    break_run(tmp_path)
    with pytest.raises(InputError, match="line 7"):
        undrawn(evaluation, at=NIGHT)
    assert tables_of(evaluation) == before, "no evaluation, no look, and nothing that a later night is compared with"
    (kept,) = (tmp_path / "out" / "small").glob("*.failed.json")
    assert kept.name == "20311126T020000Z.failed.json" and kept.stat().st_size < 1000
    timeline = read_timeline(evaluation, None, 1)
    assert [len(timeline.evaluations), *map(len, (timeline.reused, timeline.failed))] == [1, 0, 1]
    for width in (60, 80, 100, 140):
        text = " ".join("\n".join(printed(timeline, width)).replace("…", "").split())
        assert "11-26 02:00" in text and "✗ could not run: new.run," in text
    assert f"  11-26 ✗ could not run: {SENTENCE}" in printed_digest(make_digest(timeline, NIGHT), timeline)
    (tmp_path / "inputs" / "new.run").write_text(ranking)
    assert undrawn(evaluation, at=NIGHT).bundle
    assert read_timeline(evaluation, None, None).failed == (), "what was made up for did not fail"


def test_nothing_is_kept_before_the_first_success_and_while_the_process_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = small(tmp_path)
    record_failed_night(evaluation, NIGHT, InputError("somebody is setting it up"))
    assert not (tmp_path / "out").exists()
    nights(tmp_path, 1)
    monkeypatch.setattr("ndcg_ab.history.failed_nights.PATIENCE", 0.01)
    with KEEPING:  # as `abandon_working_folders` leaves it
        record_failed_night(evaluation, NIGHT, InputError("the folder is gone"))
    assert read_failed_nights(evaluation) == {}


def test_what_is_kept_stays_small_and_a_damaged_file_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nights(tmp_path, 1)
    evaluation = small(tmp_path)
    monkeypatch.setattr("ndcg_ab.history.failed_nights.MOST", 2)
    for day in (3, 1, 2):
        record_failed_night(evaluation, NIGHT.replace(day=day), ValueError("x" * 10_000))
    (tmp_path / "out" / "small" / "20311102T020000Z.failed.json").write_text("[]")
    (night,) = read_failed_nights(evaluation)
    assert night.began.startswith("2031-11-03") and len(night.reason) < 4_010


def test_a_night_that_began_with_the_first_one_shown_is_shown(tmp_path: Path) -> None:
    nights(tmp_path, 1)
    evaluation = small(tmp_path)
    (shown,) = read_timeline(evaluation, None, 1).evaluations
    with database.open_history_for(database.history_path(evaluation)) as past:
        database.enter_reruns(past, [shown.began], 1)
    assert read_timeline(evaluation, None, 1).reused == (ReusedNight(shown.began, 1),)


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (f"/srv/a b/{SENTENCE}", SENTENCE),
        ("https://search.example/v1: does not answer", "https://search.example/v1: does not answer"),
        ("output = 'a/b': cannot be written", "output = 'a/b': cannot be written"),
        ("memory ran out", "memory ran out"),
    ],
)
def test_a_file_is_told_by_its_name(reason: str, told: str) -> None:
    assert FailedNight("2026-11-26T02:00:00+00:00", reason).reason_text == told


@pytest.mark.slow
def test_mlflow_has_a_failed_run_with_the_sentence(tmp_path: Path) -> None:
    import mlflow

    from ndcg_ab.trackers import make_tracker

    nights(tmp_path, 1)
    with_store(tmp_path)
    evaluation = small(tmp_path)
    ranking = (tmp_path / "inputs" / "new.run").read_text()
    break_run(tmp_path)
    with pytest.raises(InputError, match="line 7"):
        run_evaluation(evaluation, at=NIGHT)
    make_tracker(evaluation).publish_failed_nights(evaluation, Budget(60))
    client = mlflow.MlflowClient(tracking_uri=evaluation.mlflow.tracking_uri)
    experiment = partial(client.get_experiment_by_name, "small")
    (run,) = client.search_runs([experiment().experiment_id], "tags.kind = 'failed night'")
    assert (run.info.status, run.info.run_name) == ("FAILED", f"✗ could not run: {SENTENCE}")
    assert run.data.tags["reason"].endswith(SENTENCE)
    note = experiment().tags["mlflow.note.content"]
    assert note.startswith("**2031-11-26 ✗ could not run: new.run, line 7")
    (tmp_path / "inputs" / "new.run").write_text(ranking)
    run_evaluation(evaluation, at=NIGHT.replace(day=27), force=True)
    note = experiment().tags["mlflow.note.content"]
    assert note.startswith("**2031-11-27 ") and "could not run" not in note and "(evaluation 2)" in note
    run_evaluation(evaluation, at=NIGHT.replace(day=25), force=True)
    assert experiment().tags["mlflow.note.content"] == note, "what is made up for is not the latest"
    assert len(rows_of(evaluation, "select * from evaluation")) == 3
    assert json.loads(next((tmp_path / "out" / "small").glob("*.failed.json")).read_text())["places"]
