"""Features of documents, few of many each: only what is not 0 is kept, and products cost what is kept.

Of 143 systems most show none of a document's places, so that 98 of 100 features are 0.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Features(NamedTuple):
    """A matrix of n documents and p features by its entries; what has no entry is 0.

    document, feature: (entries,) the row and the column of each, by rising document; no place twice. value: (entries,).
    shape: (n, p).
    """

    document: IntArray
    feature: IntArray
    value: FloatArray
    shape: tuple[int, int]

    def take(self, chosen: NDArray[np.bool_]) -> Self:
        """The chosen documents; chosen: (n,)."""
        kept = chosen[self.document]
        numbers = np.cumsum(chosen) - 1
        shape = (int(chosen.sum()), self.shape[1])
        return self._replace(
            document=numbers[self.document[kept]], feature=self.feature[kept], value=self.value[kept], shape=shape
        )

    def times(self, slopes: FloatArray) -> FloatArray:
        """(n,) each document's sum of features times slopes, (p,)."""
        return _sums(self.document, self.value * slopes[self.feature], self.shape[0])

    def summed(self, weights: FloatArray) -> FloatArray:
        """(p,) each feature's sum over documents, weighted by (n,)."""
        return _sums(self.feature, self.value * weights[self.document], self.shape[1])

    def summed_by(self, group: IntArray, groups: int, weights: FloatArray) -> FloatArray:
        """(groups, p) the same over the documents of each group; group: (n,) numbers from 0 on."""
        places = group[self.document] * self.shape[1] + self.feature
        found = _sums(places, self.value * weights[self.document], groups * self.shape[1])
        return found.reshape(groups, self.shape[1])


class Products:
    """Sums over documents of weight times feature times feature, for one weighting after another.

    A document of few entries adds up its pairs of them; those whose pairs are more than the features, as where nearly
    every system shows them, are multiplied as whole rows.
    """

    def __init__(self, features: Features) -> None:
        documents, self.width = features.shape
        counts = np.bincount(features.document, minlength=documents)
        self.crowded = np.flatnonzero(counts * (counts + 1) // 2 > self.width)
        is_crowded = np.zeros(documents, dtype=np.bool_)
        is_crowded[self.crowded] = True
        self.rows = np.zeros((len(self.crowded), self.width))
        inside = is_crowded[features.document]
        lines = np.searchsorted(self.crowded, features.document[inside])
        self.rows[lines, features.feature[inside]] = features.value[inside]
        others = np.flatnonzero(~inside)
        ends = np.cumsum(counts)[features.document[others]]  # each entry pairs with itself and those after it
        partners = ends - others
        first = np.repeat(others, partners)
        second = first + np.arange(len(first)) - np.repeat(np.cumsum(partners) - partners, partners)
        self.document = features.document[first]
        self.place = features.feature[first] * self.width + features.feature[second]
        self.product = features.value[first] * features.value[second]

    def weighted(self, weights: FloatArray) -> FloatArray:
        """(p, p) symmetric; weights: (n,)."""
        pairs = _sums(self.place, self.product * weights[self.document], self.width**2)
        once = pairs.reshape(self.width, self.width)
        found: FloatArray = (self.rows * weights[self.crowded, None]).T @ self.rows
        found += once + once.T
        found[np.diag_indices(self.width)] -= np.diag(once)
        return found


def _sums(places: IntArray, values: FloatArray, count: int) -> FloatArray:
    """(count,) the sum of the values of each place; numpy counts in whole numbers where there is no value."""
    return np.bincount(places, values, count).astype(np.float64, copy=False)
