"""The same content is not evaluated twice; anything that can change a result is; what counts as another look."""

import contextlib
import dataclasses
import json
import shutil
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import BaseModel

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history import database
from ndcg_ab.history.bundle import mark_published
from ndcg_ab.history.database import configuration_key, content_key
from ndcg_ab.history.timeline import ReusedNight, read_timeline
from ndcg_ab.pipeline.context import Context
from tests.small_evaluation import DATA, changed_run, is_known, rows_of, small, undrawn, unlogged

QUERIES = {"queries": {"file": "queries.tsv"}, "slices": {"by": ["language"], "smallest": 6}}
METRICS = {"metrics": ["ndcg@10"], "gate": {"no_regression": True}}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Context]:
    folder = tmp_path_factory.mktemp("template")
    return folder, undrawn(small(folder, **QUERIES, **METRICS))


@pytest.fixture
def first(template: tuple[Path, Context], tmp_path: Path, plain_pages: None) -> Context:
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


@pytest.mark.slow
def test_the_same_content_in_another_place_is_evaluated_once(first: Context, tmp_path: Path) -> None:
    before, folder = counts(tmp_path), tmp_path / "elsewhere"
    (tmp_path / "inputs").rename(folder)
    (folder / "old.run").rename(folder / "older.run")
    systems = [{"name": "old", "file": "older.run"}, {"name": "new", "file": "new.run"}]
    night = unlogged(evaluation_of(tmp_path, directory=folder, systems=systems))
    assert night.reused
    assert night.bundle == first.bundle
    assert counts(tmp_path) == before


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_damaged_bundle_is_not_reused(first: Context, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (first.bundle / "bundle.json").write_text("{}")
    assert not unlogged(evaluation_of(tmp_path)).reused
    night = unlogged(evaluation_of(tmp_path))
    assert night.reused
    (night.bundle / "query_scores.parquet").unlink()
    assert not is_known(evaluation_of(tmp_path))
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.slow
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


@pytest.mark.slow
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
    unlogged(evaluation_of(tmp_path), at=datetime(2099, 1, 1, tzinfo=UTC))
    assert bundles.unpublished_bundles(evaluation) == [first.bundle]
    mark_published(first.bundle, {"uri": "u", "reused": 1})
    assert bundles.unpublished_bundles(evaluation) == []


# ---- whether it is the same follows from every field that can change the result


# Said here a second time: a field that is put among them by mistake is noticed.
OPERATIONAL = {"output", "directory", "tracker", "mlflow", "prefect", "resources", "engine", "schedule", "retention"}
OPERATIONAL |= {"documents"}
# In whose place the content of what they name counts.
NAMES_OF_INPUTS = ("judgments", "more_judgments", "cheap_judgments", "careful_unseen", "queries", "intended", "scores")
OPTIONS = {
    "queries": "queries.tsv",
    "slices": {"by": ["language"]},
    "gate": {"not_worse": {"rr": 0.1}},
    "secondary_metrics": ["rr"],
    "guardrails": {"recall@5": 0.1},
    "findings": {"unjudged_query": "note"},
}
RANKED = ("judgments", "judgments", "cheap judgments", "ranking", "ranking", "queries", "intended")
GIVEN = ("scores", "scores", "queries", "intended")


def changed(value: Any) -> Any:
    """Another value of the same kind."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case list():
            return [*value, "another"]
        case dict():
            return {**value, "another": 1}
        case None:
            return 1
        case _:
            return f"{value}-another"


def changes_of(model: BaseModel, path: tuple[str, ...] = ()) -> Iterator[tuple[str, BaseModel]]:
    """Every field of a model and of the models in it, with the model in which it has another value."""
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            for shown, inner in changes_of(value, (*path, name)):
                yield shown, model.model_copy(update={name: inner})
        else:
            yield ".".join([*path, name]), model.model_copy(update={name: changed(value)})


@pytest.fixture
def evaluation(tmp_path: Path) -> Evaluation:
    return small(tmp_path, **OPTIONS)


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_every_field_counts_or_is_operational(evaluation: Evaluation) -> None:
    before = configuration_key(evaluation)
    seen = set()
    for path, other in changes_of(evaluation):
        top = path.partition(".")[0]
        if top in NAMES_OF_INPUTS or top == "systems":
            continue
        seen.add(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert (configuration_key(other) != before) == (top not in OPERATIONAL), path  # type: ignore[arg-type]
    assert {"combine", "judgments_precedence", "statistics.seed", "gate.judged", "slices.by", "output"} <= seen


def test_names_and_versions_of_systems_count(evaluation: Evaluation) -> None:
    keys = {configuration_key(evaluation)}
    for change in ({"name": "other"}, {"version": "2"}):
        systems = [evaluation.systems[0], evaluation.systems[1].model_copy(update=change)]
        keys.add(configuration_key(evaluation.model_copy(update={"systems": systems})))
    assert len(keys) == 3


@pytest.mark.parametrize("kinds", [RANKED, GIVEN])
def test_the_content_of_every_input_counts(kinds: tuple[str, ...], evaluation: Evaluation) -> None:
    inputs = [{"kind": kind, "name": f"{kind} {at}", "digest": f"{at}"} for at, kind in enumerate(kinds)]
    keys = {content_key(evaluation, inputs)}
    for at in range(len(inputs)):
        keys.add(content_key(evaluation, [*inputs[:at], inputs[at] | {"digest": "another"}, *inputs[at + 1 :]]))
    assert len(keys) == len(inputs) + 1


@pytest.mark.parametrize(
    ("latest", "kept", "found"),
    [([], None, "a"), ([1], None, "a"), ([2, 1], None, None), ([1], 2, "a"), ([1], 1, None)],
)
def test_only_the_content_of_the_night_before_is_the_same(
    latest: list[int], kept: int | None, found: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Evaluation 1, in the folder `a`, has it; 2 has not. kept: how many bundles stay."""
    past = SimpleNamespace(
        history_path=lambda _: tmp_path,
        open_history_for=contextlib.nullcontext,
        content_key=lambda *_: "key",
        keys_with_content=lambda *_: ["shop/a"],
        nights_until=lambda _, moment: [(moment.isoformat(), ordinal) for ordinal in latest],
        ordinals=lambda _, keys: {1},
    )
    folders = {"adopt_bundles": lambda *_: None, "finished_bundles": lambda parent: [parent / "a", parent / "b"]}
    for name, stub in {"database": past, "is_complete": lambda _: True, **folders}.items():
        monkeypatch.setattr(bundles, name, stub)
    evaluation = SimpleNamespace(output_directory=tmp_path, name="shop", retention=SimpleNamespace(bundles=kept))
    same = bundles.find_reusable(cast(Any, evaluation), [], datetime(2026, 11, 20, tzinfo=UTC))
    assert same == (found and tmp_path / "shop" / found)
