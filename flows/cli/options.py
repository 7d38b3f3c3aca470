"""The options that several commands have: type, name of the value, help."""

from pathlib import Path
from typing import Annotated

import typer

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
SecondaryMetrics = Annotated[
    list[str] | None, typer.Option(metavar="METRIC", help="A metric of the second, exploratory family; again for more.")
]
Guardrails = Annotated[
    list[str] | None,
    typer.Option(metavar="METRIC=D", help="No candidate may be worse by D on this metric; again for more."),
]
SmallestEffects = Annotated[
    list[str] | None,
    typer.Option(metavar="[METRIC=]D", help="The smallest difference that matters, of every metric or of one."),
]
QueriesFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="Queries with attributes and weights: CSV, TSV, JSONL, Parquet.")
]
DocumentsFile = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Titles and addresses of documents for the page: doc_id, title, url."),
]
SliceAttributes = Annotated[
    list[str] | None,
    typer.Option("--slice", metavar="ATTRIBUTE", help="Compare slices too: a column of the queries; again for more."),
]
SmallestSlice = Annotated[
    int | None, typer.Option(metavar="N", help="Do not test slices of fewer queries. (default 25)")
]
IntervalMethod = Annotated[str | None, typer.Option(metavar="METHOD", help="t, or bca for the bootstrap. (default t)")]
Exploratory = Annotated[
    str | None,
    typer.Option(
        metavar="PROCEDURE", help="benjamini-hochberg or max-t for slices, pairs and secondary metrics. (default first)"
    ),
]
JsonFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write the results as JSON; - writes them here instead of tables.")
]
