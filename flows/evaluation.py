"""The evaluation as a Prefect flow: every step a task, its state, artifacts and events where a team looks for them.

The work and its order are in `ndcg_ab.pipeline`.  Tasks are given nothing that Prefect could look into.
(No postponed annotations here: Prefect cannot resolve them for the models in a served flow's parameters.)
"""

import contextlib
import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
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
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.events import emit_event
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_HOME,
    PREFECT_LOGGING_EXTRA_LOGGERS,
    PREFECT_SERVER_EPHEMERAL_ENABLED,
    PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS,
    get_current_settings,
    temporary_settings,
)
from prefect.states import Cancelled, Completed, Failed
from prefect.task_engine import TaskRunTimeoutError

from ndcg_ab.config.loading.templates import resolve_at
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.secrets.lookup import remember_address, without_password
from ndcg_ab.config.secrets.redaction import censor_logs, discreet_error, redact
from ndcg_ab.deadlines import BackgroundTask, OverdueError, run_with_timeout
from ndcg_ab.errors import on_one_line
from ndcg_ab.full_disks import full_place
from ndcg_ab.history.bundles.bundle import Bundle, Finished, read_bundle
from ndcg_ab.history.bundles.working_folders import abandon_working_folders
from ndcg_ab.pipeline import Context, Stage
from ndcg_ab.pipeline.run import Call, announce, parts_left
from ndcg_ab.pipeline.stages import KEEP, PUBLISH
from ndcg_ab.report.comment.markdown import answer_note, comparison_table
from ndcg_ab.report.sections.since_last import since_items
from ndcg_ab.report.words.decision_summary import format_headline, format_reasons
from ndcg_ab.report.words.escaping import escape_text
from ndcg_ab.runs.run import Performed, finish_run, perform_run

from .events import events_of
from .temporary_server import TemporaryServer
from .unobserved import OURS, is_worth_retrying, most_retries, read_finished, retrying, too_slow
from .watch import WATCH, Watch, hide_late_cancellations

PATIENCE = 5.0  # seconds in which a Prefect server must say that it is there
LAST_WORD = 1.0  # seconds that it is given to hear that a run was stopped


def should_retry(_task: Any, _run: Any, state: Any) -> bool:
    """Whether Prefect tries a task again that failed."""
    return is_worth_retrying(state.result(raise_on_failure=False))


def as_task(stage: Stage, part: str, evaluation: Evaluation, watch: Watch) -> Any:
    """Part of a stage as a task; one that talks to the outside is tried again when it fails, and given up after a time.

    It is called with the context.  The task has no arguments: Prefect would look into what they hold.
    """
    settings: dict[str, Any] = {}
    prefect = evaluation.prefect
    if stage.outside:
        settings = {
            "retries": most_retries(stage, prefect),
            "retry_delay_seconds": prefect.retry_seconds,
            "retry_condition_fn": should_retry,
            "timeout_seconds": prefect.timeout_seconds,
        }
    name = stage.task or stage.shown(part)
    is_pull = stage.outside and stage is not PUBLISH

    def call(context: Context) -> str | None:
        @task(
            name=name,
            task_run_name=stage.shown(part).replace("{", "{{").replace("}", "}}"),
            cache_policy=NO_CACHE,
            persist_result=False,
            **settings,
        )
        def work() -> str | None:
            with watch.ours(prefect.timeout_seconds if is_pull else None, prefect.retry_seconds):
                with hide_secrets_in_errors():
                    found = stage.run(context, part)
                if stage is KEEP:  # whether Prefect lives to hear of it or not
                    watch.kept(context)
                return found

        found: str | None = work()
        return found

    return call


@contextlib.contextmanager
def hide_secrets_in_errors() -> Iterator[None]:
    """Errors inside tell no secret: Prefect keeps their words, and logs them with their causes."""
    try:
        yield
    except Exception as error:
        told_of_it = discreet_error(error)
        if told_of_it is error:
            raise
        raise told_of_it from None


def task_caller(evaluation: Evaluation, watch: Watch) -> Call:
    """Calls every part of a stage as a task."""

    def call(stage: Stage, context: Context, part: str) -> str | None:
        with watch.prefects():
            found: str | None = as_task(stage, part, evaluation, watch)(context)
            return found

    return call


def flow_run_name() -> str:
    """What and when: ``demo 2026-11-20 02:00``."""
    context = FlowRunContext.get()
    parameters = (context.parameters or {}) if context else {}
    given, at = parameters.get("evaluation"), parameters.get("at")
    name = given.get("name") if isinstance(given, dict) else getattr(given, "name", "evaluation")
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at or datetime.now(UTC)
    return f"{name} {moment:%Y-%m-%d %H:%M}"


