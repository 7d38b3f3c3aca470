"""The evaluation as a Prefect flow: its body is the list of steps, the work stands in plain functions.

Tasks pass paths and small values, never tables or connections.  (No postponed annotations here: Prefect
cannot resolve them for the models in a served flow's parameters.)
"""

import dataclasses
import json
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as papq
from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.context import FlowRunContext

from flows import pipeline, store
from flows.checks import check
from flows.config import Evaluation, PythonSource
from flows.errors import InputError, ParityError
from flows.outcome import Finding, Outcome, write_text
from flows.parity import verify
from flows.sources import JUDGMENT, RANKING, Layout, Pulled, Queries, pull, pull_queries
from flows.warehouse import Warehouse

RETRIES = 2
RETRY_SECONDS = 5.0


@dataclasses.dataclass(frozen=True)
class Finished:
    """A finished run: its bundle, where MLflow has it, or why logging is pending."""

    bundle: Path
    outcome: Outcome
    extremes: tuple[dict[str, Any], ...]
    url: str | None
    trend_url: str | None
    dashboard: str | None
    pending: str | None


def is_worth_retrying(_task: Any, _run: Any, state: Any) -> bool:
    """A place that did not answer may answer later; data that break a rule will not mend themselves."""
    error = state.result(raise_on_failure=False)
    return not isinstance(error, InputError | ParityError)


# Told what begins, where somebody watches; a hook of every task.
SAY: ContextVar[Callable[[str], None]] = ContextVar("say", default=lambda step: None)


def announce(_task: Any, run: Any, _state: Any) -> None:
    SAY.get()(run.name)


def io_task(name: str, **settings: Any) -> Any:
    """A task that talks to the outside world: tried again when it fails."""
    return task(
        name=name,
        retries=RETRIES,
        retry_delay_seconds=RETRY_SECONDS,
        retry_condition_fn=is_worth_retrying,
        cache_policy=NO_CACHE,
        on_running=[announce],
        **settings,
    )


def step(name: str) -> Any:
    return task(name=name, task_run_name=name, cache_policy=NO_CACHE, on_running=[announce])


def keep_pulled(pulled: Pulled, name: str, kind: str, path: Path, version: str | None = None) -> dict[str, Any]:
    """Puts a pulled table on disk; what is known about it, for the bundle."""
    papq.write_table(pulled.table, path, compression="zstd")
    about = {"name": name, "kind": kind, "version": version, "origin": pulled.origin}
    return about | {"rows": pulled.table.num_rows, "digest": pulled.digest}


@io_task("pull judgments", task_run_name="pull judgments")
def pull_judgments(evaluation: Evaluation, folder: Path) -> dict[str, Any]:
    pulled = pull(evaluation.judgments, JUDGMENT, evaluation.directory)
    return keep_pulled(pulled, evaluation.judgments.file.name, "judgments", folder / "pulled" / "judgments.parquet")


@io_task("pull ranking", task_run_name="pull {name}")
def pull_ranking(evaluation: Evaluation, name: str, folder: Path) -> dict[str, Any]:
    place, system = next((at, each) for at, each in enumerate(evaluation.systems) if each.name == name)
    queries = pull_queries(evaluation) if system.python else Queries()
    pulled = pull(system.source, RANKING, evaluation.directory, queries.texts)
    return keep_pulled(pulled, name, "ranking", folder / "pulled" / f"ranking{place}.parquet", system.version)


def pulled_from(path: Path, layout: Layout, source: Any, evaluation: Evaluation) -> Pulled:
    is_python = isinstance(source, PythonSource)
    origin = source.python if is_python else str(evaluation.path(source.file))
    return Pulled(papq.read_table(path, schema=layout.schema), layout, source, origin)


@step("load and check")
def load_and_check(evaluation: Evaluation, folder: Path) -> list[dict[str, Any]]:
    judgments = pulled_from(folder / "pulled" / "judgments.parquet", JUDGMENT, evaluation.judgments, evaluation)
    rankings = {
        system.name: pulled_from(folder / "pulled" / f"ranking{place}.parquet", RANKING, system.source, evaluation)
        for place, system in enumerate(evaluation.systems)
    }
    with opened(evaluation, folder) as warehouse:
        pipeline.load(warehouse, judgments, pull_queries(evaluation), rankings, evaluation)
        return [
            dataclasses.asdict(finding) for finding in check(warehouse, judgments, rankings, evaluation.metric_list)
        ]


