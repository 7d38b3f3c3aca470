"""The mean difference over a log from drawn queries: a ratio estimate (docs/draw.md).

    mean = A * sum(w d) / sum(w a),   w = frequency / probability,   A = sum(f a) / sum(f) over the whole log

with a the relative disagreement of a query, 0 where the systems show the same. It is the weighted mean of the values
A d / a with weights w a, whose error is that of any weighted mean (`mean_difference.compute_moments`); where no drawn
query was certain the weights are equal. No correction for a finite log: the interval is about queries like those of
the log, as it is where all of them are judged.

Source: S. K. Thompson, Sampling (2012), chapter 7 (the ratio estimator under unequal probabilities).
"""

import numpy as np
from numpy.typing import NDArray

from ndcg_core.sampling.draws import ALIKE

FloatArray = NDArray[np.float64]


def mean_disagreement(disagreements: FloatArray, frequencies: FloatArray | None = None) -> float:
    """Return A of (N,) all queries of a log or slice, the unchanged ones with 0; frequencies: (N,) > 0."""
    return float(np.average(disagreements, weights=frequencies)) if len(disagreements) else 0.0


def scale_and_weights(
    disagreements: FloatArray, weights: FloatArray, mean: float
) -> tuple[FloatArray, FloatArray | None]:
    """Return factors of the n differences, and weights of the products; None if the weights are alike (up to `ALIKE`).

    disagreements: (n,) > 0, a. weights: (n,) > 0, w. mean: A.
    """
    of_products = weights * disagreements
    are_alike = len(of_products) == 0 or float(np.ptp(of_products)) <= ALIKE * float(of_products.max())
    return mean / disagreements, None if are_alike else of_products
