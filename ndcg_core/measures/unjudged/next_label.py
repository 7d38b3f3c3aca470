"""What the grade of one more document does to a difference: each unjudged one, at every grade, others as they are.

As in `unjudged.bounds`, D = (c + sum of w_u x_u) / I. With the gain g of a document and nothing else changed
D becomes (c + w g) / I', where I' counts one document more at g. Of chances p of each gain the root mean square change

    sqrt(sum over g of p(g) (D(g) - D)^2)

is large where a grade is uncertain and where it is likely to count. For sums over places it is |w| sqrt(E g^2); B.
Carterette, J. Allan and R. Sitaraman (SIGIR 2006) choose the documents of additive measures by w.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.unjudged.bounds import fixed_factor, make_ideal, net_weights, positive_gains, why_unbounded
from ndcg_core.measures.unjudged.many_completions import UNJUDGED, Grades, is_cascade_measure, split_queries
from ndcg_core.measures.unjudged.places import FloatArray, IntArray, Judged, Places
from ndcg_core.measures.unjudged.walk_bounds import Sides, group_alike


class Moved(NamedTuple):
    """Of every unjudged document within a cutoff its query's and its own number, and (n, grades) differences of that
    query, with each grade of it. counts: (n, grades) whether the query has anything relevant then."""

    query: IntArray
    doc: IntArray
    differences: FloatArray
    counts: NDArray[np.bool_]


def possible_differences(
    metric: Metric,
    differences: FloatArray,
    candidate: Places,
    baseline: Places,
    judged: Judged,
    grades: Sequence[float],
) -> Moved:
    """By rising query and document.

    differences: of each query as it is, unjudged documents gaining nothing; 0 where nothing judged is relevant. grades:
    those that a document may have; one that the judgments do not hold gains nothing.
    Raises ValueError for a metric that `why_unbounded` says something of.
    """
    if reason := why_unbounded(metric):
        raise ValueError(f"metric {metric.name}: no effect of a grade, {reason}")
    judged = judged.add_possible_grade(metric)
    known = Grades(metric, judged)
    codes = known.codes_of(np.array(grades))
    moved = differences_of_cascades if is_cascade_measure(metric) else differences_of_sums
    query, doc, found = moved(metric, differences, candidate, baseline, judged, codes)
    counts = (known.relevant[query] > 0)[:, None] | (known.gains[codes] > 0)
    return Moved(query, doc, found, counts)


def differences_of_sums(
    metric: Metric,
    differences: FloatArray,
    candidate: Places,
    baseline: Places,
    judged: Judged,
    codes: IntArray,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Of sums over places: (n,) queries and documents, (n, grades) differences."""
    net = net_weights(metric, candidate, baseline)
    gains = Grades(metric, judged).gains[codes]
    levels = positive_gains(metric, judged)
    height = np.searchsorted(levels, gains, side="right")
    before, added = differences[net.query], net.weight[:, None] * gains
    scale = fixed_factor(metric, judged)
    if scale is not None or not len(levels):
        return net.query, net.doc, before[:, None] + added * (scale or 0.0)
    ideal = make_ideal(metric, levels, judged, net.query)
    known = ideal.known(net.query)
    risen = [np.diff(ideal.reached(level, net.query, 1), axis=1)[:, 0] for level in range(len(levels))]
    more = np.concatenate([np.zeros((1, len(net.query))), np.cumsum(risen, axis=0)])
    below = known[:, None] + more[height].T
    above = (before * known)[:, None] + added
    found: FloatArray = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
    return net.query, net.doc, found


def differences_of_cascades(
    metric: Metric,
    differences: FloatArray,
    candidate: Places,
    baseline: Places,
    judged: Judged,
    codes: IntArray,
) -> tuple[IntArray, IntArray, FloatArray]:
    """The same of measures whose places count by what is above them: each is measured again with each grade."""
    sides = Sides(metric, candidate, baseline, judged)
    documents, kind_of = sides.documents, sides.grades.kind_of[codes]
    found = np.repeat(differences[documents.query][:, None], len(codes), axis=1)
    for rows in group_alike(documents, np.flatnonzero(documents.counts)):
        numbers = np.arange(documents.counts[rows[0]])
        width = int(sides.width[rows].max())
        for kind in set(kind_of.tolist()) - {UNJUDGED}:
            columns = np.flatnonzero(kind_of == kind)
            for some in split_queries(numbers, width):
                one = np.where(numbers[:, None] == some, kind, UNJUDGED)[None]
                for part in split_queries(rows, width * len(some)):
                    at = documents.start[part][:, None] + some
                    found[at[:, :, None], columns] = sides.differences(part, one)[:, :, None]
    order = np.lexsort((documents.doc, documents.query))
    return documents.query[order], documents.doc[order], found[order]


def root_mean_square(changes: FloatArray, chances: FloatArray) -> FloatArray:
    """(n,) of (n, grades) changes, with the chances of each grade."""
    found: FloatArray = np.sqrt((chances * changes**2).sum(axis=1))
    return found
