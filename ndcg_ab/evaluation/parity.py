"""The SQL against the core: a sample of queries is computed again, and a difference stops the evaluation."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence

from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import ParityError
from ndcg_ab.evaluation.many_objects import many_objects
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import Placed, Result, arrange, score_query

TOLERANCE = 1e-9  # of the value, where that is above 1 (dcg, cg)
SAMPLE = 50  # queries recomputed in every run; all of them where there are no more


def sample_queries(query_ids: Sequence[str]) -> list[str]:
    """The same queries on every run: those with the lowest hash of their id, at most `SAMPLE`."""
    return sorted(sorted(query_ids, key=lambda query_id: hashlib.sha256(query_id.encode()).digest())[:SAMPLE])


@many_objects()
def verify(engine: Engine, metrics: Sequence[Metric]) -> int:
    """Recomputes the sample with `ndcg_core`; the number of queries compared.

    Raises ParityError with query, system, metric and both values at the first difference above 1e-9.
    """
    judged = [row[0] for row in engine.rows("query", ("query_id",), where={"is_judged": True}, order="query_id")]
    sample = sample_queries(judged)
    sampled = {"query_id": sample}
    judgments: dict[str, dict[str, float]] = defaultdict(dict)
    for query_id, doc_id, grade in engine.rows("judgment", ("query_id", "doc_id", "grade"), where=sampled):
        judgments[query_id][doc_id] = grade
    stored = {
        (system_id, query_id, metric_id): value
        for system_id, query_id, metric_id, value in engine.rows(
            "query_score", ("system_id", "query_id", "metric_id", "value"), where=sampled
        )
    }
    failed = {*engine.rows("pulled_failed_query", ("system_id", "query_id"))}
    highest = engine.rows("highest_grade")[0][0]
    for (system_id,) in engine.rows("system", ("system_id",), order="place"):
        results: dict[str, list[Result]] = defaultdict(list)  # of one system at a time: they may be millions
        columns = ("query_id", "doc_id", "score", "rank_given")
        for query_id, doc_id, score, rank_given in engine.each(
            "ranking", columns, where={**sampled, "system_id": system_id}
        ):
            results[query_id].append(Result(doc_id, score, rank_given))
        for query_id in sample:
            is_missing = (system_id, query_id) in failed
            arranged: dict[tuple[str, ...], list[Placed]] = {}  # a ranking is ordered once for each rule
            found, grades = results.pop(query_id, []), judgments[query_id]
            for metric in metrics:
                rule = (metric.ties, metric.score_precision, metric.unjudged, metric.negative, metric.duplicates)
                if rule not in arranged:
                    arranged[rule] = arrange(metric, found, grades)
                core = None if is_missing else score_query(metric, found, grades, highest, arranged[rule])
                agree(stored.get((system_id, query_id, metric.hash)), core, query_id, system_id, metric)
    return len(sample)


def agree(sql: float | None, core: float | None, query_id: str, system_id: str, metric: Metric) -> None:
    if sql is None and core is None:
        return
    if sql is None or core is None or not abs(sql - core) <= TOLERANCE * max(1.0, abs(core)):
        raise ParityError(
            f"parity check: query {query_id!r}, system {system_id}, metric {metric.name}: SQL gives {sql!r},"
            f" the Python core {core!r} (more than {TOLERANCE} apart); nothing of this evaluation can be believed"
        )
