"""Which change moved a mean over queries: that of the ranking, of the judgments, or of the query set.

Between two evaluations each of the three is the old one or the new one, which makes eight means. Every cause gets what
it moves the mean by when it changes, averaged over the six orders in which the three can change: no order is preferred,
and the parts add up to the whole change.

Source: L. S. Shapley, A value for n-person games, Contributions to the Theory of Games II (1953).
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_core.statistics.exact_sums import exact_sum

Values = NDArray[np.float64]
CAUSES = ("ranking", "judgments", "queries")
SHARES = (2 / 6, 1 / 6, 2 / 6)  # of the six orders, by how many of the other two changed before; two ways to have one


class Split(NamedTuple):
    """What each cause moved a mean by.

    before, now: the mean. parts: of each of `CAUSES`, in their order; they add up to now - before.
    of_queries: one row per cause and one column per query: what the query adds to that part. Their sum is the part.
    """

    before: float
    now: float
    parts: tuple[float, ...]
    of_queries: Values


def split(values: Values, weights: Values) -> Split | None:
    """The parts of the change between two evaluations; None where one of the eight means has no query.

    values: [ranking, judgments, query], 0 the old and 1 the new one; NaN where that ranking has no value by those
    judgments. Of a query that is in one set alone only that evaluation's own value is looked at: its whole effect
    belongs to the query set. weights: [query set, query]; 0 where the query is not in the set.
    """
    own = [values[0, 0], values[1, 1]]
    is_shared = (weights > 0).all(axis=0)
    means: dict[tuple[int, ...], float] = {}
    counted: dict[tuple[int, ...], tuple[Values, Values, float]] = {}
    for state in product((0, 1), repeat=len(CAUSES)):
        ranking, judgments, queries = state
        used = np.where(is_shared, values[ranking, judgments], own[queries])
        weighing = np.where(np.isnan(used), 0.0, weights[queries])
        total = exact_sum(weighing)
        if total == 0:
            return None
        used = np.where(weighing > 0, used, 0.0)
        means[state] = exact_sum(weighing * used) / total
        counted[state] = (used, weighing, total)
    before, now = means[0, 0, 0], means[1, 1, 1]
    # A query adds to a mean what it lies above or below the middle: one with a low value lowers it.
    middle = (before + now) / 2
    added = {state: weighing * (used - middle) / total for state, (used, weighing, total) in counted.items()}
    parts, of_queries = [], []
    for cause in range(len(CAUSES)):
        changes = [(state, changed(state, cause)) for state in means if not state[cause]]
        parts.append(sum(SHARES[sum(old)] * (means[new] - means[old]) for old, new in changes))
        of_queries.append(sum((SHARES[sum(old)] * (added[new] - added[old]) for old, new in changes), np.zeros(())))
    return Split(before, now, tuple(parts), np.array(of_queries))


def changed(state: tuple[int, ...], cause: int) -> tuple[int, ...]:
    """The same with the new one of a cause."""
    return (*state[:cause], 1, *state[cause + 1 :])
