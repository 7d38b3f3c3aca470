"""The evaluation as a Prefect flow: every step a task, its state, artifacts and events where a team looks for them.

The work and its order stand in `ndcg_ab.flows.steps`.  Tasks pass paths and small values, never tables or connections.
(No postponed annotations here: Prefect cannot resolve them for the models in a served flow's parameters.)
"""

import contextlib
import dataclasses
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prefect import flow, get_run_logger, task
from prefect.artifacts import (
    create_link_artifact,
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.cache_policies import NO_CACHE
from prefect.context import FlowRunContext
from prefect.events import emit_event
from prefect.settings import PREFECT_API_URL
from prefect.states import Completed, Failed
from prefect.task_engine import TaskRunTimeoutError

from ndcg_ab.config.model import Evaluation
from ndcg_ab.config.moment import at_moment
from ndcg_ab.errors import InputError, ParityError, SilentError, SqlError
from ndcg_ab.evaluation.outcome import Outcome
from ndcg_ab.history.bundles import Finished, read_bundle
from ndcg_ab.report.decided import choices, decided, told
from ndcg_ab.report.escaping import escaped
from ndcg_ab.report.markdown import answer_note, comparison_table
from ndcg_core.statistics.verdict import Verdict

from . import steps

PATIENCE = 5.0  # seconds in which a Prefect server must say that it is there
OURS = (InputError, ParityError, SqlError)  # what is no fault of Prefect's


@dataclasses.dataclass
class Watch:
    """What the caller of a flow in this process must know, whatever becomes of Prefect.

    say: told what begins.  bundle, reused: as soon as the evaluation is safe on disk.  performed: when all is
    done.
    error: what a step raised.
    """

    say: Callable[[str], None] = lambda step: None
    bundle: Path | None = None
    reused: bool = False
    performed: steps.Performed | None = None
    error: Exception | None = None

    def kept(self, bundle: Path, reused: bool) -> None:
        self.bundle, self.reused = bundle, reused


WATCH: ContextVar[Watch] = ContextVar("watch")


def is_worth_retrying(_task: Any, _run: Any, state: Any) -> bool:
    """A place that did not answer may answer later; data that break a rule will not mend themselves."""
    error = state.result(raise_on_failure=False)
    return isinstance(error, SilentError) or not isinstance(error, OURS)


def as_task(step: steps.Step, evaluation: Evaluation) -> Any:
    """A step as a task; one that talks to the outside world is tried again when it fails, and given up after a time."""
    settings: dict[str, Any] = {}
    if step.outside:
        prefect = evaluation.prefect
        settings = {
            "retries": min(prefect.retries, prefect.retries if step.most_retries is None else step.most_retries),
            "retry_delay_seconds": prefect.retry_seconds,
            "retry_condition_fn": is_worth_retrying,
            "timeout_seconds": prefect.timeout_seconds,
        }
    name = step.name.replace("{name}", "ranking")
    made: Any = task(name=name, task_run_name=step.name, cache_policy=NO_CACHE, persist_result=False, **settings)
    return made(step.work)


def by_task(evaluation: Evaluation) -> steps.Call:
    """Calls every step as a task."""
    tasks = {step: as_task(step, evaluation) for step in steps.STEPS}

    def call(step: steps.Step, *arguments: Any) -> Any:
        return tasks[step](*arguments)

    return call


def run_name() -> str:
    """What and when: ``demo 2026-11-20 02:00``."""
    context = FlowRunContext.get()
    parameters = (context.parameters or {}) if context else {}
    given, at = parameters.get("evaluation"), parameters.get("at")
    name = given.get("name") if isinstance(given, dict) else getattr(given, "name", "evaluation")
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at or datetime.now(UTC)
    return f"{name} {moment:%Y-%m-%d %H:%M}"


@flow(name="ndcg-ab", flow_run_name=run_name, validate_parameters=True, persist_result=False)
def evaluation_flow(evaluation: Evaluation, force: bool = False, at: datetime | None = None) -> Any:
    """Compares the systems of one evaluation and keeps what was found.

    evaluation: what is compared, and how.  force: compute anew even if inputs and configuration are those of an
    earlier evaluation.  at: the moment that it stands for; by default now.
    """
    watch = WATCH.get(Watch())
    moment = at or datetime.now(UTC)
    try:
        evaluation = at_moment(evaluation, moment)
        count = len(evaluation.systems) + len(steps.STEPS) - 1
        with progress(f"{slug(evaluation.name)}-progress", count) as bar:
            say = both(watch.say, bar.begins)
            call = steps.announced(say, by_task(evaluation), bar.ended)
            performed = steps.perform(evaluation, call, force=force, at=moment, when_kept=watch.kept)
    except Exception as error:
        watch.error = error
        raise
    watch.performed = performed
    outcome = read_bundle(performed.bundle).outcome
    show(evaluation, performed, outcome)
    if outcome.gate == "failed":
        failures = "; ".join(f"{gate.name}: {gate.message}" for gate in outcome.failures)
        return Failed(name="GateFailed", message=f"gate failed: {failures}")
    found = {"bundle": str(performed.bundle), "reused": performed.reused, **performed.published}
    return Completed(message=f"{'nothing changed since then: ' if performed.reused else ''}{told(outcome)}", data=found)


def both(first: Callable[[str], None], second: Callable[[str], None]) -> Callable[[str], None]:
    """Tells two what begins."""

    def say(text: str) -> None:
        first(text)
        second(text)

    return say


class Bar:
    """A bar on the flow run's page, which says what is being done."""

    def __init__(self, key: str, steps_in_all: int) -> None:
        self.done, self.steps = 0, steps_in_all
        self.artifact: Any = create_progress_artifact(0.0, key=key, description="starting")

    def begins(self, step: str) -> None:
        self.show(f"step {self.done + 1} of {self.steps}: {step}")

    def ended(self) -> None:
        self.done += 1

    def show(self, text: str, percent: float | None = None) -> None:
        share = min(99.0, 100.0 * self.done / self.steps) if percent is None else percent
        update_progress_artifact(self.artifact, share, description=escaped(text))


@contextlib.contextmanager
def progress(key: str, steps_in_all: int) -> Iterator[Bar]:
    bar = Bar(key, steps_in_all)
    yield bar
    bar.show(f"done in {bar.done} steps", 100.0)


def slug(text: str) -> str:
    """Lower-case letters, digits and dashes, as keys of artifacts must be."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def show(evaluation: Evaluation, performed: steps.Performed, outcome: Outcome) -> None:
    """Artifacts on the flow run's page, its log, and events that automations can act on."""
    logger, name = get_run_logger(), slug(evaluation.name)
    decision = escaped(f"what to do: {decided(choices(outcome))}")
    create_markdown_artifact(answer_note(outcome), key=f"{name}-decisions", description=decision)
    table = comparison_table(outcome)
    create_table_artifact(
        [dict(zip(table["columns"], row, strict=True)) for row in table["data"]],
        key=f"{name}-verdicts",
        description=escaped(f"{evaluation.name}: every candidate against {outcome.baseline}"),
    )
    if performed.published["url"]:
        create_link_artifact(
            performed.published["url"], link_text="MLflow run", key=f"{name}-mlflow", description="the run in MLflow"
        )
    if performed.reused:
        logger.info("same inputs and configuration as before: %s", performed.bundle)
    if performed.published["pending"]:
        logger.warning("logging to MLflow is pending: %s", performed.published["pending"])
    tell(evaluation, performed, outcome)


def tell(evaluation: Evaluation, performed: steps.Performed, outcome: Outcome) -> None:
    """`ndcg-ab.gate.failed` for the evaluation, `ndcg-ab.verdict.regressed` for every candidate that regressed."""
    common = {"evaluation": evaluation.name, "bundle": str(performed.bundle), "url": performed.published["url"]}
    if outcome.gate == "failed":
        failures = {gate.name: gate.message for gate in outcome.failures}
        resource = {
            "prefect.resource.id": f"ndcg-ab.evaluation.{evaluation.name}",
            "prefect.resource.name": evaluation.name,
        }
        emit_event("ndcg-ab.gate.failed", resource, payload={**common, "gates": failures})
    for row in outcome.main:
        if not row.exploratory and row.conclusion is Verdict.REGRESSED:
            resource = {
                "prefect.resource.id": f"ndcg-ab.system.{evaluation.name}.{row.candidate}",
                "prefect.resource.name": row.candidate,
            }
            payload = {"metric": row.metric, "difference": row.difference, "low": row.low, "high": row.high}
            payload |= {"p_adjusted": row.p_adjusted, "verdict": row.verdict}
            emit_event("ndcg-ab.verdict.regressed", resource, payload={**common, **payload})


def run_evaluation(
    evaluation: Evaluation,
    say: Callable[[str], None] = lambda step: None,
    *,
    force: bool = False,
    at: datetime | None = None,
) -> Finished:
    """Runs the flow here and now; raises what the failing step raised.

    A Prefect server that is away, or goes away on the way, does not stop the run: it goes on without.
    """
    watch = Watch(say)
    WATCH.set(watch)
    trouble = silence(PREFECT_API_URL.value())
    if trouble is None:
        try:
            state: Any = evaluation_flow(evaluation, force, at, return_state=True)
            if watch.performed is None:
                state.result()
        except Exception as error:
            if watch.bundle is None and isinstance(watch.error, OURS):
                raise watch.error from None
            if watch.bundle is None and isinstance(watch.error, TaskRunTimeoutError):
                limit = evaluation.prefect.timeout_seconds
                raise InputError(f"prefect.timeout_seconds = {limit:g}: a pull took longer and was given up") from None
            if watch.bundle is None and watch.error is not None and not is_prefects(watch.error):
                raise
            trouble = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    performed = watch.performed
    if performed is None and watch.bundle is not None:
        performed = steps.finish(evaluation, watch.bundle, watch.reused)
    if performed is None:
        say(f"going on without Prefect ({trouble})")
        performed = steps.perform(evaluation, steps.announced(say), force=force, at=at)
    return finished(performed, trouble)


def silence(api_url: str | None) -> str | None:
    """Why the Prefect server does not answer; None where it does, or where none is named (then one is started)."""
    if not api_url:
        return None
    try:
        with urllib.request.urlopen(f"{api_url.rstrip('/')}/health", timeout=PATIENCE):
            return None
    except urllib.error.HTTPError as error:
        return f"{api_url} answers {error.code}" if error.code >= 500 else None
    except (OSError, ValueError) as error:
        return f"{api_url} does not answer: {getattr(error, 'reason', error)}"


def is_prefects(error: BaseException) -> bool:
    """Whether an error comes from talking to Prefect, not from the evaluation."""
    module = type(error).__module__.partition(".")[0]
    return module in ("prefect", "httpx", "httpcore", "websockets") or "Failed to reach API" in str(error)


def finished(performed: steps.Performed, trouble: str | None) -> Finished:
    bundle = read_bundle(performed.bundle)
    return Finished(
        bundle=bundle.folder,
        outcome=bundle.outcome,
        extremes=bundle.extremes,
        comparisons_so_far=bundle.comparisons_so_far,
        reused=performed.reused,
        unobserved=trouble,
        **performed.published,
    )
