"""Verify the SQL against `ndcg_core`: recompute a sample of queries, and stop the evaluation at a difference."""

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, product, starmap

import numpy as np
import pyarrow as pa

from ndcg_ab import thresholds
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import ParityError
from ndcg_ab.scoring.counted_ranks import RESULT, Answer, count_long_answers
from ndcg_ab.scoring.loading import list_rows, paused_garbage_collection, split_by
from ndcg_ab.scoring.metric_tables import deepest_cutoff, own_metrics, reads_below_cutoff
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import RankedDoc, Result, rank_results, score_query, shared_ideal

TOLERANCE = 1e-9  # relative if the value is above 1 (dcg, cg)
SEEN = 10  # times as many are read for them at the most, of which only those are kept
SAMPLE = 50  # queries recomputed in every run, or all if there are fewer
ANSWERS = 1000  # pairs of system and query that are recomputed at most, by taking fewer queries
LEAST = 10  # queries recomputed at least
ANSWER = ("system_id", "query_id")
SOMETHING = (Result("", 0.0),)  # placeholder for the results of an answer whose ranks are counted


def sample_queries(query_ids: Sequence[str], systems: int) -> list[str]:
    """Return the sorted ids of the queries to recompute: the `sample_size` ids with the lowest hashes.

    systems: number of systems.
    """
    by_hash = sorted(query_ids, key=lambda query_id: hashlib.sha256(query_id.encode()).digest())
    return sorted(by_hash[: sample_size(systems)])


