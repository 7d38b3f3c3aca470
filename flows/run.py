"""Run an evaluation in this process, as a Prefect flow if a server is named."""

import os
import sys
from collections.abc import Callable
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

from ndcg_ab.config.environment import profiles_path
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.deadlines import BackgroundTask
from ndcg_ab.history.working_folder import abandon_working_folders
from ndcg_ab.pipeline.context import Context
from ndcg_ab.runs.run import log_failed_night, open_run, perform_patiently, perform_remaining_stages

from .stopping import CLEAN_UP

API_URL = "PREFECT_API_URL"


def run_evaluation(
    evaluation: Evaluation,
    say: Callable[[str], None] = lambda step: None,
    *,
    force: bool = False,
    at: datetime | None = None,
) -> Context:
    """Run an evaluation, as a Prefect flow if a server is named, and return the context with the results.

    If the server is unavailable or hangs, the rest of the run is done without it. The work is done in a thread, so
    that a signal interrupts this call at once. force: True to compute again even if nothing changed. at: the nominal
    time; None: now. say: receives progress messages. Raises the error of a stage that failed.
    """

    def run_and_observe() -> Context:
        with log_failed_night(evaluation, say), open_run(evaluation, say, force=force, at=at) as run:
            if is_server_named(evaluation):
                from .observed import run_as_flow

                run.unobserved = run_as_flow(run, evaluation, force, at)
                if run.unobserved:
                    say(f"going on without Prefect ({run.unobserved})")
            perform_remaining_stages(run, perform_patiently)
        return run

    if abandon_working_folders not in CLEAN_UP:
        CLEAN_UP.append(abandon_working_folders)
    return BackgroundTask(run_and_observe).wait()


def is_server_named(evaluation: Evaluation) -> bool:
    """Return whether a Prefect server is named, by the configuration, the environment or a Prefect profile.

    Prefect is imported only if its profiles may name one.
    """
    if evaluation.prefect.server or evaluation.prefect.api_url or os.environ.get(API_URL):
        return True
    if find_spec("prefect") is None:  # whose files are then of no use
        return False
    if "prefect" not in sys.modules and not may_name_server(profiles_path()):
        return False
    from .observed import configured_server

    return bool(configured_server())


def may_name_server(path: Path) -> bool:
    """Return whether the text of a file looks like Prefect settings that name a server; False if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace").lower()
    except OSError:
        return False
    return "prefect" in f"{path.name.lower()} {text}" and "url" in text
