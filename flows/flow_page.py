"""Display a finished evaluation in Prefect: name and state of its flow run, artifacts, and events."""

import re
from datetime import UTC, datetime
from typing import Any

from prefect import get_run_logger
from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.events import emit_event
from prefect.states import Completed, Failed

from ndcg_ab.pipeline.context import Context
from ndcg_ab.report.answer import format_headline, format_reasons
from ndcg_ab.report.markdown import comparison_table, escape_text, format_note
from ndcg_ab.trackers import tracker_label

from .events import events_of

GATE_FAILED = "GateFailed"


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
