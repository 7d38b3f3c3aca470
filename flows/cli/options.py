"""The options that several commands have: type, name of the value, help; and the groups that commands take."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

# The groups that `--help` shows them in.
of_data = partial(typer.Option, rich_help_panel="Data")
of_metrics = partial(typer.Option, rich_help_panel="Metrics")
of_statistics = partial(typer.Option, rich_help_panel="Statistics")
of_output = partial(typer.Option, rich_help_panel="Output")


def made_by(option: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes the type of an option of a group: in_data(str | None, metavar=…, help=…)."""
    return lambda kind, *names, **settings: Annotated[kind, option(*names, **settings)]


in_data, in_metrics, in_statistics, in_output = map(made_by, (of_data, of_metrics, of_statistics, of_output))

ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG", help="Configuration file (YAML).")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key: statistics.alpha=0.01; again for more."),
]
At = Annotated[
    str | None, typer.Option(metavar="TIME", help="Time of the evaluation, as 2026-11-20T02:00. (default now)")
]
Quiet = Annotated[bool, of_output("--quiet", "-q", help="Print nothing but errors.")]
JudgmentsFile = Annotated[
    str | None,
    of_data("--judgments", "--qrels", metavar="FILE", help="The judgments (qrels), instead of the first argument."),
]
SystemFiles = Annotated[
    list[str] | None,
    of_data(
        "--system",
        "--run",
        metavar="[NAME=]FILE",
        help="A system and its rankings; the first is the baseline.",
    ),
]
BaselineName = in_data(str | None, metavar="NAME", help="Compare with this system. (default the first)")
MetricNames = Annotated[
    list[str] | None,
    of_metrics(metavar="METRIC", help="A metric; again for more: the first one decides. (default ndcg@10)"),
]
FindingSeverities = Annotated[
    list[str] | None,
    of_data(metavar="CODE=SEVERITY", help="Severity of a finding: error, warning, note, ignore; again for more."),
]
Strict = Annotated[bool, of_data("--strict", help="Turn warnings of the data check into errors.")]
JudgmentsGrades = Annotated[
    str | None,
    of_data(metavar="WORD=NUMBER,…", help="Numbers of grades that are words: E=3,S=2,C=1,I=0"),
]
SmallestEffects = in_metrics(
    list[str] | None, metavar="[METRIC=]D", help="The smallest difference that matters, for all metrics or for one."
)
QueriesFile = in_data(str | None, metavar="FILE", help="Queries with attributes and weights: CSV, TSV, JSONL, Parquet.")
DocumentsFile = in_data(
    str | None, metavar="FILE", help="Titles and addresses of documents for the page: doc_id, title, url."
)
ClusterPrefix = Annotated[
    str | None,
    of_statistics(metavar="TEXT", help="Group queries whose ids agree up to the last TEXT: _ for 106_1."),
]
JsonFile = Annotated[
    str | None,
    of_output(metavar="FILE", help="Write the results as JSON; - prints them instead of tables."),
]
Details = Annotated[
    bool,
    of_output("--details", help="Print every table and number."),
]
Explain = Annotated[
    bool,
    of_output("--explain", help="Explain the result in plain words: how sure, what could overturn it, what next."),
]
Unweighted = in_statistics(bool, "--unweighted", help="Ignore the queries' weights.")

