"""The steps of a kept evaluation as plain functions over its working folder, and their order.

`perform` is the night: with Prefect every step is a task, without it a function call.
"""

import dataclasses
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as papq

from flows import pipeline, store
from flows.checks import check
from flows.config import Evaluation, PythonSource
from flows.errors import InputError, RefusedError, TrackingError
from flows.gates import check_gates
from flows.outcome import Finding, Outcome, write_text
from flows.parity import verify
from flows.sources import JUDGMENT, RANKING, Layout, Pulled, Queries, pull, pull_queries
from flows.warehouse import Warehouse

Inputs = list[dict[str, Any]]
OUTCOME = "outcome.json"
Publish = Callable[[Evaluation, Path], dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Steps:
    """What `perform` calls, step by step."""

    pull_judgments: Callable[[Evaluation, Path], dict[str, Any]]
    pull_ranking: Callable[[Evaluation, str, Path], dict[str, Any]]
    pull_queries: Callable[[Evaluation], Inputs]
    find_same: Callable[[Evaluation, Inputs], Path | None]
    load_and_check: Callable[[Evaluation, Path], list[dict[str, Any]]]
    score: Callable[[Evaluation, Path], None]
    verify: Callable[[Evaluation, Path], int]
    test_differences: Callable[[Evaluation, Path, list[dict[str, Any]], int], list[dict[str, Any]]]
    keep: Callable[[Evaluation, Path, Inputs, list[dict[str, Any]]], Path]
    publish: Callable[[Evaluation, Path], dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Night:
    """What a night came to: its bundle, whether that is an earlier one with the same content, and the tracker's word.

    published: url, trend_url and dashboard, delivered (earlier bundles that were pending), or pending: why not.
    """

    bundle: Path
    reused: bool
    published: Mapping[str, Any]


def perform(
    evaluation: Evaluation,
    steps: Steps,
    *,
    force: bool = False,
    at: datetime | None = None,
    kept: Callable[[Path, bool], None] = lambda bundle, reused: None,
) -> Night:
    """The whole night.

    force: compute anew what an earlier evaluation has already.  at: the moment that it stands for; by default now.
    kept: told the bundle as soon as it is safe, before anything else can fail.
    """
    with store.working(evaluation, at) as folder:
        (folder / "pulled").mkdir()
        inputs = [steps.pull_judgments(evaluation, folder)]
        inputs += [steps.pull_ranking(evaluation, system.name, folder) for system in evaluation.systems]
        inputs += steps.pull_queries(evaluation)
        same = None if force else steps.find_same(evaluation, inputs)
        if same is None:
            findings = steps.load_and_check(evaluation, folder)
            steps.score(evaluation, folder)
            parity_queries = steps.verify(evaluation, folder)
            extremes = steps.test_differences(evaluation, folder, findings, parity_queries)
            bundle = steps.keep(evaluation, folder, inputs, extremes)
        else:
            bundle = same
    kept(bundle, same is not None)
    return deliver(evaluation, bundle, same is not None, steps.publish)


def deliver(
    evaluation: Evaluation,
    bundle: Path,
    reused: bool,
    publish: Publish | None = None,
) -> Night:
    """The end of the night, when the bundle is safe: the tracker is told, and what is too old goes."""
    try:
        published = {"pending": None, **(publish or PLAIN.publish)(evaluation, bundle)}
    except Exception as error:  # whatever the tracker does, the night's work is done
        reason = str(error) if isinstance(error, TrackingError | InputError) else f"{type(error).__name__}: {error}"
        published = {"pending": reason, "url": None, "trend_url": None, "dashboard": None, "delivered": 0}
    store.retain(evaluation)
    return Night(bundle, reused, published)


def keep_pulled(pulled: Pulled, name: str, kind: str, path: Path | None, version: str | None = None) -> dict[str, Any]:
    """Puts a pulled table on disk; what is known about it, for the bundle."""
    if path:
        papq.write_table(pulled.table, path, compression="zstd")
    about = {"name": name, "kind": kind, "version": version, "origin": pulled.origin}
    return about | {"rows": pulled.table.num_rows, "digest": pulled.digest}


def pull_judgments(evaluation: Evaluation, folder: Path) -> dict[str, Any]:
    pulled = pull(evaluation.judgments, JUDGMENT, evaluation.directory)
    return keep_pulled(pulled, evaluation.judgments.file.name, "judgments", folder / "pulled" / "judgments.parquet")


def pull_ranking(evaluation: Evaluation, name: str, folder: Path) -> dict[str, Any]:
    place, system = next((at, each) for at, each in enumerate(evaluation.systems) if each.name == name)
    queries = pull_queries(evaluation) if system.python else Queries()
    pulled = pull(system.source, RANKING, evaluation.directory, queries.texts)
    return keep_pulled(pulled, name, "ranking", folder / "pulled" / f"ranking{place}.parquet", system.version)


def about_queries(evaluation: Evaluation) -> Inputs:
    """One row where a file names the queries, none where none does."""
    pulled = pull_queries(evaluation).pulled
    if pulled is None or evaluation.queries is None:
        return []
    return [keep_pulled(pulled, evaluation.queries.file.name, "queries", None)]


def pulled_from(path: Path, layout: Layout, source: Any, evaluation: Evaluation) -> Pulled:
    is_python = isinstance(source, PythonSource)
    origin = source.python if is_python else str(evaluation.path(source.file))
    return Pulled(papq.read_table(path, schema=layout.schema), layout, source, origin)


def opened(evaluation: Evaluation, folder: Path) -> Warehouse:
    return Warehouse(folder / store.TABLES, evaluation.resources.threads, evaluation.resources.memory_limit)


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


def score(evaluation: Evaluation, folder: Path) -> None:
    with opened(evaluation, folder) as warehouse:
        pipeline.score(warehouse, evaluation.metric_list)
        pipeline.write_query_scores(warehouse, folder / store.SCORES)


def verify_sample(evaluation: Evaluation, folder: Path) -> int:
    with opened(evaluation, folder) as warehouse:
        return verify(warehouse, evaluation.metric_list)


def test_differences(
    evaluation: Evaluation, folder: Path, findings: list[dict[str, Any]], parity_queries: int
) -> list[dict[str, Any]]:
    with opened(evaluation, folder) as warehouse:
        noticed = [Finding(**finding) for finding in findings]
        outcome = pipeline.conclude(warehouse, evaluation, noticed, parity_queries)
        outcome = dataclasses.replace(outcome, gates=check_gates(evaluation, outcome))
        write_text(folder / OUTCOME, outcome.to_json())
        return pipeline.extremes(warehouse)


def keep(evaluation: Evaluation, folder: Path, inputs: Inputs, extremes: list[dict[str, Any]]) -> Path:
    outcome = Outcome.read(folder / OUTCOME)
    (folder / OUTCOME).unlink()
    return store.keep(folder, evaluation, outcome, inputs, extremes)


def publish(evaluation: Evaluation, bundle: Path) -> dict[str, Any]:
    """Delivers the bundle, and before it those that are still pending, in their order."""
    from flows.tracking import dashboard_command
    from flows.tracking import publish as deliver

    new = 0
    for folder in store.unpublished(evaluation):
        if folder != bundle:
            try:
                new += deliver(folder, evaluation).new
            except InputError:  # said already, where it was read; it must not keep the others back
                continue
            except RefusedError as error:
                print(f"ndcg-ab: {folder}: MLflow does not take it: {error}", file=sys.stderr)
    found = deliver(bundle, evaluation)
    links = {"url": found.url, "trend_url": found.trend_url, "dashboard": dashboard_command(found.uri)}
    return links | {"delivered": new}


PLAIN = Steps(
    pull_judgments=pull_judgments,
    pull_ranking=pull_ranking,
    pull_queries=about_queries,
    find_same=store.find_same,
    load_and_check=load_and_check,
    score=score,
    verify=verify_sample,
    test_differences=test_differences,
    keep=keep,
    publish=publish,
)


NAMES = {
    "pull_judgments": "pull judgments",
    "pull_ranking": "pull ranking",
    "pull_queries": "pull queries",
    "find_same": "look for the same content",
    "load_and_check": "load and check",
    "score": "score",
    "verify": "verify",
    "test_differences": "test differences",
    "keep": "keep",
    "publish": "publish to MLflow",
}


def announced(say: Callable[[str], None], steps: Steps = PLAIN, done: Callable[[], None] = lambda: None) -> Steps:
    """The same steps; `say` is told what begins, `done` that it ended."""

    def announcing(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def announced_work(*arguments: Any) -> Any:
            of = f" {arguments[1]}" if name == "pull_ranking" else ""
            say(NAMES[name].removesuffix(" ranking" if of else "") + of)
            found = work(*arguments)
            done()
            return found

        return announced_work

    names = [field.name for field in dataclasses.fields(Steps)]
    return Steps(**{name: announcing(name, getattr(steps, name)) for name in names})
