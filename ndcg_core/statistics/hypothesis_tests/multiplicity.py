"""p-values adjusted for their number: Holm (family-wise error) and Benjamini-Hochberg (false discovery rate).

Sources: S. Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6 (1979);
Y. Benjamini and Y. Hochberg, Controlling the False Discovery Rate, Journal of the Royal Statistical Society B 57
(1995). R's `p.adjust` and `scipy.stats.false_discovery_control` agree.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PValues = Sequence[float] | NDArray[np.float64]


def holm(p_values: PValues) -> tuple[float, ...]:
    """Family-wise adjusted p of k >= 0 p-values, each in [its p, 1], in the order given; () for k = 0.

    The smallest p times k, the next times k - 1, down to the largest times 1; none below that of a smaller p. Valid
    under any dependence. Raises ValueError for NaN and for values outside [0, 1]. (Holm 1979.)
    """
    values = _checked(p_values)
    rising = np.argsort(values, kind="stable")
    remaining = np.arange(len(values), 0, -1)
    return _in_order(np.maximum.accumulate(values[rising] * remaining), rising)


def benjamini_hochberg(p_values: PValues) -> tuple[float, ...]:
    """p of k >= 0 p-values adjusted for the false discovery rate, each in [its p, 1], in the order given.

    The p of rank i (1 the smallest) times k / i; none above that of a larger p. Valid for independent and positively
    dependent tests. () for k = 0. Raises ValueError for NaN and for values outside [0, 1]. (Benjamini and Hochberg.)
    """
    values = _checked(p_values)
    falling = np.argsort(values, kind="stable")[::-1]
    ranks = np.arange(len(values), 0, -1)
    return _in_order(np.minimum.accumulate(values[falling] * (len(values) / ranks)), falling)


def _in_order(adjusted: NDArray[np.float64], order: NDArray[np.intp]) -> tuple[float, ...]:
    given = np.empty_like(adjusted)
    given[order] = np.minimum(adjusted, 1.0)
    return tuple(given.tolist())


def _checked(p_values: PValues) -> NDArray[np.float64]:
    values = np.asarray(p_values, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"p_values have shape {values.shape}, must be one row of numbers")
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise ValueError(f"p_values[{place}] == {values[place]}, must lie in [0, 1]")
    return values
