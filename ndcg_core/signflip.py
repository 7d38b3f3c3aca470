"""The sign-flip test of paired differences: exact ties, shared flips, step-down max-T.

Under the null hypothesis a query's difference is as likely to be +d as -d. The test flips the signs of the queries,
all columns together, and counts how often a sum of flipped differences is as far from zero as the one observed.
The sum of squares of a column does not change under flips, so sum, mean and t order the flips alike.

Sources: R. A. Fisher, The Design of Experiments (1935), section 21 (the test; his 1726 of 32768 is a test case);
B. Phipson and G. K. Smyth, Permutation P-values Should Never Be Zero (2010) (the +1 when flips are drawn);
P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing (1993), algorithm 4.1, also in Y. Ge, S. Dudoit and
T. P. Speed, Resampling-based multiple testing for microarray data analysis (2003), box 2 (step-down max-T).
"""

import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
BitTiles = Iterator[tuple[slice, NDArray[np.uint8]]]

TIE_TOLERANCE = 1e-9
"""A difference of this size or smaller is a tie: sums taken in different orders differ by 1e-16."""
DEFAULT_SEED = 1935
DEFAULT_RESAMPLES = 10_000
ENUMERABLE = 16
"""Up to so many differing queries every pattern of signs is counted, instead of a sample of them."""

_BLOCK = 256  # flips drawn together: four words of 64 bits for each row
_TILE = 4_096  # rows multiplied together: bounds the memory of a worker to some 10 MB
_COLUMNS = 512  # columns multiplied together where they need not be compared: their sums stay in the cache
_FINEST = 40  # no quantum is finer than 2^-40: below lies the noise of floating-point scores
_EXACT = 51  # a sum of magnitudes below 2^51 quanta leaves room for "total - 2 * chosen" within 2^53

# The limit on BLAS threads is the process's own; two calls that overlap would restore each other's limit.
_blas_limit = threading.Lock()


@dataclass(frozen=True, slots=True)
class SignFlip:
    """Result of `sign_flip`; every tuple has one entry per column, in the order given.

    p_value: in (0, 1], two-sided; 1 for a column without a difference.
    p_adjusted: in (0, 1], family-wise over all columns; never below p_value.
    statistic: sum of the differences over the root of their sum of squares, without unit, sign kept; 0 without any.
    differing: number of rows that are no tie.
    enumerated: whether p_value counts every pattern of signs.
    patterns: patterns behind p_value: 2^differing where enumerated, else the flips drawn.
    jointly_enumerated: whether p_adjusted counts every pattern of signs of the whole family.
    """

    p_value: tuple[float, ...]
    p_adjusted: tuple[float, ...]
    statistic: tuple[float, ...]
    differing: tuple[int, ...]
    enumerated: tuple[bool, ...]
    patterns: tuple[int, ...]
    jointly_enumerated: bool


def sign_flip(
    differences: ArrayLike,
    *,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
    workers: int | None = None,
) -> SignFlip:
    """Two-sided sign-flip p-values of k columns of differences, each alone and adjusted over all k.

    differences: (n queries x k comparisons), in the metric's unit, rows sorted by query_id by the caller (flips belong
        to row numbers). A magnitude of TIE_TOLERANCE or less is a tie.
    resamples: flips m >= 1. A column that differs on 16 rows or fewer is enumerated instead, and so is the family
        if its columns differ on 16 rows or fewer all together.
    seed: >= 0. p_value depends on the column's differences, seed and resamples alone: not on the other columns, on
        workers or on BLAS. The flips of a larger m begin with those of a smaller one.
    workers: threads >= 1; by default as many as the process has processors.

    Raises ValueError for a shape other than n x k, for NaN and infinity (with row and column), and for settings out
    of range.
    """
    _check_settings(resamples, seed, workers)
    table = settle_ties(_checked(differences))
    differing = np.count_nonzero(table, axis=0)
    family = _standardised(table, differing)
    enumerated = differing <= ENUMERABLE
    jointly = len(family.rows) <= ENUMERABLE
    flips = 2 ** len(family.rows) if jointly else resamples
    bits = partial(_enumerated_bits, len(family.rows)) if jointly else partial(_drawn_bits, seed, family.rows)
    hits = _counted(family, bits, flips, workers or _processors())
    chances = hits / flips if jointly else (1 + hits) / (flips + 1)

    p_value, p_adjusted = np.ones(table.shape[1]), np.ones(table.shape[1])
    p_value[family.order], p_adjusted[family.order] = chances
    for number, column in zip(family.order, family.quantised, strict=True):
        if enumerated[number]:
            p_value[number] = _enumerated_p_value(column, int(differing[number]))
    statistic = np.zeros(table.shape[1])
    statistic[family.order] = family.totals * family.scale
    return SignFlip(
        p_value=tuple(p_value.tolist()),
        p_adjusted=raise_down_the_order(p_adjusted, p_value, statistic),
        statistic=tuple(statistic.tolist()),
        differing=tuple(differing.tolist()),
        enumerated=tuple(enumerated.tolist()),
        patterns=tuple(2**count if count <= ENUMERABLE else resamples for count in differing.tolist()),
        jointly_enumerated=jointly,
    )


