"""What would be decided if every metric did, where only by default the first one does."""

from collections.abc import Sequence
from dataclasses import replace

from ndcg_ab.comparing.families import candidate_names, compare_columns, paired_columns
from ndcg_ab.comparing.sampling import Sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.results.decisions import Decision, decide
from ndcg_ab.results.wording import MAIN, PRIMARY, SECONDARY
from ndcg_core.statistics.verdicts.comparison import Comparison


def decide_by_all(
    engine: Engine, evaluation: Evaluation, sampling: Sampling, compared: Sequence[Comparison]
) -> tuple[Decision, ...]:
    """The decisions that are others if the metrics that only describe by default decided as well.

    compared: what the decisions go by. All metrics are one primary family then.
    """
    names = {*evaluation.metrics, *evaluation.described_by_default}
    if not evaluation.described_by_default or not compared:
        return ()
    columns = [column for column in paired_columns(engine, evaluation, sampling) if column.metric in names]
    unjudged = {(row.candidate, row.metric): row.unjudged for row in compared if row.family in MAIN}
    together = [
        replace(row, unjudged=unjudged.get((row.candidate, row.metric)))
        for row in compare_columns(columns, evaluation, PRIMARY)
    ]
    together += [row for row in compared if row.family not in (PRIMARY, SECONDARY)]
    found = [(decide(name, compared), decide(name, together)) for name in candidate_names(evaluation)]
    return tuple(other for now, other in found if other.decision is not now.decision)
