"""A small evaluation for the tests of nights: configured, performed without Prefect, and what it left."""

import json
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.duckdb import GrowingDatabase
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history import database
from ndcg_ab.history import input_cache as known_inputs
from ndcg_ab.pipeline.context import Context, Stage
from ndcg_ab.pipeline.pulls import PULLS
from ndcg_ab.pipeline.stages import Call, run_stages
from ndcg_ab.pipeline.store import Store
from ndcg_ab.report import bundle_files
from ndcg_ab.runs import run as stages
from ndcg_ab.runs.run import open_run, perform_remaining_stages
from ndcg_ab.scoring.scoring import PulledInputs
from tests.paths import ROOT
from tests.stores import make_once

DATA = ROOT / "tests" / "data"


def perform_run(
    evaluation: Evaluation,
    call: Call = Stage.perform,
    *,
    say: Callable[[str], object] = lambda text: None,
    force: bool = False,
    at: datetime | None = None,
) -> Context:
    """Do the whole run, each part of a stage by `call`; for the other parameters see `open_run`."""
    with open_run(evaluation, say, force=force, at=at) as run:
        perform_remaining_stages(run, call)
    return run


def pull_judgments(evaluation: Evaluation) -> Any:
    store = Store(evaluation)
    run_stages(Context(evaluation, store), PULLS[:2])
    return store.judgments()


def pull_inputs(evaluation: Evaluation, *, whole: bool = True) -> PulledInputs:
    """Read the inputs and return them. whole: whether to read complete rankings, beyond what the metrics need."""
    store = Store(evaluation, complete=whole)
    run_stages(Context(evaluation, store, lambda step: None, measures=False), PULLS)
    return store.inputs()


def small(folder: Path, **changes: Any) -> Evaluation:
    """Two systems on 20 queries; inputs, results and an MLflow store of its own under `folder`."""
    inputs = folder / "inputs"
    if not inputs.exists():
        inputs.mkdir(parents=True)
        for path in DATA.iterdir():
            (inputs / path.name).write_bytes(path.read_bytes())
    content: dict[str, Any] = {
        "name": "small",
        "directory": inputs,
        "output": folder / "out",
        "judgments": {"file": "judgments.qrels"},
        "systems": [{"name": "old", "file": "old.run"}, {"name": "new", "file": "new.run"}],
        "statistics": {"resamples": 100},
        "mlflow": {"tracking_uri": f"sqlite:///{folder / 'mlflow.db'}"},
    }
    return Evaluation.model_validate({**content, **changes})


def no_tracker(*_: object) -> None:
    """In place of publishing."""


def plain_page(folder: Path) -> None:
    """In place of the page, which takes most of a small evaluation's time."""
    (folder / bundle_files.PAGE).write_text("page\n")


def calling(**works: Callable[..., Any]) -> Call:
    """Calls the stages, but some of them, by the names of their functions, with other functions.

    They take a stage's arguments; in the place of draw_page the folder of the bundle.
    """
    others = {stage: works[stage.run.__name__] for stage in stages.STAGES if stage.run.__name__ in works}
    assert len(others) == len(works)

    def call(stage: Stage, context: Context, part: str) -> str | None:
        if (work := others.get(stage)) is None:
            return stage.perform(context, part)
        result: str | None = work(context.bundle) if stage is stages.draw_page else work(context, part)
        return result

    return call


def unlogged(evaluation: Evaluation, **options: Any) -> Context:
    """A run whose publishing does nothing."""
    return perform_run(evaluation, calling(publish=no_tracker), **options)


def undrawn(evaluation: Evaluation, **options: Any) -> Context:
    """The same without the page."""
    return perform_run(evaluation, calling(publish=no_tracker, draw_page=plain_page), **options)


class WouldComputeError(Exception):
    """In the place of what an evaluation computes that is not there already."""


def compute(*_: Any) -> None:
    raise WouldComputeError


