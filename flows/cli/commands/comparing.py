"""Define the commands that only need files: compare, explain, sensitivity."""

from pathlib import Path
from typing import Any

from ndcg_ab.errors import InputError

from ..base_command import HELP_ALL
from ..console import Output, Progress, exit_if_gate_failed, local_inputs
from ..inputs import assign_inputs, repeat_options
from ..options import (
    COMPARED,
    DETAILS,
    EXPLAIN,
    FORMS,
    JSON_FILE,
    PICTURE,
    QUIET,
    of_output,
    option,
    parameter_types,
    takes,
)
from .judging import OF_JUDGE_NEXT


@takes("files", "judges", COMPARED, "tests", "clusters", FORMS, "resources")
def compare(
    json: str | None = JSON_FILE,
    per_query: Path | None = of_output("FILE", "Write per-query values as CSV or Parquet, by the file name."),
    report: Path | None = of_output("FILE", "Write the page with figures and every query, as HTML."),
    markdown: str | None = of_output("FILE", "Write a comment for a pull request; - prints it instead."),
    gate: bool = of_output(
        None, "Exit with 1 on shown harm or a loss beyond a margin; --gate proof: on open guardrails, too.", "--gate"
    ),
    require: list[str] | None = of_output(
        "KEY=D",
        "Gate conditions: proof, scored=0.9, judged=0.8, unanswered=3, slice_regression=0.05, METRIC=D; repeatable.",
    ),
    details: bool = DETAILS,
    explain: bool = EXPLAIN,
    quiet: bool = QUIET,
    help_all: bool = HELP_ALL,
    **options: Any,
) -> None:
    """Compare systems from files, without a configuration; only files that you ask for are written.

    Example: ndcg-ab compare judgments.qrels old.run new.run.gz --metric nDCG@10 --metric R@100 --report report.html
    """
    from ndcg_ab.config.options.from_options import evaluation_from_options
    from ndcg_ab.pipeline.conclude import extreme_queries, read_query_scores
    from ndcg_ab.pipeline.stages import evaluate
    from ndcg_ab.scoring.scoring import open_engine_for

    evaluation = evaluation_from_options(
        assign_inputs(options, "compare", ", or --scores FILE") | {"gate": gate, "require": require}
    )
    output = Output(
        local_inputs(evaluation), quiet=quiet, json=json, markdown=markdown, per_query=per_query, report=report
    )
    with open_engine_for(evaluation) as engine:
        with Progress(quiet) as say:
            outcome, store = evaluate(evaluation, engine, say, complete=bool(report))
        if markdown:
            from ndcg_ab.report.markdown import QUERIES, format_comment

            written = format_comment(outcome, extreme_queries(engine, QUERIES))
        if report:
            from ndcg_ab.report.page.data import about_unstored, gather_page_data
            from ndcg_ab.report.page.render import write_page
            from ndcg_ab.sources.queries import documents_source

            about = about_unstored(evaluation, store.describe_inputs())
            write_page(report, gather_page_data(engine, outcome, about, documents=documents_source(evaluation)))
        if per_query:
            output.write_table("per_query", read_query_scores(engine), ("system_id", "query_id", "metric"))
    output.write("json", outcome.to_json)
    if markdown:
        output.write("markdown", lambda: written)
    if output.is_shown:
        from ndcg_ab.report.answer import JUDGE, metric_to_judge
        from ndcg_ab.report.terminal.screen import print_outcome

        metric = metric_to_judge(outcome) or (options["metric"] or [])[:1]
        given = options | {"metric": metric, "smallest_effect": None}  # it changes no document, and the line is short
        inputs = repeat_options(given, parameter_types("metric", *OF_JUDGE_NEXT))
        remedies = {JUDGE: f"{JUDGE} {inputs}"} if inputs else {}
        output.show(print_outcome, outcome, details=details, explain=explain, remedies=remedies)
    output.print_written_files()
    exit_if_gate_failed(outcome)


@takes("files", "judges", "queries", FORMS, "metric")
def explain(
    query: str = option("QUERY_ID", "The query to explain.", show_default=False, default=""),
    json: str | None = JSON_FILE,
    **options: Any,
) -> None:
    """Explain one query's value rank by rank; with two metrics, also which choice makes them differ.

    Example: ndcg-ab explain judgments.qrels new.run --query q17 --metric 'ndcg(preset=elasticsearch)@10' --metric
    ndcg@10
    """
    from ndcg_ab.config.options.from_options import evaluation_from_options
    from ndcg_ab.engines import open_engine
    from ndcg_ab.report.terminal.studies import print_explained
    from ndcg_ab.studies.explain import explain_query, explained_to_json

    evaluation = evaluation_from_options(assign_inputs(options, "explain --query ID"))
    output = Output(local_inputs(evaluation), json=json)
    with open_engine() as engine:
        explained = list(explain_query(evaluation, query, engine))
    output.finish(lambda: explained_to_json(explained, query), print_explained, explained, query)


@takes("files", "judges", ("baseline", "queries"), "tests", "clusters", FORMS, "resources")
def sensitivity(
    gain: list[str] | None = option("GAIN", "Gains to try. (default three)"),
    discount: list[str] | None = option("DISCOUNT", "Discounts. (default four)"),
    ideal: list[str] | None = option("IDEAL", "Ideals. (default global, local)"),
    cutoff: list[int] | None = option("K", "Cutoffs. (default 5, 10, 20)"),
    picture: Path | None = PICTURE,
    json: str | None = JSON_FILE,
    quiet: bool = QUIET,
    help_all: bool = HELP_ALL,
    **options: Any,
) -> None:
    """Compare under all combinations of gain, discount, ideal and cutoff: does the verdict depend on the definition?

    Example: ndcg-ab sensitivity judgments.qrels old.run new.run --cutoff 5 --cutoff 10 --picture sensitivity.svg
    """
    from ndcg_ab.config.options.from_options import evaluation_from_options
    from ndcg_ab.report.terminal.studies import print_sensitivity
    from ndcg_ab.scoring.scoring import open_engine_for
    from ndcg_ab.studies import sensitivity as study
    from ndcg_core.measures.metric import MetricError

    try:
        tried = study.metric_grid(gain, discount, ideal, cutoff)
    except MetricError as error:
        raise InputError(f"--{error}") from None
    evaluation = evaluation_from_options(
        assign_inputs(options, "sensitivity") | {"metric": [each.name for each in tried], "primary": ["all"]},
        least_systems=2,
    )
    output = Output(local_inputs(evaluation), quiet=quiet, json=json, picture=picture)
    with open_engine_for(evaluation) as engine, Progress(quiet) as say:
        measured = study.measure_sensitivity(evaluation, engine, say)
    output.finish(lambda: study.sensitivity_to_json(measured), print_sensitivity, measured)


COMMANDS = (compare, explain, sensitivity)
