"""The command that says what is to be judged next: judge-next."""

import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ndcg_ab.errors import InputError
from ndcg_ab.visible import visible

from ..base_command import HelpAll
from ..console import (
    Progress,
    name_written,
    print_safely,
    print_to_stderr,
    print_wrapped,
    warn_of_formulas,
    write_or_print,
)
from ..inputs import place_inputs, refuse_files
from ..light_imports import import_lightly
from ..options import (
    FORMS,
    JUDGES,
    OF_CONFIG,
    OF_KEYS,
    RESOURCES,
    TESTS,
    JudgmentsFile,
    Quiet,
    SystemFiles,
    of_data,
    of_metrics,
    of_output,
    takes,
)
from ..outputs import PAGES, local_inputs, output_file, refuse_one_file_twice, text_file
from .running import parse_moment

if TYPE_CHECKING:
    from ndcg_ab.config.model.evaluation import Evaluation

MOST = 50
OF_FILES = {  # options that go with files, and not with a configuration
    "judgments": JudgmentsFile,
    "system": SystemFiles,
    "baseline": OF_KEYS["baseline"],
    "queries": OF_KEYS["queries"],
    "documents": OF_KEYS["documents"],
    "seed": TESTS["seed"],
    **JUDGES,
    **FORMS,
}


@takes(OF_FILES, OF_CONFIG, RESOURCES)
def judge_next(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONFIG|JUDGMENTS BASELINE CANDIDATE", help="A configuration (YAML); or files, as for compare."
        ),
    ] = None,
    candidate: Annotated[
        list[str] | None,
        of_data(metavar="NAME", help="Candidate; again for more. (default all whose verdict grades could change)"),
    ] = None,
    metric: Annotated[
        str | None, of_metrics(metavar="METRIC", help="The metric. (default ndcg@10, or the first of CONFIG)")
    ] = None,
    count: Annotated[
        int, of_output("--count", "-n", metavar="N", help="How many to list. (default 50)", show_default=False)
    ] = MOST,
    csv: Annotated[
        str | None, of_output(metavar="FILE", help="Write them as CSV; - prints them. (default a table)")
    ] = None,
    jsonl: Annotated[str | None, of_output(metavar="FILE", help="Write them as JSON Lines.")] = None,
    sheet: Annotated[Path | None, of_output(metavar="FILE", help="Write a sheet to judge in, as HTML.")] = None,
    quiet: Quiet = False,
    help_all: HelpAll = False,
    **options: Any,
) -> None:
    """Name the unjudged documents whose grades would settle the comparison soonest."""
    import_lightly()
    if count < 1:
        raise InputError(f"-n {count}: must be at least 1")
    from ndcg_ab.config.options.option_parsing import parse_metrics
    from ndcg_ab.studies.checking import is_configuration

    chosen = parse_metrics("--metric", [metric])[0] if metric else None
    config = Path(files[0]) if files and is_configuration([Path(file) for file in files]) else None
    if config:
        refuse_files(options, OF_FILES)
        evaluation = evaluation_from_config(config, options)
    else:
        evaluation = evaluation_from_files(options | {"files": files, "metric": [chosen] if chosen else None})
    inputs = [*local_inputs(evaluation), *([config] if config else [])]
    paths = {"--csv": text_file("--csv", csv, inputs), "--jsonl": text_file("--jsonl", jsonl, inputs)}
    paths["--sheet"] = output_file("--sheet", sheet, inputs, *PAGES)
    if csv == jsonl == "-":
        raise InputError("--csv - and --jsonl -: only one of them can be written here; name a file for the other")
    refuse_one_file_twice(paths)
    from ndcg_ab.report.terminal.labels import effect_sentences, print_to_judge, to_csv, to_json_lines
    from ndcg_ab.scoring.scoring import open_engine_for
    from ndcg_ab.studies import judge_next as study

    alone = study.with_one_metric(evaluation, chosen)
    with open_engine_for(alone) as engine, Progress(quiet) as say:
        found = study.find_documents_to_judge(alone, engine, candidate or (), count, say)
    if sheet_file := paths["--sheet"]:
        from ndcg_ab.report.judging_sheet import write_judging_sheet

        write_judging_sheet(sheet_file, found.rows, found.grades, f"{alone.name}: what to judge next")
    write_or_print(lambda: to_json_lines(found.rows), paths["--jsonl"], to_standard_output=jsonl == "-")
    write_or_print(lambda: to_csv(found.rows), paths["--csv"], to_standard_output=False)
    is_alone = not (csv or jsonl or sheet)
    is_csv_here = bool(found.rows) and (csv == "-" or (is_alone and not sys.stdout.isatty()))
    if is_csv_here:
        written = to_csv(found.rows)
        sys.stdout.write(visible(written) if sys.stdout.isatty() else written)
    elif is_alone and found.rows:
        print_safely(print_to_judge, found.rows)
    if quiet:
        return
    if is_csv_here or csv:
        texts = (text for row in found.rows for text in (row.query_id, row.doc_id, row.text, row.title, row.url))
        warn_of_formulas("--csv" if csv in (None, "-") else f"--csv {csv}", texts)
    tell_effects(effect_sentences(found), is_output_taken=is_csv_here or jsonl == "-")
    name_written(*paths.values(), is_output_taken=is_csv_here or jsonl == "-")


def tell_effects(sentences: Iterable[str], *, is_output_taken: bool) -> None:
    """What the grades can settle; on standard error where standard output has the rows."""
    if is_output_taken:
        for line in sentences:
            print_to_stderr(line)
    else:
        print_wrapped(sentences)


def evaluation_from_config(config: Path, options: Mapping[str, Any]) -> "Evaluation":
    """The evaluation of a configuration at a time; options: `settings`, `at` and those of resources."""
    from ndcg_ab.config.environment import prepare_environment
    from ndcg_ab.config.loading.file import read_config
    from ndcg_ab.config.loading.templates import resolve_at
    from ndcg_ab.config.options.from_options import with_resource_options

    evaluation = with_resource_options(read_config(config, options["settings"] or ()), options)
    prepare_environment(evaluation)
    return resolve_at(evaluation, parse_moment(options["at"]) or datetime.now(UTC))


def refuse_options_of_config(options: Mapping[str, object]) -> None:
    for option, value in (("--at", options["at"]), ("--set", options["settings"])):
        if value:
            raise InputError(f"{option}: goes with a configuration, and files were given")


def evaluation_from_files(options: Mapping[str, Any]) -> "Evaluation":
    from ndcg_ab.config.options.from_options import evaluation_from_options

    refuse_options_of_config(options)
    placed = place_inputs(options, "judge-next", ", or a configuration")
    return evaluation_from_options(placed, least_systems=2)


COMMANDS: dict[Callable[..., None], str] = {  # each with an example of its options
    judge_next: "judgments.qrels old.run new.run -n 50 --sheet judge.html",
}
