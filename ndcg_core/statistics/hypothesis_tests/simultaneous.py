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

from ndcg_core.statistics.hypothesis_tests.flips import (
    COLUMNS,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    ENUMERABLE,
    BitTiles,
    Family,
    FloatArray,
    absolute_sums,
    check_differences,
    check_settings,
    count_processors,
    group_families,
    join_families,
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
    for level in levels:
        if not 0 < level < 1:
            raise ValueError(f"level == {level}, must lie between 0 and 1")
    tables = [check_differences(residuals) for residuals in families]
    made = [standardise_family(table, np.count_nonzero(table, axis=0)) for table in tables]
    found = {number: (0.0,) * len(levels) for number, family in enumerate(made) if not len(family.order)}
    alike = [
        number
        for number, family in enumerate(made)
        if number not in found and shares[number] is None and len(family.rows) > ENUMERABLE
    ]
    groups = [[alike[place] for place in group] for group in group_families([made[at] for at in alike], COLUMNS)]
    others = [[number] for number in range(len(made)) if number not in found and number not in alike]
    for group in [*groups, *others]:
        joined, parts = join_families([made[number] for number in group])
        flips, bits = make_flips(joined, resamples, seed)
        own = shares[group[0]]
        if own is None:
            work = partial(_largest_in_blocks, joined, parts, bits, flips)
        else:
            work = partial(_largest_t_in_blocks, _weighed(joined, check_differences(own)), joined, bits, flips)
        of_blocks = map_blocks(work, flips, len(joined.rows), workers or count_processors())
        largest = np.sort(np.concatenate(of_blocks, axis=1), axis=1)
        counted = flips if len(joined.rows) <= ENUMERABLE else flips + 1
        places = [math.ceil(level * counted) for level in levels]
        for number, row in zip(group, largest, strict=True):
            found[number] = tuple(float(row[place - 1]) if place <= flips else math.inf for place in places)
    return [found[number] for number in range(len(made))]


def _largest_in_blocks(
    joined: Family, parts: Sequence[slice], bits: Callable[[int], BitTiles], flips: int, blocks: range
) -> FloatArray:
    """(families x flips) the largest |sum| / norm of each family's columns."""
    scale = joined.scale[:, np.newaxis]
    found = []
    for sums in absolute_sums(joined, bits, flips, blocks):
        sums *= scale
        found.append(np.stack([sums[part].max(axis=0) for part in parts]))
    return np.concatenate(found, axis=1)


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
        found.append(np.sqrt(n * share).max(axis=0)[np.newaxis])
    return np.concatenate(found, axis=1)
