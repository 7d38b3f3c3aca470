"""The bound that the intervals of a family need to hold together, from flips of the centred columns.

Source: P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing (1993), chapter 2 (the largest statistic under
joint resampling). Measured coverage: docs/calibration.md.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ndcg_core.statistics.estimates.mean_difference import check_probability
from ndcg_core.statistics.hypothesis_tests import DEFAULT_RESAMPLES, DEFAULT_SEED
from ndcg_core.statistics.hypothesis_tests.flips import (
    ENUMERABLE,
    Family,
    FloatArray,
    check_differences,
    check_settings,
    reduce_flips,
    standardise_family,
)


def simultaneous_quantiles(
    residuals: ArrayLike,
    levels: Sequence[float],
    *,
    shares: ArrayLike | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
    workers: int | None = None,
) -> tuple[float, ...]:
    """Return, per level, the bound that the largest |sum| / norm over all columns keeps in that share of the flips.

    residuals: (n queries x k comparisons), each column centred on its mean; 0 where a column does not have the query.
    levels: in (0, 1), of the k intervals together. The other settings, and what the result depends on: see `sign_flip`.
    shares: of the same shape, weights over their mean by which the residuals were multiplied, 0 where a column does not
        have the query. Then a flip's t statistic has the standard error of `mean_difference.compute_moments`, and is
        given as the |sum| / norm, z, that it would have without weights: t = z sqrt((n - 1) / (n - z^2)).
    Of m flips it is the ceil(level * (m + 1))-th smallest of the largest statistics, infinite if there is no such
    one: so that the observed one, counted as a flip of its own, is among them (Westfall and Young 1993, chapter 2).
    """
    check_settings(resamples, seed, workers)
    for level in levels:
        check_probability("level", level)
    family = standardise_family(check_differences(residuals))
    if not len(family.order):
        return (0.0,) * len(levels)
    summed, take = (
        (family, partial(_largest, family.scale)) if shares is None else _weigh(family, check_differences(shares))
    )
    flips, parts = reduce_flips(summed, take, resamples, seed, workers)
    counted = flips if len(family.rows) <= ENUMERABLE else flips + 1
    ranked, ranks = np.sort(np.concatenate(parts)), [math.ceil(level * counted) for level in levels]
    return tuple(float(ranked[rank - 1]) if rank <= flips else math.inf for rank in ranks)


def _largest(scale: FloatArray, sums: FloatArray) -> FloatArray:
    """Return (flips,) the largest |sum| / norm of a family's columns."""
    return np.asarray((np.abs(sums, out=sums) * scale[:, np.newaxis]).max(axis=0))


def _weigh(family: Family, shares: FloatArray) -> tuple[Family, Callable[[FloatArray], FloatArray]]:
    """Return what is summed for t statistics of weighted columns, and what makes the largest of each flip of the sums.

    Summed are the residuals, and below them the products residual * share. `second` and `unbiased` are S2 and B of
    `mean_difference.compute_moments`.
    """
    own = shares.T[family.order]
    n, second = (each[:, np.newaxis] for each in (np.count_nonzero(own, axis=1).astype(np.float64), _squares(own)))
    unbiased = (np.square(own) * (np.square(1 - own / n))).sum(axis=1)
    unbiased += (np.square(own) * np.maximum(second - np.square(own), 0)).sum(axis=1) / n[:, 0] ** 2
    squares = _squares(family.quantised)[:, np.newaxis]
    products = np.rint(family.quantised * own[:, family.rows])

    def largest(sums: FloatArray) -> FloatArray:
        sums, crossed = np.split(sums, 2)
        means = sums / n
        spread = squares - 2 * means * crossed + np.square(means) * second
        between = np.square(sums) * unbiased[:, np.newaxis]
        within = (n - 1) * np.maximum(spread, 0) * second
        share = np.divide(between, within + between, out=np.zeros_like(between), where=between > 0)
        return np.asarray(np.sqrt(n * share).max(axis=0))

    both = np.vstack((family.quantised, products))
    return replace(family, quantised=both, totals=both.sum(axis=1)), largest


def _squares(values: FloatArray) -> FloatArray:
    return np.asarray(np.square(values).sum(axis=1))
