"""What an evaluation looks at in a ranking: whether it can be reduced while it is read, and to what."""

from collections.abc import Sequence

from ndcg_ab.evaluation.metric_tables import depth_of, looks_beyond
from ndcg_ab.evaluation.parity import sample_queries
from ndcg_ab.evaluation.unmatched_ids import FIRST_QUERIES
from ndcg_ab.sources import Pulled, Wanted
from ndcg_core.measures.metric import Metric

LOOKED_AT = FIRST_QUERIES + 100  # judged queries kept whole: some of the first may not be answered


def wanted_of(metrics: Sequence[Metric], judgments: Pulled) -> Wanted | None:
    """What the metrics and the checks look at, if that is not everything.

    The parity check and the look for ids that never meet take whole queries.
    """
    if any(looks_beyond(metric) or metric.depth is None for metric in metrics):
        return None
    judged = sorted(judgments.query_ids)
    # One place more than any metric counts shows whether the last one is tied.
    return Wanted(depth_of(metrics) + 1, frozenset([*judged[:LOOKED_AT], *sample_queries(judged)]))


def holds_enough(pulled: Pulled, judgments: Pulled) -> bool:
    """Whether the first judged queries that it answers, of which every row is looked at, are among those kept whole."""
    judged = sorted(judgments.query_ids)
    if len(judged) <= LOOKED_AT:
        return True
    return len(set(judged[:LOOKED_AT]).intersection(pulled.query_ids)) >= FIRST_QUERIES
