"""The command that chooses the queries to judge: draw."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ndcg_ab.errors import InputError

from ..base_command import HelpAll
from ..console import Progress, name_written, print_wrapped, warn_of_formulas, write_or_print
from ..inputs import refuse_files, spread_files
from ..light_imports import import_lightly
from ..options import (
    DOCUMENT_RULES,
    OF_CONFIG,
    OF_KEYS,
    RANKINGS_FORM,
    RESOURCES,
    MetricNames,
    Quiet,
    SystemFiles,
    of_data,
    of_metrics,
    of_output,
    of_statistics,
    takes,
)
from ..outputs import PAGES, TABLES, local_inputs, output_file, refuse_one_file_twice, text_file
from .clicks import numbers
from .judge_next import evaluation_from_config, refuse_options_of_config

if TYPE_CHECKING:
    from ndcg_ab.config.model.evaluation import Evaluation

FEW, POWER = 80, 0.8
OF_FILES = {  # options that go with files, and not with a configuration
    "system": SystemFiles,
    "baseline": OF_KEYS["baseline"],
    "documents": OF_KEYS["documents"],
    "seed": Annotated[int | None, of_statistics(metavar="N", help="Seed of the draw. (default 1935)")],
    "alpha": Annotated[str | None, of_statistics(metavar="A", help="Level of the planned test. (default 0.05)")],
    "slice": Annotated[
        list[str] | None,
        of_data("--slice", metavar="ATTRIBUTE", help="A column of the log that is kept, for slices; again for more."),
    ],
    "smallest_effect": OF_KEYS["smallest_effect"],
    "unweighted": OF_KEYS["unweighted"],
    **RANKINGS_FORM,
    **DOCUMENT_RULES,
}


@takes(OF_FILES, OF_CONFIG, RESOURCES)
def draw(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="CONFIG|BASELINE CANDIDATE…", help="A configuration (YAML); or rankings."),
    ] = None,
    queries: Annotated[
        str | None, of_data(metavar="FILE", help="The log: query_id, text, and weight where queries are weighted.")
    ] = None,
    count: Annotated[
        int, of_output("--count", "-n", metavar="N", help="How many to draw. (default 80)", show_default=False)
    ] = FEW,
    output: Annotated[
        str | None,
        of_output("--output-file", metavar="FILE", help="Write the log with the probabilities: CSV, TSV or Parquet."),
    ] = None,
    sheet: Annotated[Path | None, of_output(metavar="FILE", help="Write a sheet to judge in, as HTML.")] = None,
    json: Annotated[
        str | None, of_output(metavar="FILE", help="Write counts and plan as JSON; - prints them instead of sentences.")
    ] = None,
    grades: Annotated[
        str | None,
        of_output(metavar="G,…", help="Grades of the sheet, or E=3,S=2,… of words in --judgments. (default 0,1,2,3)"),
    ] = None,
    kept: Annotated[
        str | None, of_data(metavar="FILE", help="What an earlier draw wrote: its queries are kept, and others added.")
    ] = None,
    metric: MetricNames = None,
    deviation: Annotated[
        float | None,
        of_metrics(
            metavar="S", help="Standard deviation of the differences over all queries, for the plan. (default: guessed)"
        ),
    ] = None,
    judgments: Annotated[
        str | None,
        of_data(
            "--judgments",
            "--qrels",
            metavar="FILE",
            help="Judgments of some of the queries: the plan goes by their differences.",
        ),
    ] = None,
    power: Annotated[
        float, of_statistics(metavar="P", help="Probability to detect what is planned for. (default 0.8)")
    ] = POWER,
    quiet: Quiet = False,
    help_all: HelpAll = False,
    **options: Any,
) -> None:
    """Choose the queries of a log to judge: those whose results differ, with known probabilities."""
    import_lightly()
    if count < 2:
        raise InputError(f"-n {count}: must be at least 2")
    if deviation is not None and not 0 < deviation < float("inf"):
        raise InputError(f"--deviation {deviation:g}: must be above 0, in the metric's unit, such as 0.1")
    if deviation is not None and judgments:
        raise InputError("--deviation, --judgments: both tell how far differences deviate; take one of the two out")
    from ndcg_ab.config.options.option_parsing import parse_grades

    words = parse_grades("--grades", grades) if grades and "=" in grades else {}
    options |= {"files": files, "queries": queries, "metric": metric, "grades": grades if words else None}
    offered = [*words.values()] or numbers("--grades", grades) or [0.0, 1.0, 2.0, 3.0]
    from ndcg_ab.studies.checking import is_configuration

    config = Path(files[0]) if files and is_configuration([Path(file) for file in files]) else None
    evaluation = evaluation_from(config, options)
    inputs = [*local_inputs(evaluation), *(Path(each) for each in (config, kept, judgments) if each)]
    path = output_file("--output-file", output, inputs, *TABLES)
    sheet_file = output_file("--sheet", sheet, inputs, *PAGES)
    json_path = text_file("--json", json, inputs)
    refuse_one_file_twice({"--output-file": path, "--sheet": sheet_file, "--json": json_path})
    from ndcg_ab.config.model.inputs.sources import FileSource
    from ndcg_ab.files import write_table
    from ndcg_ab.report.terminal.planning import draw_sentences, study_to_json
    from ndcg_ab.scoring.scoring import open_engine_for
    from ndcg_ab.studies.draw import check_draw, draw_from_log
    from ndcg_ab.studies.drawn_documents import list_documents

    check_draw(evaluation)
    with open_engine_for(evaluation) as engine, Progress(quiet) as say:
        earlier, judged = (FileSource(file=file) if file else None for file in (kept, judgments))
        study = draw_from_log(
            evaluation, engine, count, kept=earlier, deviation=deviation, judgments=judged, power=power, say=say
        )
        rows = list_documents(study, engine, evaluation) if sheet_file else []
    if path:
        write_table(study.table, path)
    if sheet_file:
        from ndcg_ab.report.judging_sheet import write_judging_sheet

        write_judging_sheet(sheet_file, rows, offered, f"{study.drawn} drawn queries")
    write_or_print(lambda: study_to_json(study), json_path, to_standard_output=json == "-")
    if quiet:
        return
    if json != "-":
        print_wrapped(draw_sentences(study, path))
    if path and path.suffix.lower() in (".csv", ".tsv"):
        names = (name for name in study.table.column_names if name not in ("weight", "probability", "disagreement"))
        warn_of_formulas(f"--output-file {path}", (text for name in names for text in study.table[name].to_pylist()))
    name_written(path, sheet_file, json_path, is_output_taken=json == "-")


def evaluation_from(config: Path | None, options: Mapping[str, Any]) -> "Evaluation":
    """The evaluation whose systems are drawn for; with a configuration of another log and other metrics, if named."""
    from ndcg_ab.config.model.inputs.sources import TableSource
    from ndcg_ab.config.options.from_options import evaluation_from_options
    from ndcg_ab.config.options.option_parsing import parse_grades, parse_metrics
    from ndcg_ab.config.options.positional import name_systems

    if config is None:
        refuse_options_of_config(options)
        given, named = options["files"] or [], options["system"] or []
        if given and named:
            raise InputError(
                f"{given[0]}: is no option; say --system {given[0]}, or give all rankings without --system"
            )
        metrics = parse_metrics("--metric", options["metric"]) if options["metric"] else None
        return evaluation_from_options(
            {
                **options,
                "judgments": "judgments",
                "system": spread_files(name_systems(given or named)),
                "metric": metrics,
            },
            2,
        )
    refuse_files(options, OF_FILES)
    evaluation = evaluation_from_config(config, options)
    changes: dict[str, object] = {}
    if options["queries"]:
        changes["queries"] = TableSource.model_validate(options["queries"])
    if options["metric"]:
        changes |= {"metrics": parse_metrics("--metric", options["metric"]), "secondary_metrics": [], "guardrails": {}}
    if options["grades"] and evaluation.judgments:
        words = parse_grades("--grades", options["grades"])
        changes["judgments"] = evaluation.judgments.model_copy(update={"grades": words})
    return evaluation.model_copy(update=changes)


COMMANDS: dict[Callable[..., None], str] = {  # each with an example of its options
    draw: "old.run new.run --queries log.tsv -n 80 --output-file drawn.tsv --sheet judge.html",
}
