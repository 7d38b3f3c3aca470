"""Define the commands about judgments: judgments, clicks."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ndcg_ab.errors import InputError

from ..base_command import HELP_ALL
from ..console import Output, Progress, local_inputs, option_of
from ..inputs import assign_inputs
from ..options import JSON_FILE, QUIET, argument, of_data, of_metrics, of_output, parameter_types, takes

NO_SYSTEM = ("judgments", "judgments")  # an evaluation has a system; this one is not read
OF_SYSTEMS = ("baseline", "metric", "smallest_effect", "queries", "clusters", "tests", "rankings")


@takes("system", *OF_SYSTEMS, "resources")
def judgments(
    first: str = argument("FILE", "Judgments (qrels), such as people's.", default=...),
    second: str = argument("FILE", "Other judgments, such as a model's.", default=...),
    files: list[str] | None = argument("BASELINE CANDIDATE", "Rankings to compare under both sets."),
    json: str | None = JSON_FILE,
    judgments_format: list[str] | None = of_data(
        "FORMAT", "trec, csv, tsv, jsonl or parquet, of both files; or twice. (default by the name)"
    ),
    judgments_columns: list[str] | None = of_data(
        "FIELD=COLUMN,…", "Names of columns: query_id=qid,grade=rating, of both files; or twice."
    ),
    grades: list[str] | None = of_data("WORD=NUMBER,…", "Numbers of grades that are words, of both files; or twice."),
    quiet: bool = QUIET,
    help_all: bool = HELP_ALL,
    **options: Any,
) -> None:
    """Compare two sets of judgments: their grades, and the order and the verdicts of systems under each.

    Example: ndcg-ab judgments human.qrels model.qrels old.run new.run --json agreement.json
    """
    from ndcg_ab.config.options.from_options import evaluation_from_options
    from ndcg_ab.report.terminal.labels import print_judgments
    from ndcg_ab.studies.judgments import compare_judgments

    if files or options["system"]:
        options["system"] = assign_inputs(options | {"files": files, "judgments": first}, "judgments OTHER")["system"]
    for name in () if options["system"] else parameter_types(*OF_SYSTEMS):
        if options[name] not in (None, []):
            raise InputError(f"{option_of(name)}: is about systems, and none is given: add two rankings or more")
    given = {"judgments_format": judgments_format, "judgments_columns": judgments_columns, "grades": grades}
    pairs = {name: split_for_files(option_of(name), values) for name, values in given.items()}
    with_systems = bool(options["system"])
    options |= {"files": files, "system": options["system"] or [NO_SYSTEM]}
    evaluations = [
        evaluation_from_options(
            options | {"judgments": file} | {name: pair[at] for name, pair in pairs.items()},
            least_systems=2 if with_systems else 1,
        )
        for at, file in enumerate((first, second))
    ]
    inputs = [path for each in evaluations for path in local_inputs(each)]
    output = Output(inputs, quiet=quiet, json=json)
    with Progress(quiet) as say:
        compared = compare_judgments(evaluations[0], evaluations[1], say, with_systems=with_systems)
    output.finish(compared.to_json, print_judgments, compared)


def split_for_files(option: str, values: Sequence[str] | None) -> tuple[str | None, str | None]:
    """Return the values of an option for the first and for the second file.

    A single value applies to both files; without values both are None. Raises InputError for more than two values.
    """
    if not values:
        return None, None
    if len(values) > 2:
        raise InputError(f"{option}: given {len(values)} times: give it once for both files, or once for each")
    return values[0], values[-1]


@takes("resources")
def clicks(
    events: str = argument("EVENTS", "Events of User Behavior Insights (JSON Lines), or counts.", default=...),
    queries: str | None = of_data("FILE", "Queries with their texts. (default every text is a query of its own)"),
    format: str | None = of_data("FORMAT", "jsonl, csv, tsv or parquet. (default by the file name)"),  # noqa: A002
    columns: str | None = of_data("FIELD=COLUMN,…", "Where fields are: user_query=message, object_id=attributes.id, …"),
    model: str | None = of_metrics("MODEL", "position, rate or opensearch. (default position)"),
    action: list[str] | None = of_data(
        "ACTION", "What counts as a click; again for more. (default click, click_through)"
    ),
    floor: int | None = of_metrics("N", "Impressions that a document needs for a grade. (default 10; of opensearch 0)"),
    quantiles: str | None = of_metrics(
        "Q,…", "Shares of documents from which on grades are 1, 2, … (default 0.25,0.5,0.75)"
    ),
    thresholds: str | None = of_metrics("V,…", "Values from which on grades are 1, 2, …, instead of quantiles."),
    output_file: str | None = of_output("FILE", "Write the judgments: CSV, TSV or Parquet, which compare reads."),
    json: str | None = JSON_FILE,
    quiet: bool = QUIET,
    **resources: Any,
) -> None:
    """Compute judgments from a log of clicks, and show the counts behind them.

    Example: ndcg-ab clicks events.jsonl --queries queries.tsv --output-file judgments.csv
    """
    from ndcg_ab.config.options.from_options import parse_columns, with_resource_options
    from ndcg_ab.report.terminal.labels import print_clicks
    from ndcg_ab.studies.clicks import grade_events, make_click_evaluation, study_to_json

    cuts = {
        "quantiles": parse_numbers("--quantiles", quantiles),
        "thresholds": parse_numbers("--thresholds", thresholds),
    }
    if None not in cuts.values():
        raise InputError("--quantiles, --thresholds: both say where grades begin; take one of the two out")
    grades = {name: found for name, found in cuts.items() if found}
    keys: dict[str, Any] = {"file": events, "format": format, "model": model, "floor": floor}
    keys |= {"actions": action, "grades": grades, "columns": parse_columns("--columns", columns)}
    evaluation = make_click_evaluation({key: value for key, value in keys.items() if value not in (None, {})}, queries)
    evaluation = with_resource_options(evaluation, resources)
    inputs = [Path(file) for file in (events, queries) if file]
    output = Output(inputs, quiet=quiet, json=json, output_file=output_file)
    study = grade_events(evaluation)
    output.write_table("output_file", study.judgments.table, ("query_id", "doc_id"))
    output.finish(lambda: study_to_json(study), print_clicks, study)


def parse_numbers(option: str, text: str | None) -> list[float] | None:
    """Return the numbers in a text such as ``0.25,0.5``, or None if the text is None.

    Raises InputError, which names `option`, if the text is anything but numbers with commas between.
    """
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{option} {text}: must be numbers with commas between, as 0.25,0.5,0.75") from None


COMMANDS = (judgments, clicks)
