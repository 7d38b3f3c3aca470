"""`draw`: which queries of a log to judge."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from ndcg_ab.api.arguments import make_evaluation, name_arguments_in_errors
from ndcg_ab.api.data import Data, make_source
from ndcg_ab.config.model.inputs.sources import FileFormat
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.scoring.scoring import open_engine_for
from ndcg_ab.studies import draw as study
from ndcg_ab.studies.drawn_documents import ToJudge, list_documents
from ndcg_core.measures.metric import Metric


@dataclass(frozen=True, repr=False)
class DrawResult:
    """The drawn queries; `print` writes what the command says.

    table: the log with the columns `probability` and `disagreement`, which `compare` takes as `queries`. drawn: the ids
    of the drawn queries. rows: the documents to judge, of the first places of every system. plan: what the drawn
    queries can settle.
    """

    table: pa.Table
    drawn: tuple[str, ...]
    rows: tuple[ToJudge, ...]
    plan: study.DrawPlan
    _study: study.DrawStudy

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
        from ndcg_ab.report.terminal.planning import study_to_json

        return study_to_json(self._study)

    def __repr__(self) -> str:
        return f"<DrawResult: {len(self.drawn)} of {self._study.queries}>"

    def __str__(self) -> str:
        from ndcg_ab.report.terminal.planning import draw_sentences

        return "\n".join(draw_sentences(self._study, None, is_command=False))


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
    nothing = {"judgments": {study.NOBODY: {study.NOBODY: 0.0}}}
    given = {name: value for name, value in arguments.items() if name != "metrics" or value is not None}
    evaluation = make_evaluation(nothing | given)
    with name_arguments_in_errors(), open_engine_for(evaluation) as engine:
        source = None if earlier is None else make_source("kept", earlier)
        judged = None if given_judgments is None else make_source("judgments", given_judgments)
        found = study.draw_from_log(
            evaluation, engine, most, kept=source, deviation=spread, judgments=judged, power=chance
        )
        rows = list_documents(found, engine, evaluation)
    return DrawResult(found.table, tuple(found.drawn_ids), tuple(rows), found.plan, found)
