"""The commands over a configuration: check, run, history, publish, serve, deploy."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.errors import InputError
from flows.options import ConfigFile, JsonFile, Quiet
from flows.terminal import Progress, output_console, user_errors, write_or_print

if TYPE_CHECKING:
    from flows.config import Evaluation

PENDING = 75  # exit code when the results stand on disk and only logging them is pending (EX_TEMPFAIL)
GATE_FAILED = 1

ConfigFiles = Annotated[list[Path], typer.Argument(metavar="CONFIG…", help="Configuration files (YAML).")]


def check(config: ConfigFile, quiet: Quiet = False) -> None:
    """Read and check everything that a configuration names, without scoring."""
    with user_errors():
        from flows.config_file import read_config
        from flows.pipeline import check_only
        from flows.tables import print_findings
        from flows.warehouse import Warehouse

        evaluation = read_config(config)
        with (
            Warehouse(None, evaluation.resources.threads, evaluation.resources.memory_limit) as warehouse,
            Progress(quiet) as say,
        ):
            findings, counts = check_only(evaluation, warehouse, say)
        if not quiet:
            console = output_console()
            console.print(counts, highlight=False, markup=False)
            print_findings(console, findings)


def run(
    config: ConfigFile,
    force: Annotated[
        bool, typer.Option("--force", help="Compute anew, even with the inputs and configuration of before.")
    ] = False,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="The moment it stands for, as 2026-11-20T02:00. (default now)")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Run the whole evaluation as a Prefect flow, keep it in the history, and log it to MLflow."""
    with user_errors():
        from flows.config_file import read_config

        evaluation = read_config(config)
        moment = moment_of(at)
        with Progress(quiet) as say:
            say("starting Prefect and MLflow")
            from flows.environment import prepare

            prepare(evaluation)
            from flows.evaluation import run_evaluation

            finished = run_evaluation(evaluation, say, force=force, at=moment)
        if not quiet:
            from flows.tables import print_run

            print_run(output_console(), finished)
        if finished.unobserved:
            complain(f"Prefect has no record of this run, which went on without it: {finished.unobserved}")
        if finished.pending:
            complain(f"MLflow could not be reached, logging is pending: {finished.pending}")
            complain(f"the results are safe; the next run delivers them, or: ndcg-ab publish {finished.bundle}")
        if finished.outcome.gate == "failed":
            for gate in finished.outcome.gates:
                if not gate.passed:
                    complain(f"gate failed: {gate.name}: {gate.message}")
            raise typer.Exit(GATE_FAILED)
        if finished.pending:
            raise typer.Exit(PENDING)


