"""The commands over a configuration: check, run, history, publish."""

import shlex
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ndcg_ab.errors import InputError, needs

from ..console import (
    Progress,
    draw_and_print,
    end_where_a_gate_failed,
    name_written,
    print_line,
    print_safely,
    print_wrapped,
    program_name,
    write_or_print,
)
from ..exit_codes import PENDING, write_error
from ..inputs import refuse_files
from ..light_imports import import_special_lightly
from ..options import (
    DOCUMENT_RULES,
    OF_CONFIG,
    RESOURCES,
    ConfigFile,
    Details,
    Explain,
    FindingSeverities,
    JsonFile,
    JudgmentsFile,
    JudgmentsGrades,
    MetricNames,
    Quiet,
    Settings,
    Strict,
    SystemFiles,
    takes,
)
from ..outputs import PICTURES, local_inputs, output_file, text_file

if TYPE_CHECKING:
    from ndcg_ab.config.model.evaluation import Evaluation
    from ndcg_ab.history.bundles.bundle import Finished

OF_FILES = {"grades": JudgmentsGrades, **DOCUMENT_RULES}  # options that go with files, and not with a configuration


@takes(OF_FILES, OF_CONFIG, RESOURCES)
def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="CONFIG|FILE", help="A configuration; or rankings, with or without judgments."),
    ] = None,
    judgments: JudgmentsFile = None,
    system: SystemFiles = None,
    metric: MetricNames = None,
    finding: FindingSeverities = None,
    strict: Strict = False,
    json: JsonFile = None,
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Read and check everything that a configuration names, or files, without scoring.

    What each finding means and what to do: ndcg-ab findings, or docs/findings.md.
    """
    from ndcg_ab.config.loading.file import read_config
    from ndcg_ab.config.loading.templates import resolve_at
    from ndcg_ab.config.options.from_options import read_resources, with_resource_options
    from ndcg_ab.config.options.option_parsing import parse_grades, parse_metrics, parse_severities
    from ndcg_ab.config.options.positional import expand_patterns, systems_by_name
    from ndcg_ab.pipeline import check_only
    from ndcg_ab.report.terminal.tables import print_findings
    from ndcg_ab.scoring.scoring import open_engine_for
    from ndcg_ab.studies.checking import check_files, checked_to_json, is_configuration
    from ndcg_ab.trackers import refuse_unknown_tracker

    systems = systems_by_name(system or ())
    at, settings = options["at"], options["settings"] or ()
    severities = parse_severities("--finding", finding or ())
    keys: dict[str, Any] = {
        "findings": severities,
        "strict": strict,
        "metrics": parse_metrics("--metric", metric or ["ndcg@10"]),
    }
    evaluation = None
    given = [*map(Path, expand_patterns(files or ()))]
    if not (given or systems):
        raise InputError("names nothing to check: give a configuration, or rankings with or without judgments")
    if not (judgments or systems) and is_configuration(given):
        more = [f"findings.{code}={severity}" for code, severity in severities.items()] + ["strict=true"] * strict
        more += [f"metrics=[{', '.join(keys['metrics'])}]"] if metric else []
        evaluation = read_config(given[0], [*settings, *more])
        evaluation = resolve_at(with_resource_options(evaluation, options), parse_moment(at) or datetime.now(UTC))
        refuse_files(options, OF_FILES)
    elif at or settings:
        raise InputError(f"{'--at' if at else '--set'}: goes with a configuration, and files were given")
    if evaluation:
        refuse_unrunnable(evaluation)
        refuse_unknown_tracker(evaluation)
    with open_engine_for(evaluation, resources=read_resources(options)) as engine, Progress(quiet) as say:
        if evaluation:
            findings, counts = check_only(evaluation, engine, say)
        else:
            named = Path(judgments) if judgments else None
            words = parse_grades("--grades", options["grades"]) if options["grades"] else None
            keys["documents"] = {"prefix": options["document_prefix"], "own": options["own"]}
            findings, counts = check_files(given, named, systems, keys, engine, say, words, options["duplicates"])
    inputs = [*given, *systems.values(), *([Path(judgments)] if judgments else [])]
    json_path = text_file("--json", json, inputs + (local_inputs(evaluation) if evaluation else []))
    write_or_print(lambda: checked_to_json(counts, findings), json_path, to_standard_output=json == "-")
    if not quiet and json != "-":
        print_wrapped([counts])
        print_safely(print_findings, findings, examples=True)
    name_written(json_path, quiet=quiet)


def refuse_unrunnable(evaluation: "Evaluation") -> None:
    """InputError for what a run would end with when all is computed: where its results cannot be kept or logged."""
    from ndcg_ab.config.environment import prepare_environment, tracking_uri
    from ndcg_ab.history.bundles.bundle import refuse_output

    prepare_environment(evaluation)
    tracking_uri(evaluation)
    refuse_output(evaluation.output_directory / evaluation.name, str(evaluation.output))


@takes(OF_CONFIG, RESOURCES)
def run(
    config: ConfigFile,
    force: Annotated[
        bool, typer.Option("--force", help="Read and compute again, even if inputs and configuration are unchanged.")
    ] = False,
    json: JsonFile = None,
    details: Details = False,
    explain: Explain = False,
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Run the whole evaluation, keep it in the history, and log it to the tracker.

    Where a Prefect server is named the run is a flow there.
    """
    import_special_lightly()
    from ndcg_ab.config.loading.file import find_namesake, read_config
    from ndcg_ab.config.options.from_options import with_resource_options

    settings = options["settings"] or ()
    evaluation = with_resource_options(read_config(config, settings), options)
    json_path = text_file("--json", json, [*local_inputs(evaluation), config])
    if other := find_namesake(config, evaluation):
        shared = f"{config} and {other} share one history: both have the name {evaluation.name} and one output"
        write_error(f"note: {shared}; give one of them another name")
    moment = parse_moment(options["at"])
    with Progress(quiet) as say:
        from ndcg_ab.config.environment import prepare_environment
        from ndcg_ab.trackers import refuse_unknown_tracker, tracker_libraries

        from ...run import is_server_named, run_evaluation

        prepare_environment(evaluation)
        needs("ndcg-ab run", *["prefect"] * is_server_named(evaluation), *tracker_libraries(evaluation))
        refuse_unknown_tracker(evaluation)
        say("starting")

        finished = run_evaluation(evaluation, say, force=force, at=moment)
    write_or_print(finished.outcome.to_json, json_path, to_standard_output=json == "-")
    if not quiet and json != "-":
        print_finished(finished, config, details=details, explain=explain)
    name_written(json_path, quiet=quiet)
    if finished.is_full:
        write_error(f"the results are safe, and logging them is pending: {finished.pending}")
    elif finished.unobserved:
        write_error(f"Prefect has no record of this run, which went on without it: {finished.unobserved}")
    if finished.pending and not finished.is_full:
        write_error(f"{finished.tracker} could not be reached, logging is pending: {finished.pending}")
        changes = "".join(f" --set {shlex.quote(text)}" for text in settings)
        command = f"{program_name()} publish {shlex.quote(str(config))}{changes}"
        write_error(f"the results are safe; the next run delivers them, or: {command}")
    end_where_a_gate_failed(finished.outcome)
    if finished.pending:
        raise typer.Exit(PENDING)


