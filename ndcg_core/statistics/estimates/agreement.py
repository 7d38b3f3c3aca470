"""How far judges agree: Krippendorff's alpha over all of them, Cohen's kappa of two.

K. Krippendorff, Content Analysis, 4th edition 2018, chapter 12 (alpha; distances of ordinal values: 12.3.2.2).
J. Cohen, A Coefficient of Agreement for Nominal Scales, Educational and Psychological Measurement 20, 1960.
J. Cohen, Weighted Kappa, Psychological Bulletin 70, 1968.  `sklearn.metrics.cohen_kappa_score` agrees.
All are 1 where judges agree always, and 0 where they agree as often as by chance.  The package `krippendorff` would
bring the GPL along; for kappa alone scikit-learn would be a large thing to ask of a nightly run.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Distance = Literal["nominal", "ordinal", "interval"]
Array = NDArray[np.float64]


def krippendorff_alpha(
    units: Sequence[int] | NDArray[np.integer], values: Sequence[float] | Array, distance: Distance = "ordinal"
) -> float | None:
    """Alpha of values by several judges, each with the unit (the document) that it is of.

    Judges need not judge every unit; a unit with one value says nothing. None where no two values are of one unit, or
    all of those are the same.
    """
    _, unit = np.unique(np.asarray(units), return_inverse=True)
    levels, level = np.unique(np.asarray(values, dtype=float), return_inverse=True)
    counts = np.zeros((int(unit.max(initial=-1)) + 1, len(levels)))
    np.add.at(counts, (unit, level), 1)
    counts = counts[counts.sum(axis=1) > 1]
    shares = counts / (counts.sum(axis=1, keepdims=True) - 1)
    coincidences = counts.T @ shares - np.diag(shares.sum(axis=0))
    return alpha_from_coincidences(coincidences, levels, distance)


def alpha_from_coincidences(coincidences: Array, levels: Array, distance: Distance) -> float | None:
    """Alpha from how often two values of one unit coincide; levels: the values, rising."""
    totals = coincidences.sum(axis=1)
    count = totals.sum()
    squares = squared_distances(totals, levels, distance)
    expected = float((np.outer(totals, totals) * squares).sum())
    if expected == 0:
        return None
    return 1 - float((count - 1) * (coincidences * squares).sum()) / expected


def squared_distances(totals: Array, levels: Array, distance: Distance) -> Array:
    """Squared distances of every two values; of ordinal ones by how many values lie between them."""
    if distance == "nominal":
        return 1 - np.eye(len(levels))
    places = np.cumsum(totals) - totals / 2 if distance == "ordinal" else levels
    found: Array = np.subtract.outer(places, places) ** 2
    return found


def confusion_matrix(first: Sequence[float] | Array, second: Sequence[float] | Array) -> Array:
    """(levels x levels): how often two judges gave the same documents each pair of the grades that occur, rising."""
    grades = np.concatenate([np.asarray(first, dtype=float), np.asarray(second, dtype=float)])
    levels, places = np.unique(grades, return_inverse=True)
    found = np.zeros((len(levels), len(levels)))
    np.add.at(found, tuple(places.reshape(2, -1)), 1)
    return found


def cohen_kappa(confusion: Array, weights: Literal["linear", "quadratic"] | None = None) -> float | None:
    """Kappa of two judges' `confusion_matrix`; None where it is empty, and where all grades are one.

    weights: a disagreement counts as the distance of its grades, counted in grades, or as its square; None: as 1.
    """
    apart = np.abs(np.subtract.outer(np.arange(len(confusion)), np.arange(len(confusion))))
    cost = {None: apart > 0, "linear": apart, "quadratic": apart**2}[weights]
    chance = np.outer(confusion.sum(axis=1), confusion.sum(axis=0)) / max(float(confusion.sum()), 1.0)
    expected = float((cost * chance).sum())
    return None if expected == 0 else 1 - float((cost * confusion).sum()) / expected
