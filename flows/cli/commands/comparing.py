"""The commands over files alone: compare, explain, sensitivity."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ndcg_ab.errors import InputError

from ..base_command import HelpAll
from ..console import (
    Progress,
    draw_and_print,
    end_where_a_gate_failed,
    name_written,
    print_safely,
    warn_of_formulas,
    write_or_print,
)
from ..inputs import place_inputs
from ..light_imports import import_lightly
from ..options import (
    CLUSTERS,
    COMPARED,
    FILES,
    FORMS,
    JUDGES,
    RESOURCES,
    TESTS,
    Details,
    Explain,
    JsonFile,
    MetricNames,
    Quiet,
    of_groups,
    of_output,
    takes,
)
from ..outputs import PAGES, PICTURES, local_inputs, output_file, refuse_one_file_twice, text_file


@takes(FILES, JUDGES, COMPARED, TESTS, CLUSTERS, FORMS, RESOURCES)
def compare(
    json: JsonFile = None,
    per_query: Annotated[
        Path | None,
        of_output(metavar="FILE", help="Write per-query values as CSV or Parquet, by the file name."),
    ] = None,
    report: Annotated[
        Path | None,
        of_output(metavar="FILE", help="Write the page with figures and every query, as HTML."),
    ] = None,
    markdown: Annotated[
        str | None,
        of_output(metavar="FILE", help="Write a comment for a pull request; - prints it instead."),
    ] = None,
    gate: Annotated[
        bool,
        of_output(
            "--gate",
            help="Exit with 1 on shown harm or a loss beyond a margin; --gate proof: on open results, too.",
        ),
    ] = False,
    require: Annotated[
        list[str] | None,
        of_output(
            metavar="KEY=D",
            help="Gate conditions: proof, scored=0.9, judged=0.8, unanswered=3, slice_regression=0.05, METRIC=D;"
            " repeatable.",
        ),
    ] = None,
    details: Details = False,
    explain: Explain = False,
    quiet: Quiet = False,
    help_all: HelpAll = False,
    **options: Any,
) -> None:
    """Compare systems from files: no configuration, nothing written but what you ask for."""
    import_lightly()
    from ndcg_ab.config.options.from_options import evaluation_from_options
    from ndcg_ab.pipeline import evaluate
    from ndcg_ab.pipeline.conclude import extreme_queries, read_query_scores, write_query_scores
    from ndcg_ab.scoring.scoring import open_engine_for

    evaluation = evaluation_from_options(
        place_inputs(options, "compare", ", or --scores FILE") | {"gate": gate, "require": require}
    )
    inputs = local_inputs(evaluation)
    json_path = text_file("--json", json, inputs)
    scores_path = output_file("--per-query", per_query, inputs, ".csv", ".parquet", ".pq")
    report_path = output_file("--report", report, inputs, *PAGES)
    markdown_path = text_file("--markdown", markdown, inputs)
    if json == markdown == "-":
        raise InputError("--json - and --markdown -: only one of them can be written here; name a file for the other")
    refuse_one_file_twice(
        {"--markdown": markdown_path, "--json": json_path, "--per-query": scores_path, "--report": report_path}
    )
    with open_engine_for(evaluation) as engine:
        with Progress(quiet) as say:
            outcome, store = evaluate(evaluation, engine, say, whole=bool(report))
        if markdown:
            from ndcg_ab.report.markdown import QUERIES, format_comment

            written = format_comment(outcome, extreme_queries(engine, QUERIES))
        if report_path:
            from ndcg_ab.report.page.data import about_files, gather_page_data
            from ndcg_ab.report.page.render import write_page
            from ndcg_ab.sources.documents import make_documents

            about = about_files(evaluation, store.describe_inputs())
            write_page(report_path, gather_page_data(engine, outcome, about, documents=make_documents(evaluation)))
        if scores_path:
            write_query_scores(engine, scores_path)
            if scores_path.suffix.lower() == ".csv" and not quiet:
                table = read_query_scores(engine).select(["system_id", "query_id", "metric"])
                texts = (text for column in table.columns for text in column.unique().to_pylist())
                warn_of_formulas(f"--per-query {scores_path}", texts)
    write_or_print(outcome.to_json, json_path, to_standard_output=json == "-")
    if markdown:
        write_or_print(lambda: written, markdown_path, to_standard_output=markdown == "-")
    if not quiet and "-" not in (json, markdown):
        from ndcg_ab.report.terminal.screen import print_outcome

        print_safely(print_outcome, outcome, details=details, explain=explain)
    paths = (json_path, markdown_path, scores_path, report_path)
    name_written(*paths, quiet=quiet, is_output_taken="-" in (json, markdown))
    end_where_a_gate_failed(outcome)


@takes(FILES, JUDGES, of_groups("queries"), FORMS)
def explain(
    query: Annotated[str, typer.Option(metavar="QUERY_ID", help="The query to explain.")],
    metric: MetricNames = None,
    json: JsonFile = None,
    **options: Any,
) -> None:
    """Explain one query's value place by place; with two metrics, which choice moves the number."""
    import_lightly()
    from ndcg_ab.config.options.from_options import evaluation_from_options
    from ndcg_ab.engines import open_engine
    from ndcg_ab.report.terminal.explained import print_explained
    from ndcg_ab.studies.explain import explain_query, explained_to_json

    evaluation = evaluation_from_options(place_inputs(options, "explain --query ID") | {"metric": metric})
    json_path = text_file("--json", json, local_inputs(evaluation))
    with open_engine() as engine:
        explained = explain_query(evaluation, query, engine)
    write_or_print(lambda: explained_to_json(explained, query), json_path, to_standard_output=json == "-")
    if json != "-":
        print_safely(print_explained, explained, query)
    name_written(json_path)


