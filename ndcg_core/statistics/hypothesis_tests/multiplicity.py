"""p-values adjusted for their number: Benjamini-Hochberg (false discovery rate).

Source: Y. Benjamini and Y. Hochberg, Controlling the False Discovery Rate, Journal of the Royal Statistical Society B
57 (1995). R's `p.adjust` and `scipy.stats.false_discovery_control` agree.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PValues = Sequence[float] | NDArray[np.float64]


def benjamini_hochberg(p_values: PValues) -> tuple[float, ...]:
    """p of k >= 0 p-values adjusted for the false discovery rate, each in [its p, 1], in the order given.

    The p of rank i (1 the smallest) times k / i; none above that of a larger p. Valid for independent and positively
    dependent tests. () for k = 0. Raises ValueError for NaN and for values outside [0, 1]. (Benjamini and Hochberg.)
    """
    values = np.asarray(p_values, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"p_values have shape {values.shape}, must be one row of numbers")
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise ValueError(f"p_values[{place}] == {values[place]}, must lie in [0, 1]")
    falling = np.argsort(values, kind="stable")[::-1]
    ranks = np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[falling] = np.minimum(np.minimum.accumulate(values[falling] * (len(values) / ranks)), 1.0)
    return tuple(adjusted.tolist())
