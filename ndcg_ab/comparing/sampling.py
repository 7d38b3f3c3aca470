"""Describe how queries were sampled: their weights, clusters, and the log that they were drawn from (docs/draw.md).

A query is drawn with a probability that rises with the disagreement of its rankings (`measure_disagreements`), before
anything is judged. A comparison divides its difference by this disagreement (`Sampling.scales_and_weights`).
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcg_ab.checks.findings import id_examples
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import INTENDED, OTHERS, queries_text
from ndcg_ab.scoring.metric_tables import rank_rule, reads_below_cutoff
from ndcg_ab.scoring.parity import refuse_disagreement, sample_queries
from ndcg_ab.sources.queries import Queries
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.overlap import disagreement
from ndcg_core.sampling.draws import mean_disagreement, scale_and_weights
from ndcg_core.statistics.verdicts.comparison import Comparison

FloatArray = NDArray[np.float64]
Part = tuple[str, str] | tuple[None, None]
WHOLE: Part = (None, None)


@dataclass(frozen=True)
class DrawnQueries:
    """The log that the judged queries were drawn from.

    Attributes
    ----------
    disagreements : mapping of str to float
        Query_id -> relative disagreement of the rankings, > 0, of every query with different results.
    means : mapping
        (attribute, slice), or `WHOLE` for the whole log -> mean relative disagreement of the queries in that part of
        the log; queries with equal results count as 0.
    weights : mapping of str to float
        Query_id -> frequency / probability of the draw, of every drawn query.
    queries : int
        Number of queries of the log.
    frequencies : mapping of str to float, or None
        Query_id -> frequency, of every query of the log; None for equal frequencies.
    """

    disagreements: Mapping[str, float]
    means: Mapping[Part, float]
    weights: Mapping[str, float]
    queries: int
    frequencies: Mapping[str, float] | None = None

    def mean_over_log(self, values: Mapping[str, float]) -> float:
        """Return the mean of values over the log, weighted by frequency; unchanged queries count as 0.

        values: value of every changed query, by query_id.
        """
        times = self.frequencies
        total = float(self.queries) if times is None else math.fsum(times.values())
        return math.fsum((1.0 if times is None else times[name]) * values[name] for name in self.disagreements) / total

    def share_of_log(self, query_ids: Collection[str]) -> float:
        """Return the share, in [0, 1], that some queries have of the log, by frequency."""
        if self.frequencies is None:
            return len(query_ids) / self.queries
        return math.fsum(self.frequencies[each] for each in query_ids) / math.fsum(self.frequencies.values())

    def mean_disagreement(self, part: Part) -> float:
        """Return the mean relative disagreement in a part of the log, or in the whole log if the part is unknown."""
        return self.means.get(part, self.means[WHOLE])


def read_drawn_queries(engine: Engine, evaluation: Evaluation) -> DrawnQueries | None:
    """Return the record of the query log that the judged queries were drawn from.

    The result is None if no query has a probability, no queries are configured, or weights are switched off.
    """
    if evaluation.statistics.weighted is False or evaluation.queries is None:
        return None
    rows = engine.read("query", where={"is_named": True}, order="query_id")
    if not any(rows["probability"].to_pylist()):
        return None
    query_rows = rows.to_pylist()
    parts: dict[Part, list[str]] = {WHOLE: [row["query_id"] for row in query_rows]}
    every = frozenset(parts[WHOLE])
    for query_id, attribute, value in engine.rows("query_attribute", ("query_id", "attribute", "value")):
        if query_id in every:
            parts.setdefault((attribute, value), []).append(query_id)
    if evaluation.intended is not None:
        intended = {query_id for (query_id,) in engine.rows("pulled_intended")}
        for name in (INTENDED, OTHERS):
            parts[INTENDED, name] = [each for each in parts[WHOLE] if (each in intended) == (name == INTENDED)]
    return describe_log(query_rows, parts)


def describe_log(query_rows: Sequence[Mapping[str, Any]], parts: Mapping[Part, Sequence[str]]) -> DrawnQueries:
    """Return the record of a log made from rows (query_id, weight, probability, disagreement).

    The last three values of a row may be None. parts: query ids by part of the log, including `WHOLE`.
    """
    frequencies = {row["query_id"]: row["weight"] for row in query_rows if row["weight"] is not None}
    disagreements = {
        row["query_id"]: 1.0 if row["disagreement"] is None else row["disagreement"]
        for row in query_rows
        if row["probability"] != 0
    }
    weights = {
        row["query_id"]: frequencies.get(row["query_id"], 1.0) / row["probability"]
        for row in query_rows
        if row["probability"]
    }
    means = {
        part: mean_disagreement(
            np.array([disagreements.get(query_id, 0.0) for query_id in ids]),
            np.array([frequencies[query_id] for query_id in ids]) if frequencies else None,
        )
        for part, ids in parts.items()
    }
    return DrawnQueries(disagreements, means, weights, len(query_rows), frequencies or None)


def read_changed_since_draw(engine: Engine, evaluation: Evaluation) -> list[tuple[str, str, int]]:
    """Return the queries of the log for which all systems agreed when queries were drawn, and do not agree now.

    Systems agree if they return equal results. The differences of such queries still count as 0. Each row is
    (candidate, query_id, first rank at which the results of candidate and baseline differ now). Queries with a failed
    request are left out. The list is empty if another tool computed the scores.
    """
    if evaluation.scores:
        return []
    return engine.rows("no_longer_zero", ("candidate", "query_id", "first_rank"), order="query_id, candidate")


def shares_not_drawn(engine: Engine, evaluation: Evaluation, log: DrawnQueries) -> dict[tuple[str, str], float]:
    """Return, by (metric, candidate), the share of the log whose differences count as 0 and may no longer be 0.

    It is the share of the queries on which all systems returned equal results when queries were drawn, and on which the
    results of candidate and baseline now differ at a rank that the metric reads. Pairs without such a query are absent.
    """
    rows = read_changed_since_draw(engine, evaluation)
    unknown: dict[tuple[str, str], set[str]] = {}
    for metric in evaluation.metric_list if rows else ():
        depth = math.inf if metric.cutoff is None or reads_below_cutoff(metric) else metric.cutoff
        for candidate, query_id, first_rank in rows:
            if first_rank <= depth:
                unknown.setdefault((metric.name, candidate), set()).add(query_id)
    return {key: log.share_of_log(queries) for key, queries in unknown.items()}


def limit_queries_needed(rows: Sequence[Comparison], log: DrawnQueries | None) -> list[Comparison]:
    """Return the comparisons, with `queries_needed` set to None if the log has too few queries.

    Only the queries of the log on which the systems return different results can be drawn. Comparisons with clusters
    are not changed. log: None if queries were not drawn.
    """
    most = math.inf if log is None else len(log.disagreements)
    return [
        replace(row, queries_needed=None) if row.clusters is None and (row.queries_needed or 0) > most else row
        for row in rows
    ]


def add_drawn_findings(
    findings: Sequence[Finding], engine: Engine, evaluation: Evaluation, log: DrawnQueries | None
) -> list[Finding]:
    """Return the findings, with findings about drawn queries added.

    If queries were drawn, findings with the code `unjudged_query` are left out. log: None if queries were not drawn.
    """
    others = [each for each in findings if log is None or each.code != "unjudged_query"]
    return [*others, *check_drawn(engine, evaluation, log)]


def check_drawn(engine: Engine, evaluation: Evaluation, log: DrawnQueries | None) -> Iterator[Finding]:
    """Yield findings about drawn queries; empty if queries were not drawn.

    The findings describe the log, drawn queries that are not judged, judged queries that were not drawn, and queries
    whose results have changed since the draw.
    """
    if log is None:
        return
    judged = {query_id for (query_id,) in engine.rows("query", ("query_id",), where={"is_judged": True})}
    message = (
        f"{len(log.weights):,} of the {log.queries:,} queries of the log were drawn, from"
        f" {len(log.disagreements):,} whose results differ: differences are over all {log.queries:,}, means and"
        f" relative changes over these {len(log.disagreements):,}"
    )
    yield Finding("drawn_queries", "note", message, len(log.weights))
    if unjudged := sorted(set(log.weights) - judged):
        are = "is" if len(unjudged) == 1 else "are"
        message = (
            f"{len(unjudged):,} of the {queries_text(len(log.weights), 'drawn')} {are} not judged (such as"
            f" {format_value(unjudged[0])}): the others stand for them"
        )
        yield Finding("drawn_unjudged", "warning", message, len(unjudged), examples=id_examples(unjudged))
    if others := sorted(judged - set(log.weights)):
        message = f"{queries_text(len(others), 'judged')} (such as {format_value(others[0])}) not drawn: left out"
        yield Finding("not_drawn", "note", message, len(others), examples=id_examples(others))
    if differing := sorted({query_id for _, query_id, _ in read_changed_since_draw(engine, evaluation)}):
        verb = "it counts" if len(differing) == 1 else "they count"
        message = (
            f"{queries_text(len(differing))} of the log (such as {format_value(differing[0])},"
            f" {100 * log.share_of_log(differing):.2g} % of it in all) should have the same results in every system,"
            f" and {'has' if len(differing) == 1 else 'have'} not: {verb} as 0"
        )
        yield Finding("no_longer_zero", "warning", message, len(differing), examples=id_examples(differing))


def measure_disagreements(
    engine: Engine, query_ids: Sequence[str], candidates: Sequence[str], baseline: str, metric: Metric
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return each query's disagreement of rankings, and whether any candidate's results differ from the baseline's.

    Both arrays have the order of `query_ids`. The disagreement of a query, >= 0, is the root mean square, over the
    candidates, of the disagreement with the baseline. The engine's tables must treat all queries as judged. metric: the
    first metric. Raises ParityError if `ndcg_core` computes another disagreement for one of some sampled queries.
    """
    rows = engine.rows("disagreement", ("candidate", "query_id", "moved", "squares"), order="query_id")
    indices = {query_id: index for index, query_id in enumerate(query_ids)}
    squares, is_changed = np.zeros(len(query_ids)), np.zeros(len(query_ids), dtype=bool)
    for _, query_id, moved, square in rows:
        if query_id in indices:
            squares[indices[query_id]] += square / len(candidates)
            is_changed[indices[query_id]] |= moved > 0
    verify_disagreements(engine, {(name, query_id): square for name, query_id, _, square in rows}, baseline, metric)
    return np.sqrt(squares), is_changed


