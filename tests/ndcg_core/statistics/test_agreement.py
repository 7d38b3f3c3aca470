"""Agreement of judges, against a published value and at its ends."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from ndcg_core.statistics.agreement import ordinal_alpha

# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example C: four observers, twelve units.
OBSERVERS = ("1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 .")


def coincidences(observers: Sequence[str], grades: int) -> np.ndarray:
    found = np.zeros((grades, grades))
    for unit in zip(*(each.split() for each in observers), strict=True):
        given = [int(value) - 1 for value in unit if value != "."]
        for one, other in itertools.permutations(given, 2):
            found[one, other] += 1 / (len(given) - 1)
    return found


def test_alpha_is_the_published_one() -> None:
    assert coincidences(OBSERVERS, 5).sum() == pytest.approx(40)
    assert ordinal_alpha(coincidences(OBSERVERS, 5)) == pytest.approx(0.815, abs=5e-4)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ([[4, 0], [0, 6]], 1.0),
        ([[0, 80], [80, 0]], 1 - 159 * 160 / 12800),  # never the same grade
        ([[10, 0, 0], [0, 0, 0], [0, 0, 0]], None),
        ([[7]], None),
    ],
)
def test_alpha_at_its_ends(table: list[list[int]], expected: float | None) -> None:
    assert ordinal_alpha(table) == (None if expected is None else pytest.approx(expected))
