"""`ndcg-ab history --since` and `--acknowledge`: what dropped, why, what is open; nights that could not run."""

import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flows.run import run_evaluation
from ndcg_ab.deadlines import Budget
from ndcg_ab.errors import InputError
from ndcg_ab.history import database
from ndcg_ab.history.bundle import read_bundle
from ndcg_ab.history.digest import Digest, digest_json, make_digest, parse_since
from ndcg_ab.history.failed_nights import FailedNight, read_failed_nights, record_failed_night
from ndcg_ab.history.timeline import (
    EvaluatedNight,
    PastComparison,
    ReusedNight,
    Timeline,
    read_timeline,
    shown_direction,
)
from ndcg_ab.history.working_folder import KEEPING
from ndcg_ab.report.terminal.timeline import print_digest
from ndcg_ab.trackers.mlflow.values import common_tags
from ndcg_core.statistics.verdicts.verdict import Verdict
from tests.ndcg_ab.history.test_timeline import command, night, reused, shifted
from tests.ndcg_ab.history.test_timeline import printed as printed_timeline
from tests.printing import print_to_text
from tests.small_evaluation import nights, rows_of, small, tables_of, undrawn, unlogged
from tests.stores import with_store

DROPPED = {"new": PastComparison(-0.2, Verdict.REGRESSED, direction=-1)}
BETTER = {"new": PastComparison(0.2, Verdict.IMPROVED, direction=shown_direction("improved", None))}
LITTLE = {"new": PastComparison(0.01, Verdict.IMPROVED, direction=shown_direction("improved", "smaller_than"))}
MOVED = {"new": {"ranking": -0.21, "judgments": 0.01, "queries": 0.0}}
FAILED = {"gate": "failed", "failures": ("no regression (new)",)}


def timeline_of(*nights: EvaluatedNight, **more: Any) -> Timeline:
    return Timeline("shop", "ndcg@10", ("old", "new"), nights, **more)


def day_in_november(day: int) -> datetime:
    return datetime(2026, 11, day, tzinfo=UTC)


def printed(digest: Digest, timeline: Timeline) -> list[str]:
    return [line.rstrip() for line in print_to_text(print_digest, digest, timeline, width=120).splitlines()]


def test_what_dropped_since_then_with_its_cause() -> None:
    drop = night(2, 4, since_last=DROPPED, moved=MOVED, changed=("ranking new", "judgments"), **FAILED)
    timeline = timeline_of(night(1, 3), drop, night(3, 5, **FAILED, pending=True), reused=reused(3, 6, 7))
    found = make_digest(timeline, day_in_november(4))
    assert (found.evaluations, found.reused, found.pending) == (2, 2, (3,))
    assert found.failing == {"no regression (new)": 2}
    again = timeline_of(night(1, 3, **FAILED), night(2, 4), night(3, 5, **FAILED))
    assert make_digest(again, day_in_november(4)).failing == {"no regression (new)": 3}
    assert printed(found, timeline) == [
        "shop, ndcg@10, since 2026-11-04: 2 evaluations, 2 more in which nothing had changed",
        "dropped",
        "  2  11-04  new -0.2000: -0.2100 ranking, +0.0100 judgments",
        "to look at",
        "  new dropped in 2 (known? --acknowledge 2)",
        "  gate failed: no regression (new), since evaluation 2",
        "  logging is pending: 3 (ndcg-ab publish CONFIG)",
        "now (the latest evaluation, 2026-11-05)",
    ]
    content = json.loads(digest_json(found))
    assert content["drops"][0]["open"] is True
    assert content["failing"] == [{"gate": "no regression (new)", "since": 2}]


@pytest.mark.parametrize(
    ("known", "later", "day", "listed", "is_open"),
    [
        (None, {}, 3, True, True),
        (None, {}, 6, True, True),  # an open one is listed however long ago it was
        (("2026-11-05T08:00:00+00:00", "a rollback"), {}, 3, True, False),
        (("2026-11-05T08:00:00+00:00", None), {}, 6, False, False),
        (None, BETTER, 3, True, False),
        (None, BETTER, 6, False, False),
        (None, LITTLE, 3, True, True),  # a gain that does not matter makes no loss good that does
    ],
)
def test_a_drop_is_open_until_it_is_acknowledged_or_made_good(
    known: Any, later: Any, day: int, listed: bool, is_open: bool
) -> None:
    drop = night(2, 4, since_last=DROPPED, changed=("ranking new",), acknowledged=known)
    timeline = timeline_of(night(1, 3), drop, night(3, 5, since_last=later))
    found = make_digest(timeline, day_in_november(day))
    assert [each.is_open for each in found.drops] == [is_open] * listed
    text = "\n".join(printed(found, timeline))
    assert ("known? --acknowledge 2" in text) == is_open
    assert ("new -0.2000: changed: ranking new" in text) == listed
    if listed and not is_open:
        assert ("; acknowledged 2026-11-05: a rollback" if known else "; improved again in 3") in text


