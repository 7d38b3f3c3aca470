"""What systems show of the judged queries, and what is judged: arrays that bounds and completions are made of."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import gain

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Places(NamedTuple):
    """What one system shows, row by row; rows beyond the cutoff count for nothing.

    All unjudged documents are there; the judged ones, too, for metrics whose places count by what is above them
    (`unjudged.many_completions.is_cascade_measure`), and they do no harm to others.

    query: number of the query, from 0 on. doc: number of an unjudged document, the same for both systems.
    rank: from 1 on. first_rank, size: the first rank of its group of equal scores and how many are in it, where ties
        are averaged; elsewhere its rank, and 1. grade: NaN where nobody judged.
    """

    query: IntArray
    doc: IntArray
    rank: IntArray
    first_rank: IntArray
    size: IntArray
    grade: FloatArray

    @property
    def is_judged(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.grade)

    def take(self, rows: IntArray | NDArray[np.bool_]) -> "Places":
        """Some of the rows: their numbers, or whether each is wanted."""
        query, doc, rank, first_rank, size = (values[rows] for values in self[:5])
        return Places(query, doc, rank, first_rank, size, self.grade[rows])


def no_places() -> Places:
    none = np.zeros(0, dtype=np.int64)
    return Places(none, none, none, none, none, np.zeros(0))


class Judged(NamedTuple):
    """What is judged.

    grades: every grade that the judgments hold. counts: (queries, grades) documents of each query with each.
    """

    grades: tuple[float, ...]
    counts: IntArray

    def add_possible_grade(self, metric: Metric) -> "Judged":
        """Return what is judged, with a grade that gains something added if the judgments hold none so far.

        It is 1, or else the least that counts as relevant, the highest of the metric, or the least of its gain table.
        """
        rule = metric.effective_gain
        named = (1.0, metric.relevant_from, metric.max_grade) if isinstance(rule, str) else sorted(dict(rule))
        highest = np.inf if metric.max_grade is None else metric.max_grade
        gaining = [grade for grade in named if grade is not None and grade <= highest and gain(metric, grade) > 0]
        if not gaining or any(gain(metric, grade) > 0 for grade in self.grades):
            return self
        place = int(np.searchsorted(self.grades, gaining[0]))
        grades = (*self.grades[:place], gaining[0], *self.grades[place:])
        return Judged(grades, np.insert(self.counts, place, 0, axis=1))


class Bounds(NamedTuple):
    """low, high: one number for each query. is_exact: whether grades of the unjudged documents reach each of them.

    documents: the unjudged documents that either system shows where its metric looks, over all queries.
    """

    low: FloatArray
    high: FloatArray
    documents: int
    is_exact: NDArray[np.bool_]
