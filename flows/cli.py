"""The command line: each command parses, and calls a plain function elsewhere."""

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows import __version__
from flows.errors import InputError, ParityError

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
        print(f"ndcg-ab: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    except ParityError as error:
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

    return Console() if sys.stdout.isatty() else Console(width=NOT_A_TERMINAL, highlight=False)


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


@app.command(
    epilog="Example: ndcg-ab compare --judgments qrels.txt --system old=old.run --system new=new.run.gz"
    " --metric ndcg@10 --metric recall@100 --json result.json"
)
def compare(
    judgments: Annotated[str, typer.Option(metavar="FILE", help="The judgments (qrels).")],
    system: Annotated[
        list[str], typer.Option(metavar="NAME=FILE", help="A system and its rankings; the first is the baseline.")
    ],
    baseline: Annotated[str | None, typer.Option(metavar="NAME", help="Compare with this system instead.")] = None,
    metric: Annotated[
        list[str] | None, typer.Option(metavar="METRIC", help="A metric; again for more. (default ndcg@10)")
    ] = None,
    json: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the results as JSON; - writes them here instead of tables."),
    ] = None,
    per_query: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every query's values, as CSV or Parquet by the name.")
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Seed of the sign flips. (default 1935)")] = None,
    resamples: Annotated[int | None, typer.Option(metavar="N", help="Sign flips. (default 10000)")] = None,
    alpha: Annotated[float | None, typer.Option(metavar="A", help="Threshold of adjusted p. (default 0.05)")] = None,
    judgments_format: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="trec, csv, tsv, jsonl or parquet. (default by the name)")
    ] = None,
    format: Annotated[  # noqa: A002
        str | None, typer.Option(metavar="FORMAT", help="The same for every ranking.")
    ] = None,
    judgments_columns: Annotated[
        str | None,
        typer.Option(metavar="FIELD=COLUMN,…", help="Names of columns: query_id=qid,doc_id=url,grade=rating"),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(metavar="FIELD=COLUMN,…", help="The same for every ranking (query_id, doc_id, score, rank)."),
    ] = None,
    threads: Annotated[int | None, typer.Option(metavar="N", help="Threads. (default every core)")] = None,
    quiet: Quiet = False,
) -> None:
    """Compare systems from files: no configuration, nothing written but what you ask for."""
    with user_errors():
        from flows.compare import evaluation_of, parse_columns, parse_system, writable
        from flows.pipeline import evaluate, write_query_scores
        from flows.warehouse import Warehouse

        ranking_columns = parse_columns("--columns", columns)
        evaluation = evaluation_of(
            judgments={
                "file": judgments,
                "format": judgments_format,
                "columns": parse_columns("--judgments-columns", judgments_columns),
            },
            systems=[
                {"name": name, "file": file, "format": format, "columns": ranking_columns}
                for name, file in map(parse_system, system)
            ],
            baseline=baseline,
            metrics=metric,
            statistics={"seed": seed, "resamples": resamples, "alpha": alpha},
            threads=threads,
        )
        inputs = [evaluation.judgments.file, *(each.file for each in evaluation.systems if each.file)]
        json_path = writable("--json", json, inputs) if json and json != "-" else None
        scores_path = writable("--per-query", per_query, inputs) if per_query else None
        with Warehouse(None, threads) as warehouse:
            with Progress(quiet) as say:
                outcome = evaluate(evaluation, warehouse, say)
            if scores_path:
                write_query_scores(warehouse, scores_path)
        if json_path:
            from flows.outcome import write_text

            write_text(json_path, outcome.to_json())
        if json == "-":
            sys.stdout.write(outcome.to_json())
        elif not quiet:
            from flows.report import print_outcome

            print_outcome(output_console(), outcome)


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
