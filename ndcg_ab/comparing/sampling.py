"""How the queries were sampled: what each weighs, and which of them belong together."""

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
    """weights: query_id -> weight > 0; clusters: query_id -> name of its cluster; drawn: the log that the queries were
    drawn from, by the probabilities in the weights. None where there are none."""

    weights: Mapping[str, float] | None = None
    clusters: Mapping[str, str] | None = None
    drawn: DrawnQueries | None = None

    def weights_in_order(self, query_ids: Sequence[str]) -> NDArray[np.float64] | None:
        return None if self.weights is None else np.array([self.weights[query_id] for query_id in query_ids])

    def scales_and_weights(
        self, query_ids: Sequence[str], part: Part = WHOLE
    ) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
        """What the differences of these queries, of one part of them all, are multiplied by, and then weighted by."""
        weights = self.weights_in_order(query_ids)
        if self.drawn is None or weights is None:
            return None, weights
        return self.drawn.scales_and_weights(query_ids, weights, part)

    def largest_scale(self, part: Part = WHOLE) -> float:
        """What a difference is multiplied by at most."""
        return 1.0 if self.drawn is None else self.drawn.largest_scale(part)

    def of_log(self) -> "Sampling":
        """For what is known of every query of the log, drawn or not."""
        return self if self.drawn is None else replace(self, weights=self.drawn.frequencies, drawn=None)

    def mean_of(self, query_ids: Sequence[str], values: NDArray[np.float64]) -> float:
        """The mean difference over all queries, from those of these queries; 0 of none."""
        weights, total = self.weights_and_total(query_ids, query_ids)
        return float(weights @ values) / (total or 1.0)

    def weights_and_total(self, query_ids: Sequence[str], counted: Sequence[str]) -> tuple[NDArray[np.float64], float]:
        """(n,) weights of some queries, 0 of those without one, and by what the mean over the counted ones divides.

        The mean difference is the sum of weight * difference over the counted queries, divided by it.
        """
        if self.weights is None:
            return np.ones(len(query_ids)), float(len(counted))
        known = self.weights
        of_counted = np.array([known[query_id] for query_id in counted], dtype=np.float64)
        if self.drawn is not None:
            of_counted = of_counted * self.drawn.relative_to_mean(counted)
        return np.array([known.get(query_id, 0.0) for query_id in query_ids]), float(of_counted.sum())

    def clusters_in_order(self, query_ids: Sequence[str]) -> tuple[str, ...] | None:
        return None if self.clusters is None else tuple(self.clusters[query_id] for query_id in query_ids)


PLAIN = Sampling()
"""Every query counts alike and stands for itself."""


def clusters_by_prefix(query_ids: Iterable[str], prefix: str) -> dict[str, str]:
    """query_id -> what it has before the last of a text; an id without it is its own cluster.

    InputError where no id has it: every query would be its own cluster, and none asked about.
    """
    clusters = {query_id: query_id.rpartition(prefix)[0] or query_id for query_id in query_ids}
    if clusters and not any(prefix in query_id for query_id in clusters):
        raise InputError(
            f"cluster_prefix = {prefix!r}: no query id contains it (such as {min(clusters)!r}): give the text before"
            " the number of each, as _ in 106_1, or leave it out"
        )
    return clusters


def sampling_of_queries(log: Queries | None, clusters: Mapping[str, str] | None) -> Sampling:
    """Of the queries of a file, if any, each with a weight, or drawn with a probability."""
    if log is None:
        return Sampling(None, clusters)
    rows = log.text_table().to_pylist()
    if any(row["probability"] for row in rows):
        drawn = describe_log(rows, {WHOLE: [row["query_id"] for row in rows]})
        return Sampling(drawn.weights, clusters, drawn)
    return Sampling({row["query_id"]: row["weight"] for row in rows}, clusters)


def read_sampling(engine: Engine, evaluation: Evaluation) -> Sampling:
    """What the queries say, and the configuration asks for; InputError where a scored query lacks it."""
    clusters = clusters_from_ids(engine, evaluation) or query_values(engine, evaluation, "cluster", "unclustered_query")
    if found := read_drawn_queries(engine, evaluation):
        return Sampling(found.weights, clusters, found)
    return Sampling(query_values(engine, evaluation, "weight", "unweighed_query"), clusters)


def clusters_from_ids(engine: Engine, evaluation: Evaluation) -> dict[str, str] | None:
    """query_id -> cluster by its id, where the configuration reports it."""
    prefix = evaluation.statistics.cluster_prefix
    if prefix is None:
        return None
    return clusters_by_prefix(
        (query_id for (query_id,) in engine.rows("query", ("query_id",), order="query_id")), prefix
    )


def query_values(engine: Engine, evaluation: Evaluation, what: str, without: str) -> dict[str, Any] | None:
    """query_id -> its weight or cluster, where these are used; InputError where a scored query has none.

    what: the column of the queries. without: the table of those that lack it.
    """
    key = f"{what}ed"
    wanted = getattr(evaluation.statistics, key)
    known = engine.rows("query", ("query_id", what, "is_judged"), order="query_id")
    told = {query_id: value for query_id, value, _ in known if value is not None}
    if wanted is False or (wanted is None and not told):
        return None
    if lacking := engine.rows(without, order="query_id"):
        matched = any(judged and value is not None for _, value, judged in known)
        problem = lacking_text(evaluation, what, lacking, None if matched or not told else min(told))
        raise InputError(f"{problem}, or set statistics.{key} to false (compare: --un{key}; in Python: {key}=False)")
    return told


def lacking_text(evaluation: Evaluation, what: str, lacking: Sequence[tuple[str, ...]], own: str | None) -> str:
    """own: the first query id of the file of queries, where none of the lacking ones is in it."""
    count, state = len(lacking), "scored" if evaluation.scores else "judged"
    ids = "" if own is None else f"; the first of the file's own is {own!r}"
    return (
        f"queries: {queries_text(count, state)} {'has' if count == 1 else 'have'} no {what}"
        f" (such as {lacking[0][0]!r}{ids}): give every {state} query one"
    )
