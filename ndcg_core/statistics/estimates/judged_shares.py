"""How far two systems are judged, and what they differ by where nothing that they show is unjudged.

A query is fully judged where neither system shows an unjudged result within the metric's cutoff: its difference cannot
be moved by grades of results that count. Such queries are no random sample of all (docs/labels.md, "Where the
labels came from").
"""

from ndcg_core.statistics.estimates.mean_difference import interval_from_moments
from ndcg_core.statistics.paired import Column, mean_of, moments_of, sort_by_query
from ndcg_core.statistics.verdicts.record import Labels


def describe_labels(
    full: Column, baseline_judged: float | None, candidate_judged: float | None, alpha: float
) -> Labels:
    """Return how far one comparison is judged, with the difference on its fully judged queries.

    full: the column of the fully judged queries alone. baseline_judged, candidate_judged: mean shares of judged
    results. alpha: in (0, 1); the interval is Student's t.
    """
    (pairs,) = sort_by_query([full])
    of = moments_of(pairs)
    between = interval_from_moments(of, 1 - alpha) if of else None
    return Labels(
        baseline_judged=baseline_judged,
        candidate_judged=candidate_judged,
        full_queries=len(pairs.query_ids),
        full_difference=of.mean if of else mean_of(pairs),
        full_low=between.low if between else None,
        full_high=between.high if between else None,
    )