# What a command that takes a group finds in its `**options`.
FILES: dict[str, Any] = {
    "files": Annotated[
        list[str] | None,
        typer.Argument(
            metavar="JUDGMENTS BASELINE CANDIDATE",
            help="Judgments, then rankings, the baseline's first; systems are named after the files.",
        ),
    ],
    "judgments": JudgmentsFile,
    "system": SystemFiles,
}
JUDGES: dict[str, Any] = {
    "more_judgments": in_data(
        list[str] | None, metavar="FILE", help="More judgments; they add to and correct earlier ones; again for more."
    ),
    "judgments_precedence": in_data(
        str | None,
        metavar="RULE",
        help="If files judge the same document: last, first, highest, lowest, together. (default last)",
    ),
    "combine": in_data(
        str | None, metavar="RULE", help="If judges disagree: majority, median, mean, highest or lowest."
    ),
}
RANKINGS_FORM: dict[str, Any] = {
    "format": in_data(str | None, metavar="FORMAT", help="The same for every ranking."),
    "columns": in_data(
        str | None, metavar="FIELD=COLUMN,…", help="The same for every ranking (query_id, doc_id, score, rank)."
    ),
}
DOCUMENT_RULES: dict[str, Any] = {
    "document_prefix": in_data(
        str | None, metavar="SIGN", help="Rankings hold chunks: cut ids at this sign, and count the best chunk."
    ),
    "duplicates": in_data(
        str | None, metavar="first", help="Count a repeated document at its first place, instead of refusing it."
    ),
    "own": in_data(
        str | None,
        "--own",
        metavar="drop",
        help="Leave out the document whose id is that of the query. (preset beir does)",
    ),
}
FORMS: dict[str, Any] = {
    "judgments_format": in_data(
        str | None, metavar="FORMAT", help="trec, csv, tsv, jsonl or parquet. (default by the file name)"
    ),
    "judgments_columns": in_data(
        str | None, metavar="FIELD=COLUMN,…", help="Names of columns: query_id=qid,doc_id=url,grade=rating"
    ),
    "grades": JudgmentsGrades,
    **RANKINGS_FORM,
    **DOCUMENT_RULES,
}
TESTS: dict[str, Any] = {
    "seed": in_statistics(int | None, metavar="N", help="Seed of the sign flips. (default 1935)"),
    "resamples": in_statistics(int | None, metavar="N", help="Sign flips. (default 10000)"),
    "alpha": in_statistics(str | None, metavar="A", help="Significance level of adjusted p. (default 0.05)"),
}
CLUSTERS: dict[str, Any] = {
    "cluster": in_statistics(
        str | None, metavar="COLUMN", help="Column that groups dependent queries: a conversation, a user."
    ),
    "cluster_prefix": ClusterPrefix,
}
RESOURCES: dict[str, Any] = {
    "threads": in_output(int | None, metavar="N", help="Threads. (default every core)"),
    "memory_limit": in_output(str | None, metavar="SIZE", help="Memory limit of the process, as 4GB or 50%."),
    "spill": in_output(
        str | None,
        metavar="FOLDER",
        help="Folder for data that exceed memory. (default ndcg-ab-spill in the temporary folder; for run the results)",
    ),
}
OF_CONFIG: dict[str, Any] = {"at": At, "settings": Settings}
COMPARED: dict[str, Any] = {
    "scores": in_data(
        list[str] | None,
        metavar="[NAME=]FILE",
        help="Values per query that another tool computed, without judgments; again for more systems.",
    ),
    "cheap_judgments": in_data(
        str | None, metavar="FILE", help="Proxy judgments of more queries: clicks, or a model that saw no human grade."
    ),
    "careful_unseen": in_data(
        str | None, metavar="FILE", help="Ids of queries judged after that model was fixed: only these correct it."
    ),
    "complete_judgments": in_data(
        bool | None, "--complete-judgments", help="Unjudged documents are not relevant, by design: known items, clicks."
    ),
    "baseline": BaselineName,
    "metric": MetricNames,
    "finding": FindingSeverities,
    "strict": Strict,
    "smallest_effect": SmallestEffects,
    "primary": in_metrics(
        list[str] | None, metavar="METRIC", help="A metric that decides; again for more; all: every --metric does."
    ),
    "secondary": in_metrics(
        list[str] | None, metavar="METRIC", help="An exploratory metric, which does not decide; again for more."
    ),
    "guardrail": in_metrics(
        list[str] | None, metavar="METRIC=D", help="No candidate may be worse by D on this metric; again for more."
    ),
    "cost": in_metrics(
        list[str] | None,
        "--cost",
        metavar="COLUMN",
        help="What queries cost, as latency_ms, beside quality; again for more.",
    ),
    "queries": QueriesFile,
    "documents": DocumentsFile,
    "intended": in_data(
        str | None, metavar="FILE", help="Ids of the queries that the change was meant for: one per line, or a table."
    ),
    "slice": in_metrics(
        list[str] | None,
        "--slice",
        metavar="ATTRIBUTE",
        help="Compare slices too: a column of the queries; again for more.",
    ),
    "smallest_slice": in_metrics(
        int | None, metavar="N", help="Smallest number of queries of a tested slice. (default 25)"
    ),
    "unweighted": Unweighted,
    "unclustered": in_statistics(bool, "--unclustered", help="Ignore the queries' clusters."),
    "all_pairs": in_metrics(bool, "--all-pairs", help="Also compare all pairs of systems."),
    "bounds": in_statistics(
        bool | None, "--bounds/--no-bounds", help="Show the range over all grades of unjudged results. (default)"
    ),
    "label_factor": in_statistics(
        float | None, metavar="F", help="By how much unjudged results may be better or worse than judged. (default 1.2)"
    ),
}


def takes(*groups: Mapping[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds groups of options, without defaults, to a command, before its own."""
    options = {name: kind for group in groups for name, kind in group.items()}

    def add(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        parameters = signature.parameters.values()
        own = [each.replace(kind=each.KEYWORD_ONLY) for each in parameters if each.kind is not each.VAR_KEYWORD]
        added = [
            own[0].replace(name=name, default=False if get_args(kind)[0] is bool else None, annotation=kind)
            for name, kind in options.items()
        ]
        command.__signature__ = signature.replace(parameters=[*added, *own])  # type: ignore[attr-defined]
        command.__annotations__ |= options
        return command

    return add