def print_finished(finished: "Finished", config: Path, *, details: bool, explain: bool) -> None:
    """Who won, where everything is, and the commands that go on from there."""
    from ndcg_ab.report.terminal.screen import print_run

    print_safely(print_run, finished, details=details, explain=explain)
    place = shlex.quote(str(config))
    for words, command in ("history", "history"), ("again", "run --force"), ("all tables", "run --details"):
        name, _, option = command.partition(" ")
        print_line(f"{words:>11}  {program_name()} {name} {place} {option}".rstrip())


def parse_moment(text: str | None) -> datetime | None:
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


def history(
    config: ConfigFile,
    metric: Annotated[str | None, typer.Option(metavar="METRIC", help="The metric. (default the first)")] = None,
    query: Annotated[str | None, typer.Option(metavar="QUERY_ID", help="Show one query over the nights.")] = None,
    last: Annotated[int | None, typer.Option(metavar="N", min=1, help="The latest N only. (default all)")] = None,
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw what is printed, as SVG.")] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="DATE|7d", help="A digest instead: what dropped since then, why, and what is open."),
    ] = None,
    acknowledge: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Mark the drop of evaluation N as known.")
    ] = None,
    note: Annotated[str | None, typer.Option(metavar="TEXT", help="With --acknowledge: what is known of it.")] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Print what happened in full, and what all evaluations say together.")
    ] = False,
    json: JsonFile = None,
    settings: Settings = None,
    quiet: Quiet = False,
) -> None:
    """Show the evaluations of a configuration, one a line: values, verdicts, what changed in the inputs."""
    from ndcg_ab.config.loading.file import read_config

    evaluation = read_config(config, settings or ())
    json_path = text_file("--json", json, local_inputs(evaluation))
    drawing = output_file("--picture", picture, local_inputs(evaluation), *PICTURES)
    shown = Shown(json_path, drawing, is_output_taken=json == "-", quiet=quiet)
    if note is not None and acknowledge is None:
        raise InputError("--note: goes with --acknowledge, and none was given")
    if json and acknowledge is not None:
        raise InputError("--json: --acknowledge only marks a drop; leave out one of them")
    if picture and (acknowledge is not None or since is not None):
        option = "--since" if acknowledge is None else "--acknowledge"
        raise InputError(f"--picture: {option} draws nothing; leave out one of them")
    if acknowledge is not None:
        from ndcg_ab.history.timeline.acknowledging import acknowledge_drop

        systems = ", ".join(acknowledge_drop(evaluation, acknowledge, note))
        print_line(f"acknowledged: {systems} dropped in evaluation {acknowledge}")
    elif query is not None:
        show_query(evaluation, query, metric, last, shown)
    elif since is not None:
        show_digest(evaluation, since, metric, shown)
    else:
        show_timeline(evaluation, metric, last, shown, details)
    name_written(json_path, drawing, quiet=quiet, is_output_taken=json == "-")


