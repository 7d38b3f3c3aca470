"""What an evaluation of rankings usually says, and was not asked this time, since it would take long."""

from collections import Counter
from collections.abc import Iterator, Sequence

from ndcg_ab.comparing.families import candidate_names
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.labels.bounds import metrics_to_bound, unsettled_answers
from ndcg_ab.results.change_records import Changes
from ndcg_ab.results.outcome import Finding
from ndcg_ab.scoring.other_tools import own_metrics


def check_asked(engine: Engine, evaluation: Evaluation, changes: Sequence[Changes]) -> list[Finding]:
    """A note for every question that was left out without being told to; changes: what was found of them."""
    return [Finding("not_asked", "note", message, 1) for message in count_left_out_results(engine, evaluation, changes)]


def count_left_out_results(engine: Engine, evaluation: Evaluation, changes: Sequence[Changes]) -> Iterator[str]:
    if evaluation.scores or not candidate_names(evaluation):
        return
    if evaluation.statistics.bounds is not False:
        bounded = {metric.name for metric in metrics_to_bound(engine, evaluation)}
        unsure = Counter(name for name, _ in unsettled_answers(engine, evaluation) if name not in bounded)
        left = [metric for metric in own_metrics(evaluation.metric_list) if metric.name in unsure]
        undeclared = [metric.name for metric in left if not metric.traits.has_bounds]
        if costly := [metric.name for metric in left if metric.traits.has_bounds]:
            asking = "" if evaluation.statistics.bounds else ", or ask with statistics.bounds: true (--bounds)"
            yield (
                f"whether grades of unjudged documents could turn a verdict on {', '.join(costly)} was not asked:"
                f" {max(unsure[name] for name in costly):,} answers are not wholly judged, and it would take long;"
                f" judge more of them{asking}"
            )
        if undeclared:
            yield (
                f"whether grades of unjudged documents could turn a verdict on {', '.join(undeclared)} is not known:"
                " the measure does not declare has_bounds (CONTRIBUTING.md); judge all results within its cutoff"
            )
    if own_metrics(evaluation.metric_list[:1]) and not changes:
        yield "what changed in the first places was not asked: they are too many"
