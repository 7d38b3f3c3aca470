"""The command line: each command parses, and calls a plain function elsewhere."""

from pathlib import Path
from typing import Annotated

import typer

from flows import __version__, nightly
from flows.options import (
    Alpha,
    BaselineName,
    Exploratory,
    Guardrails,
    IntervalMethod,
    JsonFile,
    JudgmentsColumns,
    JudgmentsFile,
    JudgmentsFormat,
    MetricNames,
    QueriesFile,
    Quiet,
    RankingsColumns,
    RankingsFormat,
    Resamples,
    SecondaryMetrics,
    Seed,
    SliceAttributes,
    SmallestEffects,
    SmallestSlice,
    SystemFiles,
    Threads,
)
from flows.terminal import Progress, output_console, user_errors, write_or_print

app = typer.Typer(
    name="ndcg-ab",
    help="Is this ranker version better than that one, by how much, and can the data settle it?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


def show_version(wanted: bool) -> None:
    if wanted:
        print(f"ndcg-ab {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command(
    epilog="Example: ndcg-ab compare --judgments qrels.txt --system old=old.run --system new=new.run.gz"
    " --metric ndcg@10 --metric recall@100 --json result.json"
)
def compare(
    judgments: JudgmentsFile,
    system: SystemFiles,
    baseline: BaselineName = None,
    metric: MetricNames = None,
    json: JsonFile = None,
    per_query: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every query's values, as CSV or Parquet by the name.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the page with figures and every query, as HTML.")
    ] = None,
    seed: Seed = None,
    resamples: Resamples = None,
    alpha: Alpha = None,
    smallest_effect: SmallestEffects = None,
    secondary: SecondaryMetrics = None,
    guardrail: Guardrails = None,
    queries: QueriesFile = None,
    slice_by: SliceAttributes = None,
    smallest_slice: SmallestSlice = None,
    unweighted: Annotated[bool, typer.Option("--unweighted", help="Ignore the queries' weights.")] = False,
    all_pairs: Annotated[bool, typer.Option("--all-pairs", help="Compare every two systems too.")] = False,
    interval: IntervalMethod = None,
    exploratory: Exploratory = None,
    preview: Annotated[bool, typer.Option("--preview", help="A quick look: t tests and Holm, no flips.")] = False,
    details: Annotated[bool, typer.Option("--details", help="Print what describes the differences as well.")] = False,
    judgments_format: JudgmentsFormat = None,
    format: RankingsFormat = None,  # noqa: A002
    judgments_columns: JudgmentsColumns = None,
    columns: RankingsColumns = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Compare systems from files: no configuration, nothing written but what you ask for."""
    with user_errors():
        from flows.compare import (
            Files,
            Plan,
            about_files,
            evaluation_of,
            inputs_of,
            page_path,
            refuse_one_file_twice,
            writable,
        )
        from flows.pipeline import evaluate, write_query_scores
        from flows.warehouse import Warehouse

        files = Files(judgments, system, judgments_format, format, judgments_columns, columns)
        statistics = {"seed": seed, "resamples": resamples, "alpha": alpha, "interval": interval}
        statistics |= {"exploratory": exploratory, "all_pairs": all_pairs, "preview": preview}
        statistics["weighted"] = False if unweighted else None
        plan = Plan(secondary, guardrail, smallest_effect, queries, slice_by, smallest_slice)
        evaluation = evaluation_of(files, baseline, metric, statistics, threads, plan)
        json_path = writable("--json", json, inputs_of(evaluation)) if json and json != "-" else None
        scores_path = writable("--per-query", per_query, inputs_of(evaluation)) if per_query else None
        report_path = page_path(report, inputs_of(evaluation)) if report else None
        refuse_one_file_twice("--per-query", json_path, scores_path)
        refuse_one_file_twice("--report", json_path, report_path)
        refuse_one_file_twice("--report", scores_path, report_path, "--per-query")
        with Warehouse(None, threads) as warehouse:
            with Progress(quiet) as say:
                outcome = evaluate(evaluation, warehouse, say)
            if scores_path:
                write_query_scores(warehouse, scores_path)
            if report_path:
                from flows.page import gather, write_page

                write_page(report_path, gather(warehouse, outcome, about_files(evaluation)))
        write_or_print(outcome.to_json, json_path, to_standard_output=json == "-")
        if not quiet and json != "-":
            from flows.tables import print_details, print_outcome

            console = output_console()
            print_outcome(console, outcome)
            if details:
                print_details(console, outcome)


@app.command(
    epilog="Example: ndcg-ab explain --judgments qrels.txt --system new=new.run --query q17"
    " --metric 'ndcg(preset=elasticsearch)@10' --metric ndcg@10"
)
def explain(
    judgments: JudgmentsFile,
    system: SystemFiles,
    query: Annotated[str, typer.Option(metavar="QUERY_ID", help="The query to explain.")],
    metric: MetricNames = None,
    judgments_format: JudgmentsFormat = None,
    format: RankingsFormat = None,  # noqa: A002
    judgments_columns: JudgmentsColumns = None,
    columns: RankingsColumns = None,
) -> None:
    """Explain one query's value place by place; with two metrics, which choice moves the number."""
    with user_errors():
        from flows.compare import Files, evaluation_of
        from flows.explain import explain_query, print_explained
        from flows.warehouse import Warehouse

        files = Files(judgments, system, judgments_format, format, judgments_columns, columns)
        evaluation = evaluation_of(files, None, metric, {}, None)
        with Warehouse() as warehouse:
            explained = explain_query(evaluation, query, warehouse)
        print_explained(output_console(), explained, query)


@app.command(
    epilog="Example: ndcg-ab sensitivity --judgments qrels.txt --system old=old.run --system new=new.run"
    " --cutoff 5 --cutoff 10 --picture sensitivity.png"
)
def sensitivity(
    judgments: JudgmentsFile,
    system: SystemFiles,
    baseline: BaselineName = None,
    gain: Annotated[list[str] | None, typer.Option(metavar="GAIN", help="Gains to try. (default three)")] = None,
    discount: Annotated[list[str] | None, typer.Option(metavar="DISCOUNT", help="Discounts. (default four)")] = None,
    ideal: Annotated[list[str] | None, typer.Option(metavar="IDEAL", help="Ideals. (default global, local)")] = None,
    cutoff: Annotated[list[int] | None, typer.Option(metavar="K", help="Cutoffs. (default 5, 10, 20)")] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the matrices: PNG, SVG or PDF by the name.")
    ] = None,
    json: JsonFile = None,
    seed: Seed = None,
    resamples: Resamples = None,
    alpha: Alpha = None,
    judgments_format: JudgmentsFormat = None,
    format: RankingsFormat = None,  # noqa: A002
    judgments_columns: JudgmentsColumns = None,
    columns: RankingsColumns = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Compare under every combination of gain, discount, ideal and cutoff: does the verdict hang on the definition?"""
    with user_errors():
        from flows.compare import Files, evaluation_of, inputs_of, picture_path, refuse_one_file_twice, writable
        from flows.sensitivity import (
            CUTOFFS,
            DISCOUNTS,
            GAINS,
            IDEALS,
            draw,
            grid,
            measure_sensitivity,
            print_sensitivity,
            to_json,
        )
        from flows.warehouse import Warehouse

        files = Files(judgments, system, judgments_format, format, judgments_columns, columns)
        metrics = [each.name for each in grid(gain or GAINS, discount or DISCOUNTS, ideal or IDEALS, cutoff or CUTOFFS)]
        statistics = {"seed": seed, "resamples": resamples, "alpha": alpha}
        evaluation = evaluation_of(files, baseline, metrics, statistics, threads, least_systems=2)
        json_path = writable("--json", json, inputs_of(evaluation)) if json and json != "-" else None
        drawing = picture_path(picture, inputs_of(evaluation)) if picture else None
        refuse_one_file_twice("--picture", json_path, drawing)
        with Warehouse(None, threads) as warehouse, Progress(quiet) as say:
            found = measure_sensitivity(evaluation, warehouse, say)
        if drawing:
            draw(found, drawing)
        write_or_print(lambda: to_json(found), json_path, to_standard_output=json == "-")
        if not quiet and json != "-":
            print_sensitivity(output_console(), found)


@app.command(
    epilog="Example: ndcg-ab power --scores scores.parquet --metric ndcg@10 --effect 0.005 --picture power.png"
)
def power(
    deviation: Annotated[
        float | None, typer.Option(metavar="S", help="Standard deviation of the per-query differences.")
    ] = None,
    scores: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Or per-query values, as `compare --per-query` writes them.")
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Queries with the weights of that comparison: CSV, TSV, JSONL, Parquet."),
    ] = None,
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
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the curve: PNG, SVG or PDF by the name.")
    ] = None,
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """How many queries a difference needs, and what a number of queries can show."""
    with user_errors():
        from flows.compare import picture_path, refuse_one_file_twice, writable
        from flows.power import asked_of, draw, plans_of, print_plans, to_json

        asked = asked_of(effect, queries, alpha, power)
        inputs = [file for file in (scores, weights) if file]
        json_path = writable("--json", json, inputs) if json and json != "-" else None
        drawing = picture_path(picture, inputs) if picture else None
        refuse_one_file_twice("--picture", json_path, drawing)
        plans = plans_of(deviation, scores, baseline, candidate, metric, asked, weights)
        if drawing:
            draw(plans, asked, drawing)
        write_or_print(lambda: to_json(plans, asked), json_path, to_standard_output=json == "-")
        if not quiet and json != "-":
            print_plans(output_console(), plans, asked)


for command, example in nightly.COMMANDS.items():
    app.command(epilog=f"Example: ndcg-ab {command.__name__} {example}")(command)


if __name__ == "__main__":
    app()
