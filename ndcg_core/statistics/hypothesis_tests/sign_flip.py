"""Test paired differences by sign flips: exact ties, shared flips, step-down max-T.

Under the null hypothesis a query's difference is as likely to be +d as -d. The test flips the signs of the queries,
all columns together, and counts how often a flipped sum is as far from zero as the observed one. Sum, mean and t order
the flips alike, since flips do not change a column's sum of squares.

Sources: R. A. Fisher, The Design of Experiments (1935), section 21 (the test; his 1726 of 32768 is a test case);
B. Phipson and G. K. Smyth, Permutation P-values Should Never Be Zero (2010) (the +1 when flips are drawn);
P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing (1993), algorithm 4.1, also in Y. Ge, S. Dudoit and
T. P. Speed, Resampling-based multiple testing for microarray data analysis (2003), box 2 (step-down max-T).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ndcg_core.statistics.hypothesis_tests import DEFAULT_RESAMPLES, DEFAULT_SEED
from ndcg_core.statistics.hypothesis_tests.flips import (
    ENUMERABLE,
    Family,
    FloatArray,
    IntArray,
    check_differences,
    check_settings,
    reduce_flips,
    set_ties_to_zero,
    standardise_family,
)

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
    Raises ValueError for a shape other than n x k, for NaN and infinity (with their index), and for settings out of
    range.
    """
    check_settings(resamples, seed, workers)
    table = set_ties_to_zero(check_differences(differences))
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
