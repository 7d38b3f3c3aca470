"""The results that systems show and the judgments of their queries, as arrays."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Places(NamedTuple):
    """The results of one system, one row each, by rising query and rank.

    query: number of the query, from 0 on. doc: number of the document, equal for all systems. rank: from 1 on.
    first_rank, size: the first rank of the group of equal scores and the number of results in it, where ties are
    averaged; elsewhere the rank, and 1. grade: NaN if unjudged.
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
        """Return some of the rows, chosen by number or by a mask."""
        query, doc, rank, first_rank, size = (values[rows] for values in self[:5])
        return Places(query, doc, rank, first_rank, size, self.grade[rows])

    def within(self, depth: int | None) -> "Places":
        """Return the rows whose group of equal scores begins within the first `depth` ranks; None keeps all."""
        return self if depth is None else self.take(self.first_rank <= depth)


def no_places() -> Places:
    """Return the places of a system that returns nothing."""
    none = np.zeros(0, dtype=np.int64)
    return Places(none, none, none, none, none, np.zeros(0))


class Judged(NamedTuple):
    """The number of judged documents by query and grade, one row for each pair that occurs.

    query, grade, documents: (m,), by rising query. queries: the number of queries. grades: every grade of the
    evaluation, rising, also those that no query in `query` has.
    """

    query: IntArray
    grade: FloatArray
    documents: IntArray
    queries: int
    grades: tuple[float, ...]

    def count_documents(self, is_counted: NDArray[np.bool_]) -> FloatArray:
        """Return, per query, the number of documents in the rows of the mask."""
        found: FloatArray = np.bincount(self.query, self.documents * is_counted, self.queries).astype(np.float64)
        return found