def sign_flip_p_values(
    differences: ArrayLike,
    *,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
    workers: int | None = None,
) -> tuple[float, ...]:
    """The p_value of `sign_flip` for every column, bit for bit, without the adjustment: faster for many columns."""
    _check_settings(resamples, seed, workers)
    table = settle_ties(_checked(differences))
    differing = np.count_nonzero(table, axis=0)
    p_value = np.ones(table.shape[1])
    for few in (differing <= ENUMERABLE, differing > ENUMERABLE):
        columns = np.flatnonzero(few & (differing > 0))
        for start in range(0, len(columns), _COLUMNS):
            chosen = columns[start : start + _COLUMNS]
            family = _standardised(table[:, chosen], differing[chosen])
            numbers = chosen[family.order]
            if differing[chosen[0]] <= ENUMERABLE:
                pairs = zip(family.quantised, differing[numbers].tolist(), strict=True)
                p_value[numbers] = [_enumerated_p_value(column, count) for column, count in pairs]
            else:
                work = partial(_reached_in_blocks, family, partial(_drawn_bits, seed, family.rows), resamples)
                hits = np.sum(_over_blocks(work, resamples, workers or _processors()), axis=0)
                p_value[numbers] = (1 + hits) / (resamples + 1)
    return tuple(p_value.tolist())


def simultaneous_quantile(
    residuals: ArrayLike,
    *,
    level: float,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
    workers: int | None = None,
) -> float:
    """The bound that the largest |sum| / norm over all columns keeps in `level` of the flips of centred columns.

    residuals: (n queries x k comparisons), each column centred on its mean; 0 where a column does not have the query.
    level: in (0, 1), of the k intervals together. The other settings, and what the result depends on: as `sign_flip`.
    Of m flips it is the ceil(level * (m + 1))-th largest statistic from below, infinite where there is no such one:
    so that the observed one, counted as a flip of its own, is among them (Westfall and Young 1993, chapter 2).
    """
    _check_settings(resamples, seed, workers)
    if not 0 < level < 1:
        raise ValueError(f"level == {level}, must lie between 0 and 1")
    table = _checked(residuals)
    family = _standardised(table, np.count_nonzero(table, axis=0))
    if not len(family.order):
        return 0.0
    jointly = len(family.rows) <= ENUMERABLE
    flips = 2 ** len(family.rows) if jointly else resamples
    bits = partial(_enumerated_bits, len(family.rows)) if jointly else partial(_drawn_bits, seed, family.rows)
    work = partial(_largest_in_blocks, family, bits, flips)
    largest = np.sort(np.concatenate(_over_blocks(work, flips, workers or _processors())))
    place = math.ceil(level * flips) if jointly else math.ceil(level * (flips + 1))
    return float(largest[place - 1]) if place <= flips else math.inf


def settle_ties(differences: FloatArray) -> FloatArray:
    """A copy of the differences, any shape, in which every tie (magnitude <= TIE_TOLERANCE) is exactly 0."""
    return np.where(np.abs(differences) <= TIE_TOLERANCE, 0.0, differences)


