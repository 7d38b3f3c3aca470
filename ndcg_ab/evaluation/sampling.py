"""How the queries were sampled: what each weighs, and which of them belong together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ndcg_ab.config.model import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError
from ndcg_ab.evaluation.phrases import queries_text


@dataclass(frozen=True)
class Sampling:
    """weights: query_id -> weight > 0. clusters: query_id -> name of its cluster. None where there are none."""

    weights: Mapping[str, float] | None = None
    clusters: Mapping[str, str] | None = None

    def weights_in_order(self, query_ids: Sequence[str]) -> NDArray[np.float64] | None:
        return None if self.weights is None else np.array([self.weights[query_id] for query_id in query_ids])

    def clusters_in_order(self, query_ids: Sequence[str]) -> tuple[str, ...] | None:
        return None if self.clusters is None else tuple(self.clusters[query_id] for query_id in query_ids)


PLAIN = Sampling()
"""Every query counts alike and stands for itself."""


def by_prefix(query_ids: Iterable[str], prefix: str) -> dict[str, str]:
    """query_id -> what it has before the last of a text; an id without it is its own cluster.

    InputError where no id has it: every query would be its own cluster, and none asked about.
    """
    clusters = {query_id: query_id.rpartition(prefix)[0] or query_id for query_id in query_ids}
    if clusters and not any(prefix in query_id for query_id in clusters):
        raise InputError(
            f"cluster_prefix = {prefix!r}: stands in no query id (such as {min(clusters)!r}): give the text before the"
            " number of each, as _ in 106_1, or leave it out"
        )
    return clusters


def sampling_of(engine: Engine, evaluation: Evaluation) -> Sampling:
    """What the queries say, and the configuration asks for; InputError where a scored query lacks it."""
    return Sampling(weights_of(engine, evaluation), clusters_of(engine, evaluation))


def weights_of(engine: Engine, evaluation: Evaluation) -> dict[str, float] | None:
    """query_id -> weight, where queries are weighed; InputError where a scored query has none."""
    wanted = evaluation.statistics.weighted
    known = engine.rows("query", ("query_id", "weight", "is_judged"), order="query_id")
    weights = {query_id: weight for query_id, weight, _ in known if weight is not None}
    if wanted is False or (wanted is None and not weights):
        return None
    lacking = engine.rows("unweighed_query", order="query_id")
    if lacking:
        matched = any(judged and weight is not None for _, weight, judged in known)
        told = queries_without(evaluation, "weight", lacking, None if matched or not weights else min(weights))
        raise InputError(
            f"{told}, or set statistics.weighted to false (compare: --unweighted; in Python: weighted=False)"
        )
    return weights


def clusters_of(engine: Engine, evaluation: Evaluation) -> dict[str, str] | None:
    """query_id -> cluster, where queries are clustered; InputError where a scored query has none."""
    wanted, prefix = evaluation.statistics.clustered, evaluation.statistics.cluster_prefix
    known = engine.rows("query", ("query_id", "cluster", "is_judged"), order="query_id")
    if prefix is not None:
        return by_prefix((query_id for query_id, *_ in known), prefix)
    clusters = {query_id: cluster for query_id, cluster, _ in known if cluster is not None}
    if wanted is False or (wanted is None and not clusters):
        return None
    lacking = engine.rows("unclustered_query", order="query_id")
    if lacking:
        matched = any(judged and cluster is not None for _, cluster, judged in known)
        told = queries_without(evaluation, "cluster", lacking, None if matched or not clusters else min(clusters))
        raise InputError(
            f"{told}, or set statistics.clustered to false (compare: --unclustered; in Python: clustered=False)"
        )
    return clusters


def queries_without(evaluation: Evaluation, what: str, lacking: Sequence[tuple[str, ...]], own: str | None) -> str:
    """own: the first query id of the file of queries, where none of the lacking ones is in it."""
    count, state = len(lacking), "scored" if evaluation.scores else "judged"
    ids = "" if own is None else f"; the first of the file's own is {own!r}"
    return (
        f"queries: {queries_text(count, state)} {'has' if count == 1 else 'have'} no {what}"
        f" (such as {lacking[0][0]!r}{ids}): give every {state} query one"
    )
