"""What the differences of two systems are once the unjudged documents have grades: many sets of grades at once.

As in `ndcg_core.measures.bounds`, D(x) = (c + sum of w_u x_u) / I(x) on each query, here with the gains x that grades
give; I(x) counts every document that is graded, whoever shows it.
"""

import numpy as np
from numpy.typing import NDArray

from ndcg_core.measures.bounds import (
    Judged,
    Places,
    fixed_divisor,
    ideal_of,
    net_weights,
    positive_gains,
    why_unbounded,
)
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import gain

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Completions:
    """The unjudged documents with grades, on one metric.

    judged: what is judged. query: (n,) number of each unjudged document's query, rising. grades: (draws, n) of them,
    each one that the judgments hold, or 0. Raises ValueError for a metric that `why_unbounded` says something of.
    """

    def __init__(self, metric: Metric, judged: Judged, query: IntArray, grades: FloatArray) -> None:
        if reason := why_unbounded(metric):
            raise ValueError(f"metric {metric.name}: no completions, {reason}")
        self.metric = metric
        self.gains = gains_of(metric, judged, grades)
        queries = len(judged.counts)
        self.fixed = fixed_divisor(metric, judged)
        self.known, self.below = np.zeros(queries), np.zeros((len(grades), queries))
        levels = positive_gains(metric, judged)
        if self.fixed is None and len(levels):
            ideal = ideal_of(metric, levels, judged, query)
            self.known = ideal.known(np.arange(queries))
            for place, level in enumerate(levels):
                more = sums_of(self.gains >= level, query, queries)
                self.below += ideal.added(place, ideal.counts[:, place] + more.astype(np.int64))

    def differences(self, values: FloatArray, queries: IntArray, candidate: Places, baseline: Places) -> FloatArray:
        """(draws, queries) differences; values: of these queries, as they are while unjudged documents gain nothing.

        candidate, baseline: what each shows unjudged; doc is the number among all unjudged documents.
        """
        weight, query, doc = net_weights(self.metric, candidate, baseline)
        moved = sums_of(weight * self.gains[:, doc], query, len(self.known))[:, queries]
        if self.fixed is not None:
            return np.asarray(values + moved / self.fixed, dtype=np.float64)
        below = self.below[:, queries]
        return np.divide(values * self.known[queries] + moved, below, out=np.zeros_like(moved), where=below > 0)


def gains_of(metric: Metric, judged: Judged, grades: FloatArray) -> FloatArray:
    levels = sorted({0.0, *judged.grades})
    gains = np.array([gain(metric, level) if level in judged.grades else 0.0 for level in levels])
    found: FloatArray = gains[np.searchsorted(levels, grades)]
    return found


def sums_of(values: NDArray[np.float64 | np.bool_], query: IntArray, queries: int) -> FloatArray:
    """(draws, queries) sums of (draws, n) values; query: (n,) rising."""
    found = np.zeros((len(values), queries))
    if len(query):
        starts = np.flatnonzero(np.diff(query, prepend=-1))
        found[:, query[starts]] = np.add.reduceat(values, starts, axis=1, dtype=np.float64)
    return found
