"""Which change moved a mean over queries: that of the ranking, of the judgments, or of the query set.

Each of the three is the old or the new one, which makes eight means. Every cause gets what it moves the mean by when it
changes, averaged over the six orders in which the three can change. The parts add up to the whole change.

Source: L. S. Shapley, A value for n-person games, Contributions to the Theory of Games II (1953).
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_core.statistics.exact_sums import exact_sum

Values = NDArray[np.float64]
State = tuple[int, ...]
CAUSES = ("ranking", "judgments", "queries")
SHARES = (2 / 6, 1 / 6, 2 / 6)  # of the six orders, by how many of the other two changed before; two ways to have one


class Split(NamedTuple):
    """What each cause moved a mean by.

    before, now: the mean. parts: of each of `CAUSES`, in their order; they add up to now - before.
    of_queries: (causes x queries), what each query adds to a part.
    """

    before: float
    now: float
    parts: tuple[float, ...]
    of_queries: Values


class Mean:
    """One of the eight means. weights: 0 of a query that is left out. is_shared: which queries are in both sets."""

    def __init__(self, values: Values, weights: Values, is_shared: NDArray[np.bool_]) -> None:
        self.values, self.weights, self.is_shared = values, weights, is_shared
        self.total = exact_sum(weights)
        self.value = exact_sum(weights * values) / self.total

    def added(self, cause: str, middle: float) -> Values:
        """Return what each query adds to the distance of the mean from the middle.

        If the query set is the cause, queries of one set alone add what they lie above or below the mean of the shared
        ones, so that these add nothing while their weights keep their proportions.
        """
        shared = np.where(self.is_shared, self.weights, 0.0)
        total = exact_sum(shared)
        if cause != CAUSES[2] or total == 0:
            return self.weights * (self.values - middle) / self.total
        of_shared = exact_sum(shared * self.values) / total
        alone = (self.weights - shared) * (self.values - of_shared) / self.total
        return shared * (self.values - middle) / total + alone


def split_change(values: Values, weights: Values) -> Split | None:
    """Split the change between two evaluations into its parts; None if one of the eight means has no query.

    values: [ranking, judgments, query], 0 the old and 1 the new one; NaN if that ranking has no value by those
    judgments. For a query in one set alone only that evaluation's own value counts: its whole effect belongs to the
    query set. weights: [query set, query]; 0 if the query is not in the set.
    """
    own = [values[0, 0], values[1, 1]]
    is_shared = (weights[0] > 0) & (weights[1] > 0)
    found: dict[State, Mean] = {}
    for state in product((0, 1), repeat=len(CAUSES)):
        ranking, judgments, queries = state
        used = np.where(is_shared, values[ranking, judgments], own[queries])
        weighing = np.where(np.isnan(used), 0.0, weights[queries])
        if not weighing.any():
            return None
        found[state] = Mean(np.where(weighing > 0, used, 0.0), weighing, is_shared)
    before, now = found[0, 0, 0].value, found[1, 1, 1].value
    middle = (before + now) / 2
    parts: list[float] = []
    of_queries = np.zeros((len(CAUSES), values.shape[2]))
    for at, cause in enumerate(CAUSES):
        part = 0.0
        for state, old in found.items():
            if state[at]:
                continue
            new, share = found[*state[:at], 1, *state[at + 1 :]], SHARES[sum(state)]
            part += share * (new.value - old.value)
            of_queries[at] += share * (new.added(cause, middle) - old.added(cause, middle))
        parts.append(part)
    return Split(before, now, tuple(parts), of_queries)
