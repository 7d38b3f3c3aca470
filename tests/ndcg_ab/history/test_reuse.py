"""The same content is not evaluated twice; anything that can change a result is; what counts as another look."""

import dataclasses
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history import database
from ndcg_ab.history.bundle import mark_published
from ndcg_ab.history.timeline import ReusedNight, read_timeline
from ndcg_ab.pipeline.context import Context
from tests.small_evaluation import DATA, changed_run, is_known, rows_of, small, undrawn, unlogged

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("plain_pages")]


QUERIES = {"queries": {"file": "queries.tsv"}, "slices": {"by": ["language"], "smallest": 6}}
METRICS = {"metrics": ["ndcg@10"], "gate": {"no_regression": True}}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Context]:
    folder = tmp_path_factory.mktemp("template")
    return folder, undrawn(small(folder, **QUERIES, **METRICS))


@pytest.fixture
def first(template: tuple[Path, Context], tmp_path: Path) -> Context:
    """An evaluation that is there already, in a folder of this test's own."""
    folder, night = template
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return dataclasses.replace(night, bundle=tmp_path / night.bundle.relative_to(folder))


def evaluation_of(folder: Path, **changes: Any) -> Evaluation:
    return small(folder, **(QUERIES | METRICS | changes))


def counts(folder: Path) -> list[int]:
    evaluation = small(folder)
    tables = database.RECORDS.keys() - {"reuse"}
    return [rows_of(evaluation, f"select count(*) from {table}")[0][0] for table in sorted(tables)]


def test_the_same_content_in_another_place_is_evaluated_once(first: Context, tmp_path: Path) -> None:
    before, folder = counts(tmp_path), tmp_path / "elsewhere"
    (tmp_path / "inputs").rename(folder)
    (folder / "old.run").rename(folder / "older.run")
    systems = [{"name": "old", "file": "older.run"}, {"name": "new", "file": "new.run"}]
    night = unlogged(evaluation_of(tmp_path, directory=folder, systems=systems))
    assert night.reused
    assert night.bundle == first.bundle
    assert counts(tmp_path) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("butter recipe", "butter recipes", id="text", marks=pytest.mark.soak),
        pytest.param("\t120\t", "\t121\t", id="weight"),
        pytest.param("cheese recipe\t35\ten", "cheese recipe\t35\tfr", id="attribute", marks=pytest.mark.soak),
    ],
)
def test_what_is_told_of_a_query_makes_a_new_evaluation(old: str, new: str, first: Context, tmp_path: Path) -> None:
    path = tmp_path / "inputs" / "queries.tsv"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert not is_known(evaluation_of(tmp_path))


def test_force_computes_anew(first: Context, tmp_path: Path) -> None:
    night = unlogged(evaluation_of(tmp_path), force=True)
    assert not night.reused
    assert night.bundle != first.bundle
    both = [bundles.read_bundle(found.bundle) for found in (first, night)]
    assert [bundle.ordinal for bundle in both] == [1, 2]
    assert both[0].outcome == both[1].outcome


def test_a_function_that_returns_the_same_is_the_same(first: Context, tmp_path: Path) -> None:
    engine = (
        "from pathlib import Path\n\ndef search(queries, turn):\n    found = {}\n"
        "    for line in (Path(__file__).parent / 'new.run').read_text().splitlines()[::turn]:\n"
        "        query, _, doc, _, score, _ = line.split()\n"
        "        found.setdefault(query, []).append((doc, float(score)))\n    return found\n"
    )
    (tmp_path / "inputs" / "engine_of_reuse.py").write_text(engine)

    def by_function(turn: int) -> Evaluation:
        new = {"name": "new", "python": "engine_of_reuse:search", "arguments": {"turn": turn}}
        return evaluation_of(tmp_path, systems=[{"name": "old", "file": "old.run"}, new])

    assert not unlogged(by_function(1)).reused, "a function gives no ranks"
    assert unlogged(by_function(-1)).reused
    changed_run(tmp_path, 3)
    assert not is_known(by_function(1))


