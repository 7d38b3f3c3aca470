"""p-values adjusted for their number: Benjamini-Hochberg (false discovery rate).

Source: Y. Benjamini and Y. Hochberg, Controlling the False Discovery Rate, Journal of the Royal Statistical Society B
57 (1995). R's `p.adjust` and `scipy.stats.false_discovery_control` agree.
"""

from collections.abc import Sequence

import numpy as np


def benjamini_hochberg(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return k >= 0 p-values adjusted for the false discovery rate, each in [its p, 1], in the order given.

    The p of rank i (1 the smallest) times k / i; none above that of a larger p. Valid for independent and positively
    dependent tests.
    """
    values = np.asarray(p_values, dtype=np.float64)
    falling = np.argsort(values, kind="stable")[::-1]
    ranks = np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[falling] = np.minimum(np.minimum.accumulate(values[falling] * (len(values) / ranks)), 1.0)
    return tuple(adjusted.tolist())
