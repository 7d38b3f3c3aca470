"""The flips themselves: columns in whole quanta, random bits for their rows, and the sums under every flip.

Sums of quanta are exact in any order, so that what comes of them does not depend on threads, blocks or BLAS.
"""

import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache, partial
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

COLUMNS = 512
"""Columns multiplied together where they need not be compared: their sums stay in the cache."""

_BLOCK = 256  # flips drawn together: four words of 64 bits for each row
_MOST_BLOCKS = 16  # that are added up together where they are small: a call of numpy takes longer than few numbers
_SMALL = 1_024  # rows, or columns, of all of these together
_FEW = 64  # rows of which the bits of some blocks are kept
WORTH = 1 << 20  # numbers drawn that are worth one more worker
_TILE = 4_096  # rows multiplied together: bounds the memory of a worker to some 10 MB
_FINEST = 40  # no quantum is finer than 2^-40: below lies the noise of floating-point scores
EXACT = 51  # a sum of magnitudes below 2^51 quanta leaves room for "total - 2 * chosen" within 2^53

# The limit on BLAS threads is the process's own; two calls that overlap would restore each other's limit.
_blas_limit = threading.Lock()


def settle_ties(differences: FloatArray) -> FloatArray:
    """A copy of the differences, any shape, in which every tie (magnitude <= TIE_TOLERANCE) is exactly 0."""
    return np.where(np.abs(differences) <= TIE_TOLERANCE, 0.0, differences)


@dataclass(frozen=True, slots=True)
class Family:
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


def standardise_family(table: FloatArray, differing: IntArray) -> Family:
    columns = np.flatnonzero(differing)
    rows = np.flatnonzero(table.any(axis=1))
    quantised = np.ascontiguousarray(table.T[np.ix_(columns, rows)])
    for number, column in zip(columns, quantised, strict=True):
        _quantise(column, int(differing[number]))
    totals = quantised.sum(axis=1)
    scale = 1 / np.sqrt(np.array([np.square(column).sum() for column in quantised]))
    largest_first = np.argsort(-np.abs(totals) * scale, kind="stable")
    return Family(
        order=columns[largest_first],
        rows=rows,
        quantised=quantised[largest_first],
        totals=totals[largest_first],
        differing=differing[columns][largest_first].astype(np.float64),
        scale=scale[largest_first],
    )


def _quantise(column: FloatArray, differing: int) -> None:
    """Round a column, in place, to whole numbers of its quantum."""
    np.rint(np.ldexp(column, quantum_bits(column, differing)), out=column)


def quantum_bits(column: FloatArray, differing: int) -> int:
    """q: a column's quantum is 2^-q, so coarse that every sum of whole numbers of it is exact.

    Sums that are equal in exact arithmetic differ by 1e-17 in floating point, and `>=` would lose such ties. The
    number of rows does not enter, only that of differing ones: rows that only other columns need change nothing.
    """
    return min(_FINEST, math.floor(EXACT - math.log2(differing) - math.log2(np.abs(column).max())))


def join_families(families: Sequence[Family]) -> tuple[Family, list[slice]]:
    """The columns of several families as one, whose sums are theirs; and where each family's columns are in it.

    What orders the columns is their family's: `order` means nothing here.
    """
    if len(families) == 1:
        return families[0], [slice(0, len(families[0].order))]
    ends = np.cumsum([len(family.order) for family in families]).tolist()
    parts = [slice(end - len(family.order), end) for family, end in zip(families, ends, strict=True)]
    rows = np.unique(np.concatenate([family.rows for family in families]))
    quantised = np.zeros((ends[-1], len(rows)))
    for family, part in zip(families, parts, strict=True):
        quantised[part, np.searchsorted(rows, family.rows)] = family.quantised
    names = ("order", "totals", "differing", "scale")
    joined = {name: np.concatenate([getattr(family, name) for family in families]) for name in names}
    return Family(rows=rows, quantised=quantised, **joined), parts


def group_families(families: Sequence[Family], most: int) -> list[list[int]]:
    """The families' numbers in groups of at most so many columns, or of one family."""
    groups: list[list[int]] = []
    columns = most + 1
    for number, family in enumerate(families):
        if columns + len(family.order) > most:
            groups.append([])
            columns = 0
        groups[-1].append(number)
        columns += len(family.order)
    return groups


def make_flips(family: Family, resamples: int, seed: int) -> tuple[int, Callable[[int], BitTiles]]:
    """How many flips a family has, and their bits block by block: every pattern where few rows differ, else drawn."""
    if len(family.rows) <= ENUMERABLE:
        return 2 ** len(family.rows), partial(enumerated_bits, len(family.rows))
    return resamples, partial(drawn_bits, seed, family.rows)


