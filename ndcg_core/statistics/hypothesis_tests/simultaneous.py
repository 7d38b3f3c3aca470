"""The bound that the intervals of a family need to hold together, from flips of the centred columns.

Source: P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing (1993), chapter 2 (the largest statistic under
joint resampling). Measured coverage: docs/calibration.md.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ndcg_core.statistics.hypothesis_tests.flip_tasks import FlipStatistic, FlipTask, flip_statistics
from ndcg_core.statistics.hypothesis_tests.flips import (
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    ENUMERABLE,
    BitTiles,
    Family,
    FloatArray,
    check_differences,
    check_settings,
    count_processors,
    make_flips,
    map_blocks,
    signed_sums,
    standardise_family,
)


def simultaneous_quantile(
    residuals: ArrayLike,
    *,
    level: float,
    shares: ArrayLike | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
    workers: int | None = None,
) -> float:
    """The bound that the largest |sum| / norm over all columns keeps in `level` of the flips of centred columns.

    residuals: (n queries x k comparisons), each column centred on its mean; 0 where a column does not have the query.
    level: in (0, 1), of the k intervals together. The other settings, and what the result depends on: as `sign_flip`.
    shares: of the same shape, weights over their mean by which the residuals were multiplied, 0 where a column does not
        have the query. Then a flip's t statistic has the standard error of `estimates.mean_difference.moments`,
        and is given as the |sum| / norm, z, that it would have without weights: t = z sqrt((n - 1) / (n - z^2)).
    Of m flips it is the ceil(level * (m + 1))-th smallest of the largest statistics, infinite where there is no such
    one: so that the observed one, counted as a flip of its own, is among them (Westfall and Young 1993, chapter 2).
    """
    ((found,),) = simultaneous_quantiles(
        [residuals], levels=(level,), shares=[shares], resamples=resamples, seed=seed, workers=workers
    )
    return found


def simultaneous_quantiles(
    families: Sequence[ArrayLike],
    *,
    levels: Sequence[float],
    shares: Sequence[ArrayLike | None],
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
    workers: int | None = None,
) -> list[tuple[float, ...]]:
    """`simultaneous_quantile` of every family at every level, bit for bit.

    The flips are drawn once for all levels, and for all families without shares.
    """
    check_settings(resamples, seed, workers)
    statistic = quantile_statistic(families, levels, shares, resamples, seed, workers)
    (found,) = flip_statistics([statistic], resamples=resamples, seed=seed, workers=workers)
    return found


def quantile_statistic(
    families: Sequence[ArrayLike],
    levels: Sequence[float],
    shares: Sequence[ArrayLike | None],
    resamples: int,
    seed: int,
    workers: int | None,
) -> FlipStatistic:
    """`simultaneous_quantiles` as a statistic, which others may share their flips with; families with shares have their
    own.  The settings are checked by the caller, the levels here."""
    for level in levels:
        if not 0 < level < 1:
            raise ValueError(f"level == {level}, must lie between 0 and 1")
    tables = [check_differences(residuals) for residuals in families]
    made = [standardise_family(table, np.count_nonzero(table, axis=0)) for table in tables]
    places = [number for number, family in enumerate(made) if len(family.order) and shares[number] is None]

    def conclude(found: Sequence[tuple[int, FloatArray]]) -> list[tuple[float, ...]]:
        known = dict(zip(places, found, strict=True))
        results = []
        for number, family in enumerate(made):
            if not len(family.order):
                results.append((0.0,) * len(levels))
                continue
            if (own := shares[number]) is None:
                flips, largest = known[number]
            else:
                flips, largest = _largest_t(family, check_differences(own), resamples, seed, workers)
            counted = flips if len(family.rows) <= ENUMERABLE else flips + 1
            ranked, ranks = np.sort(largest), [math.ceil(level * counted) for level in levels]
            results.append(tuple(float(ranked[rank - 1]) if rank <= flips else math.inf for rank in ranks))
        return results

    tasks = [FlipTask(made[number], partial(_largest, made[number].scale), np.concatenate) for number in places]
    return FlipStatistic(tasks, conclude)


def _largest(scale: FloatArray, sums: FloatArray) -> FloatArray:
    """(flips,) the largest |sum| / norm of a family's columns."""
    sums *= scale[:, np.newaxis]
    largest: FloatArray = sums.max(axis=0)
    return largest


def _largest_t(
    family: Family, shares: FloatArray, resamples: int, seed: int, workers: int | None
) -> tuple[int, FloatArray]:
    """The same of weighted columns, by their t statistics; and the number of flips."""
    flips, bits = make_flips(family, resamples, seed)
    work = partial(_largest_t_in_blocks, _weighed(family, shares), family, bits, flips)
    return flips, np.concatenate(map_blocks(work, flips, len(family.rows), workers or count_processors()))


@dataclass(frozen=True, slots=True)
class _Weighed:
    """What the t statistics of weighted columns need, in the order of a family's columns.

    crossed: the family of residual * share, columns in the same order. The others are (c, 1), in quanta where they are
    sums of residuals: n queries, sum of squared residuals, sum of squared shares, and the B of
    `estimates.mean_difference.moments`.
    """

    crossed: Family
    n: FloatArray
    squares: FloatArray
    second: FloatArray
    unbiased: FloatArray


def _weighed(family: Family, shares: FloatArray) -> _Weighed:
    own = shares.T[family.order]
    n, second = np.count_nonzero(own, axis=1).astype(np.float64), np.square(own).sum(axis=1)
    unbiased = (np.square(own) * (np.square(1 - own / n[:, np.newaxis]))).sum(axis=1)
    unbiased += (np.square(own) * np.maximum(second[:, np.newaxis] - np.square(own), 0)).sum(axis=1) / n**2
    crossed = np.rint(family.quantised * own[:, family.rows])
    column = (slice(None), np.newaxis)
    return _Weighed(
        crossed=replace(family, quantised=crossed, totals=crossed.sum(axis=1)),
        n=n[column],
        squares=np.square(family.quantised).sum(axis=1)[column],
        second=second[column],
        unbiased=unbiased[column],
    )


def _largest_t_in_blocks(
    weighed: _Weighed, family: Family, bits: Callable[[int], BitTiles], flips: int, blocks: range
) -> FloatArray:
    found = []
    n = weighed.n
    pairs = zip(
        signed_sums(family, bits, flips, blocks), signed_sums(weighed.crossed, bits, flips, blocks), strict=True
    )
    for sums, crossed in pairs:
        means = sums / n
        spread = weighed.squares - 2 * means * crossed + np.square(means) * weighed.second
        between = np.square(sums) * weighed.unbiased
        within = (n - 1) * np.maximum(spread, 0) * weighed.second
        share = np.divide(between, within + between, out=np.zeros_like(between), where=between > 0)
        found.append(np.sqrt(n * share).max(axis=0))
    return np.concatenate(found)
