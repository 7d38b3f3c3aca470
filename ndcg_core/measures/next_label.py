"""What the grade of one more document does to a difference: each unjudged one, at every grade, others as they are.

As in `ndcg_core.measures.bounds`, D = (c + sum of w_u x_u) / I. With the gain g of a document and nothing else changed
D becomes (c + w g) / I', where I' counts one document more at g. Of chances p of each gain the root mean square change

    sqrt(sum over g of p(g) (D(g) - D)^2)

is large where a grade is uncertain and where it is likely to count. For sums over places it is |w| sqrt(E g^2); B.
Carterette, J. Allan and R. Sitaraman (SIGIR 2006) choose the documents of additive measures by w.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_core.measures.bounds import (
    FloatArray,
    IntArray,
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


class Moved(NamedTuple):
    """Of every unjudged document within a cutoff its query's and its own number, and (n, grades) differences of that
    query, with each grade of it. counts: (n, grades) whether the query has anything relevant then."""

    query: IntArray
    doc: IntArray
    differences: FloatArray
    counts: NDArray[np.bool_]


def moved_differences(
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
    net = net_weights(metric, candidate, baseline)
    gains = np.array([gain(metric, grade) if grade in judged.grades else 0.0 for grade in grades])
    levels = positive_gains(metric, judged)
    height = np.searchsorted(levels, gains, side="right")
    relevant = np.zeros(len(differences), dtype=np.int64)
    for column, grade in enumerate(judged.grades):
        relevant += judged.counts[:, column] * (gain(metric, grade) > 0)
    counts = (relevant[net.query] > 0)[:, None] | (gains > 0)
    before, added = differences[net.query], net.weight[:, None] * gains
    divisor = fixed_divisor(metric, judged)
    if divisor is not None or not len(levels):
        return Moved(net.query, net.doc, before[:, None] + added / (divisor or 1.0), counts)
    ideal = ideal_of(metric, levels, judged, net.query)
    known = ideal.known(net.query)
    risen = [np.diff(ideal.reached(level, net.query, 1), axis=1)[:, 0] for level in range(len(levels))]
    more = np.concatenate([np.zeros((1, len(net.query))), np.cumsum(risen, axis=0)])
    below = known[:, None] + more[height].T
    above = (before * known)[:, None] + added
    moved: FloatArray = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
    return Moved(net.query, net.doc, moved, counts)


def root_mean_square(changes: FloatArray, chances: FloatArray) -> FloatArray:
    """(n,) of (n, grades) changes, with the chances of each grade."""
    found: FloatArray = np.sqrt((chances * changes**2).sum(axis=1))
    return found