def enumerated_bits(rows: int, block: int) -> BitTiles:
    """All patterns in turn: the bits of the numbers from 256 * block on, one column each, one row per table row."""
    patterns = np.arange(block * _BLOCK, (block + 1) * _BLOCK)
    yield slice(0, rows), ((patterns >> np.arange(rows)[:, np.newaxis]) & 1).astype(np.uint8)


def drawn_bits(seed: int, rows: IntArray, block: int) -> BitTiles:
    """256 random flips, as tiles of (rows x 256) bits with the place of their rows in `rows`.

    Words are drawn for every row of the table, also for those without a difference: the bits of a row depend on
    (seed, block, row number) and not on which other rows differ.
    """
    end = int(rows[-1]) + 1
    if end <= _FEW:
        yield slice(0, len(rows)), np.unpackbits(_octets_of_few(seed, block, end)[rows], axis=1, bitorder="little")
        return
    generator = np.random.SFC64(np.random.SeedSequence([seed, block]))
    for start in range(0, end, _TILE):
        stop = min(start + _TILE, end)
        first, last = np.searchsorted(rows, (start, stop)).tolist()
        octets = _octets(generator, stop - start)[rows[first:last] - start]
        yield slice(first, last), np.unpackbits(octets, axis=1, bitorder="little")


@lru_cache(maxsize=512)
def _octets_of_few(seed: int, block: int, rows: int) -> NDArray[np.uint8]:
    """Kept: the differences as they are, and at either end of their bounds, are flipped alike."""
    return _octets(np.random.SFC64(np.random.SeedSequence([seed, block])), rows)


def _octets(generator: np.random.SFC64, rows: int) -> NDArray[np.uint8]:
    """256 random bits for each of the next rows."""
    words = np.asarray(generator.random_raw(rows * (_BLOCK // 64)), dtype="<u8")
    return words.view(np.uint8).reshape(rows, _BLOCK // 8)


def map_blocks(work: Callable[[range], Any], flips: int, rows: int, workers: int) -> list[Any]:
    """What `work` gives for the blocks of all flips, each of some rows, dealt to as many workers as that is worth."""
    blocks = range(-(-flips // _BLOCK))
    workers = min(workers, len(blocks), 1 + flips * rows // WORTH)
    # One thread in BLAS: the workers share the processors, and threads of BLAS would compete with them.
    with _blas_limit, _blas().limit(limits=1, user_api="blas"):
        if workers <= 1:
            return [work(blocks)]
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(work, [blocks[first::workers] for first in range(workers)]))


def blocks_together(rows: int, columns: int) -> int:
    """How many blocks are added up at once: of few rows and columns several."""
    return max(1, min(_MOST_BLOCKS, _SMALL // max(rows, columns, 1)))


def absolute_sums(family: Family, bits: Callable[[int], BitTiles], flips: int, blocks: range) -> Iterator[FloatArray]:
    """|sum| of every column under every flip, some blocks at a time, in quanta: (columns x flips of these blocks)."""
    for sums in signed_sums(family, bits, flips, blocks):
        yield np.abs(sums, out=sums)


def signed_sums(family: Family, bits: Callable[[int], BitTiles], flips: int, blocks: range) -> Iterator[FloatArray]:
    """The same with their signs."""
    totals = family.totals[:, np.newaxis]
    at_once = blocks_together(len(family.rows), len(totals))
    flipped = np.empty((min(_TILE, len(family.rows)), _BLOCK * at_once))
    product = np.empty((len(totals), _BLOCK * at_once))
    for first in range(0, len(blocks), at_once):
        together = blocks[first : first + at_once]
        width = _BLOCK * len(together)
        chosen = np.zeros((len(totals), width))
        for tiles in zip(*map(bits, together), strict=True):
            rows, size = tiles[0][0], len(tiles[0][1])
            np.concatenate([tile for _, tile in tiles], axis=1, out=flipped[:size, :width])
            chosen += np.matmul(family.quantised[:, rows], flipped[:size, :width], out=product[:, :width])
        chosen *= -2
        chosen += totals
        yield chosen[:, : sum(min(_BLOCK, flips - block * _BLOCK) for block in together)]


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()  # looks through the loaded libraries: once is enough, numpy has loaded its own


def count_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_differences(differences: ArrayLike) -> FloatArray:
    table = np.asarray(differences, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"differences have shape {table.shape}, must be (queries, comparisons)")
    finite = np.isfinite(table)
    if not finite.all():
        row, column = np.argwhere(~finite)[0].tolist()
        raise ValueError(f"the difference in row {row}, column {column} == {table[row, column]}, must be finite")
    return table


def check_settings(resamples: int, seed: int, workers: int | None) -> None:
    if resamples < 1:
        raise ValueError(f"resamples == {resamples}, must be at least 1")
    if seed < 0:
        raise ValueError(f"seed == {seed}, must be at least 0")
    if workers is not None and workers < 1:
        raise ValueError(f"workers == {workers}, must be at least 1")
