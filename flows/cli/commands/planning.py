"""The command that plans an evaluation: power."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from ..console import draw_and_print, name_written, write_or_print
from ..light_imports import import_lightly
from ..options import ClusterPrefix, JsonFile, Quiet
from ..outputs import PICTURES, output_file, refuse_one_file_twice, text_file


def power(
    deviation: Annotated[
        float | None, typer.Option(metavar="S", help="Standard deviation of the per-query differences.")
    ] = None,
    scores: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Per-query values from `compare --per-query`, instead.")
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Queries with the weights of that comparison, or drawn ones: CSV, TSV, JSONL, Parquet."
        ),
    ] = None,
    clusters: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Queries with a column `cluster`, as in that comparison.")
    ] = None,
    cluster_prefix: ClusterPrefix = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="NAME", help="Baseline. (default the first system of the file)")
    ] = None,
    candidate: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Candidate; again for more. (default all others)")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(metavar="METRIC", help="Metric; again for more. (default all of the file)")
    ] = None,
    effect: Annotated[
        list[float] | None,
        typer.Option(metavar="E", help="Effect to detect; again for more. (default 0.005, 0.01, 0.02)"),
    ] = None,
    queries: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="Number of queries; again for more. (default seven from 50 to 5000)"),
    ] = None,
    alpha: Annotated[
        float, typer.Option(metavar="A", help="Level of the two-sided test. (default 0.05)", show_default=False)
    ] = 0.05,
    power: Annotated[
        float, typer.Option(metavar="P", help="Probability of detecting. (default 0.8)", show_default=False)
    ] = 0.8,
    comparisons: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Comparisons adjusted together: candidates x metrics. (default 1)",
            show_default=False,
        ),
    ] = 1,
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw what is printed, as SVG.")] = None,
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """How many queries a difference needs, and what a number of queries can show."""
    import_lightly()
    from ndcg_ab.studies.power import make_plans, parse_questions, plans_to_json

    asked = parse_questions(effect, queries, alpha, power, comparisons)
    inputs = [file for file in (scores, weights, clusters) if file]
    json_path = text_file("--json", json, inputs)
    drawing = output_file("--picture", picture, inputs, *PICTURES)
    refuse_one_file_twice({"--json": json_path, "--picture": drawing})
    plans = make_plans(deviation, scores, baseline, candidate, metric, asked, weights, clusters, cluster_prefix)
    write_or_print(lambda: plans_to_json(plans, asked), json_path, to_standard_output=json == "-")
    is_printed = not quiet and json != "-"
    if drawing or is_printed:
        from ndcg_ab.report.terminal.planning import print_plans

        draw_and_print(print_plans, plans, asked, picture=drawing, is_printed=is_printed)
    name_written(json_path, drawing, quiet=quiet, is_output_taken=json == "-")


COMMANDS: dict[Callable[..., None], str] = {  # each with an example of its options
    power: "--scores scores.parquet --metric ndcg@10 --effect 0.005 --picture power.svg",
}