def moment_of(text: str | None) -> datetime | None:
    """The moment in UTC; one without a zone is meant in UTC."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"--at {text!r}: must be a date and time, as 2026-11-20T02:00 (UTC) or with a zone") from None
    try:
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        moment = datetime.min.replace(tzinfo=UTC)
    if not 1970 <= moment.year < 9999:
        raise InputError(f"--at {text!r}: must lie in 1970 or later")
    return moment


def complain(text: str) -> None:
    print(f"ndcg-ab: {text}", file=sys.stderr)


def history(
    config: ConfigFile,
    metric: Annotated[str | None, typer.Option(metavar="METRIC", help="The metric. (default the first)")] = None,
    query: Annotated[str | None, typer.Option(metavar="QUERY_ID", help="Show one query over the nights.")] = None,
    last: Annotated[int | None, typer.Option(metavar="N", min=1, help="The latest N only. (default all)")] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the values over the nights: PNG or SVG by the name.")
    ] = None,
    json: JsonFile = None,
) -> None:
    """Show the evaluations of a configuration night by night: values, verdicts, what changed in the inputs."""
    with user_errors():
        from flows import nights
        from flows.compare import inputs_of, writable
        from flows.config_file import read_config

        evaluation = read_config(config)
        json_path = writable("--json", json, inputs_of(evaluation)) if json and json != "-" else None
        drawing = nights.picture_path(picture, inputs_of(evaluation)) if picture else None
        if query is not None:
            rows = nights.read_query(evaluation, query, metric, last)
            if drawing:
                nights.draw_query(rows, query, drawing)
            write_or_print(lambda: nights.query_json(query, rows), json_path, to_standard_output=json == "-")
            if json != "-":
                nights.print_query(output_console(), query, rows)
            return
        found = nights.read_nights(evaluation, metric, last)
        if drawing:
            nights.draw(found, drawing)
        write_or_print(lambda: nights.nights_json(found), json_path, to_standard_output=json == "-")
        if json != "-":
            nights.print_nights(output_console(), found)


def publish(
    bundle: Annotated[
        Path, typer.Argument(metavar="BUNDLE", help="An evaluation's folder, as `run` printed it, or a configuration.")
    ],
    quiet: Quiet = False,
) -> None:
    """Log a finished evaluation to MLflow, or all of a configuration that are pending; nothing is logged twice."""
    with user_errors():
        from flows.errors import TrackingError

        with Progress(quiet) as say:
            say("starting MLflow")
            folders, current = pending_of(bundle)
            from flows.tracking import publish as deliver

            lines = []
            try:
                for folder in folders:
                    say(f"publishing {folder.name}")
                    published = deliver(folder, current)
                    lines.append(("logged: " if published.new else "already there: ") + published.url)
            except TrackingError as error:
                left = len(folders) - len(lines)
                complain(f"MLflow could not be reached, logging of {left} evaluations is still pending: {error}")
                raise typer.Exit(PENDING) from None
        if not quiet:
            print("\n".join(lines) or "nothing is pending")


def pending_of(path: Path) -> "tuple[list[Path], Evaluation | None]":
    """The folders to publish, and where to: a folder names itself, a configuration all that are pending."""
    if path.is_dir():
        return [path], None
    from flows.config_file import read_config
    from flows.store import unpublished

    evaluation = read_config(path)
    return unpublished(evaluation), evaluation


def serve(configs: ConfigFiles) -> None:
    """Run evaluations when their schedule says, in this process, until it is stopped: for a laptop."""
    with user_errors():
        evaluations = scheduled(configs)
        from flows.schedules import serve as serve_evaluations

        serve_evaluations(evaluations)


def deploy(
    configs: ConfigFiles,
    pool: Annotated[str, typer.Option(metavar="NAME", help="The work pool whose workers run them. (default local)")] = (
        "local"
    ),
) -> None:
    """Register evaluations with their schedules at a Prefect server, for the workers of a pool."""
    with user_errors():
        evaluations = scheduled(configs)
        from flows.schedules import deploy as deploy_evaluations

        for line in deploy_evaluations(evaluations, pool):
            print(line)


def scheduled(configs: list[Path]) -> "list[Evaluation]":
    """The evaluations; InputError for two of one name, or for Prefect servers that differ."""
    from flows.config_file import read_config
    from flows.environment import prepare

    evaluations = [read_config(config) for config in configs]
    names = [evaluation.name for evaluation in evaluations]
    for config, name in zip(configs, names, strict=True):
        if names.count(name) > 1:
            raise InputError(f"{config}: name = {name!r}: another configuration has it too; a deployment has its own")
    servers = {evaluation.prefect.api_url for evaluation in evaluations}
    if len(servers) > 1:
        raise InputError(f"{configs[0]}: prefect.api_url: the configurations name different servers; take them apart")
    prepare(evaluations[0])
    return evaluations


COMMANDS: dict[Any, str] = {
    check: "configs/demo.yaml",
    run: "configs/demo.yaml",
    history: "configs/demo.yaml --last 30 --picture nights.png",
    publish: "ndcg-ab-results/demo/20261120T020000Z",
    serve: "configs/demo.yaml",
    deploy: "configs/nightly.yaml --pool local",
}
