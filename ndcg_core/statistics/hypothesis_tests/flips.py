"""Sum the columns of a family under random sign flips, exactly.

Columns are rounded to whole quanta. Sums of quanta are exact in any order, so that results do not depend on threads,
blocks or BLAS.
"""

import math
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

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


def check_differences(differences: ArrayLike) -> FloatArray:
    """Return the differences as a (queries x comparisons) array.

    Raises ValueError for another number of dimensions, and for NaN or infinity.
    """
    table = np.asarray(differences, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"differences have shape {table.shape}, must be (queries, comparisons)")
    finite = np.isfinite(table)
    if not finite.all():
        row, column = np.argwhere(~finite)[0].tolist()
        raise ValueError(f"the difference in row {row}, column {column} == {table[row, column]}, must be finite")
    return table


def check_settings(resamples: int, seed: int, workers: int | None) -> None:
    for name, value, least in (("resamples", resamples, 1), ("seed", seed, 0), ("workers", workers, 1)):
        if value is not None and value < least:
            raise ValueError(f"{name} == {value}, must be at least {least}")
