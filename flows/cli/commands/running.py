"""Define the commands that need a configuration: check, run, history, publish, serve, deploy."""

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ndcg_ab.errors import InputError, require_libraries

from ..console import (
    Output,
    Progress,
    exit_if_gate_failed,
    local_inputs,
    print_line,
    print_safely,
    print_wrapped,
    program_name,
)
from ..exit_codes import PENDING, write_error
from ..inputs import configuration_in, evaluation_from_config, parse_at_option, refuse_options_of_config, repeat_options
from ..options import CONFIG_FILE, DETAILS, EXPLAIN, JSON_FILE, PICTURE, QUIET, SETTINGS, argument, option, takes

if TYPE_CHECKING:
    from ndcg_ab.config.model.evaluation import Evaluation

OF_FILES = ("grades", "rules")  # groups of options that go with files, and not with a configuration


@takes(*OF_FILES, "config", "resources", "judgments", "system", "metric", "finding", "strict")
def check(
    files: list[Path] | None = argument("CONFIG|FILE", "A configuration; or rankings, with or without judgments."),
    json: str | None = JSON_FILE,
    quiet: bool = QUIET,
    **options: Any,
) -> None:
    """Read and check all inputs of a configuration, or the given files, without computing scores.

    What each finding means and what to do: ndcg-ab findings, or docs/findings.md.

    Example: ndcg-ab check configs/demo.yaml
    """
    from ndcg_ab.config.environment import tracking_uri
    from ndcg_ab.config.options.from_options import parse_grades, parse_metrics, parse_severities, read_resources
    from ndcg_ab.config.options.positional import expand_patterns, systems_by_name
    from ndcg_ab.history.working_folder import refuse_unusable_output
    from ndcg_ab.pipeline.stages import check_only
    from ndcg_ab.report.terminal.tables import print_findings
    from ndcg_ab.scoring.scoring import open_engine_for
    from ndcg_ab.studies.first_configuration import check_files, checked_to_json
    from ndcg_ab.trackers import refuse_unknown_tracker

    systems = systems_by_name(options["system"] or ())
    judgments = Path(options["judgments"]) if options["judgments"] else None
    severities = parse_severities("--finding", options["finding"] or ())
    metrics = parse_metrics("--metric", options["metric"] or ["ndcg@10"])
    paths = [*map(Path, expand_patterns(files or ()))]
    if not (paths or systems):
        raise InputError(f"check: names nothing to check → {program_name()} check JUDGMENTS BASELINE CANDIDATE")
    evaluation = None
    inputs = [*paths, *systems.values(), *([judgments] if judgments else [])]
    if not (judgments or systems) and configuration_in(paths):
        more = [f"findings.{code}={severity}" for code, severity in severities.items()]
        more += ["strict=true"] * options["strict"]
        more += [f"metrics=[{', '.join(metrics)}]"] if options["metric"] else []
        evaluation = evaluation_from_config(paths[0], options, OF_FILES, more)
        refuse_unknown_tracker(evaluation)
        tracking_uri(evaluation)
        refuse_unusable_output(evaluation.output_directory / evaluation.name, str(evaluation.output))
        inputs += local_inputs(evaluation)
    else:
        refuse_options_of_config(options)
    output = Output(inputs, quiet=quiet, json=json)
    with open_engine_for(evaluation, resources=read_resources(options)) as engine, Progress(quiet) as say:
        if evaluation:
            findings, counts = check_only(evaluation, engine, say)
        else:
            words = parse_grades("--grades", options["grades"]) if options["grades"] else None
            documents = {"prefix": options["document_prefix"], "own": options["own"]}
            keys = {"findings": severities, "strict": options["strict"], "metrics": metrics, "documents": documents}
            findings, counts = check_files(paths, judgments, systems, keys, engine, say, words, options["duplicates"])
    output.write("json", lambda: checked_to_json(counts, findings))
    if output.is_shown:
        print_wrapped([counts])
        print_safely(print_findings, findings, with_examples=True)
    output.print_written_files()


