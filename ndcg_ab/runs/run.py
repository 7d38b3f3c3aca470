"""Run an evaluation from its configuration to its stored bundle, page and tracker.

`STAGES` lists the stages of an evaluation that is stored: those of every evaluation, then history, page and tracker.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from ndcg_ab.comparing.since_last import check_drops
from ndcg_ab.config.loading.templates import resolve_templates
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.secrets.redaction import redact
from ndcg_ab.deadlines import Budget, Say
from ndcg_ab.errors import InputError, ParityError, SqlError, TrackingError, UnavailableError, error_text, message_of
from ndcg_ab.files import write_table
from ndcg_ab.full_disks import is_full, no_room
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history.database import query_set_digest
from ndcg_ab.history.failed_nights import read_failed_nights, record_failed_night
from ndcg_ab.history.last_night import compare_with_last
from ndcg_ab.history.working_folder import time_in_name, working_folder
from ndcg_ab.pipeline.conclude import read_query_scores
from ndcg_ab.pipeline.context import Context, Stage, as_stage
from ndcg_ab.pipeline.pulls import PULLS
from ndcg_ab.pipeline.stages import STAGES as OF_EVERY_EVALUATION
from ndcg_ab.pipeline.stages import Call, compare_and_check_gates, is_new, run_stages
from ndcg_ab.report.bundle_files import render_bundle_page
from ndcg_ab.runs.folder import RunFolder
from ndcg_ab.trackers import make_tracker, refuse_unknown_tracker, tracker_label

FAILURE_PATIENCE = 20.0  # seconds that logging a failed night may take


def folder_of(run: Context) -> RunFolder:
    assert isinstance(run.store, RunFolder)
    return run.store


@as_stage(
    "look for an evaluation of the same inputs",
    # what was measured again is shown, and no earlier result stands for it
    applies=lambda run: not run.force and not run.evaluation.costs,
)
def find_reusable_bundle(run: Context, _: str) -> None:
    run.bundle = bundles.find_reusable(run.evaluation, folder_of(run).describe_inputs(), run.start_time)
    if run.bundle is not None:
        run.reused = True
        bundles.record_reuse(run.evaluation, run.bundle, run.start_time)
        earlier = bundles.read_bundle(run.bundle).copy_for_rerun()
        run.outcome, run.since_last = earlier.outcome, earlier.since_last


@as_stage("compare with the previous evaluation", applies=is_new)
def compare_with_previous(run: Context, _: str) -> None:
    """Compare every system with its results in the previous evaluation, and set `run.since_last`.

    The values per query are written to a file of the working folder. The second argument, the part of the stage, is
    unused.
    """
    store = folder_of(run)
    scores = store.folder / bundles.SCORES
    write_table(read_query_scores(store.engine), scores)
    start_time = time_in_name(store.folder.name)
    run.since_last = compare_with_last(store.engine, run.evaluation, store.describe_inputs(), start_time, scores)


@as_stage("write results and history", applies=is_new)
def keep(run: Context, _: str) -> None:
    """Turn the working folder into the bundle of the evaluation, and enter the evaluation in the history.

    Before that, the gates for drops since the previous evaluation are added to the outcome, and the inputs to the
    cache.
    """
    assert run.outcome is not None
    evaluation, store = run.evaluation, folder_of(run)
    gates = (*run.outcome.gates, *check_drops(evaluation, run.since_last))
    run.outcome = outcome = replace(run.outcome, gates=gates)
    store.cache_inputs(evaluation)
    store.engine.write_tables(store.folder / bundles.TABLES)
    judged_queries = query_set_digest(store.engine)
    store.close()  # what draws and publishes reads the bundle, and needs the memory
    inputs = store.describe_inputs()
    run.bundle = bundles.finish_bundle(store.folder, evaluation, outcome, inputs, judged_queries, run.since_last)


@as_stage("draw the page", applies=lambda run: run.pending is None)
def draw_page(run: Context, _: str) -> None:
    assert run.bundle is not None
    render_bundle_page(run.bundle)


# A tracker's client has tried again by itself, and the next run delivers what is pending: one more attempt.
@as_stage(
    "publish to {name}",
    parts=lambda run: (tracker_label(run.evaluation),),
    applies=lambda run: run.pending is None,
    outside=True,
    most_retries=1,
)
def publish(run: Context, _: str) -> None:
    """Publish the bundle to the tracker, and set `run.published`.

    Bundles whose publication is still pending are published before it.
    """
    assert run.bundle is not None
    at, new = make_tracker(run.evaluation).publish_pending(run.evaluation, run.bundle, run.publishing)
    run.published = {"url": at.url, "trend_url": at.trend_url, "dashboard": at.dashboard, "delivered": new}


@as_stage(
    "remove what is too old",
    applies=lambda run: {run.evaluation.retention.bundles, run.evaluation.retention.query_scores} != {None},
)
def remove_old(run: Context, _: str) -> None:
    bundles.remove_old_bundles(run.evaluation)


UNTIL_KEPT = (
    *PULLS,
    find_reusable_bundle,
    *OF_EVERY_EVALUATION[len(PULLS) : -1],
    compare_with_previous,
    compare_and_check_gates,
    keep,
)
STAGES = (*UNTIL_KEPT, draw_page, publish, remove_old)


# ---- a run


@contextlib.contextmanager
def open_run(
    evaluation: Evaluation, say: Say = lambda text: None, *, force: bool = False, at: datetime | None = None
) -> Iterator[Context]:
    """Yield the context of an evaluation that will be stored; its working folder exists during the block.

    If an error is raised before the bundle of results exists, it is recorded as a failed night and raised again. say:
    called with the name of each step. force: read and compute everything again instead of reusing earlier results. at:
    the nominal time of the evaluation, which fills dates in the configuration; by default now. Raise InputError if the
    configured tracker is unknown.
    """
    refuse_unknown_tracker(evaluation)
    moment = at or datetime.now(UTC)
    run: Context | None = None
    try:
        evaluation = resolve_templates(evaluation, moment)
        with working_folder(evaluation, moment) as folder, contextlib.closing(RunFolder(evaluation, folder)) as store:
            run = Context(evaluation, store, say, force=force, start_time=moment)
            yield run
    except Exception as error:
        if run is None or run.bundle is None:
            record_failed_night(evaluation, moment, error)
        raise


@contextlib.contextmanager
def log_failed_night(evaluation: Evaluation, say: Say = lambda text: None) -> Iterator[None]:
    """Log an error raised in the block to the tracker as a failed night, and raise the error again.

    If logging fails or takes too long, the next run logs the failed night.
    """
    try:
        yield
    except Exception:
        if any(not addresses for addresses in read_failed_nights(evaluation).values()):
            say(f"log the failed night to {tracker_label(evaluation)}")
            with contextlib.suppress(Exception):  # the error of the night is the one to show
                make_tracker(evaluation).publish_failed_nights(evaluation, Budget(FAILURE_PATIENCE))
        raise


def perform_remaining_stages(run: Context, call: Call = Stage.perform) -> None:
    """Perform the remaining stages of a run.

    If the page cannot be drawn or published, the error is not raised but recorded in `run.pending`. call: a function
    that performs one part of a stage, in place of `Stage.perform`.
    """
    run_stages(run, UNTIL_KEPT, call)
    with record_errors_as_pending(run):
        run_stages(run, (draw_page, publish), call)
    run_stages(run, (remove_old,), call)


@contextlib.contextmanager
def record_errors_as_pending(run: Context) -> Iterator[None]:
    """Record an error raised in the block in `run.pending` instead of raising it: the bundle is already stored."""
    assert run.bundle is not None
    try:
        yield
    except Exception as error:
        shown_error = no_room(error, run.bundle) if is_full(error) and not isinstance(error, TrackingError) else error
        is_expected = isinstance(shown_error, TrackingError | InputError)
        run.pending = redact(str(shown_error) if is_expected else f"{type(error).__name__}: {message_of(error)}")
        run.is_full, run.error = is_full(error), None


# ---- trying again


def is_worth_retrying(error: BaseException) -> bool:
    """Return whether a retry after an error may succeed.

    False for data or SQL that break a rule (InputError, ParityError, SqlError). True for any other error, and for
    UnavailableError, which means that a source did not answer.
    """
    return isinstance(error, UnavailableError) or not isinstance(error, InputError | ParityError | SqlError)


def perform_patiently(stage: Stage, run: Context, part: str) -> str | None:
    """Perform one part of a stage, with retries if the stage uses an outside service.

    Return the message of the stage, or None without one. After an error for which `is_worth_retrying` is True, the part
    is tried again, as often as the configuration says; then the last error is raised.
    """
    prefect = run.evaluation.prefect
    if not stage.outside:
        return stage.perform(run, part)
    from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_fixed

    def say_why(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        reason = error_text(error) if error else ""
        run.say(f"{stage.part_name(part)}: tried again in {prefect.retry_seconds:g} s ({reason})")

    attempts = Retrying(
        stop=stop_after_attempt(1 + stage.retries(prefect)),
        wait=wait_fixed(prefect.retry_seconds),
        retry=retry_if_exception(is_worth_retrying),
        before_sleep=say_why,
        reraise=True,
    )
    return attempts(stage.perform, run, part)
