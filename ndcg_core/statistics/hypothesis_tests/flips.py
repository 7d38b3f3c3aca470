"""Test paired differences by sign flips: exact ties, shared flips, step-down max-T.

Under the null hypothesis a query's difference is as likely to be +d as -d. The test flips the signs of the queries,
all columns together, and counts how often a flipped sum is as far from zero as the observed one. Sum, mean and t order
the flips alike, since flips do not change a column's sum of squares. Columns are rounded to whole quanta. Sums of
quanta are exact in any order, so that results do not depend on threads, blocks or BLAS.

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
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from ndcg_core.statistics.hypothesis_tests import DEFAULT_RESAMPLES, DEFAULT_SEED

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
BitTiles = Iterator[tuple[slice, NDArray[np.uint8]]]

TIE_TOLERANCE = 1e-9
"""A difference of this size or smaller is a tie: sums taken in different orders differ by 1e-16."""
ENUMERABLE = 16
"""Number of differing queries up to which every pattern of signs is counted, instead of a sample."""

_BLOCK = 256  # flips drawn together: four words of 64 bits for each row
WORTH = 1 << 20  # numbers drawn that are worth one more worker
_TILE = 4_096  # rows multiplied together: bounds the memory of a worker to some 10 MB
_FINEST = 40  # no quantum is finer than 2^-40: below lies the noise of floating-point scores
EXACT = 51  # a sum of magnitudes below 2^51 quanta leaves room for "total - 2 * chosen" within 2^53

# The limit on BLAS threads is the process's own; two calls that overlap would restore each other's limit.
_blas_limit = threading.Lock()


def set_ties_to_zero(differences: FloatArray) -> FloatArray:
    """Return the differences, of any shape, with every tie (magnitude <= TIE_TOLERANCE) set to exactly 0."""
    return np.where(np.abs(differences) <= TIE_TOLERANCE, 0.0, differences)


@dataclass(frozen=True, slots=True)
class Family:
    """The columns of a family of tests that have any difference, rounded to whole multiples of a quantum.

    The columns are sorted by |statistic|, largest first.

    Attributes
    ----------
    order : (c,) array of int
        Indices of the columns in the table of differences.
    rows : (r,) array of int
        Indices of the rows of the table on which any column differs.
    quantised : (c, r) array of float
        Differences in quanta, as whole numbers.
    totals : (c,) array of float
        Sum of each column, in quanta.
    differing : (c,) array of float
        Number of rows on which each column differs.
    scale : (c,) array of float
        1 / root of the sum of squares of each column.

    Notes
    -----
    Rounding moves an entry by at most half a quantum, hence a sum by at most differing / 2. As |sum| <= norm *
    sqrt(differing), the rounded norm moves the standardised sum by at most as much again. Together these errors are at
    most differing * scale.
    """

    order: IntArray  # (c,) column numbers in the table
    rows: IntArray  # (r,) row numbers in the table, rising
    quantised: FloatArray  # (c, r) whole numbers
    totals: FloatArray  # (c,) sums of quantised
    differing: FloatArray  # (c,) entries other than 0
    scale: FloatArray  # (c,) 1 / root of the sum of squares of quantised


def standardise_family(table: FloatArray) -> Family:
    """Make a `Family` of the columns of a (rows x columns) table that have an entry other than 0."""
    differing = np.count_nonzero(table, axis=0)
    columns, rows = np.flatnonzero(differing), np.flatnonzero(table.any(axis=1))
    differing = differing[columns]
    quantised = np.ascontiguousarray(table.T[np.ix_(columns, rows)])
    for column, count in zip(quantised, differing.tolist(), strict=True):
        np.rint(np.ldexp(column, quantum_bits(column, count)), out=column)
    totals = quantised.sum(axis=1)
    scale = 1 / np.sqrt(np.array([np.square(column).sum() for column in quantised]))
    largest_first = np.argsort(-np.abs(totals) * scale, kind="stable")
    return Family(
        order=columns[largest_first],
        rows=rows,
        quantised=quantised[largest_first],
        totals=totals[largest_first],
        differing=differing[largest_first].astype(np.float64),
        scale=scale[largest_first],
    )


def quantum_bits(column: FloatArray, differing: int) -> int:
    """Return the exponent q of the quantum 2^-q to which a column is rounded so that every sum is exact.

    Without rounding, sums that are equal in exact arithmetic would differ by 1e-17 in floating point, and `>=` would
    miss such ties. The quantum depends on the number of differing rows and not on all rows. Rows on which only other
    columns differ therefore have no effect.
    """
    return min(_FINEST, math.floor(EXACT - math.log2(differing) - math.log2(np.abs(column).max())))


def enumerated_bits(rows: int, block: int) -> BitTiles:
    """Yield the 256 patterns of signs of one block of all patterns, as a tile of (rows x 256) bits.

    There are 2^rows patterns; those of a block are the bits of the numbers from 256 * block on.
    """
    patterns = np.arange(block * _BLOCK, (block + 1) * _BLOCK)
    yield slice(0, rows), ((patterns >> np.arange(rows)[:, np.newaxis]) & 1).astype(np.uint8)


def draw_bits(seed: int, rows: IntArray, block: int) -> BitTiles:
    """Yield 256 random patterns of signs, as tiles of bits with the indices of their rows in `rows`.

    The tiles together are (rows x 256) bits. The bits of a row depend on (seed, block, row number) and not on which
    other rows differ, because random bits are drawn for every row of the table, also for those without a difference.
    """
    generator = np.random.SFC64(np.random.SeedSequence([seed, block]))
    end = int(rows[-1]) + 1
    for start in range(0, end, _TILE):
        stop = min(start + _TILE, end)
        first, last = np.searchsorted(rows, (start, stop)).tolist()
        words = np.asarray(generator.random_raw((stop - start) * (_BLOCK // 64)), dtype="<u8")
        octets = words.view(np.uint8).reshape(stop - start, _BLOCK // 8)[rows[first:last] - start]
        yield slice(first, last), np.unpackbits(octets, axis=1, bitorder="little")


def reduce_flips(
    family: Family, take: Callable[[FloatArray], Any], resamples: int, seed: int, workers: int | None
) -> tuple[int, list[Any]]:
    """Apply a function to the sums of a family's columns under sign flips.

    Return the number of flips, and the results of the function, one per block of flips. Every pattern of signs is used
    once if at most `ENUMERABLE` rows differ; otherwise `resamples` random patterns are drawn.

    take: function of the (columns x flips) signed sums in quanta. It may overwrite them.
    resamples, seed, workers: as in `sign_flip`.
    """
    flips, bits = resamples, partial(draw_bits, seed, family.rows)
    if len(family.rows) <= ENUMERABLE:
        flips, bits = 2 ** len(family.rows), partial(enumerated_bits, len(family.rows))

    def work(blocks: range) -> list[Any]:
        return [take(sums) for sums in _signed_sums(family, bits, flips, blocks)]

    return flips, list(chain.from_iterable(map_blocks(work, flips, len(family.rows), workers)))


def map_blocks(work: Callable[[range], Any], flips: int, rows: int, workers: int | None) -> list[Any]:
    """Divide the sign flips into blocks, share the blocks among threads, and return one result per thread.

    work: receives the range of a thread's block numbers; with k threads, every k-th block.
    flips, rows: numbers of sign flips and of differing rows, from which the number of threads is chosen.
    workers: largest number of threads; None for the number of processors of the process.
    """
    blocks = range(-(-flips // _BLOCK))
    workers = min(workers or count_processors(), len(blocks), 1 + flips * rows // WORTH)
    # One thread in BLAS: the workers share the processors, and threads of BLAS would compete with them.
    with _blas_limit, _blas().limit(limits=1, user_api="blas"):
        if workers <= 1:
            return [work(blocks)]
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(work, [blocks[first::workers] for first in range(workers)]))


def _signed_sums(family: Family, bits: Callable[[int], BitTiles], flips: int, blocks: range) -> Iterator[FloatArray]:
    """Yield, for each block of flips, the (columns x flips) sums of the signed differences, in quanta.

    bits: function of a block that yields its patterns of signs. flips: number of flips in all blocks.
    """
    flipped = np.empty((min(_TILE, len(family.rows)), _BLOCK))
    product = np.empty((len(family.totals), _BLOCK))
    for block in blocks:
        chosen = np.zeros_like(product)
        for rows, tile in bits(block):
            flipped[: len(tile)] = tile
            chosen += np.matmul(family.quantised[:, rows], flipped[: len(tile)], out=product)
        chosen *= -2
        chosen += family.totals[:, np.newaxis]
        yield chosen[:, : flips - block * _BLOCK]


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()  # looks through the loaded libraries: once is enough, numpy has loaded its own


def count_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_settings(resamples: int, seed: int, workers: int | None) -> None:
    for name, value, least in (("resamples", resamples, 1), ("seed", seed, 0), ("workers", workers, 1)):
        if value is not None and value < least:
            raise ValueError(f"{name} == {value}, must be at least {least}")


COLUMNS = 512
"""Columns multiplied together if they are not adjusted together: their sums stay in the cache."""


@dataclass(frozen=True, slots=True)
class SignFlip:
    """The result of `sign_flip`; every tuple has one entry per column, in the order of the columns.

    Attributes
    ----------
    p_value : tuple of float
        Two-sided p-value, in (0, 1]; 1 for a column without a difference.
    p_adjusted : tuple of float
        p-value adjusted family-wise over all columns, in [p_value, 1].
    statistic : tuple of float
        Sum of the differences / root of their sum of squares, signed, without unit; 0 without a difference.
    enumerated : tuple of bool
        True if p_value is exact, from every pattern of signs.
    jointly_enumerated : bool
        True if p_adjusted is exact, from every pattern of signs.
    """

    p_value: tuple[float, ...]
    p_adjusted: tuple[float, ...]
    statistic: tuple[float, ...]
    enumerated: tuple[bool, ...]
    jointly_enumerated: bool


def sign_flip(
    differences: ArrayLike,
    *,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
    workers: int | None = None,
) -> SignFlip:
    """Compute two-sided sign-flip p-values of k columns of differences, each alone and adjusted over all k.

    differences: (n queries x k comparisons), in the metric's unit. The caller sorts the rows by query_id, because flips
        belong to row numbers. A magnitude of TIE_TOLERANCE or less is a tie.
    resamples: number of random flips, >= 1. They are replaced by all patterns of signs for a column that differs on 16
        rows or fewer, and for a family whose columns together differ on 16 rows or fewer.
    seed: seed of the random flips, >= 0. A larger number of flips begins with the flips of a smaller one.
    workers: number of threads >= 1; None for the number of processors of the process.

    p_value depends only on the column's differences, seed and resamples.
    Raises ValueError for settings out of range.
    """
    table = set_ties_to_zero(np.asarray(differences, dtype=np.float64))
    family = standardise_family(table)
    count, numbers = table.shape[1], family.order
    enumerated = np.count_nonzero(table, axis=0) <= ENUMERABLE
    jointly = len(family.rows) <= ENUMERABLE
    p_value, p_adjusted, statistic = np.ones(count), np.ones(count), np.zeros(count)
    if len(numbers):
        flips, counts = reduce_flips(family, partial(_count_hits, family), resamples, seed, workers)
        hits = np.sum(counts, axis=0)
        p_value[numbers], p_adjusted[numbers] = hits / flips if jointly else (1 + hits) / (flips + 1)
        p_value[numbers] = _replace_by_exact(family, p_value[numbers])
        statistic[numbers] = family.totals * family.scale
    return SignFlip(
        p_value=tuple(p_value.tolist()),
        p_adjusted=monotone_p_values(p_adjusted, p_value, statistic),
        statistic=tuple(statistic.tolist()),
        enumerated=tuple(enumerated.tolist()),
        jointly_enumerated=jointly,
    )


def sign_flip_p_values(
    differences: ArrayLike,
    *,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
    workers: int | None = None,
) -> tuple[float, ...]:
    """Compute the two-sided sign-flip p-value of every column, not adjusted for the other columns.

    The p-values are those of `sign_flip`, with equal parameters and errors; they are computed faster for many columns.
    """
    table, p_values = np.asarray(differences), list[float]()
    for start in range(0, table.shape[1], COLUMNS):
        part = table[:, start : start + COLUMNS]
        p_values += sign_flip(part, resamples=resamples, seed=seed, workers=workers).p_value
    return tuple(p_values)


def monotone_p_values(
    p_adjusted: Sequence[float] | FloatArray,
    p_value: Sequence[float] | FloatArray,
    statistic: Sequence[float] | FloatArray,
) -> tuple[float, ...]:
    """Return the adjusted p-values, raised so that they are monotone in |statistic|.

    Each is at least the column's p_value, and at least the p_adjusted of any column with a larger |statistic|. All
    sequences have k numbers in the order of the columns. (Westfall and Young, algorithm 4.1: its last step.)
    """
    raised = np.maximum(p_adjusted, p_value)
    order = np.lexsort((-raised, -np.abs(statistic)))  # of equal statistics the larger p first: then both get it
    raised[order] = np.maximum.accumulate(raised[order])
    return tuple(raised.tolist())


def _replace_by_exact(family: Family, p_values: FloatArray) -> FloatArray:
    """Return a copy of the p-values with exact ones for columns that differ on at most `ENUMERABLE` rows.

    An exact p-value is a share of all patterns of signs. The patterns include the observed one, so that no 1 is added.
    """
    corrected = p_values.copy()
    for index in np.flatnonzero(family.differing <= ENUMERABLE).tolist():
        values = family.quantised[index][family.quantised[index] != 0]
        sums = values[:1]  # the first sign stays: a pattern and its mirror image have the same |sum|
        for value in values[1:]:
            sums = np.concatenate((sums + value, sums - value))
        reached = np.abs(sums) >= abs(values.sum()) - family.differing[index]
        corrected[index] = np.count_nonzero(reached) / len(sums)
    return corrected


def _count_hits(family: Family, sums: FloatArray) -> IntArray:
    """Count the flips that reach the observed |sum|, and return two rows of counts, one count per column.

    In row 0 a flip counts if it reaches the observed |sum| in the column. In row 1 it also counts if a later column
    reaches the standardised |sum| of this column. sums: (columns x flips) sums, which are overwritten.
    """
    np.abs(sums, out=sums)
    reach, scale = (np.abs(family.totals) - family.differing)[:, np.newaxis], family.scale[:, np.newaxis]
    reached = sums >= reach  # each of the two sums may be off by differing / 2
    own_hits = np.count_nonzero(reached, axis=1)
    sums += family.differing[:, np.newaxis]
    sums *= scale
    largest_from_here = np.maximum.accumulate(sums[::-1], axis=0)[::-1]
    reached[:-1] |= largest_from_here[1:] >= (reach * scale)[:-1]  # by itself, or by a column further down
    return np.stack((own_hits, np.count_nonzero(reached, axis=1)))
