"""Evaluations on a schedule: served from this process, or deployed for the workers of a Prefect server."""

from collections.abc import Sequence
from typing import Any

from prefect import serve as serve_deployments
from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
from prefect.client.schemas.schedules import CronSchedule
from prefect.deployments.runner import RunnerDeployment
from prefect.types.entrypoint import EntrypointType

from flows.config import Evaluation
from flows.errors import InputError
from flows.evaluation import evaluate

# One run at a time: a night that is still at work when the next one is due is not overtaken by it.
ONE_AT_A_TIME = ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW)


def deployment(evaluation: Evaluation, pool: str | None = None) -> RunnerDeployment:
    """The evaluation as a Prefect deployment of its name, with its schedule where it has one.

    pool: the work pool whose workers run it; None where this process does.
    """
    settings: dict[str, Any] = {}
    if evaluation.schedule is not None:
        cron, zone = evaluation.schedule.cron, evaluation.schedule.timezone
        try:
            settings["schedule"] = CronSchedule(cron=cron, timezone=zone)
        except ValueError:
            raise InputError(
                f"schedule.cron = {cron!r}: must be five fields (minute hour day month weekday), as in 0 2 * * *"
            ) from None
    made = evaluate.to_deployment(
        name=evaluation.name,
        parameters={"evaluation": evaluation.model_dump(mode="json")},
        description=described(evaluation),
        tags=["ndcg-ab", f"baseline:{evaluation.baseline_name}"],
        concurrency_limit=ONE_AT_A_TIME,
        work_pool_name=pool,
        entrypoint_type=EntrypointType.MODULE_PATH,
        **settings,
    )
    assert isinstance(made, RunnerDeployment)
    return made


def described(evaluation: Evaluation) -> str:
    """What is compared, for the deployment's page."""
    candidates = [system.name for system in evaluation.systems if system.name != evaluation.baseline_name]
    lines = [f"{', '.join(candidates) or 'no candidate'} against {evaluation.baseline_name}", ""]
    lines += [f"- metrics: {', '.join(evaluation.metrics)}"]
    if evaluation.guardrails:
        lines += [
            f"- guardrails: {', '.join(f'{name} by {margin:g}' for name, margin in evaluation.guardrails.items())}"
        ]
    lines += [f"- results: {evaluation.output_directory / evaluation.name}"]
    return "\n".join(lines)


def serve(evaluations: Sequence[Evaluation]) -> None:
    """Runs the evaluations in this process when they are due, until it is stopped."""
    serve_deployments(*(deployment(evaluation) for evaluation in evaluations))


def deploy(evaluations: Sequence[Evaluation], pool: str) -> list[str]:
    """Registers the evaluations at the Prefect server for the workers of a pool; the names of the deployments."""
    names = []
    for evaluation in evaluations:
        made = deployment(evaluation, pool)
        made.apply()
        names.append(f"{made.flow_name}/{made.name}")
    return names
