"""Run evaluations on a schedule, in this process or by the workers of a Prefect server."""

import asyncio
import contextlib
import functools
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
from prefect.deployments.runner import RunnerDeployment
from prefect.exceptions import ObjectNotFound
from prefect.runner import Runner, runner
from prefect.runner._starter_engine import EngineCommandStarter  # no setting names the command (Prefect 3.8)
from prefect.schedules import Cron
from prefect.server.schemas.schedules import CronSchedule
from prefect.settings import PREFECT_API_URL
from prefect.types.entrypoint import EntrypointType
from prefect.utilities.processutils import command_to_string

from ndcg_ab.config.environment import guard_prefect
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.secrets.lookup import without_password
from ndcg_ab.errors import LONGEST, InputError, on_one_line

from .cli.console import print_line
from .evaluation import evaluation_flow
from .observed import explain_no_answer

GRACE = 30.0  # seconds that an orderly end may take
SLUG = "nightly"  # names the schedule, so that deploying again changes it
# One run at a time: one that is still at work when the next is due is not overtaken by it.
ONE_AT_A_TIME = ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW)
# What Prefect runs for each flow run, `python -m prefect.engine`, behind the guard of the process that serves.
GUARDED_ENGINE = (
    "from ndcg_ab.config.environment import guard_prefect; guard_prefect(); "
    "import runpy; runpy.run_module('prefect.engine', run_name='__main__', alter_sys=True)"
)