class Shown(NamedTuple):
    """Where what a command found goes: files, standard output, or the screen."""

    json_path: Path | None
    picture: Path | None
    is_output_taken: bool
    quiet: bool

    @property
    def has_room(self) -> bool:
        """Whether tables are printed: JSON has not taken standard output, and nobody asked for silence."""
        return not self.is_output_taken and not self.quiet


def show_query(evaluation: "Evaluation", query: str, metric: str | None, last: int | None, shown: Shown) -> None:
    from ndcg_ab.history.timeline.timeline import query_json, read_query
    from ndcg_ab.report.terminal.timeline import print_query_values

    rows = read_query(evaluation, query, metric, last)
    write_or_print(lambda: query_json(query, rows), shown.json_path, to_standard_output=shown.is_output_taken)
    draw_and_print(print_query_values, query, rows, picture=shown.picture, is_printed=shown.has_room)


def show_digest(evaluation: "Evaluation", since: str, metric: str | None, shown: Shown) -> None:
    from ndcg_ab.history.timeline.digest import digest_json, make_digest, parse_since
    from ndcg_ab.history.timeline.timeline import read_timeline
    from ndcg_ab.report.terminal.timeline import print_digest

    moment = parse_since(since, datetime.now(UTC))
    timeline = read_timeline(evaluation, metric, None)
    found = make_digest(timeline, moment)
    write_or_print(lambda: digest_json(found), shown.json_path, to_standard_output=shown.is_output_taken)
    if shown.has_room:
        print_safely(print_digest, found, timeline)


def show_timeline(evaluation: "Evaluation", metric: str | None, last: int | None, shown: Shown, details: bool) -> None:
    from ndcg_ab.history.timeline.timeline import read_timeline, timeline_json
    from ndcg_ab.report.terminal.timeline import print_timeline

    found = read_timeline(evaluation, metric, last)
    write_or_print(lambda: timeline_json(found), shown.json_path, to_standard_output=shown.is_output_taken)
    draw_and_print(print_timeline, found, picture=shown.picture, is_printed=shown.has_room, details=details)


def publish(
    bundle: Annotated[
        Path, typer.Argument(metavar="BUNDLE", help="An evaluation's folder, as `run` printed it, or a configuration.")
    ],
    settings: Settings = None,
    quiet: Quiet = False,
) -> None:
    """Log a finished evaluation to its tracker, or all of a configuration that are pending; nothing is logged twice."""
    from ndcg_ab.errors import TrackingError
    from ndcg_ab.full_disks import is_full

    with Progress(quiet) as say:
        say("starting the tracker")
        folders, current = pending_bundles(bundle, settings or ())
        from ndcg_ab.trackers import tracker_for_bundle

        lines = []
        chosen = tracker_for_bundle(current, bundle)
        try:
            for folder in folders:
                say(f"publishing {folder.name}")
                published = chosen.publish(folder, current)
                lines.append(("logged: " if published.new else "already there: ") + published.url)
        except TrackingError as error:
            left = len(folders) - len(lines)
            reason = "" if is_full(error) else f"{chosen.label} could not be reached, "
            write_error(f"{reason}logging of {left} evaluations is still pending: {error}")
            raise typer.Exit(PENDING) from None
    if not quiet:
        for line in lines or ["nothing is pending"]:
            print_line(line)


def pending_bundles(path: Path, settings: Sequence[str] = ()) -> "tuple[list[Path], Evaluation | None]":
    """The folders to publish, and where to: a folder names itself, a configuration all that its tracker has not."""
    if path.is_dir():
        if settings:
            raise InputError(f"--set: goes with a configuration; {path} is an evaluation that is finished")
        return [path], None
    from ndcg_ab.config.environment import prepare_environment
    from ndcg_ab.config.loading.file import read_config
    from ndcg_ab.history.bundles.bundle import unpublished_bundles

    evaluation = read_config(path, settings)
    prepare_environment(evaluation)
    from ndcg_ab.extensions import translate_foreign_errors
    from ndcg_ab.trackers import make_tracker

    with translate_foreign_errors(f"tracker = {evaluation.tracker.name!r} failed"):
        address = make_tracker(evaluation).address(evaluation)
    return unpublished_bundles(evaluation, address), evaluation


COMMANDS: dict[Callable[..., None], str] = {  # each with an example of its options
    check: "configs/demo.yaml",
    run: "configs/demo.yaml",
    history: "configs/demo.yaml --last 30 --picture nights.svg",
    publish: "ndcg-ab-results/demo/20261120T020000Z",
}
