"""The functions `compare`, `evaluate` and `explain` of the Python API, which compute in memory and write no file."""

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
from ndcg_ab.config.loading.templates import resolve_templates
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import FileFormat
from ndcg_ab.config.options.from_options import validate_evaluation
from ndcg_ab.engines import open_engine
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.pipeline.conclude import read_query_scores
from ndcg_ab.pipeline.stages import evaluate as evaluate_in_memory
from ndcg_ab.report.page.data import about_unstored, gather_page_data
from ndcg_ab.scoring.scoring import open_engine_for
from ndcg_ab.sources.queries import documents_source
from ndcg_ab.sources.tables.in_memory import python_number
from ndcg_ab.sources.tables.schema import JUDGMENT, read_value
from ndcg_ab.studies.explain import SystemExplanation, explain_query
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import match_metric

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
    """Compare systems on the same queries and return differences, intervals, verdicts and decisions.

    The command `ndcg-ab compare` computes these numbers from files. Give either `judgments` and `systems`, or
    `scores`. A "dataset" below is a path, a table with the Arrow PyCapsule interface (pandas, polars, pyarrow,
    DuckDB), or nested dictionaries or lists as in docs/python.md.

    Parameters
    ----------
    judgments : dataset or callable, optional
        Grades by query and document, such as ``{"q1": {"d1": 2.0}}``. A callable takes an `ndcg_ab.Query` and an
        `ndcg_ab.Document`, returns a grade, and judges the returned documents (docs/judging.md).
    systems : mapping of str to dataset, or sequence of paths, optional
        Rankings by system name. A sequence of paths names each system after its file.
    scores : dataset, or mapping of str to dataset, optional
        Values per query that another tool computed, instead of `judgments` and `systems`: a path or table with the
        columns system_id, query_id, metric and value, or one dataset per system name.
    more_judgments : dataset or callable, or sequence of them, optional
        Further judgments, which are merged with `judgments` in the given order by `judgments_precedence`.
    judgments_precedence : {"last", "first", "highest", "lowest", "together"}, default "last"
        Which grade counts if several of the judgment sets grade the same document; "together" keeps all of them.
    combine : {"majority", "median", "mean", "highest", "lowest"}, optional
        How the grades that several judges (column `judge`) give one document become one grade. Required if judges
        disagree.
    cheap_judgments : dataset, optional
        Proxy judgments of the judged queries and of more queries, for example from clicks or a model that has not seen
        the judgments. They correct the estimated differences and change no verdict. `judgments_columns` and
        `judgments_format` apply to them, too.
    careful_unseen : sequence of str, or dataset, optional
        Ids of the queries that were judged after the model behind `cheap_judgments` was fixed. Other queries are left
        out of the correction. A dataset has the column query_id.
    metrics : str, Metric, or sequence of them, default "ndcg@10"
        Metrics to compute. The first one is primary (it decides), and the others are secondary, unless other arguments
        assign roles.
    baseline : str, optional
        Name of the system that the others are compared with; by default the first system.
    primary_metrics : str, Metric, or sequence of them, optional
        Metrics that decide; "all" stands for all of `metrics`.
    secondary_metrics : str, Metric, or sequence of them, default ()
        Metrics that only describe. If given, all of `metrics` are primary.
    guardrails : mapping of metric to float, optional
        Largest acceptable loss (> 0) of each guardrail metric, in the unit of the metric. A guardrail on a cost is
        written as ``{"latency_ms@p95": 20}``.
    costs : str or sequence of str, default ()
        Columns of the rankings that hold the cost of each query, such as latency_ms (docs/costs.md).
    smallest_effect : float, or mapping of metric to float, optional
        Smallest difference (> 0) that matters, in the unit of the metric; a single number applies to every metric.
    queries : dataset, optional
        Queries with query_id and optionally text, weight, cluster and attributes.
    documents : dataset, optional
        Documents with doc_id, title and url, which `CompareResult.report` shows. They change no result unless a judge
        function reads them.
    document_prefix : str, optional
        Separator at which document ids are cut, for rankings of chunks. The best chunk of a document counts.
    duplicates : {"first"}, optional
        "first" counts a document that a ranking repeats at its first rank; by default a repeated document is an error.
    own : {"drop", "keep"}, optional
        "drop" removes the document whose id equals the query id; by default it is kept, unless a metric has a preset
        that drops it, such as that of BEIR.
    intended : sequence of str, or dataset, optional
        Ids of the queries that the change is meant to improve, which are tested on their own. A dataset has the column
        query_id.
    slices : str or sequence of str, default ()
        Columns of `queries` whose values divide the queries into slices that are compared separately.
    smallest_slice : int, default 25
        Number of queries (>= 6) below which a slice is shown and not tested.
    alpha : float, default 0.05
        Threshold of the adjusted p-value, in [1e-9, 0.5).
    resamples : int, default 10_000
        Number of sign flips per test, 100 to 10,000,000, and the largest number of bootstrap resamples.
    seed : int, default 1935
        Seed of the random draws, 0 to 2**63 - 1. Equal inputs and seeds give equal results.
    weighted : bool, optional
        Whether means use the weights of the queries; by default they do if `queries` has weights.
    cluster_prefix : str, optional
        Separator for clusters of queries: ids that agree up to its last occurrence form a cluster, "_" for 106_1.
    clustered : bool, optional
        Whether queries of one cluster, such as a conversation or a user, are tested as one unit; by default they are if
        `queries` has a column cluster.
    all_pairs : bool, default False
        Whether every pair of systems is compared as well.
    bounds : bool, optional
        Whether the lowest and the highest difference over all grades of unjudged results are computed; by default they
        are.
    label_factor : float, optional
        Factor f, 1 to 5, by default 1.2: a decision must also hold if unjudged results of the favoured system gain 1 /
        f times as often as judged results, and those of the other system f times as often.
    complete_judgments : bool, optional
        True declares that unjudged documents are not relevant.
    gate : mapping or bool, optional
        Conditions that must hold, as under `gate:` in a configuration (docs/gates.md). True requires no regression and
        that guardrails hold.
    findings : mapping of str to str, optional
        Severity ("error", "warning", "note" or "ignore") by code of a finding (docs/findings.md).
    strict : bool, default False
        Whether warnings of the data check are errors.
    columns : mapping of str to str, optional
        Field -> column name in the rankings, such as ``{"doc_id": "url"}``.
    format : str, optional
        Format of ranking files, such as "trec" or "csv"; by default it is recognised.
    judgments_columns : mapping of str to str, optional
        Field -> column name in the judgments.
    judgments_format : str, optional
        Format of judgment files; by default it is recognised.
    grades : mapping of str to float, optional
        Number of each grade that the judgments write as a word, such as ``{"E": 3, "S": 2}``.
    queries_columns : mapping of str to str, optional
        Field -> column name in `queries`.
    documents_columns : mapping of str to str, optional
        Field -> column name in `documents`.
    threads : int, optional
        Number of threads (>= 1); by default one for every core.
    memory_limit : str, optional
        Memory limit of the whole process, such as "4GB" or "50%".
    spill : path, optional
        Folder for data that do not fit into memory; by default the folder of temporary files.
    progress : callable, optional
        Function that is called with the name of each step when the step begins, such as `print`.

    Returns
    -------
    CompareResult
        Comparisons, decisions, findings and per-query values.

    Raises
    ------
    InputError
        If an argument or the data are invalid; the message names the argument, the row or key, the value and the rule.
    ParityError
        If the SQL and the Python implementation of a metric disagree.

    Examples
    --------
    >>> import ndcg_ab
    >>> judgments = {"q1": {"d1": 1, "d2": 0}}
    >>> result = ndcg_ab.compare(judgments, {"old": {"q1": {"d2": 2.0, "d1": 1.0}}, "new": {"q1": {"d1": 1.0}}})
    >>> round(result.comparison("new").difference, 4)
    0.3691
    """
    arguments: dict[str, Any] = dict(locals())
    del arguments["progress"]
    return run_and_collect(make_evaluation(arguments), progress)