def make_deployment(evaluation: Evaluation, pool: str | None = None) -> RunnerDeployment:
    """Return a Prefect deployment of an evaluation, with the name and schedule of the evaluation.

    pool: the work pool whose workers run the evaluation; None if this process runs it.
    """
    due = evaluation.schedule
    deployment = evaluation_flow.to_deployment(
        name=evaluation.name,
        parameters={"evaluation": evaluation.model_dump(mode="json")},
        schedule=Cron(due.cron, timezone=due.timezone, slug=SLUG) if due else None,
        description=describe_evaluation(evaluation),
        tags=["ndcg-ab", f"baseline:{evaluation.baseline_name}"],
        concurrency_limit=ONE_AT_A_TIME,
        work_pool_name=pool,
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    assert isinstance(deployment, RunnerDeployment)
    return deployment


def describe_evaluation(evaluation: Evaluation) -> str:
    """Return a description of the comparison in Markdown, for the page of a deployment."""
    candidates = [system.name for system in evaluation.systems if system.name != evaluation.baseline_name]
    lines = [f"{', '.join(candidates) or 'no candidate'} against {evaluation.baseline_name}", ""]
    guardrails = ", ".join(f"{name} by {margin:g}" for name, margin in evaluation.guardrails.items())
    lines += [f"- metrics: {', '.join(evaluation.metrics)}", *[f"- guardrails: {guardrails}"] * bool(guardrails)]
    return "\n".join([*lines, f"- results: {evaluation.output_directory / evaluation.name}"])


def next_scheduled_time(evaluation: Evaluation) -> datetime | None:
    """Return the next time of an evaluation's schedule, in its time zone, or None without a schedule.

    Raise InputError if the schedule never has a time.
    """
    schedule = evaluation.schedule
    if schedule is None:
        return None
    try:
        times = asyncio.run(CronSchedule(cron=schedule.cron, timezone=schedule.timezone).get_dates(1))
    except ValueError:  # pydantic's too; there is nothing to be learnt from the text
        times = []
    if not times:
        raise InputError(
            f"{evaluation.name}: schedule.cron = {schedule.cron!r}: no moment fits it; it must be minute (0-59),"
            " hour (0-23), day (1-31), month (1-12) and weekday (0-7 or mon-sun), as in 0 2 * * *"
        )
    return times[0]


def preserve_pause(deployment: RunnerDeployment) -> bool:
    """Copy the paused states of the server's deployment with this name to a new deployment and its schedules.

    Call this before the new deployment replaces the one on the server. Otherwise Prefect would activate what somebody
    paused, and run the evaluation. Return whether anything is paused; False if the server has no such deployment.
    """
    with get_client(sync_client=True) as client:
        try:
            there = client.read_deployment_by_name(f"{deployment.flow_name}/{deployment.name}")
        except ObjectNotFound:
            return False
    stopped = [schedule for schedule in there.schedules if not schedule.active]
    deployment.paused = there.paused
    for schedule in deployment.schedules or ():
        schedule.active = not any(each.slug == schedule.slug for each in stopped)
    return there.paused or any(not schedule.active for schedule in deployment.schedules or ())


def drop_schedules(evaluation: Evaluation, deployment_id: Any) -> None:
    """Delete the schedules of a deployment on the server, if the evaluation's configuration has no schedule.

    Prefect would keep schedules that were removed from the configuration.
    """
    if evaluation.schedule is None:
        with get_client(sync_client=True) as client:
            for schedule in client.read_deployment_schedules(deployment_id):
                client.delete_deployment_schedule(deployment_id, schedule.id)


@contextlib.contextmanager
def find_server() -> Iterator[str]:
    """Yield the address of the Prefect server; raise InputError if none is named or it does not answer.

    Errors of the Prefect client in the block are raised as InputError, too.
    """
    url = PREFECT_API_URL.value()
    if not url:
        raise InputError(
            "this needs a Prefect server: start one with `prefect server start`, and name it with"
            " PREFECT_API_URL=http://127.0.0.1:4200/api or in the configuration (prefect: api_url)"
        )
    if trouble := explain_no_answer(url):
        raise InputError(f"Prefect server: {trouble}; is it started (`prefect server start`), and is this its address?")
    try:
        yield url
    except Exception as error:
        module = type(error).__module__.partition(".")[0]
        if module not in ("prefect", "httpx", "httpcore", "websockets") and "Failed to reach API" not in str(error):
            raise
        reason = on_one_line(str(error), 300)
        raise InputError(f"Prefect server {without_password(url)}: {reason}") from None


def ignore_local_settings() -> None:
    """Prevent this process and those of its flow runs from reading Prefect settings files of the current folder."""
    guard_prefect()
    command = command_to_string([sys.executable, "-c", GUARDED_ENGINE])
    starter = functools.partial(EngineCommandStarter, command=command)
    runner.EngineCommandStarter = starter  # type: ignore[attr-defined, assignment]


def serve(evaluations: Sequence[Evaluation], say: Callable[[str], None] = print_line) -> None:
    """Run evaluations in child processes when they are due or requested, until this process is stopped.

    say: prints a line about each evaluation and about the end.
    """
    times = [next_scheduled_time(evaluation) for evaluation in evaluations]
    with find_server() as url:
        if not evaluations[0].prefect.api_url:
            ignore_local_settings()
        served = Runner(pause_on_shutdown=True)
        for evaluation, time in zip(evaluations, times, strict=True):
            deployment = make_deployment(evaluation)
            drop_schedules(evaluation, served.add_deployment(deployment))
            name = f"{deployment.flow_name}/{deployment.name}"
            if evaluation.schedule is None or time is None:
                say(f"serving {name}: it has no schedule and waits to be asked: prefect deployment run {name}")
            else:
                cron, zone = evaluation.schedule.cron, evaluation.schedule.timezone
                say(f"serving {name}: {cron} ({zone}), next on {time:%A %Y-%m-%d at %H:%M}")
        say(f"for the Prefect server {without_password(url)}; Ctrl-C ends it")
        asyncio.run(serve_until_stopped(served, say))


async def serve_until_stopped(runner: Runner, say: Callable[[str], None]) -> None:
    """Serve until a signal stops the process, then cancel the running flow runs and pause the schedules.

    The signals are SIGINT, SIGTERM and SIGHUP. Prefect's own handler of SIGTERM does not wait until flow runs are
    cancelled, and leaves them in the state Running forever. If the server does not answer after a signal, the process
    exits with code 1. Raises InputError if serving ended without a signal, since the server was unavailable too long.
    """
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()

    def stop(*_: Any) -> None:
        loop.call_soon_threadsafe(stopped.set)

    runner.handle_sigterm = stop  # type: ignore[method-assign]  # start() installs it
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup leaves SIGHUP
            signal.signal(number, stop)
    work, stop_request = asyncio.create_task(runner.start()), asyncio.create_task(stopped.wait())
    await asyncio.wait((work, stop_request), return_when=asyncio.FIRST_COMPLETED)
    stop_request.cancel()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a second Ctrl-C ends it at once
    if not work.done():
        say("stopping: what runs is cancelled, the schedules are paused until the next serve")
        ending = asyncio.create_task(end_runner(runner, work))
        if not (await asyncio.wait((ending,), timeout=GRACE))[0]:
            say("the Prefect server does not answer: ended without it, the schedules are not paused")
            os._exit(1)  # Prefect would go on asking
        await ending
    elif not work.cancelled() and (error := work.exception()):
        while isinstance(error, BaseExceptionGroup):  # the first error of nested groups
            error = error.exceptions[0]
        reason = on_one_line(f"{type(error).__name__}: {error}", LONGEST)
        raise InputError(f"the Prefect server has been away too long, serve ended: {reason}")


async def end_runner(runner: Runner, work: "asyncio.Task[None]") -> None:
    if runner.started:
        await runner.astop()
    else:
        work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work


def deploy(evaluations: Sequence[Evaluation], pool: str) -> list[str]:
    """Register evaluations at the Prefect server for the workers of a pool, and return one line of text for each.

    pool: name of the work pool. Raises InputError if the server has no such pool.
    """
    times = [next_scheduled_time(evaluation) for evaluation in evaluations]
    lines = []
    with find_server():
        with get_client(sync_client=True) as client:
            try:
                client.read_work_pool(pool)
            except ObjectNotFound:
                raise InputError(
                    f"--pool {pool}: the Prefect server has no such work pool; create it with:"
                    f" prefect work-pool create {pool} --type process"
                ) from None
        for evaluation, time in zip(evaluations, times, strict=True):
            deployment = make_deployment(evaluation, pool)
            is_paused = preserve_pause(deployment)
            drop_schedules(evaluation, deployment.apply())
            due = f"next on {time:%A %Y-%m-%d at %H:%M} ({time.tzinfo})" if time else "without a schedule"
            if is_paused:
                due = "paused as it was: resume it on its page in Prefect"
            lines.append(f"deployed: {deployment.flow_name}/{deployment.name}, for the workers of {pool}, {due}")
    return lines
