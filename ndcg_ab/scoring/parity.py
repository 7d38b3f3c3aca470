"""Verify the SQL against `ndcg_core`: recompute a sample of queries, and stop the evaluation at a difference.

Of long rankings, which are read in pieces, only the ranks of judged documents are counted, without an object per
result. An unjudged document gains nothing at any rank: a measure only needs the number of unjudged documents above each
judged one, and the number that tie with it. The results are read twice: first to find the judged documents, then to
count the others. Neither the ranks of the SQL nor `ndcg_core.measures.score.order_results` are used, so that this is an
independent check.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, groupby, product, starmap
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_ab import thresholds
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import ParityError
from ndcg_ab.scoring.loading import list_rows, paused_garbage_collection, split_by
from ndcg_ab.scoring.metric_tables import deepest_cutoff, own_metrics, reads_below_cutoff
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import LARGEST_FLOAT32, RankedDoc, Result, rank_results, score_query, shared_ideal

Answer = tuple[str, str]  # system_id, query_id
Pieces = Callable[[], Iterable[pa.Table]]  # reads system_id, query_id, doc_id, score, rank_given from the start
Keys = NDArray[np.float64]
UNJUDGED = RankedDoc("", 0)  # placeholder for every unjudged document; no document has an empty id


class Order(NamedTuple):
    """The kind of key by which results are sorted; the result with the highest key is first.

    by_rank: True if the key is the negative of the column `rank_given`, False if it is the score. in_single: True if
    scores are rounded to 32-bit floats before they are compared.
    """

    by_rank: bool
    in_single: bool


def result_order(metric: Metric) -> Order:
    by_rank = metric.ties == "given"
    return Order(by_rank, metric.score_precision == "float32" and not by_rank)


class CountedAnswer:
    """The results that one system returned for one query: the judged ones, and counts of the others."""

    def __init__(self, grades: Mapping[str, float], orders: Iterable[Order]) -> None:
        self.grades = grades
        self.judged_ids = pa.array(list(grades), pa.string())
        self.found: list[Result] = []
        self.returned = 0
        self.unscored = 0
        self.counts: dict[Order, tuple[Keys, NDArray[np.int64]]] = dict.fromkeys(orders, (np.array([]), np.array([])))

    def collect_judged(self, rows: pa.Table) -> None:
        """Add the judged results among some rows to `found`, and count all rows (first reading).

        rows: results of this answer.
        """
        self.returned += rows.num_rows
        self.unscored += rows["score"].null_count
        judged = rows.filter(pc.is_in(rows["doc_id"], value_set=self.judged_ids))
        self.found += map(Result, *(column.to_pylist() for column in judged.columns))

    def begin_to_count(self) -> None:
        """Set the sort key of each judged result, and its counts to 0, between the first and the second reading.

        Raises ValueError if some results have a score and some have none.
        """
        if self.unscored not in (0, self.returned):
            raise ValueError("some results have a score and some have none")
        table = pa.table([[row[at] for row in self.found] for at in range(3)], schema=RESULT)
        for order in self.counts:
            self.counts[order] = sort_keys(table, order), np.zeros((3, len(self.found)), dtype=np.int64)

    def count(self, rows: pa.Table) -> None:
        """Count the results among some rows that are above each judged result, or tie with it (second reading).

        The three counts of a judged result are those of results with a higher key, of results with an equal key, and of
        results with an equal key and a lower doc_id. rows: results of this answer.
        """
        for order, (keys, counts) in self.counts.items():
            all_keys = sort_keys(rows, order)
            rising = np.sort(all_keys)
            lower, end = (np.searchsorted(rising, keys, side=side) for side in ("left", "right"))
            counts[:2] += len(rising) - end, end - lower
            for at in np.flatnonzero(end > lower).tolist():
                tied_ids = rows["doc_id"].filter(pa.array(all_keys == keys[at]))
                counts[2, at] += pc.sum(pc.less(tied_ids, self.found[at].doc_id)).as_py()

    def ranking(self, metric: Metric) -> list[RankedDoc]:
        """Return the ranking in the metric's order, with the placeholder `UNJUDGED` for every unjudged document.

        With unjudged = condense, the ranking has only the judged documents.
        """
        if metric.unjudged == "condense":  # what nobody judged is taken out, and the judged results are all here
            return rank_results(metric, self.found, self.grades)
        ranking = [UNJUDGED] * self.returned
        counts = self.counts[result_order(metric)][1].T.tolist()
        for above, size, _ in counts if metric.ties == "average" else ():  # all of a tie share what its documents gain
            ranking[above : above + size] = [RankedDoc("", above + 1)] * size
        for result, (above, size, before) in zip(self.found, counts, strict=True):
            within = before if metric.ties == "doc_id_asc" else size - 1 - before
            ranking[above + within] = RankedDoc(result.doc_id, above + 1)
        return ranking


RESULT = pa.schema([("doc_id", pa.string()), ("score", pa.float64()), ("rank_given", pa.int64())])


def sort_keys(rows: pa.Table, order: Order) -> Keys:
    """Return the sort key of each result, larger first: the score, or the negative rank.

    order: the kind of key. Ranks are also used if a score is missing. Raise ValueError if ranks are used and one is
    missing.
    """
    scores: Keys = rows["score"].cast(pa.float64()).to_numpy()
    if order.by_rank or np.isnan(scores).any():
        if rows["rank_given"].null_count:
            raise ValueError("a result does not have a rank, which orders it")
        keys: Keys = -rows["rank_given"].cast(pa.float64()).to_numpy()
        return keys
    if order.in_single:
        scores = np.clip(scores, -LARGEST_FLOAT32, LARGEST_FLOAT32).astype(np.float32).astype(np.float64)
    return scores


def count_long_answers(
    pieces: Pieces, answers: Iterable[Answer], grades: Mapping[str, Mapping[str, float]], metrics: Sequence[Metric]
) -> dict[Answer, CountedAnswer]:
    """Read results twice, and return the counted answer of each (system_id, query_id).

    pieces: a function that starts reading the results from the beginning. answers: the answers to count; results of
    other answers are ignored. grades: query_id -> doc_id -> grade. Raise ValueError if only some results of an answer
    have a score, or if a rank is missing that is needed.
    """
    orders = dict.fromkeys(result_order(metric) for metric in metrics if metric.unjudged != "condense")
    counted = {answer: CountedAnswer(grades[answer[1]], orders) for answer in answers}
    for answer, rows in results_of_answers(pieces(), counted):
        counted[answer].collect_judged(rows)
    for each in counted.values():
        each.begin_to_count()
    if orders:
        for answer, rows in results_of_answers(pieces(), counted):
            counted[answer].count(rows)
    return counted


def results_of_answers(
    pieces: Iterable[pa.Table], answers: Mapping[Answer, object]
) -> Iterator[tuple[Answer, pa.Table]]:
    """Yield the results of each answer in each piece, as (answer, table).

    An answer whose results are in several pieces is yielded once per piece. answers: the answers to yield, as keys;
    results of other answers are skipped. The tables have the columns of `RESULT`.
    """
    for piece in pieces:
        for (system_id, query_id), rows in split_by(piece, "system_id", "query_id"):
            if (system_id, query_id) in answers:
                yield (system_id, query_id), rows


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
    for queries in batch_queries(short):
        for answer, results in read_results(engine, systems, queries, depth, long):
            order = partial(rank_results, results=results, judgments=recomputed.judgments[answer[1]])
            recomputed.compare(answer, results, order)
            remaining.discard(answer)
    for answer in remaining:
        recomputed.compare(answer, [], lambda metric: [])
    return len(sample)


def ranking_rule(metric: Metric) -> tuple[str, ...]:
    """Return the choices of a metric that determine the order of a ranking."""
    return metric.ties, metric.score_precision, metric.unjudged, metric.negative, metric.duplicates


def batch_queries(returned: Mapping[Answer, int]) -> Iterator[list[str]]:
    """Yield queries in batches whose answers are read together, about `BATCH_RESULTS` results in each batch.

    returned: number of results of each answer.
    """
    totals: dict[str, int] = defaultdict(int)
    for (_, query_id), count in returned.items():
        totals[query_id] += count
    ends = zip(totals, accumulate(totals.values()), strict=True)
    for _, batch in groupby(ends, key=lambda row: row[1] // thresholds.BATCH_RESULTS):
        yield [query_id for query_id, _ in batch]


def read_results(
    engine: Engine, systems: Sequence[str], sample: Sequence[str], depth: int | None, left_out: Collection[Answer] = ()
) -> Iterator[tuple[Answer, list[Result]]]:
    """Yield (answer, results) for each answer, an answer being a pair (system, query).

    Results that cannot be within the top `depth` ranks are left out, unless `depth` is None. The SQL's ranks are not
    read, so that the recomputation does not depend on them. left_out: answers that are not yielded.
    """
    parts: dict[Answer, list[pa.Table]] = defaultdict(list)
    for piece in engine.pieces("ranking", (*ANSWER, *RESULT.names), where={"query_id": sample, "system_id": systems}):
        for (system_id, query_id), rows in split_by(piece, *ANSWER):
            if (system_id, query_id) not in left_out:
                parts[system_id, query_id].append(keep_reachable(rows, depth))
    for answer, tables in parts.items():
        rows = keep_reachable(pa.concat_tables(tables), depth) if len(tables) > 1 else tables[0]
        yield answer, list(starmap(Result, list_rows(rows)))


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