def opened(evaluation: Evaluation, folder: Path) -> Warehouse:
    return Warehouse(folder / store.TABLES, evaluation.resources.threads, evaluation.resources.memory_limit)


@step("score")
def score(evaluation: Evaluation, folder: Path) -> None:
    with opened(evaluation, folder) as warehouse:
        pipeline.score(warehouse, evaluation.metric_list)
        pipeline.write_query_scores(warehouse, folder / store.SCORES)


@step("verify")
def verify_sample(evaluation: Evaluation, folder: Path) -> int:
    with opened(evaluation, folder) as warehouse:
        return verify(warehouse, evaluation.metric_list)


@step("test differences")
def test_differences(
    evaluation: Evaluation, folder: Path, findings: list[dict[str, Any]], parity_queries: int
) -> list[dict[str, Any]]:
    with opened(evaluation, folder) as warehouse:
        noticed = [Finding(**finding) for finding in findings]
        outcome = pipeline.conclude(warehouse, evaluation, noticed, parity_queries)
        write_text(folder / "outcome.json", outcome.to_json())
        return pipeline.extremes(warehouse)


@step("keep")
def keep(evaluation: Evaluation, folder: Path, inputs: list[dict[str, Any]], extremes: list[dict[str, Any]]) -> Path:
    outcome = Outcome.read(folder / "outcome.json")
    (folder / "outcome.json").unlink()
    return store.keep(folder, evaluation, outcome, inputs, extremes)


@io_task("publish", task_run_name="publish to MLflow")
def publish(bundle: Path) -> dict[str, Any]:
    from flows.tracking import dashboard_command
    from flows.tracking import publish as deliver

    found = deliver(bundle)
    return {"url": found.url, "trend_url": found.trend_url, "dashboard": dashboard_command(found.uri)}


def run_name() -> str:
    """What and when: ``demo 2026-11-20 02:00``."""
    context = FlowRunContext.get()
    given = (context.parameters or {}).get("evaluation") if context else None
    name = given.get("name") if isinstance(given, dict) else getattr(given, "name", "evaluation")
    return f"{name} {datetime.now(UTC):%Y-%m-%d %H:%M}"


@flow(name="ndcg-ab", flow_run_name=run_name, validate_parameters=True)
def evaluate(evaluation: Evaluation) -> dict[str, Any]:
    """Compares the systems of one evaluation and keeps what was found."""
    folder = store.begin(evaluation)
    try:
        (folder / "pulled").mkdir()
        inputs = [pull_judgments(evaluation, folder)]
        inputs += [pull_ranking(evaluation, system.name, folder) for system in evaluation.systems]
        findings = load_and_check(evaluation, folder)
        score(evaluation, folder)
        parity_queries = verify_sample(evaluation, folder)
        extremes = test_differences(evaluation, folder, findings, parity_queries)
        bundle = keep(evaluation, folder, inputs, extremes)
    except BaseException:
        store.abandon(folder)
        raise
    return {"bundle": str(bundle)} | published(bundle)


def published(bundle: Path) -> dict[str, Any]:
    """What `publish` gave, or why it could not: the evaluation itself stands on disk by now."""
    from flows.tracking import TrackingError

    try:
        return {"pending": None, **publish(bundle)}
    except TrackingError as error:
        return {"pending": str(error), "url": None, "trend_url": None, "dashboard": None}


def run_evaluation(evaluation: Evaluation, say: Callable[[str], None] = lambda step: None) -> Finished:
    """Runs the flow here and now; raises what the failing step raised, InputError when Prefect is away."""
    SAY.set(say)
    try:
        found = evaluate(evaluation)
    except RuntimeError as error:
        if "Failed to reach API" not in str(error):  # Prefect 3.8 has no class of its own for it
            raise
        raise InputError(
            f"prefect: the server named by api_url or PREFECT_API_URL does not answer ({error});"
            " start it, or name none to run without one"
        ) from None
    bundle = Path(found["bundle"])
    content = json.loads((bundle / store.BUNDLE).read_text(encoding="utf-8"))
    outcome = Outcome.from_dict(content["outcome"])
    links = {key: found[key] for key in ("url", "trend_url", "dashboard", "pending")}
    return Finished(bundle=bundle, outcome=outcome, extremes=tuple(content["extremes"]), **links)
