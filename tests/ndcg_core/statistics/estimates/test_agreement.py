"""Agreement of judges: published values, and those of another implementation."""

from typing import Literal

import numpy as np
import pytest

from ndcg_core.statistics.estimates.agreement import cohen_kappa, confusion_matrix, krippendorff_alpha

# K. Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011: four observers, twelve units.
OBSERVED = ("1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 .")


def test_alpha_is_that_of_the_published_example() -> None:
    rows = [(unit, float(value)) for line in OBSERVED for unit, value in enumerate(line.split()) if value != "."]
    units, values = zip(*rows, strict=True)
    assert krippendorff_alpha(units, values) == pytest.approx(0.815, abs=0.0005)


def test_alpha_of_nothing_to_compare_is_not_known() -> None:
    assert krippendorff_alpha([0, 1, 2], [1.0, 2.0, 3.0]) is None
    assert krippendorff_alpha([0, 0, 1, 1], [2.0, 2.0, 2.0, 2.0]) is None
    assert krippendorff_alpha([0, 0, 1, 1], [1.0, 1.0, 2.0, 2.0]) == 1


@pytest.mark.first_case
@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa_is_that_of_another_implementation(weights: Literal["linear", "quadratic"] | None) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(2)
    first = rng.integers(0, 4, 300)
    second = np.where(rng.random(300) < 0.6, first, rng.integers(0, 4, 300))
    expected = metrics.cohen_kappa_score(first, second, weights=weights)
    assert cohen_kappa(confusion_matrix(first, second), weights) == pytest.approx(expected, abs=1e-12)


def test_kappa_by_hand_and_where_it_is_not_known() -> None:
    """Agreement on 35 of 50, by chance on 25: (0.7 - 0.5) / (1 - 0.5)."""
    first = [1] * 25 + [0] * 25
    second = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert confusion_matrix(first, second).tolist() == [[15, 10], [5, 20]]
    assert cohen_kappa(confusion_matrix(first, second)) == pytest.approx(0.4)
    assert cohen_kappa(confusion_matrix([1, 1], [1, 1])) is None and cohen_kappa(confusion_matrix([], [])) is None