def test_moments() -> None:
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    assert parse_since("7d", now) == datetime(2026, 11, 13, 12, tzinfo=UTC)
    assert parse_since("2026-11-13", now) == day_in_november(13)
    assert parse_since("2026-11-13T02:00+01:00", now) == datetime(2026, 11, 13, 1, tzinfo=UTC)
    for text in ("7", "d", "0d", "-3d", "monday", ""):
        with pytest.raises(InputError, match="must be a number of days, as 7d, or a date"):
            parse_since(text, now)


@pytest.mark.slow
def test_the_commands(tmp_path: Path) -> None:
    """Two evaluations, the second with the candidate's order reversed."""
    undrawn(small(tmp_path))
    shifted(tmp_path, 1)
    marked = undrawn(small(tmp_path, judgments={"file": "judgments.qrels", "version": "2026-11"}))
    assert common_tags(read_bundle(marked.bundle))["judgments_version"] == "2026-11"

    def said(code: int, *options: str) -> str:
        found = command(small(tmp_path), *options)
        assert found.exit_code == code, found.output
        return str(found.stdout or found.stderr)

    assert "new dropped in 2 (known? --acknowledge 2)" in said(0, "--since", "1d")
    assert "nothing dropped in evaluation 1" in said(2, "--acknowledge", "1")
    assert "has no evaluation of that number" in said(2, "--acknowledge", "7")
    assert "goes with --acknowledge" in said(2, "--note", "why")
    out, drawn = str(tmp_path / "out.json"), str(tmp_path / "out.svg")
    assert "--json: --acknowledge only marks a drop" in said(2, "--acknowledge", "2", "--json", out)
    assert "--picture: --acknowledge draws nothing" in said(2, "--acknowledge", "2", "--picture", drawn)
    assert "--picture: --since draws nothing" in said(2, "--since", "1d", "--picture", drawn)
    assert said(0, "--since", "1d", "--json", out).splitlines()[-1] == f"written: {out}"
    assert not Path(drawn).exists()
    assert said(0, "--acknowledge", "2", "--note", "first").strip() == "acknowledged: new dropped in evaluation 2"
    said(0, "--acknowledge", "2", "--note", "index was half built")
    assert "acknowledged: index was half built" in said(0, "--details")
    (drop,) = json.loads(said(0, "--since", "1d", "--json", "-"))["drops"]
    assert (drop["open"], drop["note"], drop["ordinal"]) == (False, "index was half built", 2)
    nights = json.loads(said(0, "--json", "-"))["evaluations"]
    assert [each["acknowledged"] and each["acknowledged"]["note"] for each in nights] == [None, "index was half built"]
    assert [each["judgments_version"] for each in nights] == [None, "2026-11"]
    assert nights[1]["changed"] == ["ranking new"], "the mark alone changes nothing"


# ---- a night that could not run: what is kept of it, where it is shown, and that it never counts


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
        text = " ".join("\n".join(printed_timeline(timeline, width)).replace("…", "").split())
        assert "11-26 02:00" in text and "✗ could not run: new.run," in text
    assert f"  11-26 ✗ could not run: {SENTENCE}" in printed(make_digest(timeline, NIGHT), timeline)
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


def test_a_night_that_fails_before_it_has_a_folder_is_recorded(tmp_path: Path) -> None:
    nights(tmp_path, 1)
    evaluation = small(tmp_path, systems=[{"name": "old", "file": "old.run"}, {"name": "new", "file": "new-*.run"}])
    with pytest.raises(InputError):
        unlogged(evaluation)
    (failed,) = read_failed_nights(evaluation)
    assert "new-*.run" in failed.reason
