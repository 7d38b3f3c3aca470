"""Run an evaluation as a Prefect flow; if the Prefect server is unavailable, hangs or dies, return the reason."""

import contextlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_HOME,
    PREFECT_SERVER_EPHEMERAL_ENABLED,
    PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS,
    get_current_settings,
    temporary_settings,
)
from prefect.states import Cancelled

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.secrets.lookup import remember_address, without_password
from ndcg_ab.config.secrets.redaction import redact
from ndcg_ab.deadlines import OverdueError, run_with_timeout
from ndcg_ab.errors import on_one_line
from ndcg_ab.full_disks import path_on_full_disk
from ndcg_ab.pipeline.context import Context

from .evaluation import GATE_FAILED, OPENED, evaluation_flow
from .stopping import CLEAN_UP, Stopped
from .temporary_server import TemporaryServer

PATIENCE = 5.0  # seconds in which a Prefect server must say that it is there
LAST_WORD = 1.0  # seconds that it is given to hear that a run was stopped


def run_as_flow(run: Context, evaluation: Evaluation, force: bool, at: datetime | None) -> str | None:
    """Perform a run as a flow that Prefect records; return None, or the reason why the record is missing or incomplete.

    If no server can be used, nothing is performed. If a server dies or hangs, the flow ends early, and the stages that
    are done by then stay done. evaluation, force, at: the flow's parameters. Raises the error of a stage that failed.
    """
    url, trouble = server_for_run()
    if trouble:
        return trouble
    OPENED.set(report_if_stopped(run, url))
    with temporary_settings({PREFECT_API_URL: url}):
        try:
            state: Any = evaluation_flow(evaluation, force, at, return_state=True)
            recorded = state.is_completed() or state.name == GATE_FAILED
            error = None if recorded else state.result(raise_on_failure=False)
        except Exception as failure:
            error = failure
            Stopped.abruptly = True  # at its end Prefect would wait some seconds for each event that it could not send
    if run.error is not None:
        raise run.error
    return None if error is None else on_one_line(f"{type(error).__name__}: {error}", 300)


@contextlib.contextmanager
def report_if_stopped(run: Context, url: str) -> Iterator[Context]:
    """Yield the run; if a signal stops it in the block, mark its flow run as cancelled on the server.

    Without the mark, the flow run would stay in the state Running forever.
    """
    context = FlowRunContext.get()
    assert context is not None and context.flow_run is not None
    flow_run = context.flow_run.id

    def cancel() -> None:
        with temporary_settings({PREFECT_API_URL: url}), get_client(sync_client=True) as client:
            state: Any = Cancelled(message=f"{run.evaluation.name} was stopped")
            client.set_flow_run_state(flow_run, state, force=True)

    def report() -> None:
        with contextlib.suppress(Exception):
            run_with_timeout(LAST_WORD, cancel)

    CLEAN_UP.append(report)
    try:
        yield run
    finally:
        CLEAN_UP.remove(report)


def configured_server() -> str | None:
    """Return the address of the server that Prefect's settings name, or None."""
    address: str | None = PREFECT_API_URL.value()
    return address


def server_for_run() -> tuple[str, str | None]:
    """Return the address of the Prefect server for this run, and the reason why the server cannot be used.

    The reason is None if the server can be used. The server is the configured one, or a temporary one that is started
    here. The address is empty if no server is configured and temporary ones are switched off.
    """
    if url := configured_server():
        return url, explain_no_answer(url)
    if not PREFECT_SERVER_EPHEMERAL_ENABLED.value():
        return "", "none is named, and temporary ones are switched off (PREFECT_SERVER_EPHEMERAL_ENABLED)"
    server = TemporaryServer(get_current_settings().to_environment_variables(exclude_unset=True))
    trouble = server.wait(PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS.value())
    if trouble and path_on_full_disk(PREFECT_HOME.value()):
        trouble = f"{PREFECT_HOME.value()}: there is no room for its database"
    return server.url, trouble


def explain_no_answer(api_url: str) -> str | None:
    """Return the reason why the Prefect server at an address does not answer, or None if it answers."""

    address = without_password(remember_address(api_url))

    def ask() -> None:
        with urllib.request.urlopen(f"{address.rstrip('/')}/health", timeout=PATIENCE) as answer:
            answer.read()

    try:
        run_with_timeout(PATIENCE, ask)
    except OverdueError:
        return f"{redact(address)} does not answer in {PATIENCE:g} s"
    except urllib.error.HTTPError as error:
        return f"{redact(address)} answers {error.code}" if error.code >= 500 else None
    except (OSError, ValueError, http.client.HTTPException) as error:
        return redact(f"{address} does not answer: {getattr(error, 'reason', error)}")
    return None
