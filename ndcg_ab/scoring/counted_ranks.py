"""Count the ranks of judged documents in long rankings, which are read in pieces, without an object per result.

An unjudged document gains nothing at any rank. A measure only needs the number of unjudged documents above each judged
one, and the number that tie with it. The results are read twice: first to find the judged documents, then to count the
others. Neither the ranks of the SQL nor `ndcg_core.measures.score.order_results` are used, so that this is an
independent check.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_ab.scoring.loading import split_by
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
