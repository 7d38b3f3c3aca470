"""Test a family by the studentised bootstrap: step-down max-T p-values and simultaneous intervals.

Units are drawn with replacement. The test assumes a mean of 0, not a symmetric distribution as the sign-flip test does:
the t statistics of the resamples, computed around the observed means, have the skewness that skewed differences cause.
It has less power if few units differ.

Source: J. P. Romano and M. Wolf, Exact and Approximate Stepdown Methods for Multiple Hypothesis Testing, Journal of the
American Statistical Association 100 (2005), section 4. Measured: docs/calibration.md.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ndcg_core.statistics.hypothesis_tests.flips import (
    EXACT,
    FloatArray,
    IntArray,
    check_settings,
    map_blocks,
    monotone_p_values,
)

STREAM = 1  # added to the seed sequence; the flips' sequence has no such number
BLOCK = 256  # resamples of one random stream
LEAST_SPREAD = 0.1  # least spread of a resample, as a share of the column's
AT_ONCE = 2**20  # drawn units in memory at once


@dataclass(frozen=True, slots=True)
class BootstrapResult:
    """The p-values of k columns and the quantiles for their intervals, as `bootstrap_max_t` computes them.

    Attributes
    ----------
    p_value : tuple of float
        Two-sided p-value of each column, in (0, 1].
    p_adjusted : tuple of float
        Family-wise adjusted p-value of each column, in [p_value, 1].
    quantiles : tuple of float
        For each level, the quantile of the largest |t| over all tested columns, where t is divided by the linearised
        error of the mean; infinite if there are too few resamples, 0 if no column is tested.
    """

    p_value: tuple[float, ...]
    p_adjusted: tuple[float, ...]
    quantiles: tuple[float, ...]


def bootstrap_max_t(
    means: Sequence[float],
    residuals: FloatArray,
    shares: FloatArray | None,
    *,
    levels: Sequence[float] = (),
    resamples: int,
    seed: int,
    workers: int | None = None,
    least_values: int = 1,
) -> BootstrapResult:
    """Test k means as a family by the studentised bootstrap.

    Return two-sided p-values, family-wise adjusted p-values, and quantiles for simultaneous intervals.

    means: the k means.
    residuals: (units x k), share * (value - mean); 0 if a column lacks the unit. The caller sorts the rows.
    shares: (units x k), weights over their mean; 0 if a column lacks the unit. None if all are 1.
    levels: levels of simultaneous intervals, in (0, 1).
    resamples: number of resamples, >= 1.
    seed: seed of the random draws, >= 0.
    workers: number of threads, >= 1; None for the number of processors of the process.
    least_values: number of units with a value other than 0 that a column needs to be tested. The p-values of other
        columns are 1, and they are left out of every maximum.

    Raises ValueError if resamples, seed or workers are out of range.

    Notes
    -----
    The result depends on the order of rows, the numbers, seed and resamples, not on workers or BLAS: sums are exact.
    The spread of a resample is at least LEAST_SPREAD of the column's: without that limit a resample that misses the
    only differing units would have an infinite t.
    """
    check_settings(resamples, seed, workers)
    present = np.ones_like(residuals) if shares is None else shares
    means_ = np.asarray(means, dtype=np.float64)
    values = residuals + present * means_
    active = np.flatnonzero(np.count_nonzero(np.abs(values) > 0, axis=0) >= max(least_values, 1))
    count = residuals.shape[1]
    statistic, p_value, p_adjusted = np.zeros(count), np.ones(count), np.ones(count)
    if not len(active):
        return BootstrapResult((1.0,) * count, (1.0,) * count, (0.0,) * len(levels))
    norms = np.sqrt(np.square(residuals[:, active]).sum(axis=0))
    scaled = means_[active] * present[:, active].sum(axis=0)
    with np.errstate(divide="ignore"):
        statistic[active] = np.where(norms > 0, scaled / norms, np.copysign(np.inf, scaled))
    order = active[np.argsort(-np.abs(statistic[active]), kind="stable")]
    units, own_shares = len(residuals), None if shares is None else shares[:, order]
    statistics = _make_statistics(residuals[:, order], own_shares)
    reach = np.abs(statistic[order])[:, np.newaxis]

    def work(blocks: range) -> list[tuple[IntArray, FloatArray]]:
        draws = (counts for block in blocks for counts in draw_counts(units, seed, block, resamples))
        return [_count_reached(statistics(counts), reach) for counts in draws]

    hits, parts = zip(*chain.from_iterable(map_blocks(work, resamples, units, workers)), strict=True)
    p_value[order], p_adjusted[order] = (1 + np.sum(hits, axis=0)) / (resamples + 1)
    largest = np.sort(np.concatenate(parts))
    ranks = [math.ceil(level * (resamples + 1)) for level in levels]
    return BootstrapResult(
        tuple(p_value.tolist()),
        monotone_p_values(p_adjusted, p_value, statistic),
        tuple(float(largest[rank - 1]) if rank <= resamples else math.inf for rank in ranks),
    )


def _make_statistics(residuals: FloatArray, shares: FloatArray | None) -> Callable[[FloatArray], FloatArray]:
    """Return a function that computes |t| around the observed means from the counts of drawn units.

    The function takes (units x resamples) counts and returns (columns x resamples) |t|. |t| is
    |A| / sqrt(C - 2 m D + m^2 E) with m = A / B. Over the drawn units A is the sum of residuals, B of shares, C of
    squared residuals, D of residual * share, E of squared shares; without shares B = E = units and D = A.
    """
    units = len(residuals)
    scaled = np.ldexp(residuals, -np.frexp(np.abs(residuals).max(axis=0))[1])  # squares of small numbers keep digits
    summed = [scaled, np.square(scaled)]
    if shares is not None:
        summed += [shares, scaled * shares, np.square(shares)]
    tables = [_round_to_quanta(table, units) for table in summed]
    least = LEAST_SPREAD**2 * np.ldexp(tables[1][0].sum(axis=1, keepdims=True), -tables[1][1])

    def statistics(counts: FloatArray) -> FloatArray:
        first, second, *others = (np.ldexp(table @ counts, -exponent) for table, exponent in tables)
        if others:
            share, crossed, squared = others
            mean = np.divide(first, share, out=np.zeros_like(first), where=share > 0)
            spread = second - 2 * mean * crossed + np.square(mean) * squared
        else:
            spread = second - np.square(first) / units
        size, spread = np.abs(first), np.maximum(spread, least)
        t = np.where(size > 0, np.inf, 0.0)
        np.divide(size, np.sqrt(spread), out=t, where=spread > 0)
        return t

    return statistics


def _round_to_quanta(table: FloatArray, units: int) -> tuple[FloatArray, IntArray]:
    """Return a table as whole numbers of 2^-exponent, transposed, and the exponent of each of its columns.

    Entries are rounded. The exponents are chosen so that sums over `units` draws are exact.
    """
    exponents = math.floor(EXACT - math.log2(units)) - np.frexp(np.abs(table).max(axis=0))[1]
    return np.ascontiguousarray(np.rint(np.ldexp(table, exponents)).T), exponents[:, np.newaxis]


def draw_counts(units: int, seed: int, block: int, resamples: int) -> Iterator[FloatArray]:
    """Yield tables of how often each resample draws each unit, for one block of the resamples.

    A table is (units x resamples), and each of its columns sums to `units`. A block has at most BLOCK resamples.
    resamples: number of resamples in all blocks.
    """
    generator = np.random.SFC64(np.random.SeedSequence([seed, block, STREAM]))
    remaining, at_once = min(BLOCK, resamples - block * BLOCK), max(1, AT_ONCE // units)
    while remaining > 0:
        rows = min(remaining, at_once)
        words = np.asarray(generator.random_raw(rows * -(-units // 2)), dtype="<u8")
        draws = words.view("<u4").reshape(rows, -1)[:, :units].astype(np.uint64)
        draws *= np.uint64(units)
        draws >>= np.uint64(32)
        draws += (np.arange(rows, dtype=np.uint64) * np.uint64(units))[:, np.newaxis]
        counts = np.bincount(draws.ravel().view(np.int64), minlength=rows * units)
        yield counts.reshape(rows, units).T.astype(np.float64, order="C")
        remaining -= rows


def _count_reached(t: FloatArray, reach: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return how many resamples reach the observed |t| of each column, and the largest |t| of every resample.

    The first result has two rows of counts. In row 0 a resample counts if its |t| in the column reaches the observed
    one. In row 1 it counts if its |t| in the column or in any later column does.
    t: (columns x resamples) |t|. reach: (columns, 1) observed |t|.
    """
    from_here = np.maximum.accumulate(t[::-1], axis=0)[::-1]
    return np.stack([np.count_nonzero(each >= reach, axis=1) for each in (t, from_here)]), from_here[0]
