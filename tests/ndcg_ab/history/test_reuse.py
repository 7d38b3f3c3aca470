"""The same content is not evaluated twice; anything that can change a result is; what counts as another look."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from ndcg_ab.history import bundle as bundles
from ndcg_ab.history import database
from ndcg_ab.history.published import mark_published
from ndcg_ab.history.timeline import ReusedNight, read_timeline
from ndcg_ab.pipeline import Context
from tests.repeated import mostly_soaked
from tests.small_evaluation import DATA, changed_run, is_known, rows_of, small, undrawn, unlogged

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("plain_pages")]


QUERIES = {"queries": {"file": "queries.tsv"}, "slices": {"by": ["language"], "smallest": 6}}
METRICS = {"metrics": ["ndcg@10"], "gate": {"no_regression": True}}


def lines_of(folder: Path, name: str) -> list[str]:
    return (folder / "inputs" / name).read_text().splitlines()


def rewrite(folder: Path, name: str, change: Callable[[list[str]], list[str]]) -> None:
    (folder / "inputs" / name).write_text("\n".join(change(lines_of(folder, name))) + "\n")


def replaced(old: str, new: str) -> Callable[[list[str]], list[str]]:
    def change(lines: list[str]) -> list[str]:
        assert any(old in line for line in lines)
        return [line.replace(old, new) for line in lines]

    return change


def ranking_rows(folder: Path) -> list[tuple[str, str, float, int]]:
    fields = [line.split() for line in lines_of(folder, "new.run")]
    return [(query, doc, float(score), int(rank)) for query, _, doc, rank, score, _ in fields]


def as_parquet(folder: Path) -> dict[str, Any]:
    query_id, doc_id, score, rank = zip(*reversed(ranking_rows(folder)), strict=True)
    table = pa.table({"doc": doc_id, "rank": rank, "score": score, "query_id": query_id})
    papq.write_table(table, folder / "inputs" / "new.parquet")
    return {"name": "new", "file": "new.parquet", "columns": {"doc_id": "doc"}}


def with_second_system(new: dict[str, Any]) -> dict[str, Any]:
    return {"systems": [{"name": "old", "file": "old.run"}, new]}


def moved(folder: Path) -> dict[str, Any]:
    (folder / "inputs").rename(folder / "elsewhere")
    (folder / "elsewhere" / "old.run").rename(folder / "elsewhere" / "older.run")
    return {
        "directory": folder / "elsewhere",
        "systems": [{"name": "old", "file": "older.run"}, {"name": "new", "file": "new.run"}],
    }


def reversed_files(folder: Path) -> dict[str, Any]:
    for name in ("new.run", "judgments.qrels"):
        rewrite(folder, name, lambda lines: lines[::-1])
    rewrite(folder, "queries.tsv", lambda lines: [lines[0], *lines[:0:-1]])
    return {}


SAME: dict[str, Callable[[Path], dict[str, Any]]] = {
    "nothing": lambda folder: {},
    "the order of rows": reversed_files,
    "TREC to Parquet": lambda folder: with_second_system(as_parquet(folder)),
    "paths": moved,
}


def changing(name: str, change: Callable[[list[str]], list[str]]) -> Callable[[Path], dict[str, Any]]:
    def applied(folder: Path) -> dict[str, Any]:
        rewrite(folder, name, change)
        return {}

    return applied


def ranked(folder: Path) -> dict[str, Any]:
    changed_run(folder, 3)
    return {}


NEW: dict[str, Callable[[Path], dict[str, Any]]] = {
    "a grade": changing("judgments.qrels", replaced("bread-guide 1", "bread-guide 2")),
    "a ranking": ranked,
    "a query's text": changing("queries.tsv", replaced("butter recipe", "butter recipes")),
    "a query's weight": changing("queries.tsv", replaced("\t120\t", "\t121\t")),
    "a query's attribute": changing("queries.tsv", replaced("cheese recipe\t35\ten", "cheese recipe\t35\tfr")),
}


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


def is_there(folder: Path, change: Callable[[Path], dict[str, Any]]) -> bool:
    return is_known(small(folder, **(QUERIES | METRICS | change(folder))))


def run_again(folder: Path, change: Callable[[Path], dict[str, Any]], **options: Any) -> Context:
    return unlogged(small(folder, **(QUERIES | METRICS | change(folder))), **options)


def counts(folder: Path) -> list[int]:
    evaluation = small(folder)
    tables = database.RECORDS.keys() - {"reuse"}
    return [rows_of(evaluation, f"select count(*) from {table}")[0][0] for table in sorted(tables)]


@pytest.mark.parametrize("what", mostly_soaked(SAME, kept=["TREC to Parquet"]))
def test_the_same_content_is_evaluated_once(what: str, first: Context, tmp_path: Path) -> None:
    before = counts(tmp_path)
    night = run_again(tmp_path, SAME[what])
    assert night.reused
    assert night.bundle == first.bundle
    assert counts(tmp_path) == before


@pytest.mark.parametrize("what", mostly_soaked(NEW, kept=["a grade", "a ranking", "a query's weight"]))
def test_what_can_change_a_result_is_a_new_evaluation(what: str, first: Context, tmp_path: Path) -> None:
    assert not is_there(tmp_path, NEW[what])


def test_force_computes_anew(first: Context, tmp_path: Path) -> None:
    night = run_again(tmp_path, SAME["nothing"], force=True)
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

    def by_function(turn: int) -> Callable[[Path], dict[str, Any]]:
        new = {"name": "new", "python": "engine_of_reuse:search", "arguments": {"turn": turn}}
        return lambda folder: with_second_system(new)

    assert not run_again(tmp_path, by_function(1)).reused, "a function gives no ranks"
    assert run_again(tmp_path, by_function(-1)).reused
    changed_run(tmp_path, 3)
    assert not is_there(tmp_path, by_function(1))


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
    limited = {"retention": {"bundles": 1}}
    changed_run(tmp_path, 3)
    run_again(tmp_path, lambda folder: limited)
    assert not first.bundle.exists(), "retention"
    (tmp_path / "inputs" / "new.run").write_bytes((DATA / "new.run").read_bytes())
    third = run_again(tmp_path, lambda folder: limited)
    assert not third.reused
    assert rows_of(small(tmp_path), "select count(*), count(distinct content_key) from evaluation") == [(3, 2)]


def test_a_damaged_bundle_is_not_reused(first: Context, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (first.bundle / "bundle.json").write_text("{}")
    assert not run_again(tmp_path, SAME["nothing"]).reused
    night = run_again(tmp_path, SAME["nothing"])
    assert night.reused
    (night.bundle / "query_scores.parquet").unlink()
    assert not is_there(tmp_path, SAME["nothing"])
    assert "Traceback" not in capsys.readouterr().err


def test_a_night_in_which_nothing_changed_leaves_a_trace(first: Context, tmp_path: Path) -> None:
    """Beside the bundle and in the history, in the order of time; the same moment once."""
    evaluation = small(tmp_path)
    days = [
        first_day := bundles.read_bundle(first.bundle).began,
        *(datetime(2027, 1, day, tzinfo=UTC) for day in (3, 2, 3)),
    ]
    for at in days:
        assert run_again(tmp_path, SAME["nothing"], at=at).reused
    moments = [f"2027-01-0{day}T00:00:00+00:00" for day in (3, 2)]
    assert [moment.isoformat() for moment in bundles.read_bundle(first.bundle).reused] == moments
    assert first_day.isoformat() not in moments, "the night itself, again"
    timeline = read_timeline(evaluation, None, None)
    assert timeline.reused == tuple(ReusedNight(moment, 1) for moment in sorted(moments))
    assert len(timeline.evaluations) == 1
    database.history_path(evaluation).unlink()
    assert run_again(tmp_path, SAME["nothing"], at=days[1]).reused
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
    run_again(tmp_path, SAME["nothing"])
    assert bundles.unpublished_bundles(evaluation) == [first.bundle]
    mark_published(first.bundle, {"uri": "u", "reused": 1})
    assert bundles.unpublished_bundles(evaluation) == []
