"""What an evaluation of rankings usually says, and was not asked this time, since it would take long."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.comparing.families import candidates
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.labels.bounds import bounded_metrics
from ndcg_ab.results.change_records import Changes
from ndcg_ab.results.outcome import Finding
from ndcg_ab.scoring.other_tools import of_ours
from ndcg_core.measures.unjudged.bounds import why_unbounded


def check_asked(engine: Engine, evaluation: Evaluation, changes: Sequence[Changes]) -> list[Finding]:
    """A note for every question that was left out without being told to; changes: what was found of them."""
    return [Finding("not_asked", "note", message, 1) for message in left_out(engine, evaluation, changes)]


def left_out(engine: Engine, evaluation: Evaluation, changes: Sequence[Changes]) -> Iterator[str]:
    if evaluation.scores or not candidates(evaluation):
        return
    unsure = unsettled_results(engine, evaluation)
    if evaluation.statistics.bounds is None and unsure and not bounded_metrics(engine, evaluation):
        yield (
            f"whether grades of unjudged documents could turn a verdict was not asked: answers are not wholly judged"
            f" ({unsure:,} over all metrics), and it would take long; ask with statistics.bounds: true (--bounds)"
        )
    if of_ours(evaluation.metric_list[:1]) and not changes:
        yield "what changed in the first places was not asked: they are too many"


def unsettled_results(engine: Engine, evaluation: Evaluation) -> int:
    """Answers to queries, counted for each metric that has bounds, of which not all that it looks at is judged."""
    hashes = [metric.hash for metric in of_ours(evaluation.metric_list) if why_unbounded(metric) is None]
    coverage = engine.read("coverage", ("metric_id", "judged"))
    coverage = coverage.filter(pc.less(coverage["judged"], 1.0))
    return int(pc.sum(pc.is_in(coverage["metric_id"], value_set=pa.array(hashes, pa.string()))).as_py() or 0)