def raise_down_the_order(
    p_adjusted: Sequence[float] | FloatArray,
    p_value: Sequence[float] | FloatArray,
    statistic: Sequence[float] | FloatArray,
) -> tuple[float, ...]:
    """The running maximum of max-T: no p_adjusted below its own p_value, nor below that of a larger |statistic|.

    Three sequences of k numbers; the result is in their order. (Westfall and Young, algorithm 4.1: its last step.)
    """
    raised = np.maximum(p_adjusted, p_value)
    order = np.lexsort((-raised, -np.abs(statistic)))  # of equal statistics the larger p first: then both get it
    raised[order] = np.maximum.accumulate(raised[order])
    return tuple(raised.tolist())


@dataclass(frozen=True, slots=True)
class _Family:
    """The c columns that differ on any of r rows, in whole quanta, the largest |statistic| first.

    Rounding moves an entry by half a quantum at most, so a sum by differing / 2. As |sum| <= norm * sqrt(differing),
    the rounded norm moves the standardised sum by as much again: together by differing * scale at most.
    """

    order: IntArray  # (c,) column numbers in the table
    rows: IntArray  # (r,) row numbers in the table, rising
    quantised: FloatArray  # (c, r) whole numbers
    totals: FloatArray  # (c,) sums of quantised
    differing: FloatArray  # (c,) entries other than 0
    scale: FloatArray  # (c,) 1 / root of the sum of squares of quantised


def _standardised(table: FloatArray, differing: IntArray) -> _Family:
    columns = np.flatnonzero(differing)
    rows = np.flatnonzero(table.any(axis=1))
    quantised = np.ascontiguousarray(table.T[np.ix_(columns, rows)])
    for number, column in zip(columns, quantised, strict=True):
        _quantise(column, int(differing[number]))
    totals = quantised.sum(axis=1)
    scale = 1 / np.sqrt(np.array([np.square(column).sum() for column in quantised]))
    largest_first = np.argsort(-np.abs(totals) * scale, kind="stable")
    return _Family(
        order=columns[largest_first],
        rows=rows,
        quantised=quantised[largest_first],
        totals=totals[largest_first],
        differing=differing[columns][largest_first].astype(np.float64),
        scale=scale[largest_first],
    )


def _quantise(column: FloatArray, differing: int) -> None:
    """Round a column, in place, to whole numbers of a quantum 2^-q so coarse that every sum of them is exact.

    Sums that are equal in exact arithmetic differ by 1e-17 in floating point, and `>=` would lose such ties. The
    number of rows does not enter, only that of differing ones: rows that other columns bring along change nothing.
    """
    q = min(_FINEST, math.floor(_EXACT - math.log2(differing) - math.log2(np.abs(column).max())))
    np.rint(np.ldexp(column, q), out=column)


def _enumerated_p_value(column: FloatArray, differing: int) -> float:
    """Exact p of a column with 1 to 16 numbers other than 0: a part of all patterns, itself among them (no +1)."""
    values = column[column != 0]
    sums = values[:1]  # the first sign stays: a pattern and its mirror image have the same |sum|
    for value in values[1:]:
        sums = np.concatenate((sums + value, sums - value))
    return int(np.count_nonzero(np.abs(sums) >= abs(values.sum()) - differing)) / len(sums)


def _enumerated_bits(rows: int, block: int) -> BitTiles:
    """All patterns in turn: the bits of the numbers from 256 * block on, one column each, one row per table row."""
    patterns = np.arange(block * _BLOCK, (block + 1) * _BLOCK)
    yield slice(0, rows), ((patterns >> np.arange(rows)[:, np.newaxis]) & 1).astype(np.uint8)


