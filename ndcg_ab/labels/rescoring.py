"""The same rankings scored by other judgments, such as those of one judge.

Rankings must be whole: a reduced one may lack what other judgments look at.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ndcg_ab.checks.data_checks import load_and_check
from ndcg_ab.comparing.families import compare_columns, paired_columns
from ndcg_ab.comparing.sampling import read_sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.judgments import JudgmentSource
from ndcg_ab.config.model.settings import Slices
from ndcg_ab.engines import Engine
from ndcg_ab.errors import InputError
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import PRIMARY
from ndcg_ab.scoring.loading import load_tables
from ndcg_ab.scoring.parity import recompute_sample
from ndcg_ab.scoring.scoring import PulledInputs, open_engine_for, score_metrics
from ndcg_ab.sources import JUDGMENT, Pulled
from ndcg_core.statistics.verdicts.comparison import Comparison


@dataclass(frozen=True, eq=False)
class LoadedEngine:
    """An engine with the rankings and other judgments, whose tables are gone when its context ends.

    evaluation: the systems on the primary metrics alone. findings: what the data check noticed.
    """

    engine: Engine
    evaluation: Evaluation
    findings: Sequence[Finding]

    def score(self) -> None:
        """Compute the scores, and a sample of them a second time."""
        score_metrics(self.engine, self.evaluation.metric_list, summed_up=False)
        recompute_sample(self.engine, self.evaluation.metric_list)

    def compare(self) -> list[Comparison]:
        """Return the primary comparisons of the scores."""
        columns = paired_columns(self.engine, self.evaluation, read_sampling(self.engine, self.evaluation))
        return compare_columns(columns, self.evaluation, PRIMARY)


@contextlib.contextmanager
def rescore(
    evaluation: Evaluation, read: PulledInputs, judgments: pa.Table, about: str, *, check: bool = True
) -> Iterator[LoadedEngine]:
    """Yield an engine with scores by other judgments, which are a table in the columns of `JUDGMENT`.

    about, check: as for `load_for_rescoring`.
    """
    assert read.judgments is not None
    other = Pulled(judgments, JUDGMENT, read.judgments.source)
    with load_for_rescoring(evaluation, read, other, about, evaluation.judgments, check=check) as found:
        found.score()
        yield found


@contextlib.contextmanager
def load_for_rescoring(
    evaluation: Evaluation,
    read: PulledInputs,
    judgments: Pulled,
    about: str,
    place: JudgmentSource | None,
    *,
    check: bool = True,
) -> Iterator[LoadedEngine]:
    """Yield an engine that is loaded with other judgments, before anything is scored.

    about: what an InputError says first. place: what the configuration says of these judgments. check: whether the data
    are checked.
    """
    alone = primary_alone(evaluation, place)
    with name_judgments_in_errors(about), open_engine_for(alone) as engine:
        if check:
            findings = load_and_check(engine, read._replace(judgments=judgments, proxy=None), alone)
        else:
            findings = []
            load_tables(engine, judgments, read.queries, read.rankings, alone)
        yield LoadedEngine(engine, alone, findings)


def primary_alone(evaluation: Evaluation, judgments: JudgmentSource | None) -> Evaluation:
    """Return the evaluation of the systems on the primary metrics alone, with another place of judgments."""
    changes: dict[str, Any] = {
        "judgments": judgments,
        "more_judgments": [],
        "cheap_judgments": None,
        "secondary_metrics": [],
        "guardrails": {},
        "slices": Slices(),
        "gate": None,
        "findings": {},
        "strict": False,
    }
    return evaluation.model_copy(update=changes)


@contextlib.contextmanager
def name_judgments_in_errors(about: str) -> Iterator[None]:
    """Begin the text of an InputError with what it is about."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"{about}: {error}") from error.__cause__
