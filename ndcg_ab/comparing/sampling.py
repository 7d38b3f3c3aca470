"""Describe how queries were sampled: their weights, clusters, and the log that they were drawn from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcg_ab.comparing.drawn_queries import WHOLE, DrawnQueries, Part, describe_log, read_drawn_queries
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError
from ndcg_ab.results.wording import queries_text
from ndcg_ab.sources.queries import Queries


@dataclass(frozen=True)
class Sampling:
    """The weights and clusters of the queries, and the log that they were drawn from.

    Attributes
    ----------
    weights : mapping of str to float, or None
        Query_id -> weight, > 0; None for equal weights. Weights of drawn queries contain 1 / probability.
    clusters : mapping of str to str, or None
        Query_id -> name of the cluster; None without clusters.
    log : DrawnQueries or None
        Log from which the queries were drawn; None if they were not drawn.
    """

    weights: Mapping[str, float] | None = None
    clusters: Mapping[str, str] | None = None
    log: DrawnQueries | None = None

    def weights_in_order(self, query_ids: Sequence[str]) -> NDArray[np.float64] | None:
        return None if self.weights is None else np.array([self.weights[query_id] for query_id in query_ids])

    def scales_and_weights(
        self, query_ids: Sequence[str], part: Part = WHOLE
    ) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
        """Return the factors that scale the differences of queries, and the weights of the scaled differences.

        The factors are None if queries were not drawn; the weights are None if they are equal. part: the part of the
        log over which the mean is taken.
        """
        weights = self.weights_in_order(query_ids)
        if self.log is None or weights is None:
            return None, weights
        return self.log.scales_and_weights(query_ids, weights, part)

    def largest_scale(self, part: Part = WHOLE) -> float:
        """Return the largest factor by which the difference of a drawn query is scaled; 1 if queries were not drawn."""
        return 1.0 if self.log is None else self.log.largest_scale(part)

    def for_whole_log(self) -> "Sampling":
        """Return the sampling for values that are known for every query of the log, drawn or not.

        The weights are then the frequencies in the log. Without a log, the sampling is unchanged.
        """
        return self if self.log is None else replace(self, weights=self.log.frequencies, log=None)

    def weights_and_total(self, query_ids: Sequence[str], scored: Sequence[str]) -> tuple[NDArray[np.float64], float]:
        """Return the weights of queries, and the divisor of the mean over the scored queries.

        The weights are an (n,) array in the order of `query_ids`, 0 for an unknown weight. The mean difference is the
        sum of weight * difference over the scored queries, divided by the divisor.
        """
        if self.weights is None:
            return np.ones(len(query_ids)), float(len(scored))
        weights = self.weights
        of_counted = np.array([weights[query_id] for query_id in scored], dtype=np.float64)
        if self.log is not None:
            relative = np.array([self.log.disagreements[query_id] for query_id in scored], dtype=np.float64)
            of_counted = of_counted * (relative / self.log.means[WHOLE])
        return np.array([weights.get(query_id, 0.0) for query_id in query_ids]), float(of_counted.sum())

    def clusters_in_order(self, query_ids: Sequence[str]) -> tuple[str, ...] | None:
        return None if self.clusters is None else tuple(self.clusters[query_id] for query_id in query_ids)


PLAIN = Sampling()
"""Equal weights, and no clusters."""


def clusters_by_prefix(query_ids: Iterable[str], prefix: str) -> dict[str, str]:
    """Return the cluster of each query id: the part of the id before the last occurrence of `prefix`.

    An id without `prefix` is its own cluster. Raises InputError if no id contains `prefix`.
    """
    clusters = {query_id: query_id.rpartition(prefix)[0] or query_id for query_id in query_ids}
    if clusters and not any(prefix in query_id for query_id in clusters):
        raise InputError(
            f"cluster_prefix = {prefix!r}: no query id contains it (such as {min(clusters)!r}): give the text before"
            " the number of each, as _ in 106_1, or leave it out"
        )
    return clusters


def sampling_of_queries(log: Queries | None, clusters: Mapping[str, str] | None) -> Sampling:
    """Make the sampling from a query file with weights or probabilities, and from clusters.

    log: the query file; None for equal weights. clusters: name of the cluster by query_id, or None.
    """
    if log is None:
        return Sampling(None, clusters)
    rows = log.text_table().to_pylist()
    if any(row["probability"] for row in rows):
        query_log = describe_log(rows, {WHOLE: [row["query_id"] for row in rows]})
        return Sampling(query_log.weights, clusters, query_log)
    return Sampling({row["query_id"]: row["weight"] for row in rows}, clusters)


def read_sampling(engine: Engine, evaluation: Evaluation) -> Sampling:
    """Return the sampling of the evaluation: weights, clusters and the log of drawn queries, as configured.

    Raises InputError if a scored query has no weight or no cluster.
    """
    prefix = evaluation.statistics.cluster_prefix
    rows = engine.rows("query", ("query_id",), order="query_id") if prefix is not None else ()
    by_prefix = clusters_by_prefix((query_id for (query_id,) in rows), prefix or "")
    clusters = by_prefix or query_values(engine, evaluation, "cluster", "unclustered_query")
    if log := read_drawn_queries(engine, evaluation):
        return Sampling(log.weights, clusters, log)
    return Sampling(query_values(engine, evaluation, "weight", "unweighed_query"), clusters)


def query_values(engine: Engine, evaluation: Evaluation, column: str, without: str) -> dict[str, Any] | None:
    """Return the weight or cluster of each query, by query_id; None if weights or clusters are not used.

    column: "weight" or "cluster". without: name of the SQL table of scored queries that lack the value. Raises
    InputError if that table has a row.
    """
    key = f"{column}ed"
    is_used = getattr(evaluation.statistics, key)
    rows = engine.rows("query", ("query_id", column, "is_judged"), order="query_id")
    values = {query_id: value for query_id, value, _ in rows if value is not None}
    if is_used is False or (is_used is None and not values):
        return None
    if lacking := engine.rows(without, order="query_id"):
        matched = any(judged and value is not None for _, value, judged in rows)
        problem = lacking_text(evaluation, column, lacking, None if matched or not values else min(values))
        raise InputError(f"{problem}, or set statistics.{key} to false (compare: --un{key}; in Python: {key}=False)")
    return values


def lacking_text(evaluation: Evaluation, column: str, lacking: Sequence[tuple[str, ...]], first_id: str | None) -> str:
    """Return the message about scored queries without a weight or cluster.

    lacking: rows of these queries, each with the query_id first. first_id: an id to compare with, from a query file
    that has a value for none of the scored queries; otherwise None.
    """
    count, state = len(lacking), "scored" if evaluation.scores else "judged"
    ids = "" if first_id is None else f"; the first of the file's own is {first_id!r}"
    return (
        f"queries: {queries_text(count, state)} {'has' if count == 1 else 'have'} no {column}"
        f" (such as {lacking[0][0]!r}{ids}): give every {state} query one"
    )
