"""Run by test_kill.py in a process of its own: nights that are killed at a named place, and the night after.

Every night is a fork of this process, which itself opens nothing: what it imported need not be imported again.
Writes one line of JSON for each place.
"""

import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pyarrow.dataset  # noqa: F401
from mlflow.store.tracking import sqlalchemy_store  # noqa: F401
from sqlalchemy.orm import configure_mappers

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history import database
from ndcg_ab.pipeline.context import Context, Stage
from ndcg_ab.pipeline.stages import Call
from ndcg_ab.report import bundle_files
from ndcg_ab.runs import run as stages
from ndcg_ab.trackers import base as tracking
from ndcg_ab.trackers.mlflow import client as mlflow
from tests.forking import call_in_fork
from tests.small_evaluation import (
    calling,
    changed_run,
    no_tracker,
    perform_run,
    plain_page,
    runs,
    small,
    state,
    tables_of,
)

configure_mappers()  # once for all forks, as is what MLflow and pyarrow import late
NOT_TAKEN = {  # by these nights
    *("pull_scores", "pull_proxy_judgments", "score_by_proxy_judgments", "judge_with_function"),
    *("score_by_judges", "compare_without_sole_labels", "measure_by_turns", "remove_old"),
}
STEPS = [step.run.__name__ for step in stages.STAGES if step.run.__name__ not in NOT_TAKEN]
IN_KEEPING = ["bundle half written", "before renaming", "between renaming and commit", "after commit"]
IN_PUBLISHING = [
    "after the parent run",
    "after one child",
    "before it is complete",
    "published and not marked",
    "a bundle half removed",
]
PLACES = [*STEPS, *IN_KEEPING, *IN_PUBLISHING]
BEFORE_PUBLISHING = [*STEPS[: STEPS.index("draw_page")], *IN_KEEPING[:2]]  # the night after need not publish either


def die(*_: Any, **__: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_performer(place: str) -> Call:
    """How the steps are called, one of which is death."""
    if place in STEPS:
        return calling(**{place: die})
    if place == "bundle half written":

        def write_half(path: Path, text: str) -> None:
            path.write_text(text[:100])
            die()

        bundles.write_text = write_half
    elif place in ("before renaming", "between renaming and commit"):
        rename = Path.rename

        def rename_and_die(path: Path, target: Path) -> Path:
            if path.suffix == ".partial" and path.name.startswith(".2"):
                if place == "between renaming and commit":
                    rename(path, target)
                die()
            return rename(path, target)

        Path.rename = rename_and_die  # type: ignore[method-assign]
    elif place in ("after the parent run", "after one child"):
        log_system, left = mlflow.BundleLog.log_system, [1 if place == "after one child" else 0]

        def log_some(*arguments: Any) -> str:
            left[0] -= 1
            return die() if left[0] < 0 else log_system(*arguments)

        mlflow.BundleLog.log_system = log_some
    elif place == "before it is complete":
        mlflow.BundleLog.provision_views = die
    elif place == "published and not marked":
        tracking.mark_published = die
    elif place == "a bundle half removed":
        shutil.rmtree = remove_half
    elif place == "after commit":
        return calling(keep=keep_and_die)
    return Stage.perform


def keep_and_die(context: Context, part: str) -> None:
    stages.keep.run(context, part)
    die()


REMOVE = shutil.rmtree


def remove_half(folder: Path | str, **options: Any) -> None:
    """Half of a bundle; anything else that goes is removed as ever."""
    bundle = Path(folder)
    if not (bundle / bundles.BUNDLE).exists():
        REMOVE(folder, **options)
    else:
        (bundle / bundles.BUNDLE).unlink()
        (bundle / bundles.SCORES).unlink()
        die()


def night(evaluation: Evaluation, place: str | None = None, after: str | None = None) -> None:
    """One that is killed at a place, or the one after."""
    bundle_files.write_report = plain_page
    quiet = calling(publish=no_tracker)
    perform_run(evaluation, kill_performer(place) if place else quiet if after in BEFORE_PUBLISHING else Stage.perform)


def rows_left(evaluation: Evaluation) -> dict[str, Any]:
    """The history as the next one to open it finds it."""
    return tables_of(evaluation) if database.history_path(evaluation).exists() else {}


def killed(here: Path, place: str) -> dict[str, Any]:
    """What is left by a night that is killed, and what the next one makes of it."""
    changed_run(here, 3)
    evaluation = small(here, **({"retention": {"bundles": 1}} if place == "a bundle half removed" else {}))
    died = call_in_fork(lambda: night(evaluation, place))
    return {"place": place, "killed": died, **call_in_fork(lambda: describe_results(evaluation, place))}


def describe_results(evaluation: Evaluation, place: str) -> dict[str, Any]:
    found = {"left": rows_left(evaluation)}
    night(evaluation, after=place)
    return found | {"state": state(evaluation), "runs": None if place in BEFORE_PUBLISHING else runs(evaluation)}


def main(folder: Path, places: list[str]) -> None:
    first = folder / "first"
    call_in_fork(lambda: night(small(first)))
    print(json.dumps(call_in_fork(lambda: state(small(first)))))
    for number, place in enumerate(places):
        shutil.copytree(first, folder / str(number))
        print(json.dumps(killed(folder / str(number), place)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or PLACES)
