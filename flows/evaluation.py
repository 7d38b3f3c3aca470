"""Run an evaluation as a Prefect flow, with a task for each part of a stage.

The work and its order are defined in `ndcg_ab.pipeline` and `ndcg_ab.runs`. Tasks have no arguments, because Prefect
would inspect them.
(No postponed annotations here: Prefect cannot resolve them for the models in a served flow's parameters.)
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from datetime import datetime
from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.settings import PREFECT_LOGGING_EXTRA_LOGGERS

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.secrets.redaction import censor_logs, redacted_error
from ndcg_ab.pipeline.context import Context, Stage
from ndcg_ab.runs.run import is_worth_retrying, log_failed_night, open_run, perform_remaining_stages

from .flow_page import flow_run_name, report_to_prefect

# The run of who calls the flow, and goes on with it if Prefect fails; else the flow opens one.
OPENED: ContextVar[contextlib.AbstractContextManager[Context]] = ContextVar("opened")


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