@takes(FILES, JUDGES, of_groups("baseline", "queries"), TESTS, CLUSTERS, FORMS, RESOURCES)
def sensitivity(
    gain: Annotated[list[str] | None, typer.Option(metavar="GAIN", help="Gains to try. (default three)")] = None,
    discount: Annotated[list[str] | None, typer.Option(metavar="DISCOUNT", help="Discounts. (default four)")] = None,
    ideal: Annotated[list[str] | None, typer.Option(metavar="IDEAL", help="Ideals. (default global, local)")] = None,
    cutoff: Annotated[list[int] | None, typer.Option(metavar="K", help="Cutoffs. (default 5, 10, 20)")] = None,
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw what is printed, as SVG.")] = None,
    json: JsonFile = None,
    quiet: Quiet = False,
    help_all: HelpAll = False,
    **options: Any,
) -> None:
    """Compare under all combinations of gain, discount, ideal and cutoff: does the verdict depend on the definition?"""
    import_lightly()
    from ndcg_ab.config.options.from_options import evaluation_from_options
    from ndcg_ab.scoring.scoring import open_engine_for
    from ndcg_ab.studies.sensitivity import (
        CUTOFFS,
        DISCOUNTS,
        GAINS,
        IDEALS,
        measure_sensitivity,
        metric_grid,
        sensitivity_to_json,
    )
    from ndcg_core.measures.metric import MetricError

    try:
        tried = metric_grid(gain or GAINS, discount or DISCOUNTS, ideal or IDEALS, cutoff or CUTOFFS)
    except MetricError as error:
        raise InputError(f"--{error}") from None
    evaluation = evaluation_from_options(
        place_inputs(options, "sensitivity") | {"metric": [each.name for each in tried], "primary": ["all"]},
        least_systems=2,
    )
    json_path = text_file("--json", json, local_inputs(evaluation))
    drawing = output_file("--picture", picture, local_inputs(evaluation), *PICTURES)
    refuse_one_file_twice({"--json": json_path, "--picture": drawing})
    with open_engine_for(evaluation) as engine, Progress(quiet) as say:
        found = measure_sensitivity(evaluation, engine, say)
    write_or_print(lambda: sensitivity_to_json(found), json_path, to_standard_output=json == "-")
    is_printed = not quiet and json != "-"
    if drawing or is_printed:
        from ndcg_ab.report.terminal.planning import print_sensitivity

        draw_and_print(print_sensitivity, found, picture=drawing, is_printed=is_printed)
    name_written(json_path, drawing, quiet=quiet, is_output_taken=json == "-")


COMMANDS: dict[Callable[..., None], str] = {  # each with an example of its options
    compare: "judgments.qrels old.run new.run.gz --metric nDCG@10 --metric R@100 --report report.html",
    explain: "judgments.qrels new.run --query q17 --metric 'ndcg(preset=elasticsearch)@10' --metric ndcg@10",
    sensitivity: "judgments.qrels old.run new.run --cutoff 5 --cutoff 10 --picture sensitivity.svg",
}
