"""Measure how far judges agree: Krippendorff's alpha of any number of judges, Cohen's kappa of two.

K. Krippendorff, Content Analysis, 4th edition 2018, chapter 12 (alpha; distances of ordinal values: 12.3.2.2).
J. Cohen, A Coefficient of Agreement for Nominal Scales, Educational and Psychological Measurement 20, 1960.
J. Cohen, Weighted Kappa, Psychological Bulletin 70, 1968. `sklearn.metrics.cohen_kappa_score` agrees.
All coefficients are 1 if judges always agree, and 0 if they agree as often as by chance.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def krippendorff_alpha(units: Sequence[int] | NDArray[np.integer], values: Sequence[float] | Array) -> float | None:
    """Compute Krippendorff's ordinal alpha of grades by several judges.

    units: for each grade, the number of the document that was judged.
    values: the grades. Judges need not judge every document; a document with only one grade does not count.
    The result is None if no document has two grades, or if all grades of such documents are equal.
    """
    _, unit = np.unique(np.asarray(units), return_inverse=True)
    levels, level = np.unique(np.asarray(values, dtype=float), return_inverse=True)
    counts = np.zeros((int(unit.max(initial=-1)) + 1, len(levels)))
    np.add.at(counts, (unit, level), 1)
    counts = counts[counts.sum(axis=1) > 1]
    shares = counts / (counts.sum(axis=1, keepdims=True) - 1)
    return alpha_from_coincidences(counts.T @ shares - np.diag(shares.sum(axis=0)))


def alpha_from_coincidences(coincidences: Array) -> float | None:
    """Compute Krippendorff's ordinal alpha from a matrix of coincidences.

    coincidences: (levels x levels) matrix, with the grades in rising order. An entry is how often documents have the
        two grades from two different judges.
    The distance of two grades is the difference of their mean ranks among all given grades. The result is None if there
    are no two different grades, so that alpha is undefined.
    """
    totals = coincidences.sum(axis=1)
    midranks = np.cumsum(totals) - totals / 2
    squares = np.subtract.outer(midranks, midranks) ** 2
    expected = float((np.outer(totals, totals) * squares).sum())
    if expected == 0:
        return None
    return 1 - float((totals.sum() - 1) * (coincidences * squares).sum()) / expected


def confusion_matrix(first: Sequence[float] | Array, second: Sequence[float] | Array) -> Array:
    """Count how often two judges gave each pair of grades, and return a (levels x levels) matrix.

    first, second: grades of the same documents by the first judge (rows of the matrix) and the second judge (columns).
    Levels are the grades that occur, in rising order.
    """
    grades = np.concatenate([np.asarray(first, dtype=float), np.asarray(second, dtype=float)])
    levels, indices = np.unique(grades, return_inverse=True)
    matrix = np.zeros((len(levels), len(levels)))
    np.add.at(matrix, tuple(indices.reshape(2, -1)), 1)
    return matrix


def cohen_kappa(confusion: Array, weights: Literal["linear", "quadratic"] | None = None) -> float | None:
    """Compute Cohen's kappa from a matrix of `confusion_matrix`.

    weights: how much a disagreement counts: "linear" for the number of levels between the grades, "quadratic" for the
        square of this number, None for 1.
    The result is None if the matrix is empty, or if all grades are equal.
    """
    distances = np.abs(np.subtract.outer(np.arange(len(confusion)), np.arange(len(confusion))))
    cost = {None: distances > 0, "linear": distances, "quadratic": distances**2}[weights]
    chance = np.outer(confusion.sum(axis=1), confusion.sum(axis=0)) / max(float(confusion.sum()), 1.0)
    expected = float((cost * chance).sum())
    return None if expected == 0 else 1 - float((cost * confusion).sum()) / expected
