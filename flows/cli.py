"""The command line: each command parses, and calls a plain function elsewhere."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows import __version__
from flows.errors import InputError, ParityError, SqlError

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(
    name="ndcg-ab",
    help="Is this ranker version better than that one, by how much, and can the data settle it?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)

PENDING = 75  # exit code when the results stand on disk and only logging them is pending (EX_TEMPFAIL)
NOT_A_TERMINAL = 200  # columns for output that goes to a file or a pipe


@contextlib.contextmanager
def user_errors() -> Iterator[None]:
    """Bad input in one sentence and exit code 2; a failed check likewise with exit code 1."""
    try:
        yield
    except (InputError, ValueError, OSError) as error:
        if isinstance(error, ValueError) and not is_metric_error(error):
            raise
        for line in str(error).splitlines():
            print(f"ndcg-ab: {line}", file=sys.stderr)
        raise typer.Exit(2) from None
    except (ParityError, SqlError) as error:
        print(f"ndcg-ab: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


def is_metric_error(error: Exception) -> bool:
    from ndcg_core.metric import MetricError

    return isinstance(error, MetricError)


class Progress:
    """Says on standard error what is being done: a spinner on a terminal, else lines after the first second."""

    def __init__(self, quiet: bool) -> None:
        from rich.console import Console

        self.quiet = quiet
        self.start = time.monotonic()
        self.status = None
        if not quiet and sys.stderr.isatty():
            self.status = Console(stderr=True).status("starting")

    def __enter__(self) -> "Progress":
        if self.status:
            self.status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.status:
            self.status.stop()

    def __call__(self, step: str) -> None:
        seconds = time.monotonic() - self.start
        if self.status:
            self.status.update(f"{step} …")
        elif not self.quiet and seconds > 1:
            print(f"{seconds:5.1f} s  {step}", file=sys.stderr)


def output_console() -> "Console":
    from rich.console import Console

    if sys.stdout.isatty():
        return Console(emoji=False)
    return Console(width=NOT_A_TERMINAL, highlight=False, emoji=False)


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


ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG", help="Configuration file (YAML).")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


JudgmentsFile = Annotated[str, typer.Option(metavar="FILE", help="The judgments (qrels).")]
SystemFiles = Annotated[
    list[str], typer.Option(metavar="NAME=FILE", help="A system and its rankings; the first is the baseline.")
]
BaselineName = Annotated[str | None, typer.Option(metavar="NAME", help="Compare with this system instead.")]
MetricNames = Annotated[
    list[str] | None, typer.Option(metavar="METRIC", help="A metric; again for more. (default ndcg@10)")
]
JudgmentsFormat = Annotated[
    str | None, typer.Option(metavar="FORMAT", help="trec, csv, tsv, jsonl or parquet. (default by the name)")
]
RankingsFormat = Annotated[str | None, typer.Option(metavar="FORMAT", help="The same for every ranking.")]
JudgmentsColumns = Annotated[
    str | None, typer.Option(metavar="FIELD=COLUMN,…", help="Names of columns: query_id=qid,doc_id=url,grade=rating")
]
RankingsColumns = Annotated[
    str | None,
    typer.Option(metavar="FIELD=COLUMN,…", help="The same for every ranking (query_id, doc_id, score, rank)."),
]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Seed of the sign flips. (default 1935)")]
Resamples = Annotated[int | None, typer.Option(metavar="N", help="Sign flips. (default 10000)")]
Alpha = Annotated[float | None, typer.Option(metavar="A", help="Threshold of adjusted p. (default 0.05)")]
Threads = Annotated[int | None, typer.Option(metavar="N", help="Threads. (default every core)")]
JsonFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write the results as JSON; - writes them here instead of tables.")
]


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
    """Compare systems from files: no configuration, nothing written but what you ask for."""
    with user_errors():
        from flows.compare import Files, evaluation_of, inputs_of, refuse_one_file_twice, writable
        from flows.pipeline import evaluate, write_query_scores
        from flows.warehouse import Warehouse

        files = Files(judgments, system, judgments_format, format, judgments_columns, columns)
        statistics = {"seed": seed, "resamples": resamples, "alpha": alpha}
        evaluation = evaluation_of(files, baseline, metric, statistics, threads)
        json_path = writable("--json", json, inputs_of(evaluation)) if json and json != "-" else None
        scores_path = writable("--per-query", per_query, inputs_of(evaluation)) if per_query else None
        refuse_one_file_twice("--per-query", json_path, scores_path)
        with Warehouse(None, threads) as warehouse:
            with Progress(quiet) as say:
                outcome = evaluate(evaluation, warehouse, say)
            if scores_path:
                write_query_scores(warehouse, scores_path)
        write_or_print(outcome.to_json, json_path, to_standard_output=json == "-")
        if not quiet and json != "-":
            from flows.report import print_outcome

            print_outcome(output_console(), outcome)


def write_or_print(text: Callable[[], str], path: Path | None, *, to_standard_output: bool) -> None:
    """JSON to a file, to standard output, or nowhere."""
    if path:
        from flows.outcome import write_text

        write_text(path, text())
    if to_standard_output:
        sys.stdout.write(text())


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


@app.command(epilog="Example: ndcg-ab check configs/demo.yaml")
def check(config: ConfigFile, quiet: Quiet = False) -> None:
    """Read everything that a configuration names and check it, without scoring."""
    with user_errors():
        from flows.config import read_config
        from flows.pipeline import check_only
        from flows.report import print_findings
        from flows.warehouse import Warehouse

        evaluation = read_config(config)
        resources = evaluation.resources
        with Warehouse(None, resources.threads, resources.memory_limit) as warehouse, Progress(quiet) as say:
            findings, counts = check_only(evaluation, warehouse, say)
        if not quiet:
            console = output_console()
            console.print(counts, highlight=False, markup=False)
            print_findings(console, findings)


@app.command(epilog="Example: ndcg-ab run configs/demo.yaml")
def run(config: ConfigFile, quiet: Quiet = False) -> None:
    """Run the whole evaluation as a Prefect flow and log it to MLflow."""
    with user_errors():
        from flows.config import read_config

        evaluation = read_config(config)
        with Progress(quiet) as say:
            say("starting Prefect and MLflow")
            from flows.environment import prepare

            prepare(evaluation)
            from flows.evaluation import run_evaluation

            finished = run_evaluation(evaluation, say)
        if not quiet:
            from flows.report import print_run

            print_run(output_console(), finished)
        if finished.pending:
            print(
                f"ndcg-ab: MLflow could not be reached, logging is pending: {finished.pending}\n"
                f"ndcg-ab: the results are safe; deliver them with: ndcg-ab publish {finished.bundle}",
                file=sys.stderr,
            )
            raise typer.Exit(PENDING)


@app.command(epilog="Example: ndcg-ab publish ndcg-ab-results/demo/20261120T020000Z")
def publish(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="An evaluation's folder, as `run` printed it.")],
    quiet: Quiet = False,
) -> None:
    """Log a finished evaluation to MLflow; one that is there already is not logged again."""
    with user_errors():
        with Progress(quiet) as say:
            say("starting MLflow")
            from flows.tracking import TrackingError
            from flows.tracking import publish as deliver

            try:
                published = deliver(bundle)
            except TrackingError as error:
                print(f"ndcg-ab: MLflow could not be reached, logging is still pending: {error}", file=sys.stderr)
                raise typer.Exit(PENDING) from None
        if not quiet:
            print(("logged: " if published.new else "already there: ") + published.url)


if __name__ == "__main__":
    app()
