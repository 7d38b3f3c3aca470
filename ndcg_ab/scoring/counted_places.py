"""The places of judged documents in long rankings, counted while the results go by: no object is made of each.

A document that nobody judged gains nothing, wherever it stands.  All that a measure needs of those is how many stand
above each judged one, and how many tie with it.  The results are read twice: first the judged ones are found, then the
others are counted.  Nothing is taken from the ranks that the SQL made, nor from
`ndcg_core.measures.score.order_results`.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_ab.scoring.loading import edges_of, number_ids
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import LARGEST_FLOAT32, Placed, Result, arrange_places

Answer = tuple[str, str]  # system_id, query_id
Pieces = Callable[
    [], Iterable[pa.Table]
]  # begins to read system_id, query_id, doc_id, score, rank_given from the start
Keys = NDArray[np.float64]
UNJUDGED = Placed("", 0)  # stands for every document that nobody judged: no id is empty


class Order(NamedTuple):
    """What orders results, higher first. by_rank: the rank that they came with, with the sign reversed.

    in_single: the score as a 32-bit number.
    """

    by_rank: bool
    in_single: bool


def order_of(metric: Metric) -> Order:
    by_rank = metric.ties == "given"
    return Order(by_rank, metric.score_precision == "float32" and not by_rank)


class Group:
    """The results that tie with judged documents in one order: how many there are, and are above or before them."""

    def __init__(self, doc_ids: Iterable[str]) -> None:
        self.doc_ids = sorted(doc_ids)
        self.above = self.size = 0
        self.between = [0] * (len(self.doc_ids) + 1)  # results whose id comes after as many of `doc_ids`

    def before(self) -> list[int]:
        """How many of its results have a lower id than each of `doc_ids`."""
        return list(accumulate(self.between))[:-1]


class LongAnswer:
    """What one system returned for one query, without the results themselves; grades: of the query's judgments."""

    def __init__(self, grades: Mapping[str, float], orders: Iterable[Order]) -> None:
        self.grades = grades
        self.judged_ids = pa.array(list(grades), pa.string())
        self.found: list[Result] = []
        self.returned = 0
        self.unscored = 0
        self.groups: dict[Order, dict[float, Group]] = {order: {} for order in orders}

    def find(self, rows: pa.Table) -> None:
        """Takes in some results: those that are judged."""
        self.returned += rows.num_rows
        self.unscored += rows["score"].null_count
        judged = rows.filter(pc.is_in(rows["doc_id"], value_set=self.judged_ids))
        self.found += map(Result, *(column.to_pylist() for column in judged.columns))

    def begin_to_count(self) -> None:
        """When all judged results are known; ValueError where only some results have a score."""
        if self.unscored not in (0, self.returned):
            raise ValueError("some results have a score and some have none")
        for order, groups in self.groups.items():
            table = pa.table([[row[at] for row in self.found] for at in range(3)], schema=RESULT)
            for row, key in zip(self.found, keys_in(table, order).tolist(), strict=True):
                groups.setdefault(key, Group(())).doc_ids.append(row.doc_id)
            for key, group in groups.items():
                groups[key] = Group(group.doc_ids)
            self.groups[order] = dict(sorted(groups.items()))

    def count(self, rows: pa.Table) -> None:
        """Takes in the same results again: how many are above each judged one, and which tie with it."""
        for order, groups in self.groups.items():
            values, each = np.array(list(groups), dtype=np.float64), list(groups.values())
            keys = keys_in(rows, order)
            lower = np.searchsorted(values, keys, side="left")  # judged keys below each result's
            counts = np.bincount(lower, minlength=len(each) + 1)
            above = counts[::-1].cumsum()[::-1]
            is_tied = lower < len(each)
            is_tied[is_tied] = values[lower[is_tied]] == keys[is_tied]
            tied = np.bincount(lower[is_tied], minlength=len(each)).tolist()
            for group, higher, same in zip(each, above[1:].tolist(), tied, strict=True):
                group.above += higher
                group.size += same
            for at, doc_id in zip(
                lower[is_tied].tolist(), rows["doc_id"].filter(pa.array(is_tied)).to_pylist(), strict=True
            ):
                group = each[at]
                group.between[bisect_right(group.doc_ids, doc_id)] += 1

    def places(self, metric: Metric) -> list[Placed]:
        """The whole ranking in the metric's order."""
        if metric.unjudged == "condense":  # what nobody judged is taken out, and the judged results are all here
            return arrange_places(metric, self.found, self.grades)
        places = [UNJUDGED] * self.returned
        for group in self.groups[order_of(metric)].values():
            first_rank = group.above + 1
            if metric.ties == "average":  # all of the group share what its documents gain
                places[group.above : group.above + group.size] = [Placed("", first_rank)] * group.size
            for doc_id, before in zip(group.doc_ids, group.before(), strict=True):
                within = before if metric.ties == "doc_id_asc" else group.size - 1 - before
                places[group.above + within] = Placed(doc_id, first_rank)
        return places


RESULT = pa.schema([("doc_id", pa.string()), ("score", pa.float64()), ("rank_given", pa.int64())])


def keys_in(rows: pa.Table, order: Order) -> Keys:
    """What orders each result, higher first; ValueError where there is no rank and one is needed."""
    scores: Keys = rows["score"].cast(pa.float64()).to_numpy()
    if order.by_rank or np.isnan(scores).any():
        if rows["rank_given"].null_count:
            raise ValueError("a result does not have a rank, which orders it")
        found: Keys = -rows["rank_given"].cast(pa.float64()).to_numpy()
        return found
    if order.in_single:
        scores = np.clip(scores, -LARGEST_FLOAT32, LARGEST_FLOAT32).astype(np.float32).astype(np.float64)
    return scores


def count_long_answers(
    pieces: Pieces, answers: Iterable[Answer], grades: Mapping[str, Mapping[str, float]], metrics: Sequence[Metric]
) -> dict[Answer, LongAnswer]:
    """Each of some answers, counted.  pieces: begins to read their results, and perhaps those of others."""
    orders = dict.fromkeys(order_of(metric) for metric in metrics if metric.unjudged != "condense")
    found = {answer: LongAnswer(grades[answer[1]], orders) for answer in answers}
    for answer, rows in split_answers(pieces(), found):
        found[answer].find(rows)
    for each in found.values():
        each.begin_to_count()
    if orders:
        for answer, rows in split_answers(pieces(), found):
            found[answer].count(rows)
    return found


def split_answers(pieces: Iterable[pa.Table], answers: Mapping[Answer, object]) -> Iterator[tuple[Answer, pa.Table]]:
    """The results of each piece, answer by answer."""
    for piece in pieces:
        if not piece.num_rows:
            continue
        (systems, system_ids), (queries, query_ids) = number_ids(piece["system_id"]), number_ids(piece["query_id"])
        codes = systems.astype(np.int64) * len(query_ids) + queries
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        rows = piece.select(RESULT.names).combine_chunks().take(pa.array(order))
        for start, end in pairwise(edges_of(codes)):
            system, query = divmod(int(codes[start]), len(query_ids))
            answer = system_ids[system], query_ids[query]
            if answer in answers:
                yield answer, rows.slice(start, end - start)
