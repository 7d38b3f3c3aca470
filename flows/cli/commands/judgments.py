"""The command about judgments: judgments."""

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from ndcg_ab.errors import InputError

from ..console import Progress, show, user_errors, write_or_print
from ..options import (
    Alpha,
    BaselineName,
    ClusterColumn,
    ClusterPrefix,
    JsonFile,
    MemoryLimit,
    MetricNames,
    QueriesFile,
    Quiet,
    RankingsColumns,
    RankingsFormat,
    Resamples,
    Seed,
    SmallestEffects,
    Spill,
    Threads,
    of_data,
)
from ..outputs import inputs_of, json_file
from ..spared import spare_imports

NO_SYSTEM = "judgments=judgments"  # an evaluation has a system; this one is not read


def judgments(
    first: Annotated[str, typer.Argument(metavar="FILE", help="Judgments (qrels), such as people's.")],
    second: Annotated[str, typer.Argument(metavar="FILE", help="Other judgments of the same, such as a model's.")],
    system: Annotated[
        list[str] | None,
        of_data(metavar="NAME=FILE", help="Compare systems under both; the first is the baseline."),
    ] = None,
    baseline: BaselineName = None,
    metric: MetricNames = None,
    smallest_effect: SmallestEffects = None,
    queries: QueriesFile = None,
    cluster: ClusterColumn = None,
    cluster_prefix: ClusterPrefix = None,
    json: JsonFile = None,
    seed: Seed = None,
    resamples: Resamples = None,
    alpha: Alpha = None,
    judgments_format: Annotated[
        list[str] | None,
        of_data(
            metavar="FORMAT", help="trec, csv, tsv, jsonl or parquet, of both files; or twice. (default by the name)"
        ),
    ] = None,
    judgments_columns: Annotated[
        list[str] | None,
        of_data(metavar="FIELD=COLUMN,…", help="Names of columns: query_id=qid,grade=rating, of both files; or twice."),
    ] = None,
    format: RankingsFormat = None,  # noqa: A002
    columns: RankingsColumns = None,
    threads: Threads = None,
    memory_limit: MemoryLimit = None,
    spill: Spill = None,
    quiet: Quiet = False,
) -> None:
    """Compare two sets of judgments: their grades, and the order and the verdicts of systems under each."""
    with user_errors():
        spare_imports()
        from ndcg_ab.config.options.from_options import Files, Plan, evaluation_of
        from ndcg_ab.config.options.resource_options import Room
        from ndcg_ab.studies.judgments import compare_judgments

        of_systems: dict[str, object] = {"--baseline": baseline, "--metric": metric, "--queries": queries}
        of_systems |= {"--smallest-effect": smallest_effect, "--alpha": alpha, "--seed": seed, "--resamples": resamples}
        of_systems |= {"--cluster": cluster, "--cluster-prefix": cluster_prefix}
        refuse_without_systems(system, of_systems | {"--format": format, "--columns": columns})
        statistics = {"seed": seed, "resamples": resamples, "alpha": alpha}
        statistics |= {"cluster": cluster, "cluster_prefix": cluster_prefix}
        plan = Plan(smallest_effect=smallest_effect, queries=queries)
        formats, names = (
            of_each("--judgments-format", judgments_format),
            of_each("--judgments-columns", judgments_columns),
        )
        files = [
            Files(file, system or [NO_SYSTEM], formats[place], format, names[place], columns)
            for place, file in enumerate((first, second))
        ]
        evaluations = [
            evaluation_of(
                each, baseline, metric, statistics, Room(threads, memory_limit, spill), plan, 2 if system else 1
            )
            for each in files
        ]
        json_path = json_file(json, [path for each in evaluations for path in inputs_of(each)])
        with Progress(quiet) as say:
            compared = compare_judgments(evaluations[0], evaluations[1], say, with_systems=bool(system))
        write_or_print(compared.to_json, json_path, to_standard_output=json == "-")
        if not quiet and json != "-":
            from ndcg_ab.report.terminal.judgments import print_judgments

            show(print_judgments, compared)


def refuse_without_systems(systems: list[str] | None, options: dict[str, object]) -> None:
    for option, value in options.items():
        if value not in (None, []) and not systems:
            raise InputError(f"{option}: is about systems, and none is given: add --system NAME=FILE, twice or more")


def of_each(option: str, given: Sequence[str] | None) -> tuple[str | None, str | None]:
    """What an option says of the first file and of the second: once for both, or once for each."""
    if not given:
        return None, None
    if len(given) > 2:
        raise InputError(f"{option}: given {len(given)} times: give it once for both files, or once for each")
    return given[0], given[-1]


COMMANDS: dict[Callable[..., None], str] = {  # each with an example of its options
    judgments: "human.qrels model.qrels --system old=old.run --system new=new.run --json agreement.json",
}