def evaluate(
    config: str | os.PathLike[str] | Mapping[str, Any] | Evaluation, *, progress: Progress | None = None
) -> CompareResult:
    """Run the evaluation that a configuration describes, with its gates, and return the result.

    Nothing is written or sent to a tracker, and Prefect and MLflow are not needed; `ndcg-ab run` keeps results.

    Parameters
    ----------
    config : path, mapping or Evaluation
        A YAML file, the content of one (relative paths start from the working directory), or an `ndcg_ab.Evaluation`.
    progress : callable, optional
        Function that is called with the name of each step when the step begins, such as `print`.

    Returns
    -------
    CompareResult
        Comparisons, decisions, gates, findings and per-query values.

    Raises
    ------
    InputError
        If the configuration or the data are invalid; the message names the key, the value and the rule.
    ParityError
        If the SQL and the Python implementation of a metric disagree.
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
    return run_and_collect(resolve_templates(evaluation, datetime.now(UTC)), progress, shows_configuration=True)


def run_and_collect(
    evaluation: Evaluation, progress: Progress | None, *, shows_configuration: bool = False
) -> CompareResult:
    """Run an evaluation and return its result, which holds copies of all data and no open connection.

    shows_configuration: whether the HTML page of the result shows the configuration.
    """
    with open_engine_for(evaluation) as engine:
        outcome, store = evaluate_in_memory(evaluation, engine, progress or (lambda step: None))
        about = about_unstored(evaluation, store.describe_inputs(DIGESTED))
        if shows_configuration:
            about["evaluation"] = evaluation.model_dump(mode="json")
        scores = read_query_scores(engine)
        page = gather_page_data(engine, outcome, about, documents=documents_source(evaluation), scores=scores)
        return CompareResult(scores, outcome, page)


ALONE = "ranking"  # the name of a system that has none


@dataclass(frozen=True, repr=False)
class ExplainResult(ShownInNotebook):
    """An explanation of the values that metrics give the rankings of one query.

    In a notebook the result displays itself, and `print` writes the tables of `ndcg-ab explain`.

    Attributes
    ----------
    query : str
        Id of the explained query.
    systems : tuple of Explained
        For each system one explanation per metric, and the steps that lead from the first metric to each other metric.
    """

    query: str
    systems: tuple[SystemExplanation, ...]

    def value(self, system: str | None = None, metric: str | None = None) -> float | None:
        """Return the value of one metric for the ranking of one system.

        Parameters
        ----------
        system : str, optional
            Name of the system; by default the first.
        metric : str, optional
            Name of the metric; by default the first.

        Returns
        -------
        float or None
            None if the metric does not score the query.

        Raises
        ------
        InputError
            If the system or the metric is not part of the explanation.
        """
        for explained in self.systems:
            names = [each.metric.name for each in explained.explanations]
            name = metric and match_metric(metric, names)
            for explanation in explained.explanations:
                if system in (None, explained.system_id) and name in (None, explanation.metric.name):
                    return explanation.value
        raise InputError(f"system = {system!r}, metric = {metric!r}: is not explained here")

    def __repr__(self) -> str:
        names = ", ".join(explained.system_id for explained in self.systems)
        return f"<ExplainResult: query {self.query!r}, {names}>"

    def __str__(self) -> str:
        from ndcg_ab.report.terminal.grid import format_printed
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
    """Explain the value of one query rank by rank, and which choices make several metrics differ.

    The command `ndcg-ab explain` prints these tables. A "dataset" is a path, an Arrow table, or nested dictionaries
    or lists as in docs/python.md.

    Parameters
    ----------
    judgments : dataset
        Grades by query and document.
    systems : mapping of str to dataset, or sequence of paths, optional
        Rankings by system name. Exactly one of `systems` and `ranking` must be given.
    query : object
        Id of the query to explain.
    ranking : dataset, optional
        Ranking of a single system without a name.
    metrics : str, Metric, or sequence of them, default "ndcg@10"
        Metrics to explain. Steps lead from the first metric to each of the others.
    combine : {"majority", "median", "mean", "highest", "lowest"}, optional
        How the grades that several judges (column `judge`) give one document become one grade.
    queries : dataset, optional
        Queries with query_id and optionally text.
    columns : mapping of str to str, optional
        Field -> column name in the rankings.
    format : str, optional
        Format of ranking files; by default it is recognised.
    judgments_columns : mapping of str to str, optional
        Field -> column name in the judgments.
    judgments_format : str, optional
        Format of judgment files; by default it is recognised.
    grades : mapping of str to float, optional
        Number of each grade that the judgments write as a word.
    document_prefix : str, optional
        Separator at which document ids are cut, for rankings of chunks.
    duplicates : {"first"}, optional
        "first" counts a document that a ranking repeats at its first rank; by default a repeated document is an error.
    own : {"drop", "keep"}, optional
        "drop" removes the document whose id equals the query id.

    Returns
    -------
    ExplainResult
        Explanations by system and metric.

    Raises
    ------
    InputError
        If an argument or the data are invalid; the message names the argument, the row or key, the value and the rule.
    ParityError
        If the SQL and the Python implementation of a metric disagree.
    """
    arguments: dict[str, Any] = dict(locals())
    if (systems is None) == (ranking is None):
        problem = "neither is given" if ranking is None else "both are given"
        raise InputError(f"systems, ranking: {problem}; exactly one of them is needed")
    query_value, ranking_data = arguments.pop("query"), arguments.pop("ranking")
    if ranking_data is not None:
        arguments["systems"] = {ALONE: read_argument(ALONE, ranking_data)}
    evaluation = make_evaluation(arguments)
    query_id = str(read_value(JUDGMENT.fields[0], python_number(query_value), "query"))
    with name_arguments_in_errors(), open_engine() as engine:
        return ExplainResult(query_id, tuple(explain_query(evaluation, query_id, engine)))