@takes("config", "resources")
def run(
    config: Path = CONFIG_FILE,
    force: bool = option(None, "Read and compute again, even if inputs and configuration are unchanged.", "--force"),
    json: str | None = JSON_FILE,
    details: bool = DETAILS,
    explain: bool = EXPLAIN,
    quiet: bool = QUIET,
    **options: Any,
) -> None:
    """Run the whole evaluation, keep it in the history, and log it to the tracker.

    If a Prefect server is named, the run is a flow on that server.

    Example: ndcg-ab run configs/demo.yaml
    """
    from ndcg_ab.config.loading.file import read_config
    from ndcg_ab.config.options.from_options import with_resource_options

    settings = options["settings"] or ()
    evaluation = with_resource_options(read_config(config, settings), options)
    output = Output([*local_inputs(evaluation), config], quiet=quiet, json=json)
    time = parse_at_option(options["at"])
    with Progress(quiet) as say:
        from ndcg_ab.config.environment import prepare_environment
        from ndcg_ab.history.bundle import read_bundle
        from ndcg_ab.report.answer import JUDGE, metric_to_judge
        from ndcg_ab.report.doubts import SET_EFFECT
        from ndcg_ab.report.terminal.screen import print_run
        from ndcg_ab.trackers import refuse_unknown_tracker, tracker_label, tracker_libraries

        from ...run import is_server_named, run_evaluation

        prepare_environment(evaluation)
        require_libraries("ndcg-ab run", *["prefect"] * is_server_named(evaluation), *tracker_libraries(evaluation))
        refuse_unknown_tracker(evaluation)
        say("starting")

        done = run_evaluation(evaluation, say, force=force, at=time)
    assert done.bundle is not None and done.outcome is not None
    tracker = tracker_label(evaluation)
    output.write("json", done.outcome.to_json)
    if output.is_shown:
        bundle, name = read_bundle(done.bundle), shlex.quote(str(config))
        judged = {"files": [str(config)], "metric": metric_to_judge(bundle.outcome), "set": settings}
        inputs = repeat_options(options | judged, ("metric", "at", "set"))
        remedies = {JUDGE: f"{JUDGE} {inputs}", SET_EFFECT: "--set statistics.smallest_effect=0.01"}
        print_safely(print_run, done, bundle, tracker, details=details, explain=explain, remedies=remedies)
        for words, command in (("history", f"history {name}"), ("again", f"run {name} --force")) if details else ():
            print_line(f"{words:>11}  {program_name()} {command}")
    output.print_written_files()
    if done.is_full:
        write_error(f"the results are safe, and logging them is pending: {done.pending}")
    elif done.unobserved:
        write_error(f"Prefect has no record of this run, which went on without it: {done.unobserved}")
    if done.pending and not done.is_full:
        write_error(f"{tracker} could not be reached, logging is pending: {done.pending}")
        changes = "".join(f" --set {shlex.quote(text)}" for text in settings)
        command = f"{program_name()} publish {shlex.quote(str(config))}{changes}"
        write_error(f"the results are safe; the next run delivers them, or: {command}")
    exit_if_gate_failed(done.outcome)
    if done.pending:
        raise typer.Exit(PENDING)


def history(
    config: Path = CONFIG_FILE,
    metric: str | None = option("METRIC", "The metric. (default the first)"),
    query: str | None = option("QUERY_ID", "Show one query over the nights."),
    last: int | None = option("N", "The latest N only. (default all)", "--last", "-n", min=1),
    picture: Path | None = PICTURE,
    since: str | None = option("DATE|7d", "A digest instead: what dropped since then, why, and what is open."),
    acknowledge: int | None = option("N", "Mark the drop of evaluation N as known.", min=1),
    note: str | None = option("TEXT", "With --acknowledge: what is known of it."),
    details: bool = option(None, "Print what happened in full, and what all evaluations say together.", "--details"),
    json: str | None = JSON_FILE,
    settings: list[str] | None = SETTINGS,
    quiet: bool = QUIET,
) -> None:
    """Show the evaluations of a configuration, one per line: values, verdicts, and what changed in the inputs.

    Example: ndcg-ab history configs/demo.yaml --last 30 --picture nights.svg
    """
    from ndcg_ab.config.loading.file import read_config
    from ndcg_ab.history.timeline import query_json, read_query, read_timeline, timeline_json
    from ndcg_ab.report.terminal.timeline import print_digest, print_query_values, print_timeline

    evaluation = read_config(config, settings or ())
    output = Output(local_inputs(evaluation), quiet=quiet, json=json, picture=picture)
    if note is not None and acknowledge is None:
        raise InputError("--note: goes with --acknowledge, and none was given")
    if json and acknowledge is not None:
        raise InputError("--json: --acknowledge only marks a drop; leave out one of them")
    if picture and (acknowledge is not None or since is not None):
        option = "--since" if acknowledge is None else "--acknowledge"
        raise InputError(f"--picture: {option} draws nothing; leave out one of them")
    if acknowledge is not None:
        from ndcg_ab.history.digest import acknowledge_drop

        systems = ", ".join(acknowledge_drop(evaluation, acknowledge, note))
        print_line(f"acknowledged: {systems} dropped in evaluation {acknowledge}")
    elif query is not None:
        rows = read_query(evaluation, query, metric, last)
        output.finish(lambda: query_json(query, rows), print_query_values, query, rows)
    elif since is not None:
        from ndcg_ab.history.digest import digest_json, make_digest, parse_since

        time = parse_since(since, datetime.now(UTC))
        timeline = read_timeline(evaluation, metric, None)
        digest = make_digest(timeline, time)
        output.finish(lambda: digest_json(digest), print_digest, digest, timeline)
    else:
        timeline = read_timeline(evaluation, metric, last)
        output.finish(lambda: timeline_json(timeline), print_timeline, timeline, details=details)


