"""Whether an evaluation is the same as an earlier one follows from every field that can change its result."""

import contextlib
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
from ndcg_ab.history.database import configuration_key, content_key
from tests.small_evaluation import small

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
