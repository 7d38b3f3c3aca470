"""Run an evaluation as a Prefect flow, with a task for each part of a stage, and report the results to Prefect.

The work and its order are defined in `ndcg_ab.pipeline` and `ndcg_ab.runs`. Tasks have no arguments, because Prefect
would inspect them.
(No postponed annotations here: Prefect cannot resolve them for the models in a served flow's parameters.)
"""

import contextlib
import re
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.events import emit_event
from prefect.settings import PREFECT_LOGGING_EXTRA_LOGGERS
from prefect.states import Completed, Failed

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.secrets.redaction import censor_logs, redacted_error
from ndcg_ab.pipeline.context import Context, Stage
from ndcg_ab.report.answer import format_headline, format_reasons
from ndcg_ab.report.markdown import comparison_table, escape_text, format_note
from ndcg_ab.runs.run import is_worth_retrying, log_failed_night, open_run, perform_remaining_stages
from ndcg_ab.trackers import tracker_label

from .events import events_of

# The run of who calls the flow, and goes on with it if Prefect fails; else the flow opens one.
OPENED: ContextVar[contextlib.AbstractContextManager[Context]] = ContextVar("opened")
GATE_FAILED = "GateFailed"


def perform_as_task(stage: Stage, run: Context, part: str) -> str | None:
    """Perform one part of a stage as a Prefect task, and return its message or None.

    Prefect retries the task if a retry may succeed, as after a lost connection.
    """

    @task(
        name=stage.task or stage.part_name(part),
        task_run_name=stage.part_name(part).replace("{", "{{").replace("}", "}}"),
        cache_policy=NO_CACHE,
        persist_result=False,
        retries=stage.retries(run.evaluation.prefect),
        retry_delay_seconds=run.evaluation.prefect.retry_seconds,
        retry_condition_fn=should_retry,
    )
    def perform() -> str | None:
        with hide_secrets_in_errors():
            return stage.perform(run, part)

    message: str | None = perform()
    return message


def should_retry(_task: Any, _run: Any, state: Any) -> bool:
    """Return whether a retry of a failed task may succeed, as after a lost connection."""
    return is_worth_retrying(state.result(raise_on_failure=False))


@contextlib.contextmanager
def hide_secrets_in_errors() -> Iterator[None]:
    """Remove secrets from errors raised in the block, because Prefect stores and logs their messages."""
    try:
        yield
    except Exception as error:
        safe_error = redacted_error(error)
        if safe_error is error:
            raise
        raise safe_error from None


def flow_run_name() -> str:
    """Return the name of the flow run: ``demo 2026-11-20 02:00``, the evaluation and its nominal time."""
    context = FlowRunContext.get()
    parameters = (context.parameters or {}) if context else {}
    evaluation, at = parameters.get("evaluation"), parameters.get("at")
    name = evaluation.get("name") if isinstance(evaluation, dict) else getattr(evaluation, "name", "evaluation")
    time = datetime.fromisoformat(at) if isinstance(at, str) else at or datetime.now(UTC)
    return f"{name} {time:%Y-%m-%d %H:%M}"


def report_to_prefect(run: Context) -> Any:
    """Make artifacts for the flow run's page and events for automations, and return the flow's final state.

    The state is Failed if a gate failed, else Completed. The headline of the outcome is added to the name of the flow
    run.
    """
    assert run.outcome is not None
    evaluation, outcome, url = run.evaluation, run.outcome, run.published["url"]
    logger, name = get_run_logger(), artifact_key(evaluation.name)
    headline = format_headline(outcome)
    if (context := FlowRunContext.get()) and context.flow_run:  # the name is all that a list of runs shows
        with get_client(sync_client=True) as client:
            client.update_flow_run(context.flow_run.id, name=f"{context.flow_run.name}: {headline}")
    note = format_note(outcome, run.since_last)
    create_markdown_artifact(note, key=f"{name}-decisions", description=escape_text(headline))
    table = comparison_table(outcome)
    create_table_artifact(
        [dict(zip(table["columns"], row, strict=True)) for row in table["data"]],
        key=f"{name}-verdicts",
        description=escape_text(f"{evaluation.name}: every candidate against {outcome.baseline}"),
    )
    label = tracker_label(evaluation)
    if url and "://" in url:
        key = f"{name}-{artifact_key(evaluation.tracker.name)}"
        create_link_artifact(url, f"{label} run", key=key, description=f"the run in {label}")
    if run.reused:
        logger.info("same inputs and configuration as before: %s", run.bundle)
    if run.pending:
        logger.warning("logging to %s is pending: %s", label, run.pending)
    common = {"evaluation": evaluation.name, "bundle": str(run.bundle), "url": url}
    for event in events_of(evaluation, common, outcome, run.since_last):
        emit_event(**event)
    if outcome.gate == "failed":
        failures = "; ".join(f"{gate.name}: {gate.message}" for gate in outcome.failures)
        return Failed(name=GATE_FAILED, message=f"{headline}. Failed: {failures}")
    again = "nothing changed since then: " if run.reused else ""
    return Completed(message=f"{again}{format_reasons(outcome)}", data={"bundle": str(run.bundle)})


def artifact_key(text: str) -> str:
    """Return a text as an artifact key: lower-case letters and digits, with dashes for all other characters."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


@flow(name="ndcg-ab", flow_run_name=flow_run_name, validate_parameters=True, persist_result=False)
def evaluation_flow(evaluation: Evaluation, force: bool = False, at: datetime | None = None) -> Any:
    """Compare the systems of one evaluation, store the results, and return the flow's final state.

    evaluation: the configuration. force: True to compute again even if inputs and configuration equal those of an
    earlier evaluation. at: the nominal time of the evaluation; None: now.
    """
    censor_logs("prefect", "prefect.flow_runs", "prefect.task_runs", *PREFECT_LOGGING_EXTRA_LOGGERS.value())
    opened = OPENED.get(None) or open_run(evaluation, force=force, at=at)
    with hide_secrets_in_errors(), log_failed_night(evaluation), opened as run:
        perform_remaining_stages(run, perform_as_task)
        return report_to_prefect(run)