def publish(
    bundle: Path = argument("BUNDLE", "An evaluation's folder, as `run` printed it, or a configuration.", default=...),
    settings: list[str] | None = SETTINGS,
    json: str | None = JSON_FILE,
    quiet: bool = QUIET,
) -> None:
    """Log one finished evaluation, or all pending ones of a configuration, to the tracker; nothing is logged twice.

    Example: ndcg-ab publish ndcg-ab-results/demo/20261120T020000Z
    """
    from ndcg_ab.deadlines import Budget
    from ndcg_ab.errors import TrackingError
    from ndcg_ab.full_disks import is_full

    output = Output((), quiet=quiet, json=json)
    with Progress(quiet) as say:
        say("starting the tracker")
        folders, current = bundles_to_publish(bundle, settings or ())
        from ndcg_ab.trackers import tracker_for_bundle
        from ndcg_ab.trackers.base import PATIENCE

        lines = []
        chosen = tracker_for_bundle(current, bundle)
        try:
            if current is not None:
                chosen.publish_failed_nights(current, Budget(PATIENCE))
            for folder in folders:
                say(f"publishing {folder.name}")
                published = chosen.publish(folder, current)
                lines.append(("logged: " if published.new else "already there: ") + published.url)
        except TrackingError as error:
            remaining = len(folders) - len(lines)
            reason = "" if is_full(error) else f"{chosen.label} could not be reached, "
            write_error(f"{reason}logging of {remaining} evaluations is still pending: {error}")
            raise typer.Exit(PENDING) from None
    output.write_json(published=lines)
    for line in (lines or ["nothing is pending"]) if output.is_shown else ():
        print_line(line)


def bundles_to_publish(path: Path, settings: Sequence[str] = ()) -> "tuple[list[Path], Evaluation | None]":
    """Return the bundles to publish, and the evaluation whose configuration names the tracker.

    A bundle is the folder with the results of one evaluation. If `path` is a configuration, its unpublished bundles are
    returned with its evaluation; if `path` is a bundle, this bundle is returned with None. settings: KEY=VALUE changes
    of the configuration. Raises InputError for settings without a configuration.
    """
    if path.is_dir():
        if settings:
            raise InputError(f"--set: goes with a configuration; {path} is an evaluation that is finished")
        return [path], None
    from ndcg_ab.config.environment import prepare_environment
    from ndcg_ab.config.loading.file import read_config
    from ndcg_ab.history.bundle import unpublished_bundles

    evaluation = read_config(path, settings)
    prepare_environment(evaluation)
    from ndcg_ab.extensions import translate_foreign_errors
    from ndcg_ab.trackers import make_tracker

    with translate_foreign_errors(f"tracker = {evaluation.tracker.name!r} failed"):
        address = make_tracker(evaluation).address(evaluation)
    return unpublished_bundles(evaluation, address), evaluation


CONFIG_FILES = argument("CONFIG…", "Configuration files (YAML).", default=...)


def serve(configs: list[Path] = CONFIG_FILES, settings: list[str] | None = SETTINGS) -> None:
    """Run evaluations on their schedules in this process, until it is stopped.

    Example: ndcg-ab serve configs/demo.yaml
    """
    require_libraries("ndcg-ab serve", "prefect", "mlflow")
    evaluations = load_evaluations(configs, settings or ())
    from ... import schedules

    schedules.serve(evaluations)


def deploy(
    configs: list[Path] = CONFIG_FILES,
    pool: str = option("NAME", "The work pool whose workers run them. (default local)", default="local"),
    settings: list[str] | None = SETTINGS,
    json: str | None = JSON_FILE,
) -> None:
    """Register evaluations with their schedules at a Prefect server, for the workers of a pool.

    Example: ndcg-ab deploy configs/nightly.yaml --pool local
    """
    require_libraries("ndcg-ab deploy", "prefect", "mlflow")
    evaluations = load_evaluations(configs, settings or ())
    from ... import schedules

    output, lines = Output((), json=json), list(schedules.deploy(evaluations, pool))
    output.write_json(deployed=lines)
    for line in lines if output.is_shown else ():
        print_line(line)


def load_evaluations(configs: list[Path], settings: Sequence[str] = ()) -> "list[Evaluation]":
    """Read configurations to serve or deploy, and return their evaluations.

    The environment variables of Prefect and MLflow are set for the first configuration.
    settings: KEY=VALUE changes that apply to each configuration. Raises InputError if a configuration is invalid, or if
    two of them have the same name or name different Prefect servers.
    """
    from ndcg_ab.config.environment import prepare_environment
    from ndcg_ab.config.loading.file import read_config
    from ndcg_ab.trackers import refuse_unknown_tracker

    evaluations = [read_config(config, settings) for config in configs]
    for evaluation in evaluations:
        refuse_unknown_tracker(evaluation)
    names = [evaluation.name for evaluation in evaluations]
    for config, name in zip(configs, names, strict=True):
        if names.count(name) > 1:
            raise InputError(f"{config}: name = {name!r}: another configuration has it too; a deployment has its own")
    servers = {str(evaluation.prefect.api_url) for evaluation in evaluations}
    if len(servers) > 1:
        raise InputError(f"{configs[0]}: prefect.api_url: the configurations name different servers; take them apart")
    prepare_environment(evaluations[0])
    return evaluations


COMMANDS = (check, run, history, publish, serve, deploy)
