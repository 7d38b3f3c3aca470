"""Count the ranks of judged documents in long rankings, which are read in pieces, without an object per result.

An unjudged document gains nothing at any rank. A measure only needs the number of unjudged documents above each judged
one, and the number that tie with it. The results are read twice: first to find the judged documents, then to count the
others. Neither the ranks of the SQL nor `ndcg_core.measures.score.order_results` are used, so that this is an
independent check.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_ab.scoring.loading import number_ids, run_edges
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import LARGEST_FLOAT32, RankedDoc, Result, rank_results

Answer = tuple[str, str]  # system_id, query_id
Pieces = Callable[
    [], Iterable[pa.Table]
]  # begins to read system_id, query_id, doc_id, score, rank_given from the start
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


class TiedGroup:
    """The judged documents of one ranking that have equal keys, with counts of the other results.

    doc_ids: ids of the judged documents, sorted. above: number of results with a higher key. size: number of results
    with this key, judged or not. between: counts of the `size` results by their doc_id; item i counts results whose
    doc_id is greater than or equal to exactly i of `doc_ids`.
    """

    def __init__(self, doc_ids: Iterable[str]) -> None:
        self.doc_ids = sorted(doc_ids)
        self.above = self.size = 0
        self.between = [0] * (len(self.doc_ids) + 1)  # results whose id comes after as many of `doc_ids`

    def before(self) -> list[int]:
        """Return, for each judged document, how many results with an equal key have a lower doc_id."""
        return list(accumulate(self.between))[:-1]


class CountedAnswer:
    """The results that one system returned for one query: the judged ones, and counts of the others."""

    def __init__(self, grades: Mapping[str, float], orders: Iterable[Order]) -> None:
        self.grades = grades
        self.judged_ids = pa.array(list(grades), pa.string())
        self.found: list[Result] = []
        self.returned = 0
        self.unscored = 0
        self.groups: dict[Order, dict[float, TiedGroup]] = {order: {} for order in orders}

    def collect_judged(self, rows: pa.Table) -> None:
        """Add the judged results among some rows to `found`, and count all rows (first reading).

        rows: results of this answer.
        """
        self.returned += rows.num_rows
        self.unscored += rows["score"].null_count
        judged = rows.filter(pc.is_in(rows["doc_id"], value_set=self.judged_ids))
        self.found += map(Result, *(column.to_pylist() for column in judged.columns))

    def begin_to_count(self) -> None:
        """Form the groups of tied judged results, between the first and the second reading.

        Raises ValueError if some results have a score and some have none.
        """
        if self.unscored not in (0, self.returned):
            raise ValueError("some results have a score and some have none")
        for order, groups in self.groups.items():
            table = pa.table([[row[at] for row in self.found] for at in range(3)], schema=RESULT)
            for row, key in zip(self.found, sort_keys(table, order).tolist(), strict=True):
                groups.setdefault(key, TiedGroup(())).doc_ids.append(row.doc_id)
            for key, group in groups.items():
                groups[key] = TiedGroup(group.doc_ids)
            self.groups[order] = dict(sorted(groups.items()))

    def count(self, rows: pa.Table) -> None:
        """Count the results among some rows that are above each judged result, or tie with it (second reading).

        rows: results of this answer.
        """
        for order, groups in self.groups.items():
            values, each = np.array(list(groups), dtype=np.float64), list(groups.values())
            keys = sort_keys(rows, order)
            lower = np.searchsorted(values, keys, side="left")  # judged keys below each result's
            counts = np.bincount(lower, minlength=len(each) + 1)
            above = counts[::-1].cumsum()[::-1]
            is_tied = lower < len(each)
            is_tied[is_tied] = values[lower[is_tied]] == keys[is_tied]
            tied = np.bincount(lower[is_tied], minlength=len(each)).tolist()
            for group, higher, tied_count in zip(each, above[1:].tolist(), tied, strict=True):
                group.above += higher
                group.size += tied_count
            for at, doc_id in zip(
                lower[is_tied].tolist(), rows["doc_id"].filter(pa.array(is_tied)).to_pylist(), strict=True
            ):
                group = each[at]
                group.between[bisect_right(group.doc_ids, doc_id)] += 1

    def ranking(self, metric: Metric) -> list[RankedDoc]:
        """Return the ranking in the metric's order, with the placeholder `UNJUDGED` for every unjudged document.

        With unjudged = condense, the ranking has only the judged documents.
        """
        if metric.unjudged == "condense":  # what nobody judged is taken out, and the judged results are all here
            return rank_results(metric, self.found, self.grades)
        ranking = [UNJUDGED] * self.returned
        for group in self.groups[result_order(metric)].values():
            first_rank = group.above + 1
            if metric.ties == "average":  # all of the group share what its documents gain
                ranking[group.above : group.above + group.size] = [RankedDoc("", first_rank)] * group.size
            for doc_id, before in zip(group.doc_ids, group.before(), strict=True):
                within = before if metric.ties == "doc_id_asc" else group.size - 1 - before
                ranking[group.above + within] = RankedDoc(doc_id, first_rank)
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
        if not piece.num_rows:
            continue
        (systems, system_ids), (queries, query_ids) = number_ids(piece["system_id"]), number_ids(piece["query_id"])
        codes = systems.astype(np.int64) * len(query_ids) + queries
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        rows = piece.select(RESULT.names).combine_chunks().take(pa.array(order))
        for start, end in pairwise(run_edges(codes)):
            system, query = divmod(int(codes[start]), len(query_ids))
            answer = system_ids[system], query_ids[query]
            if answer in answers:
                yield answer, rows.slice(start, end - start)
