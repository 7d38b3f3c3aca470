"""Describe how far two systems are judged, and their difference on queries without unjudged results.

A query is fully judged if neither system returns an unjudged result within the metric's cutoff: grades of unjudged
results cannot change its difference. Such queries are no random sample of all (docs/labels.md, "Where the labels came
from").
"""

from ndcg_core.statistics.estimates.mean_difference import interval_from_moments
from ndcg_core.statistics.paired import Column, mean_of, moments_of, sort_by_query
from ndcg_core.statistics.verdicts.record import Labels


def describe_judged_shares(
    full: Column, baseline_judged: float | None, candidate_judged: float | None, alpha: float
) -> Labels:
    """Return the judged shares of two systems, and the mean difference on queries without unjudged results.

    full: the differences of the queries that are fully judged for both systems.
    baseline_judged, candidate_judged: mean share of judged results of each system, or None if unknown.
    alpha: in (0, 1). The mean difference has Student's t interval of level 1 - alpha.
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