def _drawn_bits(seed: int, rows: IntArray, block: int) -> BitTiles:
    """256 random flips, as tiles of (rows x 256) bits with the place of their rows in `rows`.

    Words are drawn for every row of the table, also for those without a difference: the bits of a row depend on
    (seed, block, row number) and not on which other rows differ.
    """
    generator = np.random.SFC64(np.random.SeedSequence([seed, block]))
    words_per_row = _BLOCK // 64
    end = int(rows[-1]) + 1
    for start in range(0, end, _TILE):
        stop = min(start + _TILE, end)
        words = np.asarray(generator.random_raw((stop - start) * words_per_row), dtype="<u8")
        first, last = np.searchsorted(rows, (start, stop)).tolist()
        octets = words.view(np.uint8).reshape(stop - start, _BLOCK // 8)[rows[first:last] - start]
        yield slice(first, last), np.unpackbits(octets, axis=1, bitorder="little")


def _counted(family: _Family, bits: Callable[[int], BitTiles], flips: int, workers: int) -> IntArray:
    """Of all flips, how many reach a column's sum in the column (row 0), and in it or one further down (row 1)."""
    if not len(family.order):
        return np.zeros((2, 0), dtype=np.intp)
    hits: IntArray = np.sum(_over_blocks(partial(_counted_in_blocks, family, bits, flips), flips, workers), axis=0)
    return hits


def _over_blocks(work: Callable[[range], IntArray | FloatArray], flips: int, workers: int) -> list[Any]:
    """What `work` gives for the blocks of all flips, dealt to the workers in turn."""
    blocks = range(-(-flips // _BLOCK))
    workers = min(workers, len(blocks))
    # One thread in BLAS: the workers share the processors, and threads of BLAS would stand in their way.
    with _blas_limit, _blas().limit(limits=1, user_api="blas"):
        if workers <= 1:
            return [work(blocks)]
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(work, [blocks[first::workers] for first in range(workers)]))


def _sums(family: _Family, bits: Callable[[int], BitTiles], flips: int, blocks: range) -> Iterator[FloatArray]:
    """|sum| of every column under every flip of each block in turn, in quanta: (columns x at most 256)."""
    totals = family.totals[:, np.newaxis]
    flipped = np.empty((min(_TILE, len(family.rows)), _BLOCK))
    product = np.empty((len(totals), _BLOCK))
    for block in blocks:
        chosen = np.zeros_like(product)
        for rows, tile in bits(block):
            np.copyto(flipped[: len(tile)], tile)
            chosen += np.matmul(family.quantised[:, rows], flipped[: len(tile)], out=product)
        chosen *= -2
        chosen += totals
        yield np.abs(chosen, out=chosen)[:, : flips - block * _BLOCK]


def _counted_in_blocks(family: _Family, bits: Callable[[int], BitTiles], flips: int, blocks: range) -> IntArray:
    differing, scale = family.differing[:, np.newaxis], family.scale[:, np.newaxis]
    reach = np.abs(family.totals)[:, np.newaxis] - differing  # each of the two sums may be off by differing / 2
    reach_standardised = reach * scale
    hits = np.zeros((2, len(family.totals)), dtype=np.intp)
    for sums in _sums(family, bits, flips, blocks):
        reached = sums >= reach
        hits[0] += np.count_nonzero(reached, axis=1)
        sums += differing
        sums *= scale
        largest_from_here = np.maximum.accumulate(sums[::-1], axis=0)[::-1]
        reached[:-1] |= largest_from_here[1:] >= reach_standardised[:-1]  # by itself, or by a column further down
        hits[1] += np.count_nonzero(reached, axis=1)
    return hits


def _reached_in_blocks(family: _Family, bits: Callable[[int], BitTiles], flips: int, blocks: range) -> IntArray:
    reach = np.abs(family.totals)[:, np.newaxis] - family.differing[:, np.newaxis]
    hits = np.zeros(len(family.totals), dtype=np.intp)
    for sums in _sums(family, bits, flips, blocks):
        hits += np.count_nonzero(sums >= reach, axis=1)
    return hits


def _largest_in_blocks(family: _Family, bits: Callable[[int], BitTiles], flips: int, blocks: range) -> FloatArray:
    scale = family.scale[:, np.newaxis]
    return np.concatenate([(sums * scale).max(axis=0) for sums in _sums(family, bits, flips, blocks)])


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()  # looks through the loaded libraries: once is enough, numpy has loaded its own


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _checked(differences: ArrayLike) -> FloatArray:
    table = np.asarray(differences, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"differences have shape {table.shape}, must be (queries, comparisons)")
    finite = np.isfinite(table)
    if not finite.all():
        row, column = np.argwhere(~finite)[0].tolist()
        raise ValueError(f"the difference in row {row}, column {column} == {table[row, column]}, must be finite")
    return table


def _check_settings(resamples: int, seed: int, workers: int | None) -> None:
    if resamples < 1:
        raise ValueError(f"resamples == {resamples}, must be at least 1")
    if seed < 0:
        raise ValueError(f"seed == {seed}, must be at least 0")
    if workers is not None and workers < 1:
        raise ValueError(f"workers == {workers}, must be at least 1")