def test_digests_stand_in_the_bundle_and_in_the_history(first: Context, tmp_path: Path) -> None:
    content = json.loads((first.bundle / "bundle.json").read_text())
    digests = {f"{row['kind']} {row['name']}": row["digest"] for row in content["inputs"]}
    assert list(digests) == ["judgments judgments.qrels", "ranking old", "ranking new", "queries queries.tsv"]
    assert len(set(digests.values())) == 4
    assert all(len(digest) == 32 for digest in [*digests.values(), content["configuration_key"]])
    evaluation = small(tmp_path)
    rows = rows_of(evaluation, "select kind || ' ' || name, digest from input")
    assert dict(rows) == digests
    keys = rows_of(evaluation, "select configuration_key, content_key from evaluation")
    assert keys == [(content["configuration_key"], content["content_key"])]


def test_a_bundle_that_is_gone_is_computed_anew(first: Context, tmp_path: Path) -> None:
    mark_published(first.bundle, {})
    limited = evaluation_of(tmp_path, retention={"bundles": 1})
    changed_run(tmp_path, 3)
    unlogged(limited)
    assert not first.bundle.exists(), "retention"
    (tmp_path / "inputs" / "new.run").write_bytes((DATA / "new.run").read_bytes())
    third = unlogged(limited)
    assert not third.reused
    assert rows_of(small(tmp_path), "select count(*), count(distinct content_key) from evaluation") == [(3, 2)]


def test_a_damaged_bundle_is_not_reused(first: Context, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (first.bundle / "bundle.json").write_text("{}")
    assert not unlogged(evaluation_of(tmp_path)).reused
    night = unlogged(evaluation_of(tmp_path))
    assert night.reused
    (night.bundle / "query_scores.parquet").unlink()
    assert not is_known(evaluation_of(tmp_path))
    assert "Traceback" not in capsys.readouterr().err


def test_a_night_in_which_nothing_changed_leaves_a_trace(first: Context, tmp_path: Path) -> None:
    """Beside the bundle and in the history, in the order of time; the same moment once."""
    evaluation = small(tmp_path)
    days = [
        first_day := bundles.read_bundle(first.bundle).began,
        *(datetime(2027, 1, day, tzinfo=UTC) for day in (3, 2, 3)),
    ]
    for at in days:
        assert unlogged(evaluation_of(tmp_path), at=at).reused
    moments = [f"2027-01-0{day}T00:00:00+00:00" for day in (3, 2)]
    assert [moment.isoformat() for moment in bundles.read_bundle(first.bundle).reused] == moments
    assert first_day.isoformat() not in moments, "the night itself, again"
    timeline = read_timeline(evaluation, None, None)
    assert timeline.reused == tuple(ReusedNight(moment, 1) for moment in sorted(moments))
    assert len(timeline.evaluations) == 1
    database.history_path(evaluation).unlink()
    assert unlogged(evaluation_of(tmp_path), at=days[1]).reused
    assert rows_of(evaluation, "select began from reuse order by all") == [(moment,) for moment in sorted(moments)]


def test_evaluations_are_shown_in_the_order_of_their_time(first: Context, tmp_path: Path) -> None:
    changed_run(tmp_path, 3)
    earlier = unlogged(small(tmp_path), at=datetime(2020, 1, 1, tzinfo=UTC)).bundle
    timeline = read_timeline(small(tmp_path), None, None)
    assert [each.ordinal for each in timeline.evaluations] == [2, 1]
    assert "ranking new" in timeline.evaluations[1].changed
    assert bundles.read_bundle(earlier).seconds is not None
    assert 0 < bundles.read_bundle(earlier).seconds < 60, "how long it took, whenever it stands for"


def test_a_trace_that_the_tracker_does_not_have_is_pending(first: Context, tmp_path: Path) -> None:
    evaluation = small(tmp_path)
    mark_published(first.bundle, {"uri": "u", "reused": 0})
    assert bundles.unpublished_bundles(evaluation) == []
    unlogged(evaluation_of(tmp_path))
    assert bundles.unpublished_bundles(evaluation) == [first.bundle]
    mark_published(first.bundle, {"uri": "u", "reused": 1})
    assert bundles.unpublished_bundles(evaluation) == []
