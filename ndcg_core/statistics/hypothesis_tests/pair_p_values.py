"""Sign-flip p-values of columns that are the difference of two others, from the sums of those two.

Every two of s systems make s (s - 1) / 2 columns, whose sums under a flip are differences of s - 1 sums.  What rounding
does to a column is bounded by a look at its rows: a flip is counted where that bound leaves no doubt whether it reaches
the column's sum, and a column with a flip in doubt has no p-value from here.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ndcg_core.statistics.hypothesis_tests.flips import (
    ENUMERABLE,
    EXACT,
    BitTiles,
    Family,
    FloatArray,
    IntArray,
    count_processors,
    drawn_bits,
    map_blocks,
    quantum_bits,
    settle_ties,
    signed_sums,
)

_TOGETHER = 128  # columns whose sums are made at once: they stay in the cache


@dataclass(frozen=True, slots=True)
class _Derived:
    """Columns by what they are made of.

    numbers: of the columns.  later, earlier: which rows of the family they are the difference of.  A flip reaches a
    column's sum where the family's sums are `most` apart or more, and does not where they are less than `least` apart.
    """

    numbers: list[int]
    later: IntArray
    earlier: IntArray
    least: FloatArray
    most: FloatArray


def p_values_of_two(
    columns: Sequence[FloatArray],
    made_of: Mapping[int, tuple[int, int]],
    *,
    resamples: int,
    seed: int,
    workers: int | None,
) -> dict[int, float]:
    """Column number -> the p_value of `sign_flip`, bit for bit, as far as it can be told from other columns.

    columns: finite, of equal length.  made_of: number -> those of two columns of which it is the first less the second,
    but for rounding; where it is not, time is lost, and no p_value is another.
    """
    if not made_of:
        return {}
    bases = sorted({base for two in made_of.values() for base in two})
    family, fine = _in_one_quantum([columns[base] for base in bases])
    made = _derived(columns, made_of, family, fine, {base: place for place, base in enumerate(bases)})
    if not made.numbers:
        return {}
    work = partial(_counted_in_blocks, family, made, partial(drawn_bits, seed, family.rows), resamples)
    hits, doubtful = np.sum(map_blocks(work, resamples, len(family.rows), workers or count_processors()), axis=0)
    p_values = ((1 + hits) / (resamples + 1)).tolist()
    return {number: p_values[at] for at, number in enumerate(made.numbers) if not doubtful[at]}


def _in_one_quantum(columns: Sequence[FloatArray]) -> tuple[Family, int]:
    """Columns in whole numbers of 2^-q, which is as fine as their sums stay exact; and q."""
    table = np.array(columns)
    largest = float(np.abs(table).sum(axis=1).max(initial=0.0))
    # Rounding adds a half for each row: 1 bit less leaves room for it.
    fine = min(EXACT - 1 - math.ceil(math.log2(largest)), 1_000) if largest > 0 else 0
    quantised = np.rint(np.ldexp(table, fine))
    ones = np.ones(len(columns))
    rows = np.arange(quantised.shape[1])
    return Family(np.arange(len(columns)), rows, quantised, quantised.sum(axis=1), ones, ones), fine


def _derived(
    columns: Sequence[FloatArray],
    made_of: Mapping[int, tuple[int, int]],
    family: Family,
    fine: int,
    places: Mapping[int, int],
) -> _Derived:
    numbers, later, earlier, least, most = [], [], [], [], []
    for number, two in made_of.items():
        column = settle_ties(columns[number])
        differing = int(np.count_nonzero(column))
        if differing <= ENUMERABLE:
            continue
        own = quantum_bits(column, differing)
        quantised = np.rint(np.ldexp(column, own))
        first, second = (places[base] for base in two)
        rest = quantised - np.ldexp(family.quantised[first] - family.quantised[second], own - fine)
        # The flipped sums of the column and of its two parts are never further apart.
        apart = 1 + float(np.abs(rest).sum()) * (1 + 1e-9)
        reach = abs(float(quantised.sum())) - differing  # as `sign_flip` has it
        if reach <= 0:  # which every flip reaches
            reach, apart = 0.0, 0.0
        numbers.append(number)
        later.append(first)
        earlier.append(second)
        least.append(math.ldexp(reach - apart, fine - own))
        most.append(math.ldexp(reach + apart, fine - own))
    return _Derived(numbers, np.array(later, np.intp), np.array(earlier, np.intp), np.array(least), np.array(most))


def _counted_in_blocks(
    family: Family, made: _Derived, bits: Callable[[int], BitTiles], flips: int, blocks: range
) -> IntArray:
    """Of the flips, how many reach each column's sum (row 0), and of how many there is doubt (row 1)."""
    counts = np.zeros((2, len(made.numbers)), dtype=np.intp)
    parts = [slice(start, start + _TOGETHER) for start in range(0, len(made.numbers), _TOGETHER)]
    for sums in signed_sums(family, bits, flips, blocks):
        for part in parts:
            apart = np.abs(sums[made.later[part]] - sums[made.earlier[part]])
            reached = np.count_nonzero(apart >= made.most[part, np.newaxis], axis=1)
            counts[0, part] += reached
            counts[1, part] += np.count_nonzero(apart >= made.least[part, np.newaxis], axis=1) - reached
    return counts
