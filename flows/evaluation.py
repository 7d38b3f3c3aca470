"""The evaluation as a Prefect flow: every step a task, its state, artifacts and events where a team looks for them.

The work and its order stand in `flows.steps`.  Tasks pass paths and small values, never tables or connections.
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
from prefect.states import Failed
from prefect.task_engine import TaskRunTimeoutError

from flows import steps, store
from flows.config import Evaluation
from flows.errors import InputError, ParityError, SilentError, SqlError
from flows.outcome import Outcome
from flows.report import comparison_table, findings_note

PATIENCE = 5.0  # seconds in which a Prefect server must say that it is there
OURS = (InputError, ParityError, SqlError)  # what is no fault of Prefect's


@dataclasses.dataclass(frozen=True)
class Finished:
    """A finished run: its bundle, where MLflow has it, or why logging is pending.

    reused: an earlier evaluation with the same inputs and configuration stands for it.
    unobserved: why Prefect has no record of it, where it has none.
    """

    bundle: Path
    outcome: Outcome
    extremes: tuple[dict[str, Any], ...]
    comparisons_so_far: int
    reused: bool
    url: str | None
    trend_url: str | None
    dashboard: str | None
    delivered: int
    pending: str | None
    unobserved: str | None


@dataclasses.dataclass
class Watch:
    """What the caller of a flow in this process must know, whatever becomes of Prefect.

    say: told what begins.  bundle, reused: as soon as the evaluation is safe on disk.  night: when all is done.
    error: what a step raised.
    """

    say: Callable[[str], None] = lambda step: None
    bundle: Path | None = None
    reused: bool = False
    night: steps.Night | None = None
    error: Exception | None = None

    def kept(self, bundle: Path, reused: bool) -> None:
        self.bundle, self.reused = bundle, reused


WATCH: ContextVar[Watch] = ContextVar("watch")


def is_worth_retrying(_task: Any, _run: Any, state: Any) -> bool:
    """A place that did not answer may answer later; data that break a rule will not mend themselves."""
    error = state.result(raise_on_failure=False)
    return isinstance(error, SilentError) or not isinstance(error, OURS)


def step(work: Callable[..., Any], name: str, **settings: Any) -> Any:
    made: Any = task(
        name=name,
        task_run_name=settings.pop("run_name", name),
        cache_policy=NO_CACHE,
        persist_result=False,
        **settings,
    )
    return made(work)


def io_step(work: Callable[..., Any], name: str, evaluation: Evaluation, **settings: Any) -> Any:
    """A step that talks to the outside world: tried again when it fails, and given up after a time."""
    prefect = evaluation.prefect
    return step(
        work,
        name,
        retries=prefect.retries,
        retry_delay_seconds=prefect.retry_seconds,
        retry_condition_fn=is_worth_retrying,
        timeout_seconds=prefect.timeout_seconds,
        **settings,
    )


def tasks(evaluation: Evaluation) -> steps.Steps:
    """Every step as a task."""
    return steps.Steps(
        pull_judgments=io_step(steps.pull_judgments, "pull judgments", evaluation),
        pull_ranking=io_step(steps.pull_ranking, "pull ranking", evaluation, run_name="pull {name}"),
        pull_queries=io_step(steps.about_queries, "pull queries", evaluation),
        find_same=step(store.find_same, "look for the same content"),
        load_and_check=step(steps.load_and_check, "load and check"),
        score=step(steps.score, "score"),
        verify=step(steps.verify_sample, "verify"),
        test_differences=step(steps.test_differences, "test differences"),
        keep=step(steps.keep, "keep"),
        # MLflow's client has tried again by itself, and the next night delivers what is pending: one more attempt.
        publish=io_step(steps.publish, "publish", evaluation, run_name="publish to MLflow").with_options(
            retries=min(1, evaluation.prefect.retries)
        ),
    )


def run_name() -> str:
    """What and when: ``demo 2026-11-20 02:00``."""
    context = FlowRunContext.get()
    parameters = (context.parameters or {}) if context else {}
    given, at = parameters.get("evaluation"), parameters.get("at")
    name = given.get("name") if isinstance(given, dict) else getattr(given, "name", "evaluation")
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at or datetime.now(UTC)
    return f"{name} {moment:%Y-%m-%d %H:%M}"


@flow(name="ndcg-ab", flow_run_name=run_name, validate_parameters=True, persist_result=False)
def evaluate(evaluation: Evaluation, force: bool = False, at: datetime | None = None) -> Any:
    """Compares the systems of one evaluation and keeps what was found.

    evaluation: what is compared, and how.  force: compute anew even if inputs and configuration are those of an
    earlier evaluation.  at: the moment that it stands for; by default now.
    """
    watch = WATCH.get(Watch())
    try:
        with progress(f"{slug(evaluation.name)}-progress", len(evaluation.systems) + 9) as further:
            announced = steps.announced(watch.say, tasks(evaluation), further)
            night = steps.perform(evaluation, announced, force=force, at=at, kept=watch.kept)
    except Exception as error:
        watch.error = error
        raise
    watch.night = night
    outcome = store.read_bundle(night.bundle).outcome
    show(evaluation, night, outcome)
    if outcome.gate == "failed":
        failures = "; ".join(f"{gate.name}: {gate.message}" for gate in outcome.gates if not gate.passed)
        return Failed(name="GateFailed", message=f"gate failed: {failures}")
    return {"bundle": str(night.bundle), "reused": night.reused, **night.published}


@contextlib.contextmanager
def progress(key: str, steps_in_all: int) -> Iterator[Callable[[], None]]:
    """A bar on the flow run's page; what it gives takes it one step further."""
    artifact: Any = create_progress_artifact(0.0, key=key, description="steps of the evaluation")
    done = 0

    def further() -> None:
        nonlocal done
        done += 1
        update_progress_artifact(artifact, min(99.0, 100.0 * done / steps_in_all))

    yield further
    update_progress_artifact(artifact, 100.0)


