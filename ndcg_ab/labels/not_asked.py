"""What an evaluation of rankings usually says, and was not asked this time, since it would take long."""

from collections.abc import Iterator, Sequence

import pyarrow.compute as pc

from ndcg_ab.comparing.families import candidate_names
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.labels.bounds import metrics_to_bound
from ndcg_ab.results.change_records import Changes
from ndcg_ab.results.outcome import Finding
from ndcg_ab.scoring.other_tools import own_metrics
from ndcg_core.measures.unjudged.bounds import why_unbounded


def check_asked(engine: Engine, evaluation: Evaluation, changes: Sequence[Changes]) -> list[Finding]:
    """A note for every question that was left out without being told to; changes: what was found of them."""
    return [Finding("not_asked", "note", message, 1) for message in count_left_out_results(engine, evaluation, changes)]


def count_left_out_results(engine: Engine, evaluation: Evaluation, changes: Sequence[Changes]) -> Iterator[str]:
    if evaluation.scores or not candidate_names(evaluation):
        return
    if evaluation.statistics.bounds is None:
        bounded = {metric.name for metric in metrics_to_bound(engine, evaluation)}
        unsure = {name: count for name, count in unsettled_results(engine, evaluation).items() if name not in bounded}
        if unsure:
            yield (
                f"whether grades of unjudged documents could turn a verdict on {', '.join(unsure)} was not asked:"
                f" {max(unsure.values()):,} answers are not wholly judged, and it would take long; ask with"
                " statistics.bounds: true (--bounds)"
            )
    if own_metrics(evaluation.metric_list[:1]) and not changes:
        yield "what changed in the first places was not asked: they are too many"


def unsettled_results(engine: Engine, evaluation: Evaluation) -> dict[str, int]:
    """Metric that can have bounds -> answers to queries that are not wholly judged as far as it looks, if any."""
    coverage = engine.read("coverage", ("metric_id", "judged"))
    unsure = coverage.filter(pc.less(coverage["judged"], 1.0))["metric_id"]
    counts = {each["values"].as_py(): each["counts"].as_py() for each in pc.value_counts(unsure)}
    metrics = [metric for metric in own_metrics(evaluation.metric_list) if why_unbounded(metric) is None]
    return {metric.name: counts[metric.hash] for metric in metrics if metric.hash in counts}
