"""The command about clicks: clicks."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ndcg_ab.errors import InputError

from ..console import name_written, print_safely, warn_of_formulas, write_or_print
from ..light_imports import import_lightly
from ..options import RESOURCES, JsonFile, Quiet, of_data, of_metrics, of_output, takes
from ..outputs import TABLES, output_file, refuse_one_file_twice, text_file


@takes(RESOURCES)
def clicks(
    events: Annotated[
        str, typer.Argument(metavar="EVENTS", help="Events of User Behavior Insights (JSON Lines), or counts.")
    ],
    queries: Annotated[
        str | None,
        of_data(metavar="FILE", help="Queries with their texts. (default every text is a query of its own)"),
    ] = None,
    format: Annotated[  # noqa: A002
        str | None, of_data(metavar="FORMAT", help="jsonl, csv, tsv or parquet. (default by the file name)")
    ] = None,
    columns: Annotated[
        str | None,
        of_data(metavar="FIELD=COLUMN,…", help="Where fields are: user_query=message, object_id=attributes.id, …"),
    ] = None,
    model: Annotated[
        str | None, of_metrics(metavar="MODEL", help="position, rate or opensearch. (default position)")
    ] = None,
    action: Annotated[
        list[str] | None,
        of_data(metavar="ACTION", help="What counts as a click; again for more. (default click, click_through)"),
    ] = None,
    floor: Annotated[
        int | None,
        of_metrics(metavar="N", help="Impressions that a document needs for a grade. (default 10; of opensearch 0)"),
    ] = None,
    quantiles: Annotated[
        str | None,
        of_metrics(metavar="Q,…", help="Shares of documents from which on grades are 1, 2, … (default 0.25,0.5,0.75)"),
    ] = None,
    thresholds: Annotated[
        str | None, of_metrics(metavar="V,…", help="Values from which on grades are 1, 2, …, instead of quantiles.")
    ] = None,
    output: Annotated[
        str | None,
        of_output(
            "--output-file", metavar="FILE", help="Write the judgments: CSV, TSV or Parquet, which compare reads."
        ),
    ] = None,
    json: JsonFile = None,
    quiet: Quiet = False,
    **resources: Any,
) -> None:
    """Make judgments of a log of clicks, and show what stands behind them."""
    import_lightly()
    from ndcg_ab.config.options.from_options import with_resource_options
    from ndcg_ab.config.options.option_parsing import parse_columns
    from ndcg_ab.files import write_table
    from ndcg_ab.studies.clicks import evaluation_of_clicks, grade_events, study_to_json

    keys: dict[str, Any] = {
        "file": events,
        "format": format,
        "model": model,
        "floor": floor,
        "actions": action or None,
    }
    keys |= {"columns": parse_columns("--columns", columns)} if columns else {}
    cuts = {"quantiles": numbers("--quantiles", quantiles), "thresholds": numbers("--thresholds", thresholds)}
    if None not in cuts.values():
        raise InputError("--quantiles, --thresholds: both say where grades begin; take one of the two out")
    keys |= {"grades": {name: found for name, found in cuts.items() if found}} if any(cuts.values()) else {}
    evaluation = evaluation_of_clicks({key: value for key, value in keys.items() if value is not None}, queries)
    evaluation = with_resource_options(evaluation, resources)
    inputs = [Path(file) for file in (events, queries) if file]
    json_path = text_file("--json", json, inputs)
    path = output_file("--output-file", output, inputs, *TABLES)
    refuse_one_file_twice({"--json": json_path, "--output-file": path})
    study = grade_events(evaluation)
    if path:
        write_table(study.found.table, path)
    write_or_print(lambda: study_to_json(study), json_path, to_standard_output=json == "-")
    if not quiet and json != "-":
        from ndcg_ab.report.terminal.labels import print_clicks

        print_safely(print_clicks, study)
    if path and path.suffix.lower() in (".csv", ".tsv") and not quiet:
        texts = (text for name in ("query_id", "doc_id") for text in study.found.table[name].to_pylist())
        warn_of_formulas(f"--output-file {path}", texts)
    name_written(json_path, path, quiet=quiet, is_output_taken=json == "-")


def numbers(option: str, text: str | None) -> list[float] | None:
    """The numbers of ``0.25,0.5``."""
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{option} {text}: must be numbers with commas between, as 0.25,0.5,0.75") from None


COMMANDS: dict[Callable[..., None], str] = {clicks: "events.jsonl --queries queries.tsv --output-file judgments.csv"}
