"""What the differences of two systems are once the unjudged documents have grades: many sets of grades at once.

As in `unjudged.bounds`, D(x) = (c + sum of w_u x_u) / I(x) on each query, here with the gains x that grades
give; I(x) counts every document that is graded, whoever shows it. Measures that are no such sum are measured again
(`unjudged.many_completions`).
"""

import numpy as np
from numpy.typing import NDArray

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.unjudged.bounds import fixed_factor, make_ideal, net_weights, positive_gains, why_unbounded
from ndcg_core.measures.unjudged.many_completions import Grades, Side, is_cascade_measure, split_queries
from ndcg_core.measures.unjudged.places import FloatArray, IntArray, Judged, Places


class Completions:
    """The unjudged documents with grades, on one metric.

    judged: what is judged. query: (n,) number of each unjudged document's query, rising. grades: (draws, n) of them,
    each one that the judgments hold, or 0. Raises ValueError for a metric that `why_unbounded` says something of.
    """

    def __init__(self, metric: Metric, judged: Judged, query: IntArray, grades: FloatArray) -> None:
        if reason := why_unbounded(metric):
            raise ValueError(f"metric {metric.name}: no completions, {reason}")
        judged = judged.add_possible_grade(metric)
        self.metric = metric
        self.grades = Grades(metric, judged)
        self.codes = self.grades.codes_of(grades)
        self.gains = self.grades.gains[self.codes]
        queries = len(judged.counts)
        self.relevant = self.grades.relevant + sum_by_query(self.gains > 0, query, queries)
        self.nonrelevant = self.grades.nonrelevant + sum_by_query(
            self.grades.is_nonrelevant[self.codes], query, queries
        )
        self.scale = None if is_cascade_measure(metric) else fixed_factor(metric, judged)
        self.known, self.below = np.zeros(queries), np.zeros((len(grades), queries))
        levels = positive_gains(metric, judged)
        if self.scale is None and not is_cascade_measure(metric) and len(levels):
            ideal = make_ideal(metric, levels, judged, query)
            self.known = ideal.known(np.arange(queries))
            for place, level in enumerate(levels):
                more = sum_by_query(self.gains >= level, query, queries)
                self.below += ideal.added(place, ideal.counts[:, place] + more.astype(np.int64))

    def differences(self, values: FloatArray, queries: IntArray, candidate: Places, baseline: Places) -> FloatArray:
        """(draws, queries) differences; values: of these queries, as they are while nobody judges what is unjudged.

        candidate, baseline: what each shows; doc is the number among all unjudged documents.
        """
        if is_cascade_measure(self.metric):
            sides = [self.grades.side(places) for places in (candidate, baseline)]
            return self.values(sides[0], queries) - self.values(sides[1], queries)
        weight, query, doc = net_weights(self.metric, candidate, baseline)
        moved = sum_by_query(weight * self.gains[:, doc], query, len(self.known))[:, queries]
        if self.scale is not None:
            return np.asarray(values + moved * self.scale, dtype=np.float64)
        below = self.below[:, queries]
        return np.divide(values * self.known[queries] + moved, below, out=np.zeros_like(moved), where=below > 0)

    def values(self, side: Side, queries: IntArray) -> FloatArray:
        """(draws, queries) values of one system, of a measure that is measured again."""
        found = np.zeros((len(self.codes), len(queries)))
        width = int(side.length[queries].max(initial=0))
        for part in split_queries(np.arange(len(queries)), width * len(self.codes)):
            rows = queries[part]
            relevant, nonrelevant = self.relevant[:, rows].T, self.nonrelevant[:, rows].T
            found[:, part] = self.grades.values(side, rows, self.codes_of, relevant, nonrelevant).T
        return found

    def codes_of(self, doc: IntArray) -> NDArray[np.unsignedinteger]:
        """(queries, places, draws) codes of their grades."""
        return np.moveaxis(self.codes[:, doc], 0, -1)


def sum_by_query(values: NDArray[np.float64 | np.bool_], query: IntArray, queries: int) -> FloatArray:
    """(draws, queries) sums of (draws, n) values; query: (n,) rising."""
    found = np.zeros((len(values), queries))
    if len(query):
        starts = np.flatnonzero(np.diff(query, prepend=-1))
        found[:, query[starts]] = np.add.reduceat(values, starts, axis=1, dtype=np.float64)
    return found
