"""Define the commands for beginners: init, example."""

import dataclasses
import shlex
import sys
from pathlib import Path
from typing import Any

from ndcg_ab.errors import InputError

from ..console import Output, Progress, check_writable, print_line, print_safely, print_wrapped, program_name
from ..options import JSON_FILE, QUIET, argument, of_data, of_output, takes

CONFIG = "ndcg-ab.yaml"


@takes("judgments", "grades", "system", "metric")
def init(
    files: list[Path] | None = argument("FILE", "Judgments, rankings, queries, in any order."),
    queries: Path | None = of_data("FILE", "Queries with texts, attributes, weights."),
    name: str | None = of_data("NAME", "Names the evaluation. (default the folder's name)"),
    output_file: str = of_output(
        "FILE", "The configuration; - for standard output. (default ndcg-ab.yaml)", show_default=False, default=CONFIG
    ),
    force: bool = of_output(None, "Overwrite an existing file.", "--force"),
    json: str | None = JSON_FILE,
    quiet: bool = QUIET,
    **options: Any,
) -> None:
    """Write a first configuration from existing files, after reading and checking them.

    Example: ndcg-ab init qrels.txt old.run new.run
    """
    from ndcg_ab.config.options.from_options import parse_grades
    from ndcg_ab.config.options.positional import expand_patterns, systems_by_name
    from ndcg_ab.engines import open_engine
    from ndcg_ab.files import write_text
    from ndcg_ab.pipeline.stages import check_only
    from ndcg_ab.report.terminal.tables import print_findings
    from ndcg_ab.studies import first_configuration as study

    systems = systems_by_name(options["system"] or ())
    judged = Path(options["judgments"]) if options["judgments"] else None
    paths = [*map(Path, expand_patterns(files or ()))]
    inputs = [*paths, *systems.values(), *(file for file in (judged, queries) if file)]
    path = None if output_file == "-" else check_writable("--output-file", output_file, inputs)
    if path is not None and path.exists() and not force:
        raise InputError(f"--output-file {path}: is there already; name another one, or overwrite it with --force")
    output = Output(inputs, quiet=quiet, json=json)
    folder = path.parent if path else Path()
    grades = parse_grades("--grades", options["grades"]) if options["grades"] else {}
    guessed = dataclasses.replace(study.guess_inputs(paths, judged, systems, queries), grades=grades)
    settings = (guessed, folder, name or study.evaluation_name(folder), options["metric"] or ["ndcg@10"])
    evaluation = study.read_evaluation(study.configuration_text(*settings), folder)
    with open_engine() as engine, Progress(quiet) as say:
        findings, counts = check_only(evaluation, engine, say)
        is_weighted = any(weight is not None for (weight,) in engine.rows("query", ("weight",)))
    text = study.configuration_text(*settings, is_weighted=is_weighted)
    if path is None:
        sys.stdout.write(text)
    else:
        write_text(path, text)
    output.write_json(written=str(path or "-"), read=[*guessed.describe_files(), counts], configuration=text)
    if path is not None and output.is_shown:
        print_wrapped([*guessed.describe_files(), counts, *([study.WEIGHTED] if is_weighted else [])])
        print_safely(print_findings, findings)
        print_line(f"written: {path}\n")
        print_line(f"  {program_name()} check {shlex.quote(str(path))}")
        print_line(f"  {program_name()} run {shlex.quote(str(path))}")
        schema = shlex.quote(str(folder / study.SCHEMA_FILE))
        print_line(f"  {program_name()} schema --json {schema}   # editors complete the keys")


def example(
    folder: Path = argument("FOLDER", "Where to. (default example)", show_default=False, default=Path("example")),
    json: str | None = JSON_FILE,
    quiet: bool = QUIET,
) -> None:
    """Write small files to try every command with: judgments, fewer judgments, two rankings, queries, titles.

    Example: ndcg-ab example example
    """
    from ndcg_ab.studies.first_configuration import write_example

    output = Output((), quiet=quiet, json=json)
    written = write_example(folder)
    output.write_json(written=list(map(str, written)))
    if output.is_shown:
        judgments, *rankings = (shlex.quote(str(folder / name)) for name in ("judgments.qrels", "old.run", "new.run"))
        print_line(f"written: {', '.join(path.name for path in written)} in {folder}")
        print_line(f"→ {program_name()} compare {judgments} {' '.join(rankings)} --smallest-effect 0.01")


COMMANDS = (init, example)
