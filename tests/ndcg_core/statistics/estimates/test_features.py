"""Features kept by their entries: the products of the whole matrix, however full its rows are."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ndcg_core.statistics.estimates.features import Features, Products


def features_of(matrix: NDArray[np.float64]) -> Features:
    document, feature = np.nonzero(matrix)
    return Features(document, feature, matrix[document, feature], (matrix.shape[0], matrix.shape[1]))


def filled(*shares: float) -> NDArray[np.float64]:
    """Twenty documents for each share of features that are not 0, of 30."""
    rng = np.random.default_rng(3)
    parts = [np.where(rng.random((20, 30)) < share, rng.normal(size=(20, 30)), 0.0) for share in shares]
    return rng.permutation(np.concatenate(parts))


MATRICES = {
    "few entries": filled(0.1),
    "many entries": filled(0.9),
    "both": filled(0.05, 1.0),
    "none": np.zeros((20, 30)),
    "no document": np.zeros((0, 30)),
    "one feature": np.ones((20, 1)),
}


@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES.keys())
def test_sums_and_products_are_those_of_the_matrix(matrix: NDArray[np.float64]) -> None:
    rng = np.random.default_rng(4)
    documents, features = matrix.shape
    weights, slopes = rng.random(documents), rng.normal(size=features)
    group = rng.integers(0, 4, documents)
    found = features_of(matrix)
    assert found.times(slopes) == pytest.approx(matrix @ slopes)
    assert found.summed(weights) == pytest.approx(weights @ matrix)
    by_group = np.array([(weights * (group == each)) @ matrix for each in range(4)])
    assert found.summed_by(group, 4, weights) == pytest.approx(by_group)
    assert Products(found).weighted(weights) == pytest.approx(matrix.T @ (weights[:, None] * matrix))
    chosen = weights > 0.5
    taken = found.take(chosen)
    assert taken.shape == (int(chosen.sum()), features)
    assert taken.times(slopes) == pytest.approx((matrix @ slopes)[chosen])


def test_both_ways_of_multiplying_are_taken() -> None:
    products = Products(features_of(MATRICES["both"]))
    assert 0 < len(products.crowded) < 40 and len(products.place) > 0
