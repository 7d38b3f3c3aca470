"""`draw`, `judge_next` and `compare_judgments`: what to judge, and how far two sets of judgments agree."""

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
from ndcg_ab.config.loading.templates import resolve_at
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import FileFormat
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.scoring.scoring import open_engine_for
from ndcg_ab.studies import judgments as agreement
from ndcg_ab.studies.draw import NOBODY, DrawStudy, draw_from_log
from ndcg_ab.studies.judge_next import ToJudgeNext, find_documents_to_judge, list_documents, with_one_metric
from ndcg_core.measures.metric import Metric


@dataclass(frozen=True, repr=False)
class DrawResult(DrawStudy):
    """The drawn queries; `print` writes what the command says."""

    def sheet(
        self,
        path: str | os.PathLike[str],
        title: str = "Drawn queries",
        grades: Sequence[float] = (0.0, 1.0, 2.0, 3.0),
    ) -> None:
        """Writes the sheet that `ndcg-ab draw --sheet` writes."""
        from ndcg_ab.report.judging_sheet import write_judging_sheet

        write_judging_sheet(Path(path), self.rows, grades, title)

    def to_json(self) -> str:
        """What `ndcg-ab draw --json` writes: counts and the plan."""
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
    """Which queries of a log to judge, with known probabilities, before anything is judged.  As `ndcg-ab draw`.

    systems, baseline, metrics, documents, slices, columns, format and their like: as for `compare`.  queries: the log,
    with a weight where queries count by their frequency.  count: how many to draw, >= 2.  kept: what an earlier draw
    gave, by the same seed.  deviation: of the differences over all queries, > 0, where it is known; or judgments of
    some of the queries, from which it is estimated for the plan.  alpha, power: of the test that is planned for.
    Raises InputError (argument, row or key, value, rule), ParityError.
    """
    arguments: dict[str, Any] = dict(locals())
    most, earlier, spread, given_judgments, chance = (
        arguments.pop(name) for name in ("count", "kept", "deviation", "judgments", "power")
    )
    if not isinstance(most, int) or most < 2:
        raise InputError(f"count = {format_value(most)}: must be a whole number, at least 2")
    if spread is not None and not 0 < spread < float("inf"):
        raise InputError(f"deviation = {format_value(spread)}: must be above 0")
    if spread is not None and given_judgments is not None:
        raise InputError("deviation, judgments: both tell how far differences deviate; take one of the two out")
    nothing = {"judgments": {NOBODY: {NOBODY: 0.0}}}
    given = {name: value for name, value in arguments.items() if name != "metrics" or value is not None}
    evaluation = make_evaluation(nothing | given)
    with name_arguments_in_errors(), open_engine_for(evaluation) as engine:
        source = None if earlier is None else make_source("kept", earlier)
        judged = None if given_judgments is None else make_source("judgments", given_judgments)
        found = draw_from_log(evaluation, engine, most, kept=source, deviation=spread, judgments=judged, power=chance)
        rows = list_documents(found.drawn, found.places, engine, evaluation)
    return DrawResult(**{**vars(found), "rows": rows})


@dataclass(frozen=True, repr=False)
class JudgeNextResult(ToJudgeNext):
    """The unjudged documents whose grades would settle a comparison soonest; `print` writes what the command says."""

    def to_csv(self) -> str:
        """What `ndcg-ab judge-next --csv` writes."""
        from ndcg_ab.report.terminal.labels import to_csv

        return to_csv(self.rows)

    def to_jsonl(self) -> str:
        """What `ndcg-ab judge-next --jsonl` writes."""
        from ndcg_ab.report.terminal.labels import to_json_lines

        return to_json_lines(self.rows)

    def sheet(self, path: str | os.PathLike[str], title: str = "What to judge next") -> None:
        """Writes the sheet that `ndcg-ab judge-next --sheet` writes."""
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
    seed: int = 1935,
    columns: Mapping[str, str] | None = None,
    format: FileFormat | None = None,  # noqa: A002
    judgments_columns: Mapping[str, str] | None = None,
    judgments_format: FileFormat | None = None,
    grades: Mapping[str, float] | None = None,
    queries_columns: Mapping[str, str] | None = None,
    documents_columns: Mapping[str, str] | None = None,
) -> JudgeNextResult:
    """The unjudged documents whose grades would settle the comparison soonest.  As `ndcg-ab judge-next`.

    judgments, systems, baseline, queries, documents, columns, format, grades and their like: as for `compare`.
    config: in their place the path of a configuration.  count: at most so many, >= 1.
    candidates: by default all whose verdict grades could turn.  metric: by default ndcg@10, or the configuration's
    first.  seed: of the grades that the expected narrowing is drawn from.
    Raises InputError (argument, row or key, value, rule), ParityError.
    """
    arguments: dict[str, Any] = dict(locals())
    given_config, most, chosen = (arguments.pop(name) for name in ("config", "count", "metric"))
    named = [candidates] if isinstance(candidates, str) else list(arguments["candidates"])
    del arguments["candidates"]
    if not isinstance(most, int) or most < 1:
        raise InputError(f"count = {format_value(most)}: must be a whole number, at least 1")
    name = chosen.name if isinstance(chosen, Metric) else chosen
    if given_config is None:
        evaluation = make_evaluation(arguments | ({"metrics": [name]} if name else {}))
    elif judgments is not None or systems is not None:
        raise InputError("config: replaces judgments and systems: leave one of the two out")
    else:
        evaluation = resolve_at(read_config(Path(os.fspath(given_config)).expanduser()), datetime.now(UTC))
    with name_arguments_in_errors():
        alone = with_one_metric(evaluation, name)
        with open_engine_for(alone) as engine:
            return JudgeNextResult(**vars(find_documents_to_judge(alone, engine, named, most)))


NO_SYSTEM: Mapping[str, Data] = {"none": {"q": {"d": 1.0}}}  # an evaluation has a system; this one is not read


@dataclass(frozen=True, repr=False)
class JudgmentsResult(ShownInNotebook):
    """How two sets of judgments agree; in a notebook it shows itself, `print` writes what the command writes.

    compared: the agreement of their grades; with systems their order, and the verdicts, under each set.
    """

    compared: agreement.ComparedJudgments

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
    arguments: dict[str, Any] = dict(locals())
    if systems is None:
        arguments |= {"systems": NO_SYSTEM, "columns": None, "format": None}
    elif len(systems) < 2:
        raise InputError(f"systems: holds {len(systems)}; at least 2 systems are needed, or none")
    by_first, by_second = (evaluation_by(name, arguments) for name in ("first", "second"))
    say = progress or (lambda step: None)
    return JudgmentsResult(agreement.compare_judgments(by_first, by_second, say, with_systems=systems is not None))


def evaluation_by(name: str, arguments: Mapping[str, Any]) -> Evaluation:
    """Return the evaluation by the first or the second set; InputError names the argument that gave the set."""
    place = read_argument(name, arguments[name])
    refuse_for_data(name, place, arguments)
    shared = {each: value for each, value in arguments.items() if not each.startswith(("first", "second", "progress"))}
    about = {"judgments": place, "grades": arguments[f"{name}_grades"]}
    about |= {f"judgments_{each}": arguments[f"{name}_{each}"] for each in ("columns", "format")}
    return make_evaluation(shared | about)
