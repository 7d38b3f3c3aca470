"""`explain`: one query place by place, and which choice moves the number."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ndcg_ab.api.arguments import make_evaluation, name_arguments_in_errors
from ndcg_ab.api.data import Data, ShownInNotebook, read_argument
from ndcg_ab.config.model.inputs.sources import FileFormat
from ndcg_ab.engines import open_engine
from ndcg_ab.errors import InputError
from ndcg_ab.sources.tables.in_memory import python_number
from ndcg_ab.sources.tables.schema import JUDGMENT, read_value
from ndcg_ab.studies.explain import Explained, explain_query
from ndcg_core.measures.external_metric import name_among
from ndcg_core.measures.metric import Metric

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
        from ndcg_ab.report.terminal.explained import print_explained

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
    if (systems is None) == (ranking is None):
        given = "neither is given" if ranking is None else "both are given"
        raise InputError(f"systems, ranking: {given}; exactly one of them is needed")
    arguments: dict[str, Any] = {
        "judgments": judgments,
        "systems": systems,
        "metrics": metrics,
        "columns": columns,
        "format": format,
    }
    arguments |= {"judgments_columns": judgments_columns, "judgments_format": judgments_format, "combine": combine}
    arguments |= {
        "queries": queries,
        "grades": grades,
        "document_prefix": document_prefix,
        "duplicates": duplicates,
        "own": own,
    }
    if ranking is not None:
        arguments["systems"] = {ALONE: read_argument(ALONE, ranking)}
    evaluation = make_evaluation(arguments)
    query_id = str(read_value(JUDGMENT.fields[0], python_number(query), "query"))
    with name_arguments_in_errors(), open_engine() as engine:
        return ExplainResult(query_id, tuple(explain_query(evaluation, query_id, engine)))