def sample_size(systems: int) -> int:
    """Return the number of queries to recompute: `SAMPLE` for up to 20 systems, fewer for more.

    For more systems, queries times systems is about `ANSWERS`; but at least `LEAST` queries are recomputed.
    """
    return min(SAMPLE, max(LEAST, ANSWERS // max(1, systems)))


class Recomputation:
    """The recomputation of sampled answers with `ndcg_core`, which compares each value with that of the SQL."""

    def __init__(self, engine: Engine, metrics: Sequence[Metric], sample: Sequence[str]) -> None:
        sampled = {"query_id": sample}
        self.judgments: dict[str, dict[str, float]] = defaultdict(dict)
        for query_id, doc_id, grade in engine.rows("judgment", ("query_id", "doc_id", "grade"), where=sampled):
            self.judgments[query_id][doc_id] = grade
        columns = ("system_id", "query_id", "metric_id", "value")
        rows = engine.rows("query_score", columns, where=sampled)
        self.stored = {(system_id, query_id, metric_id): value for system_id, query_id, metric_id, value in rows}
        self.failed = {*engine.rows("pulled_failed_query", ("system_id", "query_id"))}
        self.highest = engine.rows("highest_grade")[0][0]
        self.ideals: dict[tuple[str, str], float | None] = {}  # of a query and a metric: the same for every system
        self.by_rule = [list(own) for _, own in groupby(sorted(metrics, key=ranking_rule), key=ranking_rule)]

    def compare(self, answer: Answer, results: Sequence[Result], rank: Callable[[Metric], list[RankedDoc]]) -> None:
        """Recompute every metric's value of one answer; raise ParityError if the value of the SQL differs.

        answer: (system_id, query_id). results: the results of this answer. rank: function that returns the documents in
        a metric's rank order; called once for each ranking rule.
        """
        system_id, query_id = answer
        grades = self.judgments[query_id]
        for rows in self.by_rule:
            ranking = rank(rows[0])
            for metric in rows:
                if (query_id, metric.hash) not in self.ideals:
                    self.ideals[query_id, metric.hash] = shared_ideal(metric, grades, self.highest)
                ideal, core = self.ideals[query_id, metric.hash], None
                if answer not in self.failed:
                    core = score_query(metric, results, grades, self.highest, ranking, ideal)
                stored = self.stored.get((system_id, query_id, metric.hash))
                refuse_disagreement(f"query {query_id!r}, system {system_id}, metric {metric.name}", stored, core)


@paused_garbage_collection()
def recompute_sample(engine: Engine, metrics: Sequence[Metric]) -> int:
    """Recompute a sample of queries with `ndcg_core`, and return the number of queries in the sample.

    Raise ParityError at the first value that differs from that of the SQL by more than 1e-9. Metrics that another tool
    computed are left out; if no other metric remains, nothing is recomputed, and the result is 0.

    Notes
    -----
    Answers are processed in batches. For long answers only the ranks of judged documents are counted.
    """
    metrics = own_metrics(metrics)
    if not metrics:
        return 0
    judged = [
        row[0]
        for row in engine.rows("query", ("query_id",), where={"is_judged": True, "is_drawn": True}, order="query_id")
    ]
    systems = [system_id for (system_id,) in engine.rows("system", ("system_id",), order="position")]
    sample = sample_queries(judged, len(systems))
    recomputed = Recomputation(engine, metrics, sample)
    columns = ("system_id", "query_id", "returned")
    answered = engine.rows("answered_query", columns, where={"query_id": sample})
    returned = {(system_id, query_id): count for system_id, query_id, count in answered}
    remaining = {*product(systems, sample)}
    long = {answer for answer, count in returned.items() if count > thresholds.COUNTED_RESULTS}
    if long:
        where = {"query_id": sorted({query_id for _, query_id in long})}
        read = (*ANSWER, *RESULT.names)
        counts = count_long_answers(
            lambda: engine.pieces("ranking", read, where=where), long, recomputed.judgments, metrics
        )
        for answer, each in counts.items():
            recomputed.compare(answer, SOMETHING, each.ranking)
    remaining -= long
    depth = scored_depth(metrics)
    short = {
        answer: count if depth is None else min(count, max(depth, count // SEEN))
        for answer, count in returned.items()
        if answer not in long
    }
    for several, queries in batch_answers(short, systems, is_uniform=not long):
        for answer, results in read_results(engine, several, queries, metrics):
            order = partial(rank_results, results=results, judgments=recomputed.judgments[answer[1]])
            recomputed.compare(answer, results, order)
            remaining.discard(answer)
    for answer in remaining:
        recomputed.compare(answer, [], lambda metric: [])
    return len(sample)


def ranking_rule(metric: Metric) -> tuple[str, ...]:
    """Return the choices of a metric that determine the order of a ranking."""
    return metric.ties, metric.score_precision, metric.unjudged, metric.negative, metric.duplicates


def batch_answers(
    returned: Mapping[Answer, int], systems: Sequence[str], *, is_uniform: bool
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Yield batches of answers that are read together, each as (systems, queries).

    A batch has at most about `BATCH_RESULTS` results, unless a single answer has more. returned: number of results of
    each answer. is_uniform: True if a batch may have several systems with the same queries; False if the systems differ
    in the queries to read.
    """
    by_system: dict[str, list[str]] = {}
    for system_id, query_id in returned:
        by_system.setdefault(system_id, []).append(query_id)
    totals = {name: sum(returned[name, query_id] for query_id in queries) for name, queries in by_system.items()}
    largest = max(totals.values(), default=0)
    if is_uniform and largest <= thresholds.BATCH_RESULTS:
        size = thresholds.BATCH_RESULTS // max(1, largest)
        queries = sorted({query_id for _, query_id in returned})
        for start in range(0, len(systems) if returned else 0, size):
            yield systems[start : start + size], queries
        return
    for name, queries in by_system.items():
        size = max(1, thresholds.BATCH_RESULTS // thresholds.COUNTED_RESULTS)
        for start in range(0, len(queries), size):
            yield [name], queries[start : start + size]


def read_results(
    engine: Engine, systems: Sequence[str], sample: Sequence[str], metrics: Sequence[Metric]
) -> Iterator[tuple[tuple[str, str], list[Result]]]:
    """Yield (answer, results) for each answer, an answer being a pair (system, query).

    Results that cannot affect any metric are left out. The SQL's ranks are not read, so that the recomputation does not
    depend on them.
    """
    depth = scored_depth(metrics)
    parts: dict[Answer, list[pa.Table]] = defaultdict(list)
    for piece in engine.pieces("ranking", (*ANSWER, *RESULT.names), where={"query_id": sample, "system_id": systems}):
        for (system_id, query_id), rows in split_by(piece, *ANSWER):
            parts[system_id, query_id].append(keep_reachable(rows, depth))
    for answer, tables in parts.items():
        yield answer, list(starmap(Result, list_rows(keep_reachable(pa.concat_tables(tables), depth))))


def scored_depth(metrics: Sequence[Metric]) -> int | None:
    """Return the number of top ranks that can affect any metric; None for all."""
    return None if any(reads_below_cutoff(metric) for metric in metrics) else deepest_cutoff(metrics)


def keep_reachable(rows: pa.Table, depth: int | None) -> pa.Table:
    """Return the results of one answer that can be within its top `depth` ranks, by scores or by given ranks.

    All results if `depth` is None. Scores are compared as 32-bit floats, so that results that tie at the last rank are
    kept. rows: results of the answer; results that cannot reach these ranks may be missing.
    """
    if depth is None or rows.num_rows <= depth:
        return rows
    is_reachable = np.zeros(rows.num_rows, dtype=bool)
    with np.errstate(over="ignore"):
        scores = rows["score"].cast(pa.float64()).to_numpy().astype(np.float32)
    for keys in (scores, -rows["rank_given"].cast(pa.float64()).to_numpy()):
        missing = np.isnan(keys)
        if not missing.any():
            is_reachable |= keys >= np.partition(keys, -depth)[-depth]
        elif not missing.all():  # only some have one, which the core refuses
            is_reachable |= True
    return rows.filter(pa.array(is_reachable))


def refuse_disagreement(about: str, sql: float | None, core: float | None, result_name: str = "evaluation") -> None:
    """Raise ParityError if the values of the SQL and of `ndcg_core` differ by more than `TOLERANCE`.

    about: words for the values in the message. result_name: words for the result that the difference makes invalid.
    """
    if sql == core:
        return
    is_near = sql is not None and core is not None and abs(sql - core) <= TOLERANCE * max(1.0, abs(core))
    if not is_near or math.isinf(core or 0.0):
        raise ParityError(
            f"parity check: {about}: SQL gives {sql!r}, the Python core {core!r} (more than {TOLERANCE} apart); nothing"
            f" of this {result_name} can be believed"
        )