@flow(name="ndcg-ab", flow_run_name=flow_run_name, validate_parameters=True, persist_result=False)
def evaluation_flow(evaluation: Evaluation, force: bool = False, at: datetime | None = None) -> Any:
    """Compares the systems of one evaluation and keeps what was found.

    evaluation: what is compared, and how.  force: compute again even if inputs and configuration are those of an
    earlier evaluation.  at: the moment that it stands for; by default now.
    """
    watch = WATCH.get(Watch())
    censor_logs("prefect", "prefect.flow_runs", "prefect.task_runs", *PREFECT_LOGGING_EXTRA_LOGGERS.value())
    context = FlowRunContext.get()
    watch.flow_run = context.flow_run.id if context and context.flow_run else None
    with watch.ours():
        return follow_flow(evaluation, force, at or datetime.now(UTC), watch)


def follow_flow(evaluation: Evaluation, force: bool, moment: datetime, watch: Watch) -> Any:
    """The flow's work; its final state."""
    try:
        with hide_secrets_in_errors():
            evaluation = resolve_at(watch.evaluation or evaluation, moment)
            with report_progress(f"{artifact_key(evaluation.name)}-progress", watch) as bar:
                call = announce(bar.begins, task_caller(evaluation, watch), bar.ended)
                performed = perform_run(
                    evaluation,
                    call,
                    say=watch.say,
                    force=force,
                    at=moment,
                    when_begun=bar.watches,
                    when_kept=watch.kept,
                )
    except Exception as error:
        watch.error = error
        raise
    watch.performed = performed
    bundle = read_bundle(performed.bundle).as_of(reused=performed.reused)
    outcome = bundle.outcome
    with watch.prefects():
        publish_results(evaluation, performed, bundle)
    if outcome.gate == "failed":
        failures = "; ".join(f"{gate.name}: {gate.message}" for gate in outcome.failures)
        return Failed(name="GateFailed", message=f"{format_headline(outcome)}. Failed: {failures}")
    found = {"bundle": str(performed.bundle), "reused": performed.reused, **performed.published}
    return Completed(
        message=f"{'nothing changed since then: ' if performed.reused else ''}{format_reasons(outcome)}", data=found
    )


class Bar:
    """A bar on the flow run's page, which says what is being done."""

    def __init__(self, key: str, watch: Watch) -> None:
        self.done, self.steps, self.watch = 0, 1, watch
        self.context: Context | None = None
        with watch.prefects():
            self.artifact: Any = create_progress_artifact(0.0, key=key, description="starting")

    def watches(self, context: Context) -> None:
        self.context = context

    def begins(self, step: str) -> None:
        """Told to whoever started the flow, too."""
        self.watch.say(step)
        if self.context and self.context.bundle is None:  # else fewer may be left than were counted
            self.steps = parts_left(self.context)
        self.show(f"step {self.done + 1} of {self.steps}: {step}")

    def ended(self) -> None:
        self.done += 1

    def show(self, text: str, percent: float | None = None) -> None:
        share = min(99.0, 100.0 * self.done / self.steps) if percent is None else percent
        with self.watch.prefects():
            update_progress_artifact(self.artifact, share, description=escape_text(text))


@contextlib.contextmanager
def report_progress(key: str, watch: Watch) -> Iterator[Bar]:
    bar = Bar(key, watch)
    yield bar
    bar.show(f"done in {bar.done} steps", 100.0)


def artifact_key(text: str) -> str:
    """Lower-case letters, digits and dashes, as keys of artifacts must be."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def name_flow_run(headline: str) -> None:
    """Adds what was found to the flow run's name: the first line of its page, and all that a list of runs shows."""
    context = FlowRunContext.get()
    if context and context.flow_run:
        with get_client(sync_client=True) as client:
            client.update_flow_run(context.flow_run.id, name=f"{context.flow_run.name}: {headline}")


def publish_results(evaluation: Evaluation, performed: Performed, bundle: Bundle) -> None:
    """Artifacts on the flow run's page, its log, and events that automations can act on."""
    logger, name, outcome = get_run_logger(), artifact_key(evaluation.name), bundle.outcome
    headline = format_headline(outcome)
    decision = escape_text(headline)
    name_flow_run(headline)
    told_of = "\n\n".join([answer_note(outcome), *since_items(bundle.since_last)])
    create_markdown_artifact(told_of, key=f"{name}-decisions", description=decision)
    table = comparison_table(outcome)
    create_table_artifact(
        [dict(zip(table["columns"], row, strict=True)) for row in table["data"]],
        key=f"{name}-verdicts",
        description=escape_text(f"{evaluation.name}: every candidate against {outcome.baseline}"),
    )
    label = performed.published["tracker"]
    if performed.published["url"] and "://" in performed.published["url"]:
        create_link_artifact(
            performed.published["url"],
            link_text=f"{label} run",
            key=f"{name}-{artifact_key(evaluation.tracker.name)}",
            description=f"the run in {label}",
        )
    if performed.reused:
        logger.info("same inputs and configuration as before: %s", performed.bundle)
    if performed.published["pending"]:
        logger.warning("logging to %s is pending: %s", label, performed.published["pending"])
    common = {"evaluation": evaluation.name, "bundle": str(performed.bundle), "url": performed.published["url"]}
    for event in events_of(evaluation, common, outcome, bundle.since_last):
        emit_event(event.name, event.resource, payload=event.payload)


