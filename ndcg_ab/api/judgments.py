"""`compare_judgments`: two sets of judgments, and what each says of systems."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ndcg_ab.api.arguments import make_evaluation, refuse_for_data
from ndcg_ab.api.data import Data, ShownInNotebook, read_argument
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import FileFormat
from ndcg_ab.errors import InputError
from ndcg_ab.studies import judgments as study
from ndcg_core.measures.metric import Metric

NO_SYSTEM: Mapping[str, Data] = {"none": {"q": {"d": 1.0}}}  # an evaluation has a system; this one is not read


@dataclass(frozen=True, repr=False)
class JudgmentsResult(ShownInNotebook):
    """How two sets of judgments agree; in a notebook it shows itself, `print` writes what the command writes.

    compared: the agreement of their grades; with systems their order, and the verdicts, under each set.
    """

    compared: study.ComparedJudgments

    def to_json(self) -> str:
        """What `ndcg-ab judgments --json` writes."""
        return self.compared.to_json()

    def __repr__(self) -> str:
        return f"<JudgmentsResult: {self.compared.agreement.pairs} pairs judged in both>"

    def __str__(self) -> str:
        from ndcg_ab.report.notebook import format_printed
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
    """How far do two sets of judgments agree?  The same as `ndcg-ab judgments`: docs/judging.md, docs/commands.md.

    first, second: people's and a model's, say: paths, tables that speak Arrow, or dictionaries.
    systems: at least two, by their names: their order and verdicts under each set, too.
    metrics, baseline, smallest_effect, queries, cluster_prefix, alpha, resamples, seed, columns, format, threads: as
        for `compare`.
    first_columns, first_format, second_columns, second_format: of the judgments, field -> column and the files' format.
    first_grades, second_grades: the numbers of their grades, where these are words.
    progress: told what begins.
    Raises InputError (argument, row or key, value, rule), ParityError.
    """
    if systems is not None and len(systems) < 2:
        raise InputError(f"systems: holds {len(systems)}; at least 2 systems are needed, or none")
    settings: dict[str, Any] = {"metrics": metrics, "baseline": baseline, "smallest_effect": smallest_effect}
    settings |= {"queries": queries, "alpha": alpha, "resamples": resamples, "seed": seed, "threads": threads}
    settings |= {"cluster_prefix": cluster_prefix}
    settings |= {"systems": systems or NO_SYSTEM}
    settings |= {"columns": columns, "format": format} if systems else {}
    by_first = evaluation_by("first", first, first_columns, first_format, settings | {"grades": first_grades})
    by_second = evaluation_by("second", second, second_columns, second_format, settings | {"grades": second_grades})
    say = progress or (lambda step: None)
    return JudgmentsResult(study.compare_judgments(by_first, by_second, say, with_systems=systems is not None))


def evaluation_by(
    argument: str,
    data: Data,
    columns: Mapping[str, str] | None,
    file_format: FileFormat | None,
    settings: Mapping[str, Any],
) -> Evaluation:
    """The evaluation by one set; InputError names the argument that gave the set."""
    place = read_argument(argument, data)
    refuse_for_data(argument, place, {f"{argument}_columns": columns, f"{argument}_format": file_format})
    about = {"judgments": place, "judgments_columns": columns, "judgments_format": file_format}
    return make_evaluation({**settings, **about})
