"""After a move to another tracker: what that has not is offered, and nothing is delivered twice."""

import json
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab import trackers as tracking
from ndcg_ab.config.environment import tracking_uri
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.operation import TrackerChoice
from ndcg_ab.history.bundle import Bundle, unpublished_bundles
from ndcg_ab.history.published import PUBLISHED, is_published, mark_published
from ndcg_ab.report import bundle_files
from ndcg_ab.trackers import Published, Tracker
from tests.commands import invoke
from tests.small_evaluation import nights, plain_page, small, unlogged

pytestmark = pytest.mark.slow


class Trackers(Tracker):
    """Any number of trackers, by their addresses, each with the keys of the bundles that it has."""

    def __init__(self, evaluation: Evaluation) -> None:
        super().__init__(evaluation)
        self.held: dict[str, list[str]] = {}

    def address(self, evaluation: Evaluation) -> str:
        return tracking_uri(evaluation)

    def log(self, bundle: Bundle) -> Published:
        uri = self.address(bundle.evaluation)
        held = self.held.setdefault(uri, [])
        is_new = bundle.key not in held
        held += [bundle.key] * is_new
        return Published("1", f"{uri}/1", uri, uri, new=is_new)


@pytest.fixture
def trackers(monkeypatch: pytest.MonkeyPatch) -> Trackers:
    made = Trackers(Evaluation.model_construct(tracker=TrackerChoice()))
    monkeypatch.setattr(tracking, "make_tracker", lambda evaluation: made)
    monkeypatch.setattr(tracking, "tracker_for_bundle", lambda evaluation, folder: made)
    monkeypatch.setattr(bundle_files, "write_report", plain_page)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return made


def at(folder: Path, address: str) -> Evaluation:
    return small(folder, mlflow={"tracking_uri": address})


def test_publish_offers_what_the_other_tracker_has_not(tmp_path: Path, trackers: Trackers) -> None:
    one, other = "http://one.example", "http://other.example"
    folders = nights(tmp_path, 3)
    trackers.publish_pending(at(tmp_path, one), folders[-1])
    assert unpublished_bundles(at(tmp_path, one)) == unpublished_bundles(at(tmp_path, other)) == []
    assert (unpublished_bundles(at(tmp_path, one), one), unpublished_bundles(at(tmp_path, other), other)) == (
        [],
        folders,
    )
    config = tmp_path / "inputs" / "c.yaml"
    config.write_text(
        "name: small\noutput: ../out\njudgments: judgments.qrels\n"
        "systems: [{name: old, file: old.run}, {name: new, file: new.run}]\n"
    )

    def publish(address: str) -> list[str]:

        found = invoke(["publish", str(config), "--set", f"mlflow.tracking_uri={address}"])
        assert found.exit_code == 0, found.output
        return found.stdout.splitlines()

    assert publish(one) == ["nothing is pending"]
    assert publish(other) == [f"logged: {other}/1"] * 3
    assert publish(other) == publish(one) == ["nothing is pending"]
    assert trackers.held[one] == trackers.held[other] == [f"small/{folder.name}" for folder in folders]


def test_a_run_delivers_what_is_pending_alone(tmp_path: Path, trackers: Trackers) -> None:
    """What another tracker has is not sent again by a night that somebody tries out elsewhere."""
    one, other = "http://one.example", "http://other.example"
    first = unlogged(at(tmp_path, one)).bundle
    trackers.publish_pending(at(tmp_path, one), first)
    second = unlogged(at(tmp_path, other), force=True).bundle
    assert trackers.publish_pending(at(tmp_path, other), second)[1] == 0
    assert trackers.held == {one: [f"small/{first.name}"], other: [f"small/{second.name}"]}


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
