"""Trackers: what each has not is offered and nothing is delivered twice; where a bundle goes; JSON Lines."""

import dataclasses
import json
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.operation import Tracking
from ndcg_ab.errors import InputError, RefusedError, TrackingError
from ndcg_ab.history.bundle import PUBLISHED, Bundle, is_published, mark_published, read_bundle, unpublished_bundles
from ndcg_ab.pipeline.context import Context
from ndcg_ab.pipeline.store import Store
from ndcg_ab.results.outcome import Finding, GateResult
from ndcg_ab.runs import run as stages
from ndcg_ab.trackers import Published, Tracker, make_tracker, refuse_unknown_tracker, tracker_for_bundle, tracker_label
from ndcg_ab.trackers.base import default_tracking
from ndcg_ab.trackers.json_lines import bundle_records
from tests.commands import invoke
from tests.sentences import refusal_text
from tests.slow.broken_servers import configuration
from tests.small_evaluation import nights, perform_run, small, unlogged

pytestmark = pytest.mark.usefixtures("plain_pages")


def in_folder(folder: Path, name: str) -> Evaluation:
    """Return a small evaluation whose tracker writes JSON Lines to a folder."""
    return small(folder, tracker={"json_lines": {"folder": str(folder / name)}})


def logged(evaluation: Evaluation) -> list[str]:
    """Return the keys of the bundles that the evaluation's tracker has."""
    return sorted(lines(path)[0]["key"] for path in Path(make_tracker(evaluation).address(evaluation)).rglob("*.jsonl"))


@pytest.mark.slow
def test_publish_offers_what_the_other_tracker_has_not(tmp_path: Path) -> None:
    folders = nights(tmp_path, 3)
    one, other = in_folder(tmp_path, "one"), in_folder(tmp_path, "other")
    make_tracker(one).publish_pending(one, folders[-1])
    assert unpublished_bundles(one) == unpublished_bundles(other) == []
    assert unpublished_bundles(one, str(tmp_path / "one")) == []
    assert unpublished_bundles(other, str(tmp_path / "other")) == folders
    config = configuration(small(tmp_path), tmp_path)

    def publish(name: str) -> list[str]:
        found = invoke(["publish", str(config), "--set", f"tracker={{json_lines: {{folder: {tmp_path / name}}}}}"])
        assert found.exit_code == 0, found.output
        return found.stdout.splitlines()

    assert publish("one") == ["nothing is pending"]
    assert [line.startswith(f"logged: {tmp_path}/other/small/") for line in publish("other")] == [True] * 3
    assert publish("other") == publish("one") == ["nothing is pending"]
    assert logged(one) == logged(other) == [f"small/{folder.name}" for folder in folders]


@pytest.mark.slow
def test_a_run_delivers_what_is_pending_alone(tmp_path: Path) -> None:
    """What another tracker has is not sent again by a night that somebody tries out elsewhere."""
    one, other = in_folder(tmp_path, "one"), in_folder(tmp_path, "other")
    first = unlogged(one).bundle
    make_tracker(one).publish_pending(one, first)
    second = unlogged(other, force=True).bundle
    assert make_tracker(other).publish_pending(other, second)[1] == 0
    assert (logged(one), logged(other)) == ([f"small/{first.name}"], [f"small/{second.name}"])


@pytest.mark.parametrize(
    ("content", "known"),
    [({"uri": "http://a", "reused": 0, "places": {"http://b": 0, "http://a": 0}}, ["http://a", "http://b"]), ({}, [])],
)
def test_marks_name_every_tracker(content: dict[str, Any], known: list[str], tmp_path: Path) -> None:
    (tmp_path / PUBLISHED).write_text(json.dumps(content))
    assert is_published(tmp_path) == bool(known)
    assert [address for address in ("http://a", "http://b") if is_published(tmp_path, address)] == known
    mark_published(tmp_path, {"uri": "http://c", "reused": 0})
    assert [address for address in ("http://a", "http://c") if is_published(tmp_path, address)] == [
        *known[:1],
        "http://c",
    ]


def test_a_refused_bundle_keeps_no_other_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders, asked = [tmp_path / name for name in "123"], []

    def publish(tracker: Tracker, folder: Path, *_: object) -> Published:
        asked.append(folder)
        if folder == folders[0]:
            raise RefusedError("its key is too long")
        return Published("r", "u", "t", "http://here", True)

    monkeypatch.setattr(Tracker, "publish", publish)
    monkeypatch.setattr("ndcg_ab.trackers.base.unpublished_bundles", lambda *_: folders)
    evaluation = in_folder(tmp_path, "lines")
    run = Context(evaluation, Store(evaluation), bundle=folders[2])
    stages.publish.run(run, "")
    assert asked == folders
    assert run.published["delivered"] == 1
    assert "JSON Lines does not take it: its key is too long" in capsys.readouterr().err


# ---- where a bundle is published that no configuration is given for: it may come from somebody else


FILE = "sqlite:////srv/results/mlflow.db"


def bundle_for(folder: Path, address: Any) -> Bundle:
    shutil.copy(nights(folder / "kept", 1)[0] / "bundle.json", folder)
    bundle = read_bundle(folder)
    tracking = Tracking(tracking_uri=address, experiment="mine")
    return dataclasses.replace(bundle, evaluation=bundle.evaluation.model_copy(update={"mlflow": tracking}))


