"""`compare`, `evaluate` and `explain`: in memory; nothing is written anywhere."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from ndcg_ab.api.arguments import (
    Data,
    JudgeFunction,
    ShownInNotebook,
    make_evaluation,
    name_arguments_in_errors,
    read_argument,
)
from ndcg_ab.api.results import CompareResult
from ndcg_ab.config.loading.file import read_config
from ndcg_ab.config.loading.templates import resolve_at
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import FileFormat
from ndcg_ab.config.options.from_options import validate_evaluation
from ndcg_ab.engines import open_engine
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.pipeline import evaluate as evaluate_in_memory
from ndcg_ab.pipeline.conclude import read_query_scores
from ndcg_ab.report.page.data import about_files, gather_page_data
from ndcg_ab.scoring.scoring import open_engine_for
from ndcg_ab.sources.queries import make_documents
from ndcg_ab.sources.tables.in_memory import python_number
from ndcg_ab.sources.tables.schema import JUDGMENT, read_value
from ndcg_ab.studies.explain import Explained, explain_query
from ndcg_core.measures.external_metric import name_among
from ndcg_core.measures.metric import Metric

Progress = Callable[[str], object]
DIGESTED = 1_000_000  # rows of an input; beyond, its digest for a page that nobody may ask for takes seconds


def compare(
    judgments: Data | JudgeFunction | None = None,
    systems: Mapping[str, Data] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    scores: Data | Mapping[str, Data] | None = None,
    more_judgments: Data | JudgeFunction | Sequence[Data | JudgeFunction] | None = None,
    judgments_precedence: Literal["last", "first", "highest", "lowest", "together"] = "last",
    combine: Literal["majority", "median", "mean", "highest", "lowest"] | None = None,
    cheap_judgments: Data | None = None,
    careful_unseen: Data | Sequence[str] | None = None,
    metrics: str | Metric | Sequence[str | Metric] | None = None,
    baseline: str | None = None,
    primary_metrics: str | Metric | Sequence[str | Metric] | None = None,
    secondary_metrics: str | Metric | Sequence[str | Metric] = (),
    guardrails: Mapping[Any, float] | None = None,
    costs: str | Sequence[str] = (),
    smallest_effect: float | Mapping[Any, float] | None = None,
    queries: Data | None = None,
    documents: Data | None = None,
    document_prefix: str | None = None,
    duplicates: Literal["first"] | None = None,
    own: Literal["drop", "keep"] | None = None,
    intended: Data | Sequence[str] | None = None,
    slices: str | Sequence[str] = (),
    smallest_slice: int = 25,
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 1935,
    weighted: bool | None = None,
    cluster_prefix: str | None = None,
    clustered: bool | None = None,
    all_pairs: bool = False,
    bounds: bool | None = None,
    label_factor: float | None = None,
    complete_judgments: bool | None = None,
    gate: Mapping[str, Any] | bool | None = None,
    findings: Mapping[str, str] | None = None,
    strict: bool = False,
    columns: Mapping[str, str] | None = None,
    format: FileFormat | None = None,  # noqa: A002
    judgments_columns: Mapping[str, str] | None = None,
    judgments_format: FileFormat | None = None,
    grades: Mapping[str, float] | None = None,
    queries_columns: Mapping[str, str] | None = None,
    documents_columns: Mapping[str, str] | None = None,
    threads: int | None = None,
    memory_limit: str | None = None,
    spill: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> CompareResult:
    """Which of these systems ranks better?  The same as `ndcg-ab compare`: docs/python.md, docs/commands.md.

    judgments, systems, queries: paths, tables that speak Arrow, or dictionaries; of systems by their names, or
        a list of paths, which name them.  A function of an `ndcg_ab.Query` and an `ndcg_ab.Document` may judge, too
        (docs/judging.md).
    scores: instead of both, values per query that another tool computed: a path or a table with system_id,
        query_id, metric and value; or of each system by its name such a path or table, or {query: {metric: value}}.
    more_judgments: more such, one or a list, which by judgments_precedence correct and add to those before them.
    combine: the grade of a document that several judges (a column `judge`) grade; needed where they disagree.
    cheap_judgments: proxy judgments, by clicks or a model that has seen none of the judgments, of all those queries and
        of more, in the format and the columns of the judgments: they correct the differences, and change no verdict.
    careful_unseen: ids of the queries that were judged after that model was fixed, as `intended`: the others are left
        out of the correction.
    documents: likewise, doc_id with title and url, for `report`; they change no result.
    metrics (default ndcg@10): as "ndcg@10"; the first decides, others describe.  primary_metrics: those that decide, or
        "all".  secondary_metrics: those that describe, so that all of metrics decide.  guardrails: metric -> how much
        worse no candidate may be.  smallest_effect: what matters, > 0, of every metric or metric -> it.
    costs: columns of the rankings that hold what queries cost, as latency_ms: docs/costs.md; guardrails on them are
        written as "latency_ms@p95".
    baseline: by default the first system.  all_pairs: every two systems too.
    intended: ids of the queries that the change was meant for, tested apart: a list of them, or a path or a table with
        query_id.
    slices: columns of queries to compare by; smallest_slice: >= 6, smaller ones are not tested.  weighted: by the
        queries' weights; by default where they have some.  clustered: test queries of one cluster (a conversation,
        a user) as one; by default where queries have a column `cluster`.  cluster_prefix: or by their ids up to the
        last of this text, "_" for 106_1.
    gate: what must hold, as under `gate:` in a configuration (docs/gates.md); True for no regression and guardrails.
    alpha: from 1e-9 to .5.  resamples, seed: of the tests.
    bounds: False leaves out the lowest and highest difference over all grades of the unjudged results.
    label_factor: 1 to 5, by how much unjudged results may be better or worse than judged ones without turning a
        decision; 1.2 by default. complete_judgments: True declares that unjudged documents are not relevant.
    findings: code -> error, warning, note or ignore (docs/findings.md).  strict: warnings are errors.
    columns, format: of the rankings, field -> column name and the files' format; likewise of the others.
    document_prefix: rankings hold chunks, whose ids are cut at this sign.  duplicates: "first" counts a repeated
        document at its first place.  own: "drop" leaves out the document whose id is that of the query.
    grades: word -> number, of judgments whose grades are words.
    threads: by default every core.  memory_limit: of the whole process, as "4GB".  spill: folder for what does not
        fit into it; by default among the temporary files.  progress: told what begins.
    Raises InputError (argument, row or key, value, rule), ParityError.
    """
    arguments: dict[str, Any] = dict(locals())
    del arguments["progress"]
    return run_and_collect(make_evaluation(arguments), progress)


def evaluate(
    config: str | os.PathLike[str] | Mapping[str, Any] | Evaluation, *, progress: Progress | None = None
) -> CompareResult:
    """The evaluation that a configuration describes, with its gates; without Prefect and MLflow, and nothing is kept.

    config: the path of a YAML file, its content (paths in it start from the working directory), or an Evaluation.
    progress: told what begins.
    Raises InputError (key, value, rule; then as `compare`), ParityError.
    """
    if isinstance(config, str | os.PathLike):
        evaluation = read_config(Path(os.fspath(config)).expanduser())
    elif isinstance(config, Mapping):
        evaluation = validate_evaluation(dict(config))
    elif isinstance(config, Evaluation):
        evaluation = config
    else:
        raise InputError(
            f"config: {format_value(config)}: must be the path of a YAML file, its content, or an Evaluation"
        )
    return run_and_collect(resolve_at(evaluation, datetime.now(UTC)), progress, shows_configuration=True)


def run_and_collect(
    evaluation: Evaluation, progress: Progress | None, *, shows_configuration: bool = False
) -> CompareResult:
    """All that the result may be asked for is read at once, so that no connection has to stay open for it.

    It is little beside the rankings: a value per query, system and metric, and the results that the page shows.
    """
    with open_engine_for(evaluation) as engine:
        outcome, store = evaluate_in_memory(evaluation, engine, progress or (lambda step: None))
        about = about_files(evaluation, store.describe_inputs(DIGESTED))
        if shows_configuration:
            about["evaluation"] = evaluation.model_dump(mode="json")
        scores = read_query_scores(engine)
        page = gather_page_data(engine, outcome, about, documents=make_documents(evaluation), scores=scores)
        return CompareResult(scores, outcome, page)


ALONE = "ranking"  # the name of a system that has none


@dataclass(frozen=True, repr=False)
class ExplainResult(ShownInNotebook):
    """One query, explained; in a notebook it shows itself, `print` writes the tables of the command.

    systems: of each its explanations, one for each metric, and the steps from the first metric to the others.
    """

    query: str
    systems: tuple[Explained, ...]

    def value(self, system: str | None = None, metric: str | None = None) -> float | None:
        """The query's value, by default of the first system and metric; None where the metric leaves the query out.

        Raises InputError for a system or a metric that is not explained.
        """
        for explained in self.systems:
            known = [each.metric.name for each in explained.explanations]
            name = metric and name_among(metric, known)
            for explanation in explained.explanations:
                if system in (None, explained.system_id) and name in (None, explanation.metric.name):
                    return explanation.value
        raise InputError(f"system = {system!r}, metric = {metric!r}: is not explained here")

    def __repr__(self) -> str:
        names = ", ".join(explained.system_id for explained in self.systems)
        return f"<ExplainResult: query {self.query!r}, {names}>"

    def __str__(self) -> str:
        from ndcg_ab.report.notebook import format_printed
        from ndcg_ab.report.terminal.studies import print_explained

        return format_printed(print_explained, self.systems, self.query)


def explain(
    judgments: Data,
    systems: Mapping[str, Data] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    query: object,
    ranking: Data | None = None,
    metrics: str | Metric | Sequence[str | Metric] = ("ndcg@10",),
    combine: Literal["majority", "median", "mean", "highest", "lowest"] | None = None,
    queries: Data | None = None,
    columns: Mapping[str, str] | None = None,
    format: FileFormat | None = None,  # noqa: A002
    judgments_columns: Mapping[str, str] | None = None,
    judgments_format: FileFormat | None = None,
    grades: Mapping[str, float] | None = None,
    document_prefix: str | None = None,
    duplicates: Literal["first"] | None = None,
    own: Literal["drop", "keep"] | None = None,
) -> ExplainResult:
    """One query's value place by place; with several metrics, which choice moves the number.  As `ndcg-ab explain`.

    judgments, systems, queries, combine, columns and their like: as for `compare`.  ranking: a single system without a
    name.  query: its id.  metrics: the steps lead from the first to each other one.
    Raises InputError (argument, row or key, value, rule), ParityError.
    """
    arguments: dict[str, Any] = dict(locals())
    if (systems is None) == (ranking is None):
        given = "neither is given" if ranking is None else "both are given"
        raise InputError(f"systems, ranking: {given}; exactly one of them is needed")
    asked, alone = arguments.pop("query"), arguments.pop("ranking")
    if alone is not None:
        arguments["systems"] = {ALONE: read_argument(ALONE, alone)}
    evaluation = make_evaluation(arguments)
    query_id = str(read_value(JUDGMENT.fields[0], python_number(asked), "query"))
    with name_arguments_in_errors(), open_engine() as engine:
        return ExplainResult(query_id, tuple(explain_query(evaluation, query_id, engine)))
