"""Score rankings again by other judgments, such as the judgments of one judge.

Rankings must be complete: a reduced ranking may lack results that other judgments need.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ndcg_ab.checks.data_checks import load_and_check
from ndcg_ab.comparing.families import compare_columns, metric_columns
from ndcg_ab.comparing.sampling import read_sampling
from ndcg_ab.config.model.evaluation import Evaluation
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

PRIMARY_ALONE: dict[str, Any] = {  # of an evaluation: the systems on the primary metrics alone
    "more_judgments": [],
    "cheap_judgments": None,
    "secondary_metrics": [],
    "guardrails": {},
    "slices": Slices(),
    "gate": None,
    "findings": {},
    "strict": False,
}


# An engine with the rankings and other judgments, whose tables are gone when its context ends; the systems on the
# primary metrics alone; and what the data check noticed
Rescored = tuple[Engine, Evaluation, Sequence[Finding]]


def compare_primary(engine: Engine, evaluation: Evaluation) -> list[Comparison]:
    """Return the comparisons of the candidates with the baseline on the primary metrics."""
    columns = metric_columns(engine, evaluation, read_sampling(engine, evaluation))
    return compare_columns(columns, evaluation, PRIMARY)


@contextlib.contextmanager
def rescore(
    evaluation: Evaluation,
    read: PulledInputs,
    judgments: Pulled | pa.Table,
    about: str,
    *,
    check: bool = True,
    score: bool = True,
) -> Iterator[Rescored]:
    """Score rankings by other judgments; yield an engine, the reduced configuration, and findings.

    The reduced configuration compares the systems on the primary metrics alone.
    read: all inputs, with complete rankings.
    judgments: pulled judgments, or a table in the columns of `JUDGMENT`.
    about: the beginning of the message of an InputError.
    check: True to check the data; otherwise there are no findings.
    score: True to compute scores.
    Raises InputError if the judgments cannot be used.
    """
    if isinstance(judgments, pa.Table):
        assert read.judgments is not None
        judgments = Pulled(judgments, JUDGMENT, read.judgments.source)
    single = evaluation.model_copy(update=PRIMARY_ALONE)
    findings: Sequence[Finding] = ()
    try:
        with open_engine_for(single) as engine:
            if check:
                findings = load_and_check(engine, read._replace(judgments=judgments, proxy=None), single)
            else:
                load_tables(engine, judgments, read.queries, read.rankings, single)
            if score:
                score_metrics(engine, single.metric_list, summed_up=False)
                recompute_sample(engine, single.metric_list)
            yield engine, single, findings
    except InputError as error:
        raise type(error)(f"{about}: {error}") from error.__cause__