@pytest.mark.parametrize("address", [None, FILE, "http://evil.example", {"env": "API_KEY"}])
def test_the_environment_goes_before_the_bundle(address: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://mine.example")
    assert default_tracking(bundle_for(tmp_path, address)) == Tracking(tracking_uri=None, experiment="mine")


def test_a_store_in_a_file_is_taken_from_the_bundle(tmp_path: Path) -> None:
    assert default_tracking(bundle_for(tmp_path, FILE)) == Tracking(tracking_uri=FILE, experiment="mine")
    assert default_tracking(bundle_for(tmp_path, None)) == Tracking(tracking_uri=None, experiment="mine")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://evil.example", " (http://evil.example)"),
        ("http://me:s3cret99@evil.example", " (http://evil.example)"),
        ("http://evil.example/${AWS_SECRET_ACCESS_KEY}", " (http://evil.example/${AWS_SECRET_ACCESS_KEY})"),
        ("sqlite:////tmp/${HOME}", " (sqlite:////tmp/${HOME})"),
        ("postgresql://evil.example/db", " (postgresql://evil.example/db)"),
        ("databricks", " (databricks)"),
        ({"file": "/etc/passwd"}, ""),
    ],
)
def test_a_server_that_the_bundle_alone_names_is_not_spoken_to(address: Any, shown: str, tmp_path: Path) -> None:
    said = refusal_text(default_tracking, bundle_for(tmp_path, address)).removeprefix(f"{tmp_path}: ")
    assert said == (
        f"the address of a server in a bundle{shown} is not trusted: name the server with MLFLOW_TRACKING_URI, or"
        " publish by the configuration: ndcg-ab publish CONFIG"
    )


# ---- results as JSON Lines, chosen by `tracker:`: what stands there, once, and what is refused


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_line_for_every_record(tmp_path: Path) -> None:
    kept = read_bundle(nights(tmp_path, 1)[0])
    gates, findings = (GateResult("judged", True, "at least 50 %"),), (Finding("few_queries", "note", "few", 20),)
    outcome = dataclasses.replace(kept.outcome, gates=gates, findings=findings)
    counts = Counter(line["record"] for line in bundle_records(dataclasses.replace(kept, outcome=outcome)))
    parts = {"system": outcome.systems, "comparison": outcome.comparisons, "decision": outcome.decisions}
    parts |= {"gate": outcome.gates, "finding": outcome.findings}
    assert all(parts.values()), "the bundle holds some of each"
    assert counts == {"evaluation": 1, **{kind: len(rows) for kind, rows in parts.items()}}


@pytest.mark.slow
def test_a_run_is_published_once(tmp_path: Path) -> None:
    evaluation = small(tmp_path, tracker={"json_lines": {"folder": "../tracked"}})
    before = set(sys.modules)
    first = perform_run(evaluation)
    assert not {name for name in set(sys.modules) - before if name.split(".")[0] in ("mlflow", "prefect")}
    [path] = (tmp_path / "tracked" / "small").iterdir()
    assert first.published["url"] == str(path)
    assert (first.pending, tracker_label(evaluation)) == (None, "JSON Lines")
    found = lines(path)
    outcome = read_bundle(first.bundle).outcome
    assert {line["key"] for line in found} == {read_bundle(first.bundle).key}
    assert [line["ordinal"] for line in found if line["record"] == "evaluation"] == [1]
    told = next(line for line in found if line["record"] == "comparison")
    assert told["difference"] == outcome.comparisons[0].difference

    before_again = path.read_bytes()
    assert not tracker_for_bundle(evaluation, first.bundle).publish(first.bundle, evaluation).new
    assert path.read_bytes() == before_again, "publishing twice adds nothing"
    with pytest.raises(InputError, match="publish by the configuration"):  # not to where a bundle alone says
        tracker_for_bundle(None, first.bundle)


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_leaves_it_pending(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    evaluation = small(tmp_path, tracker={"json_lines": {"folder": str(tmp_path / "file")}})
    night = perform_run(evaluation)
    assert ".jsonl: cannot be written: Not a directory" in night.pending
    with pytest.raises(TrackingError, match="cannot be written"):
        make_tracker(evaluation).publish(night.bundle, evaluation)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("wandb", "tracker = 'wandb': is not installed (json_lines, mlflow are): install"),
        ({"json_lines": {"file": "x"}}, "tracker.json_lines.file: is no option of the tracker (folder)"),
        ({"json_lines": {"folder": 3}}, "tracker.json_lines.folder = 3: must be the path of a folder"),
        ({"mlflow": {"folder": "x"}}, "tracker.mlflow.folder: is no option of the tracker (none)"),
    ],
)
def test_a_choice_that_is_refused_before_anything_is_read(given: Any, sentence: str, tmp_path: Path) -> None:
    assert refusal_text(refuse_unknown_tracker, small(tmp_path, tracker=given)).startswith(sentence)


def test_the_forms_of_the_key() -> None:
    def of(value: Any) -> Any:
        found = Evaluation.model_validate({"name": "t", "scores": "s.csv", "tracker": value}).tracker
        return found.name, found.options

    assert of("json_lines") == of({"json_lines": None}) == of({"name": "json_lines"}) == ("json_lines", {})
    assert of({"json_lines": {"folder": "x"}}) == ("json_lines", {"folder": "x"})


def test_a_file_of_a_bundle_that_changed_since_is_written_again(tmp_path: Path) -> None:
    (folder,), tracker = nights(tmp_path, 1), make_tracker(in_folder(tmp_path, "lines"))
    bundle = read_bundle(folder)
    first = tracker.log(bundle)
    families = ["primary", "slices", "gate"]
    rows = [dataclasses.replace(bundle.outcome.main[0], family=family) for family in families]
    changed = dataclasses.replace(bundle.outcome, comparisons=tuple(rows))
    again = tracker.log(dataclasses.replace(bundle, outcome=changed))
    assert (first.new, again.new, first.url) == (True, False, again.url)
    assert [each["family"] for each in lines(Path(first.url)) if each["record"] == "comparison"] == families
