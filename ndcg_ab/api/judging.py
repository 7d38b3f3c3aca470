"""The functions `draw`, `judge_next` and `compare_judgments`: what to judge, and how far two judgment sets agree."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from ndcg_ab.api.arguments import (
    Data,
    ShownInNotebook,
    make_evaluation,
    make_source,
    name_arguments_in_errors,
    read_argument,
    refuse_for_data,
)
from ndcg_ab.config.loading.file import read_config
from ndcg_ab.config.loading.templates import resolve_templates
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import FileFormat
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.scoring.scoring import open_engine_for
from ndcg_ab.studies import judgments as agreement
from ndcg_ab.studies.draw import NOBODY, DrawStudy, draw_from_log
from ndcg_ab.studies.judge_next import ToJudgeNext, find_documents_to_judge, list_documents, with_one_metric
from ndcg_core.measures.metric import Metric


class DrawResult(DrawStudy):
    """Queries drawn from a log for judging, with the probability of each draw.

    `print` writes the sentences of `ndcg-ab draw`.
    """

    def sheet(
        self,
        path: str | os.PathLike[str],
        title: str = "Drawn queries",
        grades: Sequence[float] = (0.0, 1.0, 2.0, 3.0),
    ) -> None:
        """Write an HTML sheet on which people can judge the documents of the drawn queries.

        Parameters
        ----------
        path : path
            File to write.
        title : str, default "Drawn queries"
            Heading of the sheet.
        grades : sequence of float, default (0, 1, 2, 3)
            Grades that a person can choose from.
        """
        from ndcg_ab.report.judging_sheet import write_judging_sheet

        write_judging_sheet(Path(path), self.rows, grades, title)

    def to_json(self) -> str:
        """Return the JSON that `ndcg-ab draw --json` writes: counts and the plan."""
        from ndcg_ab.report.terminal.studies import study_to_json

        return study_to_json(self)

    def __repr__(self) -> str:
        return f"<DrawResult: {len(self.drawn)} of {self.queries}>"

    def __str__(self) -> str:
        from ndcg_ab.report.terminal.studies import draw_sentences

        return "\n".join(draw_sentences(self, None, is_command=False))


def draw(
    systems: Mapping[str, Data] | Sequence[str | os.PathLike[str]],
    queries: Data,
    *,
    count: int = 80,
    metrics: str | Metric | Sequence[str | Metric] | None = None,
    baseline: str | None = None,
    kept: Data | None = None,
    deviation: float | None = None,
    judgments: Data | None = None,
    grades: Mapping[str, float] | None = None,
    smallest_effect: float | Mapping[str, float] | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    weighted: bool | None = None,
    slices: str | Sequence[str] = (),
    documents: Data | None = None,
    seed: int = 1935,
    columns: Mapping[str, str] | None = None,
    format: FileFormat | None = None,  # noqa: A002
    queries_columns: Mapping[str, str] | None = None,
    documents_columns: Mapping[str, str] | None = None,
) -> DrawResult:
    """Draw queries of a log for judging, with known probabilities, before anything is judged.

    The command `ndcg-ab draw` draws these queries. A "dataset" is a path, an Arrow table, or nested dictionaries or
    lists as in docs/python.md.

    Parameters
    ----------
    systems : mapping of str to dataset, or sequence of paths
        Rankings by system name.
    queries : dataset
        The query log: query_id, and the weight of each query if frequent queries count more.
    count : int, default 80
        Number of queries to draw, >= 2.
    metrics : str, Metric, or sequence of them, optional
        Metrics that the judgments are for; by default ndcg@10.
    baseline : str, optional
        Name of the system that the others are compared with; by default the first system.
    kept : dataset, optional
        Queries that an earlier draw with this seed has drawn, which are drawn again.
    deviation : float, optional
        Standard deviation (> 0) of the per-query differences over all queries, in the unit of the metric, if known.
    judgments : dataset, optional
        Judgments of some of the queries, from which the standard deviation is estimated; not together with `deviation`.
    grades : mapping of str to float, optional
        Number of each grade that the judgments write as a word.
    smallest_effect : float, or mapping of metric to float, optional
        Smallest difference (> 0) that matters, in the unit of the metric.
    alpha : float, default 0.05
        Threshold of the p-value of the planned test, in [1e-9, 0.5).
    power : float, default 0.8
        Probability that the planned test detects the smallest effect, in (0, 1).
    weighted : bool, optional
        Whether queries count by their weights; by default they do if `queries` has weights.
    slices : str or sequence of str, default ()
        Columns of `queries` by which the queries will be compared.
    documents : dataset, optional
        Documents with doc_id, title and url, for the judging sheet.
    seed : int, default 1935
        Seed of the draw.
    columns : mapping of str to str, optional
        Field -> column name in the rankings.
    format : str, optional
        Format of ranking files; by default it is recognised.
    queries_columns : mapping of str to str, optional
        Field -> column name in `queries`.
    documents_columns : mapping of str to str, optional
        Field -> column name in `documents`.

    Returns
    -------
    DrawResult
        The drawn queries, the documents to judge for each of them, and the plan.

    Raises
    ------
    InputError
        If an argument or the data are invalid; the message names the argument, the row or key, the value and the rule.
    ParityError
        If the SQL and the Python implementation of a metric disagree.
    """
    arguments: dict[str, Any] = dict(locals())
    for name in ("count", "kept", "deviation", "power", *["metrics"] * (metrics is None)):
        del arguments[name]  # the others describe the evaluation, in which nothing is judged yet
    if not isinstance(count, int) or count < 2:
        raise InputError(f"count = {format_value(count)}: must be a whole number, at least 2")
    evaluation = make_evaluation(arguments | {"judgments": {NOBODY: {NOBODY: 0.0}}})
    with name_arguments_in_errors(), open_engine_for(evaluation) as engine:
        earlier = None if kept is None else make_source("kept", kept)
        judged = None if judgments is None else make_source("judgments", judgments)
        study = draw_from_log(evaluation, engine, count, earlier, deviation=deviation, judgments=judged, power=power)
        rows = list_documents(study.drawn, study.depth, engine, evaluation)
    return DrawResult(**{**vars(study), "rows": rows})


class JudgeNextResult(ToJudgeNext):
    """The unjudged documents whose grades would settle a comparison soonest.

    `print` writes the sentences of `ndcg-ab judge-next`.
    """

    def to_csv(self) -> str:
        """Return the CSV that `ndcg-ab judge-next --csv` writes."""
        from ndcg_ab.report.terminal.labels import to_csv

        return to_csv(self.rows)

    def to_json(self) -> str:
        """Return the JSON that `ndcg-ab judge-next --json` writes."""
        from ndcg_ab.report.terminal.labels import to_json

        return to_json(self.rows)

    def sheet(self, path: str | os.PathLike[str], title: str = "What to judge next") -> None:
        """Write an HTML sheet on which people can judge the documents.

        Parameters
        ----------
        path : path
            File to write.
        title : str, default "What to judge next"
            Heading of the sheet.
        """
        from ndcg_ab.report.judging_sheet import write_judging_sheet

        write_judging_sheet(Path(path), self.rows, self.grades, title)

    def __repr__(self) -> str:
        return f"<JudgeNextResult: {len(self.rows)} of {self.unjudged}>"

    def __str__(self) -> str:
        from ndcg_ab.report.terminal.labels import effect_sentences

        return "\n".join(effect_sentences(self))


def judge_next(
    judgments: Data | None = None,
    systems: Mapping[str, Data] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    count: int = 50,
    candidates: str | Sequence[str] = (),
    metric: str | Metric | None = None,
    baseline: str | None = None,
    queries: Data | None = None,
    documents: Data | None = None,
    document_prefix: str | None = None,
    duplicates: Literal["first"] | None = None,
    own: Literal["drop", "keep"] | None = None,
    smallest_effect: float | Mapping[Any, float] | None = None,
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 1935,
    weighted: bool | None = None,
    cluster_prefix: str | None = None,
    clustered: bool | None = None,
    label_factor: float | None = None,
    columns: Mapping[str, str] | None = None,
    format: FileFormat | None = None,  # noqa: A002
    judgments_columns: Mapping[str, str] | None = None,
    judgments_format: FileFormat | None = None,
    grades: Mapping[str, float] | None = None,
    queries_columns: Mapping[str, str] | None = None,
    documents_columns: Mapping[str, str] | None = None,
) -> JudgeNextResult:
    """Find the unjudged documents whose grades would settle the comparison soonest.

    The command `ndcg-ab judge-next` lists these documents. A "dataset" is a path, an Arrow table, or nested
    dictionaries or lists as in docs/python.md. Give either `judgments` and `systems`, or `config`.

    Parameters
    ----------
    judgments : dataset, optional
        Grades by query and document.
    systems : mapping of str to dataset, or sequence of paths, optional
        Rankings by system name.
    config : path, optional
        YAML file of a configuration that names judgments and systems.
    count : int, default 50
        Largest number of documents to return, >= 1.
    candidates : str or sequence of str, default ()
        Systems whose comparisons are to be settled; by default all whose verdict further grades could change.
    metric : str or Metric, optional
        Metric to settle; by default ndcg@10, or the first metric of the configuration.
    baseline : str, optional
        Name of the system that the others are compared with; by default the first system.
    queries : dataset, optional
        Queries with query_id and optionally text.
    documents : dataset, optional
        Documents with doc_id, title and url, for the judging sheet.
    document_prefix : str, optional
        Separator at which document ids are cut, for rankings of chunks.
    duplicates : {"first"}, optional
        "first" counts a document that a ranking repeats at its first rank; by default a repeated document is an error.
    own : {"drop", "keep"}, optional
        "drop" removes the document whose id equals the query id.
    smallest_effect : float, or mapping of metric to float, optional
        Smallest difference (> 0) that matters, in the unit of the metric. This and the following arguments down to
        `label_factor` affect the verdicts, as in `compare`.
    alpha : float, default 0.05
        Threshold of the adjusted p-value, in [1e-9, 0.5).
    resamples : int, default 10_000
        Number of sign flips per test, 100 to 10,000,000, and the largest number of bootstrap resamples.
    seed : int, default 1935
        Seed of the random draws, 0 to 2**63 - 1.
    weighted : bool, optional
        Whether means use the weights of the queries; by default they do if `queries` has weights.
    cluster_prefix : str, optional
        Separator for clusters of queries: ids that agree up to its last occurrence form a cluster.
    clustered : bool, optional
        Whether queries of one cluster are tested as one unit; by default they are if `queries` has a column cluster.
    label_factor : float, optional
        Factor f, 1 to 5, by default 1.2: a decision must also hold if unjudged results of the favoured system gain 1 /
        f times as often as judged results, and those of the other system f times as often.
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
    queries_columns : mapping of str to str, optional
        Field -> column name in `queries`.
    documents_columns : mapping of str to str, optional
        Field -> column name in `documents`.

    Returns
    -------
    JudgeNextResult
        Documents to judge, the most useful first.

    Raises
    ------
    InputError
        If an argument or the data are invalid; the message names the argument, the row or key, the value and the rule.
    ParityError
        If the SQL and the Python implementation of a metric disagree.
    """
    arguments: dict[str, Any] = dict(locals())
    for name in ("config", "count", "candidates", "metric"):
        del arguments[name]  # the others describe the evaluation
    if not isinstance(count, int) or count < 1:
        raise InputError(f"count = {format_value(count)}: must be a whole number, at least 1")
    candidate_names = [candidates] if isinstance(candidates, str) else list(candidates)
    metric_name = metric.name if isinstance(metric, Metric) else metric
    if config is None:
        evaluation = make_evaluation(arguments | ({"metrics": [metric_name]} if metric_name else {}))
    elif judgments is not None or systems is not None:
        raise InputError("config: replaces judgments and systems: leave one of the two out")
    else:
        evaluation = resolve_templates(read_config(Path(os.fspath(config)).expanduser()), datetime.now(UTC))
    with name_arguments_in_errors():
        single = with_one_metric(evaluation, metric_name)
        with open_engine_for(single) as engine:
            return JudgeNextResult(**vars(find_documents_to_judge(single, engine, candidate_names, count)))


NO_SYSTEM: Mapping[str, Data] = {"none": {"q": {"d": 1.0}}}  # an evaluation has a system; this one is not read


@dataclass(frozen=True, repr=False)
class JudgmentsResult(ShownInNotebook):
    """The agreement of two judgment sets.

    In a notebook the result displays itself, and `print` writes the tables of `ndcg-ab judgments`.

    Attributes
    ----------
    compared : ComparedJudgments
        Agreement of the grades; with systems also the order of the systems and the verdicts under each judgment set.
    """

    compared: agreement.ComparedJudgments

    def to_json(self) -> str:
        """Return the JSON that `ndcg-ab judgments --json` writes."""
        return self.compared.to_json()

    def __repr__(self) -> str:
        return f"<JudgmentsResult: {self.compared.agreement.pairs} pairs judged in both>"

    def __str__(self) -> str:
        from ndcg_ab.report.terminal.grid import format_printed
        from ndcg_ab.report.terminal.labels import print_judgments

        return format_printed(print_judgments, self.compared)


def compare_judgments(
    first: Data,
    second: Data,
    systems: Mapping[str, Data] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    metrics: str | Metric | Sequence[str | Metric] | None = None,
    baseline: str | None = None,
    smallest_effect: float | Mapping[Any, float] | None = None,
    queries: Data | None = None,
    cluster_prefix: str | None = None,
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 1935,
    columns: Mapping[str, str] | None = None,
    format: FileFormat | None = None,  # noqa: A002
    first_columns: Mapping[str, str] | None = None,
    first_format: FileFormat | None = None,
    second_columns: Mapping[str, str] | None = None,
    second_format: FileFormat | None = None,
    first_grades: Mapping[str, float] | None = None,
    second_grades: Mapping[str, float] | None = None,
    threads: int | None = None,
    progress: Callable[[str], object] | None = None,
) -> JudgmentsResult:
    """Measure how far two judgment sets agree, in grades and, with systems, in verdicts.

    The command `ndcg-ab judgments` prints these tables (docs/judging.md). A "dataset" is a path, an Arrow table, or
    nested dictionaries or lists as in docs/python.md.

    Parameters
    ----------
    first : dataset
        One judgment set, for example that of people.
    second : dataset
        The other judgment set, for example that of a model.
    systems : mapping of str to dataset, or sequence of paths, optional
        Rankings of at least two systems, whose order and verdicts are compared under each judgment set.
    metrics : str, Metric, or sequence of them, optional
        Metrics to compute; by default ndcg@10.
    baseline : str, optional
        Name of the system that the others are compared with; by default the first system.
    smallest_effect : float, or mapping of metric to float, optional
        Smallest difference (> 0) that matters, in the unit of the metric.
    queries : dataset, optional
        Queries with query_id and optionally text, weight and cluster.
    cluster_prefix : str, optional
        Separator for clusters of queries: ids that agree up to its last occurrence form a cluster, "_" for 106_1.
    alpha : float, default 0.05
        Threshold of the adjusted p-value, in [1e-9, 0.5).
    resamples : int, default 10_000
        Number of sign flips per test, 100 to 10,000,000.
    seed : int, default 1935
        Seed of the random draws.
    columns : mapping of str to str, optional
        Field -> column name in the rankings.
    format : str, optional
        Format of ranking files; by default it is recognised.
    first_columns : mapping of str to str, optional
        Field -> column name in `first`.
    first_format : str, optional
        Format of the file `first`; by default it is recognised.
    second_columns : mapping of str to str, optional
        Field -> column name in `second`.
    second_format : str, optional
        Format of the file `second`; by default it is recognised.
    first_grades : mapping of str to float, optional
        Number of each grade that `first` writes as a word.
    second_grades : mapping of str to float, optional
        Number of each grade that `second` writes as a word.
    threads : int, optional
        Number of threads (>= 1); by default one for every core.
    progress : callable, optional
        Function that is called with the name of each step when the step begins, such as `print`.

    Returns
    -------
    JudgmentsResult
        Agreement of grades and, with systems, of verdicts.

    Raises
    ------
    InputError
        If an argument or the data are invalid; the message names the argument, the row or key, the value and the rule.
    ParityError
        If the SQL and the Python implementation of a metric disagree.
    """
    arguments: dict[str, Any] = dict(locals())
    if systems is None:
        arguments |= {"systems": NO_SYSTEM, "columns": None, "format": None}
    elif len(systems) < 2:
        raise InputError(f"systems: holds {len(systems)}; at least 2 systems are needed, or none")
    by_first, by_second = (evaluation_with_judgments(name, arguments) for name in ("first", "second"))
    say = progress or (lambda step: None)
    return JudgmentsResult(agreement.compare_judgments(by_first, by_second, say, with_systems=systems is not None))


def evaluation_with_judgments(name: str, arguments: Mapping[str, Any]) -> Evaluation:
    """Return the evaluation of the systems by one of the two judgment sets.

    name: "first" or "second", the argument that holds the judgment set. Raise InputError, which names that argument,
    if the judgment set cannot be read as described.
    """
    data = read_argument(name, arguments[name])
    refuse_for_data(name, data, arguments)
    shared = {each: value for each, value in arguments.items() if not each.startswith(("first", "second", "progress"))}
    about = {"judgments": data, "grades": arguments[f"{name}_grades"]}
    about |= {f"judgments_{each}": arguments[f"{name}_{each}"] for each in ("columns", "format")}
    return make_evaluation(shared | about)
