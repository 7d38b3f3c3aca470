"""How far judges agree: Krippendorff's alpha over all of them, Cohen's kappa of two.

K. Krippendorff, Content Analysis, 4th edition 2018, chapter 12 (alpha; distances of ordinal values: 12.3.2.2).
J. Cohen, A Coefficient of Agreement for Nominal Scales, Educational and Psychological Measurement 20, 1960.
Both are 1 where judges agree always, and 0 where they agree as often as by chance.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    return alpha_of(coincidences, levels, distance)


def alpha_of(coincidences: Array, levels: Array, distance: Distance) -> float | None:
    """Alpha from how often two values of one unit coincide; levels: the values, rising."""
    totals = coincidences.sum(axis=1)
    count = totals.sum()
    squares = distances(totals, levels, distance)
    expected = float((np.outer(totals, totals) * squares).sum())
    if expected == 0:
        return None
    return 1 - float((count - 1) * (coincidences * squares).sum()) / expected


def distances(totals: Array, levels: Array, distance: Distance) -> Array:
    """Squared distances of every two values; of ordinal ones by how many values lie between them."""
    if distance == "nominal":
        return 1 - np.eye(len(levels))
    places = np.cumsum(totals) - totals / 2 if distance == "ordinal" else levels
    found: Array = np.subtract.outer(places, places) ** 2
    return found


def cohen_kappa(first: Sequence[float] | Array, second: Sequence[float] | Array) -> float | None:
    """Kappa of two judges' grades of the same documents; None without any, and where all grades are one."""
    ours, theirs = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if not len(ours):
        return None
    levels = np.unique([ours, theirs])
    observed = float((ours == theirs).mean())
    chance = float(sum((ours == level).mean() * (theirs == level).mean() for level in levels))
    return None if chance == 1 else (observed - chance) / (1 - chance)


def ordinal_alpha(coincidences: ArrayLike) -> float | None:
    """Alpha of ordinal values from a square, symmetric table, values rising; None where there is one value alone.

    coincidences: how often two judges of one document gave these two grades, each ordered pair of its m judges counted
    1 / (m - 1).
    """
    observed = np.asarray(coincidences, dtype=float)
    return alpha_of(observed, np.arange(len(observed), dtype=float), "ordinal")
