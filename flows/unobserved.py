"""A run without Prefect: the same stages as functions; what talks to the outside is tried again, as by Prefect."""

from collections.abc import Callable
from datetime import datetime

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.operation import Prefect
from ndcg_ab.deadlines import BackgroundTask, OverdueError, run_with_timeout
from ndcg_ab.errors import InputError, ParityError, SilentError, SqlError, in_short
from ndcg_ab.history.bundles.bundle import Finished, read_bundle
from ndcg_ab.history.bundles.working_folders import abandon_working_folders
from ndcg_ab.pipeline import Context, Stage
from ndcg_ab.pipeline.run import Call, announce, call_directly
from ndcg_ab.pipeline.stages import PUBLISH
from ndcg_ab.runs.run import Performed, perform_run

OURS = (InputError, ParityError, SqlError)  # what will not mend itself


def is_worth_retrying(error: BaseException) -> bool:
    """A place that did not answer may answer later; data that break a rule will not mend themselves."""
    return isinstance(error, SilentError) or not isinstance(error, OURS)


def most_retries(stage: Stage, prefect: Prefect) -> int:
    """How often a stage that talks to the outside is tried again at the most."""
    return prefect.retries if stage.most_retries is None else min(prefect.retries, stage.most_retries)


def too_slow(prefect: Prefect) -> InputError:
    return InputError(
        f"prefect.timeout_seconds = {prefect.timeout_seconds or 0:g}: a pull took longer and was given up"
    )


def retrying(evaluation: Evaluation, say: Callable[[str], None], call: Call = call_directly) -> Call:
    """The same call; a part of a stage that talks to the outside is called again where it fails and that may help.

    A pull that takes longer than its time limit is given up: it raises InputError, and is not tried again, for it may
    still be at work.
    """
    prefect = evaluation.prefect

    def retry(stage: Stage, context: Context, part: str) -> str | None:
        if not stage.outside:
            return call(stage, context, part)
        from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_fixed

        def say_why(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            say(f"{stage.shown(part)}: tried again in {prefect.retry_seconds:g} s ({in_short(error) if error else ''})")

        attempts = Retrying(
            stop=stop_after_attempt(1 + most_retries(stage, prefect)),
            wait=wait_fixed(prefect.retry_seconds),
            retry=retry_if_exception(is_worth_retrying),
            before_sleep=say_why,
            reraise=True,
        )
        return attempts(within_limit, lambda: call(stage, context, part), prefect, stage)

    return retry


def within_limit(work: Callable[[], str | None], prefect: Prefect, stage: Stage) -> str | None:
    """What the work returns; InputError where a pull takes longer than it may."""
    if prefect.timeout_seconds is None or stage is PUBLISH:  # which has a budget of its own
        return work()
    try:
        return run_with_timeout(prefect.timeout_seconds, work)
    except OverdueError:
        raise too_slow(prefect) from None


def run_unobserved(
    evaluation: Evaluation,
    say: Callable[[str], None] = lambda step: None,
    *,
    force: bool = False,
    at: datetime | None = None,
) -> Finished:
    """Runs the evaluation here and now.  Raises what a stage raised.

    The work is done in a thread of its own, so that whatever interrupts this call is obeyed at once.
    """
    call = announce(say, retrying(evaluation, say))
    try:
        performed = BackgroundTask(lambda: perform_run(evaluation, call, say=say, force=force, at=at)).wait()
    except BaseException as error:
        if not isinstance(error, Exception):
            abandon_working_folders()
        raise
    return read_finished(performed)


def read_finished(performed: Performed, unobserved: str | None = None) -> Finished:
    """What a run came to, as its bundle has it.  unobserved: why Prefect, which should have seen it, has no record."""
    bundle = read_bundle(performed.bundle).as_of(reused=performed.reused)
    return Finished(
        bundle=bundle.folder,
        outcome=bundle.outcome,
        extremes=bundle.extremes,
        reused=performed.reused,
        unobserved=unobserved,
        inputs=bundle.inputs,
        since_last=bundle.since_last,
        **performed.published,
    )