def verify_disagreements(engine: Engine, squares: dict[tuple[str, str], float], baseline: str, metric: Metric) -> None:
    """Recompute the disagreements of sampled queries with `ndcg_core`; raise ParityError if a value differs.

    squares: squared disagreement by (candidate, query_id). Nothing is checked if the metric averages ties.
    """
    if metric.ties == "average":
        return  # tied documents share a rank here, but not in the core
    names = sorted({name for name, _ in squares})
    sample = sample_queries(sorted({query_id for _, query_id in squares}), len(names) + 1)
    rankings: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    where = {"query_id": sample, "rank_rule": rank_rule(metric)}
    for system, query_id, rank, doc_id in engine.iter_rows(
        "ranked_doc", ("system_id", "query_id", "rank", "doc_id"), where=where
    ):
        if rank <= (metric.cutoff or rank):
            rankings[system, query_id].append((rank, doc_id))
    for name in names:
        for query_id in sample:
            sides = [[doc for _, doc in sorted(rankings[system, query_id])] for system in (baseline, name)]
            about = f"query {query_id!r}, system {name}, disagreement"
            refuse_disagreement(about, squares.get((name, query_id), 0.0), disagreement(*sides) ** 2, "draw")


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

        The factor of a query is the mean disagreement in a part of the log, divided by the disagreement of the query.
        The factors are None if queries were not drawn; the weights are None if they are equal. part: the part of the
        log over which the mean is taken.
        """
        weights = self.weights_in_order(query_ids)
        if self.log is None or weights is None:
            return None, weights
        disagreements = np.array([self.log.disagreements[query_id] for query_id in query_ids], dtype=np.float64)
        return scale_and_weights(disagreements, weights, self.log.mean_disagreement(part))

    def largest_scale(self, part: Part = WHOLE) -> float:
        """Return the largest factor by which the difference of a drawn query can be scaled; 1 if none were drawn.

        The factor is the mean disagreement in a part of the log, divided by the smallest disagreement above 0 of any
        query in the whole log.
        """
        return 1.0 if self.log is None else self.log.mean_disagreement(part) / min(self.log.disagreements.values())

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
    rows = engine.rows("query", ("query_id", column, "is_judged"), order="query_id")
    values = {query_id: value for query_id, value, _ in rows if value is not None}
    if not getattr(evaluation.statistics, key) and not values:
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
