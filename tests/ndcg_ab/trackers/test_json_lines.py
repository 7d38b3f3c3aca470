"""Results as JSON Lines, chosen by `tracker:`: what stands there, once, and what is refused."""

import dataclasses
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError, TrackingError
from ndcg_ab.history.bundle import read_bundle
from ndcg_ab.results.outcome import Finding, GateResult
from ndcg_ab.trackers import make_tracker, refuse_unknown_tracker, tracker_for_bundle, tracker_label
from ndcg_ab.trackers.json_lines import bundle_records
from tests.small_evaluation import changed_run, nights, perform_run, small

pytestmark = pytest.mark.usefixtures("plain_pages")


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
def test_two_runs_of_an_evaluation(tmp_path: Path) -> None:
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
    told = next(line for line in found if line["record"] == "comparison")
    assert told["difference"] == outcome.comparisons[0].difference

    before_again = path.read_bytes()
    assert not tracker_for_bundle(evaluation, first.bundle).publish(first.bundle, evaluation).new
    assert path.read_bytes() == before_again, "publishing twice adds nothing"
    changed_run(tmp_path, 1)
    perform_run(evaluation)
    files = f"{tmp_path}/tracked/*/*.jsonl"
    rows = duckdb.sql(
        f"select ordinal from read_json('{files}', union_by_name = true) where record = 'evaluation' order by ordinal"
    ).fetchall()
    assert rows == [(1,), (2,)]


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
        ("wandb", "tracker = 'wandb': there is none of this name; take one of json_lines, mlflow, or install"),
        ({"json_lines": {"file": "x"}}, "tracker.json_lines.file: is no option of the tracker (folder)"),
        ({"json_lines": {"folder": 3}}, "tracker.json_lines.folder = 3: must be the path of a folder"),
        ({"mlflow": {"folder": "x"}}, "tracker.mlflow.folder: is no option of the tracker (none)"),
    ],
)
def test_a_choice_that_is_refused_before_anything_is_read(given: Any, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as found:
        refuse_unknown_tracker(small(tmp_path, tracker=given))
    assert str(found.value).startswith(sentence)


@pytest.mark.slow
def test_a_bundle_alone_does_not_choose_where_files_are_written(tmp_path: Path) -> None:
    night = perform_run(small(tmp_path, tracker="json_lines"))
    with pytest.raises(InputError, match="publish by the configuration"):
        tracker_for_bundle(None, night.bundle)


def test_the_forms_of_the_key() -> None:
    def of(value: Any) -> Any:
        found = Evaluation.model_validate({"name": "t", "scores": "s.csv", "tracker": value}).tracker
        return found.name, found.options

    assert of("json_lines") == of({"json_lines": None}) == of({"name": "json_lines"}) == ("json_lines", {})
    assert of({"json_lines": {"folder": "x"}}) == ("json_lines", {"folder": "x"})
