"""The command about judgments: judgments."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer

from ndcg_ab.errors import InputError

from ..base_command import HelpAll
from ..console import Progress, name_written, print_safely, write_or_print
from ..inputs import place_inputs
from ..light_imports import import_lightly
from ..options import (
    CLUSTERS,
    OF_KEYS,
    RANKINGS_FORM,
    RESOURCES,
    TESTS,
    JsonFile,
    MetricNames,
    Quiet,
    SystemFiles,
    of_data,
    takes,
)
from ..outputs import local_inputs, text_file

NO_SYSTEM = ("judgments", "judgments")  # an evaluation has a system; this one is not read
OF_SYSTEMS = {
    "baseline": OF_KEYS["baseline"],
    "metric": MetricNames,
    "smallest_effect": OF_KEYS["smallest_effect"],
    "queries": OF_KEYS["queries"],
    **CLUSTERS,
    **TESTS,
    **RANKINGS_FORM,
}


@takes({"system": SystemFiles}, OF_SYSTEMS, RESOURCES)
def judgments(
    first: Annotated[str, typer.Argument(metavar="FILE", help="Judgments (qrels), such as people's.")],
    second: Annotated[str, typer.Argument(metavar="FILE", help="Other judgments, such as a model's.")],
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="BASELINE CANDIDATE", help="Rankings to compare under both sets."),
    ] = None,
    json: JsonFile = None,
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
    grades: Annotated[
        list[str] | None,
        of_data(metavar="WORD=NUMBER,…", help="Numbers of grades that are words, of both files; or twice."),
    ] = None,
    quiet: Quiet = False,
    help_all: HelpAll = False,
    **options: Any,
) -> None:
    """Compare two sets of judgments: their grades, and the order and the verdicts of systems under each."""
    import_lightly()
    from ndcg_ab.config.options.from_options import evaluation_from_options
    from ndcg_ab.studies.judgments import compare_judgments

    if files or options["system"]:
        placed = place_inputs(options | {"files": files, "judgments": first}, "judgments OTHER")
        options["system"] = placed["system"]
    refuse_without_systems(options)
    formats = split_for_files("--judgments-format", judgments_format)
    names = split_for_files("--judgments-columns", judgments_columns)
    words = split_for_files("--grades", grades)
    with_systems = bool(options["system"])
    options |= {"system": options["system"] or [NO_SYSTEM]}
    evaluations = [
        evaluation_from_options(
            options
            | {"judgments": file, "judgments_format": file_format, "judgments_columns": each, "grades": numbers},
            least_systems=2 if with_systems else 1,
        )
        for file, file_format, each, numbers in zip((first, second), formats, names, words, strict=True)
    ]
    json_path = text_file("--json", json, [path for each in evaluations for path in local_inputs(each)])
    with Progress(quiet) as say:
        compared = compare_judgments(evaluations[0], evaluations[1], say, with_systems=with_systems)
    write_or_print(compared.to_json, json_path, to_standard_output=json == "-")
    if not quiet and json != "-":
        from ndcg_ab.report.terminal.labels import print_judgments

        print_safely(print_judgments, compared)
    name_written(json_path, quiet=quiet, is_output_taken=json == "-")


def refuse_without_systems(options: Mapping[str, object]) -> None:
    for name in OF_SYSTEMS:
        if options[name] not in (None, []) and not options["system"]:
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option}: is about systems, and none is given: add two rankings or more")


def split_for_files(option: str, given: Sequence[str] | None) -> tuple[str | None, str | None]:
    """What an option says of the first file and of the second: once for both, or once for each."""
    if not given:
        return None, None
    if len(given) > 2:
        raise InputError(f"{option}: given {len(given)} times: give it once for both files, or once for each")
    return given[0], given[-1]


COMMANDS: dict[Callable[..., None], str] = {  # each with an example of its options
    judgments: "human.qrels model.qrels old.run new.run --json agreement.json",
}
