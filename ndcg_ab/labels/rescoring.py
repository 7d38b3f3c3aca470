"""The same rankings scored by other judgments: proxy ones, those of one judge, those without a source.

    with rescored(evaluation, read, judgments, "judgments of ann") as found:
        columns = paired_columns(found.engine, found.evaluation)

Rankings must be whole: what other judgments look at may not be in a reduced one.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ndcg_ab.checks.checked_loading import load_and_check
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.judgments import JudgmentSource
from ndcg_ab.config.model.settings import Slices
from ndcg_ab.engines import Engine
from ndcg_ab.errors import InputError
from ndcg_ab.results.outcome import Finding
from ndcg_ab.scoring.parity import recompute_sample
from ndcg_ab.scoring.scoring import PulledInputs, open_engine_for, score_metrics
from ndcg_ab.sources import JUDGMENT, Pulled


@dataclass(frozen=True, eq=False)
class LoadedEngine:
    """Rankings beside other judgments.

    engine: with the tables, which are gone at the end.  evaluation: the same systems on the primary metrics, and
    nothing else of it.  findings: what the data check noticed.
    """

    engine: Engine
    evaluation: Evaluation
    findings: Sequence[Finding]

    def score(self) -> None:
        """Makes the scores, and computes a sample of them a second time."""
        score_metrics(self.engine, self.evaluation.metric_list, summed_up=False)
        recompute_sample(self.engine, self.evaluation.metric_list)


@contextlib.contextmanager
def rescore(
    evaluation: Evaluation,
    read: PulledInputs,
    judgments: pa.Table,
    about: str,
) -> Iterator[LoadedEngine]:
    """What was read, scored by other judgments in the columns of `JUDGMENT`; about: what an InputError says first."""
    assert read.judgments is not None
    other = Pulled(judgments, JUDGMENT, read.judgments.source)
    with load_for_rescoring(evaluation, read, other, about, evaluation.judgments) as found:
        found.score()
        yield found


@contextlib.contextmanager
def load_for_rescoring(
    evaluation: Evaluation, read: PulledInputs, judgments: Pulled, about: str, place: JudgmentSource | None
) -> Iterator[LoadedEngine]:
    """The same before anything is scored; place: what the configuration says of these judgments."""
    alone = primary_alone(evaluation, place)
    with name_judgments_in_errors(about), open_engine_for(alone) as engine:
        findings = load_and_check(engine, read._replace(judgments=judgments, proxy=None), alone)
        yield LoadedEngine(engine, alone, findings)


def primary_alone(evaluation: Evaluation, judgments: JudgmentSource | None) -> Evaluation:
    """The same systems and primary metrics by other judgments, and nothing else of it."""
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
    """An InputError says first what it is about."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"{about}: {error}") from error.__cause__