def run_observed(
    evaluation: Evaluation,
    say: Callable[[str], None] = lambda step: None,
    *,
    force: bool = False,
    at: datetime | None = None,
) -> Finished:
    """Runs the flow here and now; raises what the failing step raised.

    A Prefect server that is away, goes away or hangs meanwhile does not stop the run: it goes on without.  All work
    is done apart, so that whatever interrupts this call is obeyed at once, and leaves nothing behind.
    """
    watch = Watch(say, evaluation)
    try:
        trouble = run_flow(evaluation, watch, force, at)
        performed = watch.performed
        if performed is None and (context := watch.context) is not None:
            performed = BackgroundTask(lambda: finish_run(context)).wait()
        if performed is None:
            say(f"going on without Prefect ({trouble})")
            call = announce(say, retrying(evaluation, say))
            performed = BackgroundTask(lambda: perform_run(evaluation, call, say=say, force=force, at=at)).wait()
    except BaseException as error:
        if not isinstance(error, Exception):
            watch.is_over = True
            abandon_working_folders()
            report_stopped(watch, evaluation)
        raise
    return read_finished(performed, trouble)


def run_flow(evaluation: Evaluation, watch: Watch, force: bool, at: datetime | None) -> str | None:
    """Runs the flow; why Prefect has no record of it, None where it has.  Raises what is no fault of Prefect's."""
    url, trouble = server_for_run()
    if trouble:
        return trouble
    watch.api_url = url

    def work() -> None:
        WATCH.set(watch)
        with temporary_settings({PREFECT_API_URL: url}), watch.prefects():
            state: Any = evaluation_flow(evaluation, force, at, return_state=True)
            if watch.performed is None:
                state.result()

    try:
        with hide_late_cancellations():
            BackgroundTask(work).wait(watch.is_overdue)
    except OverdueError:
        watch.is_over = True
        if watch.limit is not None:
            raise too_slow(evaluation.prefect) from None
        return f"{without_password(remember_address(url))} has not answered for half a minute"
    except Exception as error:
        if watch.context is None and isinstance(watch.error, OURS):
            raise watch.error from None
        if watch.context is None and isinstance(watch.error, TaskRunTimeoutError):
            raise too_slow(evaluation.prefect) from None
        if watch.context is None and watch.error is not None and not is_prefect_error(watch.error):
            raise
        return on_one_line(f"{type(error).__name__}: {error}", 300)
    return None


def named_server() -> str | None:
    """The address of the server that Prefect's settings name."""
    found: str | None = PREFECT_API_URL.value()
    return found


def server_for_run() -> tuple[str, str | None]:
    """The address of the server that is named, or of a temporary one; why it cannot be used."""
    if url := named_server():
        return url, explain_no_answer(url)
    if not PREFECT_SERVER_EPHEMERAL_ENABLED.value():
        return "", "none is named, and temporary ones are switched off (PREFECT_SERVER_EPHEMERAL_ENABLED)"
    server = TemporaryServer(get_current_settings().to_environment_variables(exclude_unset=True))
    trouble = server.wait(PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS.value())
    if trouble and full_place(PREFECT_HOME.value()):
        trouble = f"{PREFECT_HOME.value()}: there is no room for its database"
    return server.url, trouble


def report_stopped(watch: Watch, evaluation: Evaluation) -> None:
    """Tells Prefect that a run was stopped, where it takes that at once; else it would show as running for ever."""

    def tell() -> None:
        with temporary_settings({PREFECT_API_URL: watch.api_url}), get_client(sync_client=True) as client:
            state: Any = Cancelled(message=f"{evaluation.name} was stopped")
            client.set_flow_run_state(watch.flow_run, state, force=True)

    if watch.flow_run is not None and watch.performed is None:
        with contextlib.suppress(Exception):
            run_with_timeout(LAST_WORD, tell)


def explain_no_answer(api_url: str) -> str | None:
    """Why the Prefect server does not answer; None where it does."""

    shown = without_password(remember_address(api_url))

    def ask() -> None:
        with urllib.request.urlopen(f"{shown.rstrip('/')}/health", timeout=PATIENCE) as answer:
            answer.read()

    try:
        run_with_timeout(PATIENCE, ask)
    except OverdueError:
        return f"{redact(shown)} does not answer in {PATIENCE:g} s"
    except urllib.error.HTTPError as error:
        return f"{redact(shown)} answers {error.code}" if error.code >= 500 else None
    except (OSError, ValueError, http.client.HTTPException) as error:
        return redact(f"{shown} does not answer: {getattr(error, 'reason', error)}")
    return None


def is_prefect_error(error: BaseException) -> bool:
    """Whether an error comes from talking to Prefect, not from the evaluation."""
    module = type(error).__module__.partition(".")[0]
    return module in ("prefect", "httpx", "httpcore", "websockets") or "Failed to reach API" in str(error)