def slug(text: str) -> str:
    """Lower-case letters, digits and dashes, as keys of artifacts must be."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def show(evaluation: Evaluation, night: steps.Night, outcome: Outcome) -> None:
    """Artifacts on the flow run's page, its log, and events that automations can act on."""
    logger, name = get_run_logger(), slug(evaluation.name)
    table = comparison_table(outcome)
    create_table_artifact(
        [dict(zip(table["columns"], row, strict=True)) for row in table["data"]],
        key=f"{name}-verdicts",
        description=f"{evaluation.name}: every candidate against {outcome.baseline}",
    )
    create_markdown_artifact(findings_note(outcome), key=f"{name}-findings", description="data check and gates")
    if night.published["url"]:
        create_link_artifact(night.published["url"], link_text="MLflow run", key=f"{name}-mlflow")
    if night.reused:
        logger.info("same inputs and configuration as before: %s", night.bundle)
    if night.published["pending"]:
        logger.warning("logging to MLflow is pending: %s", night.published["pending"])
    tell(evaluation, night, outcome)


def tell(evaluation: Evaluation, night: steps.Night, outcome: Outcome) -> None:
    """`ndcg-ab.gate.failed` for the evaluation, `ndcg-ab.verdict.regressed` for every candidate that regressed."""
    common = {"evaluation": evaluation.name, "bundle": str(night.bundle), "url": night.published["url"]}
    if outcome.gate == "failed":
        failures = {gate.name: gate.message for gate in outcome.gates if not gate.passed}
        resource = {
            "prefect.resource.id": f"ndcg-ab.evaluation.{evaluation.name}",
            "prefect.resource.name": evaluation.name,
        }
        emit_event("ndcg-ab.gate.failed", resource, payload={**common, "gates": failures})
    for row in outcome.main:
        if not row.exploratory and row.verdict.startswith("regressed"):
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

    A Prefect server that is away, or goes away on the way, does not stop the night: it goes on without.
    """
    watch = Watch(say)
    WATCH.set(watch)
    trouble = silence(PREFECT_API_URL.value())
    if trouble is None:
        try:
            state: Any = evaluate(evaluation, force, at, return_state=True)
            if watch.night is None:
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
    night = watch.night
    if night is None and watch.bundle is not None:
        night = steps.deliver(evaluation, watch.bundle, watch.reused)
    if night is None:
        say(f"going on without Prefect ({trouble})")
        night = steps.perform(evaluation, steps.announced(say), force=force, at=at)
    return finished(night, trouble)


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


def finished(night: steps.Night, trouble: str | None) -> Finished:
    bundle = store.read_bundle(night.bundle)
    return Finished(
        bundle=bundle.folder,
        outcome=bundle.outcome,
        extremes=bundle.extremes,
        comparisons_so_far=bundle.comparisons_so_far,
        reused=night.reused,
        unobserved=trouble,
        **night.published,
    )
