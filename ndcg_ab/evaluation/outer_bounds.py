"""Bounds of measures that no higher grade lowers (rr, accuracy, err), from each system's own highest value.

Of one system they are exact. Of a difference they are outer: the least is the candidate as it is against the baseline
with every unjudged document at the highest grade, though a document that both show has one grade alone.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ndcg_ab.engines.base import Engine
from ndcg_ab.evaluation.parity import results_of
from ndcg_core.measures.bounds import Bounds, Places
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import score_query

Increases = Mapping[str, Mapping[str, float]]
"""System -> query_id -> how much the highest grade of all that is unjudged adds to the value, >= 0."""


def increases_of(engine: Engine, metric: Metric, unjudged: Mapping[str, Sequence[str]]) -> Increases:
    """unjudged: system -> the queries of which it shows unjudged documents; of others nothing is added."""
    queries = sorted({query_id for each in unjudged.values() for query_id in each})
    judgments: dict[str, dict[str, float]] = defaultdict(dict)
    of_these = {"query_id": queries}
    for query_id, doc_id, grade in engine.each("judgment", ("query_id", "doc_id", "grade"), where=of_these):
        judgments[query_id][doc_id] = grade
    highest = engine.rows("highest_grade")[0][0]
    found: dict[str, dict[str, float]] = {system: {} for system in unjudged}
    for (system, query_id), results in results_of(engine, list(unjudged), queries, [metric]) if queries else ():
        known = judgments[query_id]
        raised = {result.doc_id: highest for result in results} | known
        now, most = (score_query(metric, results, grades, highest) for grades in (known, raised))
        if now is not None and most is not None:
            found[system][query_id] = max(most - now, 0.0)
    return found


def outer_bounds(
    query_ids: Sequence[str],
    values: NDArray[np.float64],
    candidate: Mapping[str, float],
    baseline: Mapping[str, float],
    documents: int,
) -> Bounds:
    """Of every query; values: differences, or with an empty `baseline` the candidate's own."""
    more, less = (np.array([each.get(query_id, 0.0) for query_id in query_ids]) for each in (candidate, baseline))
    return Bounds(values - less, values + more, documents)


def documents_within(metric: Metric, sides: Sequence[Places], counted: NDArray[np.int64]) -> int:
    """The unjudged documents within the cutoff that one of the sides shows for a query that counts."""
    shown: set[tuple[int, int]] = set()
    for places in sides:
        seen = np.isin(places.query, counted) & (places.first_rank <= (metric.cutoff or np.iinfo(np.int64).max))
        shown |= set(zip(places.query[seen].tolist(), places.doc[seen].tolist(), strict=True))
    return len(shown)