def is_known(evaluation: Evaluation, say: Callable[[str], None] = lambda step: None) -> bool:
    """Whether a run reuses an earlier evaluation: it ends where it would begin to compute."""
    try:
        return perform_run(evaluation, calling(check_data=compute, publish=no_tracker), say=say).reused
    except WouldComputeError:
        return False


def changed_run(folder: Path, turn: int) -> None:
    """Gives the candidate another ranking: a different result of one query goes to the top."""
    small(folder)
    lines = (DATA / "new.run").read_text().splitlines()
    fields = lines[turn % len(lines)].split()
    fields[4] = str(50 + turn)
    lines[turn % len(lines)] = " ".join(fields)
    (folder / "inputs" / "new.run").write_text("\n".join(lines) + "\n")


def make_nights(folder: Path, count: int) -> None:
    """As many evaluations, each of another ranking."""
    if count > 1:
        shutil.copytree(ready_nights(count - 1), folder)
    changed_run(folder, count - 1)
    undrawn(small(folder))


def ready_nights(count: int) -> Path:
    return make_once(f"nights-{count}", lambda folder: make_nights(folder, count))


def nights(folder: Path, count: int) -> list[Path]:
    """The bundles of as many evaluations, each of another ranking: copied, for they are made once for all tests."""
    shutil.copytree(ready_nights(count), folder, dirs_exist_ok=True)
    return sorted((folder / "out" / "small").glob("2*"), key=lambda bundle: bundles.read_bundle(bundle).ordinal)


def rows_of(evaluation: Evaluation, select: str) -> list[tuple[Any, ...]]:
    with GrowingDatabase(database.history_path(evaluation)) as past:
        return past.connection.execute(select).fetchall()


def tables_of(evaluation: Evaluation) -> dict[str, Any]:
    """The rows of every table of the history, as JSON has them."""
    with GrowingDatabase(database.history_path(evaluation)) as past:
        every = {name: f"select * from {name} order by all" for name in database.RECORDS}
        rows = {name: past.connection.execute(select).fetchall() for name, select in every.items()}
    found: dict[str, Any] = json.loads(json.dumps(rows))
    return found


def state(evaluation: Evaluation) -> dict[str, Any]:
    """What a night left: history rows by table and ordinal, folders, files of each bundle."""
    parent = evaluation.output_directory / evaluation.name
    found: dict[str, Any] = {"tables": tables_of(evaluation), "bundles": {}}
    found["evaluations"] = rows_of(evaluation, "select ordinal, key, content_key from evaluation order by ordinal")
    for folder in sorted(parent.iterdir()):
        if folder.is_dir() and folder.name != known_inputs.INPUTS:
            found["bundles"][folder.name] = sorted(path.name for path in folder.iterdir())
    for name in found["bundles"]:
        if not name.startswith("."):
            bundle = bundles.read_bundle(parent / name)
            found.setdefault("ordinals", []).append([bundle.key, bundle.ordinal])
    return found


def runs(evaluation: Evaluation) -> list[dict[str, Any]]:
    """The active runs of the evaluation's experiment, by key and kind."""
    import mlflow

    client = mlflow.MlflowClient(tracking_uri=evaluation.mlflow.tracking_uri)
    experiment = client.get_experiment_by_name(evaluation.mlflow.experiment or evaluation.name)
    if experiment is None:
        return []
    found = client.search_runs([experiment.experiment_id], max_results=1000)
    rows = [
        {
            "id": run.info.run_id,
            "key": run.data.tags["bundle_key"],
            "kind": run.data.tags["kind"],
            "ordinal": int(run.data.tags["evaluation"]),
            "complete": "published" in run.data.tags,
            "status": run.info.status,
            "inputs": {item.dataset.name: item.dataset.digest for item in run.inputs.dataset_inputs},
        }
        for run in found
    ]
    return sorted(rows, key=lambda row: (row["ordinal"], row["kind"]))
