"""`find_documents_to_judge`: what is to be judged next."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from ndcg_ab.api.arguments import make_evaluation, name_arguments_in_errors
from ndcg_ab.api.data import Data
from ndcg_ab.config.loading.file import read_config
from ndcg_ab.config.loading.templates import resolve_at
from ndcg_ab.config.model.inputs.sources import FileFormat
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.scoring.scoring import open_engine_for
from ndcg_ab.studies import judge_next as study
from ndcg_ab.studies.drawn_documents import ToJudge
from ndcg_core.measures.metric import Metric


@dataclass(frozen=True, repr=False)
class JudgeNextResult:
    """The unjudged documents whose grades would settle a comparison soonest; `print` writes what the command says.

    rows: the most telling first. unjudged: pairs of query and document that could be named. grades: those that the
    judgments hold, and 0.
    """

    rows: tuple[ToJudge, ...]
    unjudged: int
    grades: tuple[float, ...]
    _found: study.ToJudgeNext

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

        return "\n".join(effect_sentences(self._found))


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
        alone = study.with_one_metric(evaluation, name)
        with open_engine_for(alone) as engine:
            found = study.find_documents_to_judge(alone, engine, named, most)
    return JudgeNextResult(found.rows, found.unjudged, found.grades, found)
