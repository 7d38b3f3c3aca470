"""How far judges agree on grades.

Source: K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011).  The package `krippendorff` would bring the
GPL along, so that alpha is computed here.
"""

import numpy as np
from numpy.typing import ArrayLike


def ordinal_alpha(coincidences: ArrayLike) -> float | None:
    """Krippendorff's alpha for grades of which only the order counts: 1 where all agree, 0 as by chance, below worse.

    coincidences: a square, symmetric table, grades rising: how often two judges of one document gave these two grades,
    each ordered pair of its m judges counted 1 / (m - 1).  None where there is one grade alone: nothing can disagree.
    """
    observed = np.asarray(coincidences, dtype=float)
    totals = observed.sum(axis=1)
    middles = np.cumsum(totals) - totals / 2
    distances = np.subtract.outer(middles, middles) ** 2
    expected = np.outer(totals, totals)
    if not (expected * distances).any():
        return None
    return float(1 - (totals.sum() - 1) * (observed * distances).sum() / (expected * distances).sum())
