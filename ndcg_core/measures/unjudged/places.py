"""The results that systems show and the judgments of their queries, as arrays."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Places(NamedTuple):
    """The results of one system, one row each, by rising query and rank.

    query: number of the query, from 0 on. doc: number of the document, equal for all systems. rank: from 1 on.
    first_rank, size: the first rank of the group of equal scores and the number of results in it, if ties are averaged;
    else the rank, and 1. grade: NaN if unjudged.
    """

    query: IntArray
    doc: IntArray
    rank: IntArray
    first_rank: IntArray
    size: IntArray
    grade: FloatArray

    @property
    def is_judged(self) -> BoolArray:
        return ~np.isnan(self.grade)

    def take(self, rows: IntArray | BoolArray) -> "Places":
        """Return some of the rows, chosen by number or by a mask."""
        return Places(*(values[rows] for values in self))  # type: ignore[arg-type]

    def within(self, depth: int | None) -> "Places":
        """Return the rows whose group of equal scores begins within the first `depth` ranks; None keeps all."""
        return self if depth is None else self.take(self.first_rank <= depth)


def no_places() -> Places:
    """Return the places of a system that returns nothing."""
    none = np.zeros(0, dtype=np.int64)
    return Places(none, none, none, none, none, np.zeros(0))


class Judged(NamedTuple):
    """The number of judged documents by query and grade.

    query, grade, documents: (m,), one row for each pair of query and grade that occurs. queries: the number of queries.
    grades: every grade of the evaluation, rising, also those that no query in `query` has.
    """

    query: IntArray
    grade: FloatArray
    documents: IntArray
    queries: int
    grades: tuple[float, ...]

    def count_documents(self, is_counted: BoolArray) -> FloatArray:
        """Return, per query, the number of documents in the rows of the mask."""
        return np.bincount(self.query, self.documents * is_counted, self.queries).astype(np.float64)


def split_by(numbers: IntArray) -> list[IntArray]:
    """Return the rows that have the number 0, 1, 2 …, up to the highest number."""
    return np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers))[:-1])
