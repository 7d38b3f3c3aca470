"""Agreement of judges: published values, and those of another implementation."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from ndcg_core.statistics.agreement import Distance, cohen_kappa, krippendorff_alpha, ordinal_alpha

# K. Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011: four observers, twelve units.
OBSERVED = ("1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 .")


@pytest.mark.parametrize(("distance", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_is_that_of_the_published_example(distance: Distance, expected: float) -> None:
    rows = [(unit, float(value)) for line in OBSERVED for unit, value in enumerate(line.split()) if value != "."]
    units, values = zip(*rows, strict=True)
    assert krippendorff_alpha(units, values, distance) == pytest.approx(expected, abs=0.0005)


def test_alpha_of_nothing_to_compare_is_not_known() -> None:
    assert krippendorff_alpha([0, 1, 2], [1.0, 2.0, 3.0]) is None
    assert krippendorff_alpha([0, 0, 1, 1], [2.0, 2.0, 2.0, 2.0]) is None
    assert krippendorff_alpha([0, 0, 1, 1], [1.0, 1.0, 2.0, 2.0]) == 1


def test_kappa_is_that_of_another_implementation() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(2)
    first = rng.integers(0, 4, 300)
    second = np.where(rng.random(300) < 0.6, first, rng.integers(0, 4, 300))
    assert cohen_kappa(first, second) == pytest.approx(metrics.cohen_kappa_score(first, second), abs=1e-12)


def test_kappa_by_hand_and_where_it_is_not_known() -> None:
    """Agreement on 35 of 50, by chance on 25: (0.7 - 0.5) / (1 - 0.5)."""
    first = [1] * 25 + [0] * 25
    second = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)
    assert cohen_kappa([1, 1], [1, 1]) is None and cohen_kappa([], []) is None


def coincidences(observers: Sequence[str], grades: int) -> np.ndarray:
    found = np.zeros((grades, grades))
    for unit in zip(*(each.split() for each in observers), strict=True):
        given = [int(value) - 1 for value in unit if value != "."]
        for one, other in itertools.permutations(given, 2):
            found[one, other] += 1 / (len(given) - 1)
    return found


def test_alpha_of_a_table_is_the_published_one() -> None:
    assert coincidences(OBSERVED, 5).sum() == pytest.approx(40)
    assert ordinal_alpha(coincidences(OBSERVED, 5)) == pytest.approx(0.815, abs=5e-4)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ([[4, 0], [0, 6]], 1.0),
        ([[0, 80], [80, 0]], 1 - 159 * 160 / 12800),  # never the same grade
        ([[10, 0, 0], [0, 0, 0], [0, 0, 0]], None),
        ([[7]], None),
    ],
)
def test_alpha_of_a_table_at_its_ends(table: list[list[int]], expected: float | None) -> None:
    assert ordinal_alpha(table) == (None if expected is None else pytest.approx(expected))
