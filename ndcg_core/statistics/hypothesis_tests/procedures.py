"""Test a family and adjust its p-values: two step-down max-T tests if it decides, else Benjamini-Hochberg.

One max-T test flips signs (`hypothesis_tests.flips`). The other is the studentised bootstrap (`bootstrap_max_t`), which
draws units with replacement and assumes a mean of 0, not a symmetric distribution: the t statistics of the resamples,
computed around the observed means, have the skewness that skewed differences cause. It has less power if few units
differ. The width of simultaneous intervals of a family comes from sign flips of the centred columns
(`simultaneous_quantiles`).

Sources: `hypothesis_tests.flips` (max-T, the flips). J. P. Romano and M. Wolf, Exact and Approximate Stepdown Methods
for Multiple Hypothesis Testing, Journal of the American Statistical Association 100 (2005), section 4 (the studentised
bootstrap). Y. Benjamini and Y. Hochberg, Controlling the False Discovery Rate, Journal of the Royal Statistical Society
B 57 (1995); R's `p.adjust` and `scipy.stats.false_discovery_control` agree. P. H. Westfall and S. S. Young,
Resampling-Based Multiple Testing (1993), chapter 2 (the largest statistic under joint resampling). Measured coverage:
docs/calibration.md.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ndcg_core.statistics.estimates.mean_difference import Moments, check_probability, half_width, joint_half_width
from ndcg_core.statistics.hypothesis_tests import DEFAULT_RESAMPLES, DEFAULT_SEED, flips
from ndcg_core.statistics.hypothesis_tests.flips import Family, IntArray
from ndcg_core.statistics.paired import FloatArray, Paired, all_units, units_table
from ndcg_core.statistics.verdicts.verdict import TESTABLE, HalfWidths, TestResult

STREAM = 1  # added to the seed sequence; the flips' sequence has no such number
BLOCK = 256  # resamples of one random stream
LEAST_SPREAD = 0.1  # least spread of a resample, as a share of the column's
AT_ONCE = 2**16  # units drawn at once: their counts stay in the cache of a processor


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

    hits, parts = zip(*chain.from_iterable(flips.map_blocks(work, resamples, units, workers)), strict=True)
    p_value[order], p_adjusted[order] = (1 + np.sum(hits, axis=0)) / (resamples + 1)
    largest = np.sort(np.concatenate(parts))
    ranks = [math.ceil(level * (resamples + 1)) for level in levels]
    return BootstrapResult(
        tuple(p_value.tolist()),
        flips.monotone_p_values(p_adjusted, p_value, statistic),
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
    exponents = math.floor(flips.EXACT - math.log2(units)) - np.frexp(np.abs(table).max(axis=0))[1]
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
        yield counts.reshape(rows, units).T.astype(np.float64)
        remaining -= rows


def _count_reached(t: FloatArray, reach: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return how many resamples reach the observed |t| of each column, and the largest |t| of every resample.

    The first result has two rows of counts. In row 0 a resample counts if its |t| in the column reaches the observed
    one. In row 1 it counts if its |t| in the column or in any later column does.
    t: (columns x resamples) |t|. reach: (columns, 1) observed |t|.
    """
    from_here = np.maximum.accumulate(t[::-1], axis=0)[::-1]
    return np.stack([np.count_nonzero(each >= reach, axis=1) for each in (t, from_here)]), from_here[0]


EFFORT, OF_DRAWING = 2_000_000_000, 60
"""Resamples x units x (columns + OF_DRAWING) of a bootstrap: some .3 s. Drawing a unit costs as much as 60 columns."""
LEAST_EXCEEDING = 100
"""Fewest resamples times alpha, however large the table is: 2,000 resamples at .05."""


class FamilyTest(NamedTuple):
    """The settings of the test of a family of comparisons, as for `verdicts.comparison.compare_family`.

    The field `size` is the number of tested columns.
    """

    alpha: float
    seed: int = DEFAULT_SEED
    resamples: int = DEFAULT_RESAMPLES
    workers: int | None = None
    family: str = "primary"
    exploratory: bool = False
    least_queries: int = 2
    size: int = 0

    def for_bootstrap(self, units: int, columns: int) -> "FamilyTest":
        """Return the settings for a bootstrap of a (units x columns) table, with fewer resamples if the table is large.

        The number of resamples is at least `LEAST_EXCEEDING` / alpha, unless the settings have fewer.
        """
        affordable = EFFORT // max(1, units * (columns + OF_DRAWING))
        least = math.ceil(LEAST_EXCEEDING / self.alpha)
        return self._replace(resamples=min(self.resamples, max(least, affordable)))

    @property
    def drawing(self) -> dict[str, Any]:
        """Return the settings of random draws as keyword arguments: resamples, seed and workers."""
        return {"seed": self.seed, "resamples": self.resamples, "workers": self.workers}


def _own_p_values(paired: Sequence[Paired], p_values: FloatArray, done: tuple[str, ...], how: FamilyTest) -> FloatArray:
    """Return the p-value of each column by sign flips of the column's own units.

    A column must be flipped without units that only other columns have, because these would shift its rows, and random
    flips belong to row numbers.

    p_values: (columns,) p-values, which are overwritten unless they are right already.
    done: unit names; the p-values of the columns that have exactly these units are right already.
    """
    for own_units in {pairs.units.names for pairs in paired} - {done}:
        numbers = [number for number, pairs in enumerate(paired) if pairs.units.names == own_units]
        chosen = [paired[number] for number in numbers]
        rows = units_table(chosen, [pairs.units.flippable for pairs in chosen], own_units)
        p_values[numbers] = flips.sign_flip_p_values(rows, **how.drawing)
    return p_values


def sign_flip_family(paired: Sequence[Paired], moments: Sequence[Moments], how: FamilyTest) -> list[TestResult]:
    """Test a family by sign flips.

    p_value comes from each column alone, and p_adjusted from step-down max-T over all columns. Return one result per
    column, in order.
    """
    units = all_units(paired)
    flipped = flips.sign_flip(units_table(paired, [pairs.units.flippable for pairs in paired], units), **how.drawing)
    p_values = _own_p_values(paired, np.array(flipped.p_value), units, how)
    p_adjusted = flips.monotone_p_values(flipped.p_adjusted, p_values, flipped.statistic)
    quantiles = None
    if len(paired) > 1:  # a comparison without company has t's interval, of which the quantile of flips is an estimate
        residuals = [_scaled_residuals(pairs, each) for pairs, each in zip(paired, moments, strict=True)]
        quantiles = simultaneous_quantiles(
            units_table(paired, residuals, units),
            _interval_levels(how.alpha),
            shares=_weights_table(paired, units),
            **how.drawing,
        )
    jointly = flipped.jointly_enumerated
    words = [f"{'exact ' * exact}sign-flip, {'exact ' * jointly}step-down max-T" for exact in flipped.enumerated]
    return [
        TestResult(p_value, adjusted, procedure, jointly, reach, resamples=how.resamples)
        for p_value, adjusted, procedure, reach in zip(
            p_values.tolist(), p_adjusted, words, _widths(moments, how.alpha, quantiles), strict=True
        )
    ]


def bootstrap_family(paired: Sequence[Paired], moments: Sequence[Moments], how: FamilyTest) -> list[TestResult]:
    """Test a family by the studentised bootstrap.

    p_value, p_adjusted (step-down max-T) and half-widths come from shared resamples. Return one result per column, in
    order.
    """
    units = all_units(paired)
    residuals = units_table(paired, [pairs.residuals(each) for pairs, each in zip(paired, moments, strict=True)], units)
    shares = _weights_table(paired, units)
    if shares is None and any(len(pairs.units.names) < len(units) for pairs in paired):
        shares = units_table(paired, [np.ones(len(pairs.units.names)) for pairs in paired], units)
    means, levels = [each.mean for each in moments], _interval_levels(how.alpha)
    settings = how.for_bootstrap(len(units), len(paired))
    resampled = bootstrap_max_t(means, residuals, shares, levels=levels, least_values=TESTABLE, **settings.drawing)
    if len(paired) > 1:
        totals = len(units) if shares is None else shares.sum(axis=0)
        linear_errors = np.sqrt(np.square(residuals).sum(axis=0)) / totals
        bounds = list(zip(resampled.quantiles, levels, strict=True))
        reaches = [
            HalfWidths(*(_studentised(each, bound, error, level) for bound, level in bounds))
            for each, error in zip(moments, linear_errors.tolist(), strict=True)
        ]
    else:  # t's interval, as in `sign_flip_family`
        reaches = _widths(moments, how.alpha)
    procedure = "studentised bootstrap, step-down max-T"
    return [
        TestResult(p_value, adjusted, procedure, False, reach, resamples=settings.resamples)
        for p_value, adjusted, reach in zip(resampled.p_value, resampled.p_adjusted, reaches, strict=True)
    ]


def _studentised(moments: Moments, quantile: float, linear_error: float, level: float) -> float | None:
    """Convert the half-width of an interval from the error of the bootstrap to the standard error of the mean.

    The result is in standard errors and at least `half_width`. Return None if the quantile is infinite.
    quantile: half-width in errors of the bootstrap. linear_error: the error of the bootstrap, which is linearised, in
    the unit of the differences. level: of `half_width`.
    """
    if moments.deviation == 0:
        return half_width(moments, level)
    return None if np.isinf(quantile) else max(quantile * linear_error / moments.error, half_width(moments, level))


def combine_tests(flipped: TestResult, resampled: TestResult) -> TestResult:
    """Combine the results of a sign-flip test and a bootstrap test, and return the stricter result.

    It has the larger p_adjusted and the wider intervals, and the p_value of the sign-flip test.
    """
    larger = max((flipped, resampled), key=lambda tested: tested.p_adjusted)
    pairs = zip(flipped.reaches, resampled.reaches, strict=True)
    return replace(
        flipped,
        p_adjusted=larger.p_adjusted,
        procedure=flipped.procedure.replace(", ", " and studentised bootstrap, ", 1) + " (the larger p)",
        certain=larger.certain,
        resamples=larger.resamples,
        reaches=HalfWidths(*(None if one is None or other is None else max(one, other) for one, other in pairs)),
    )


def _interval_levels(alpha: float) -> tuple[float, ...]:
    """Return the levels of the intervals that verdicts use.

    1 - alpha is for the size of a difference. 1 - 2 alpha is for equivalence, and is left out if it is not above 0.
    """
    return (1 - alpha, 1 - 2 * alpha) if alpha < 0.5 else (1 - alpha,)


def _widths(moments: Sequence[Moments], alpha: float, quantiles: Sequence[float] | None = None) -> list[HalfWidths]:
    """Return the half-widths of the intervals of every column, in standard errors.

    quantiles: for each level of `_interval_levels`, the quantile of the family's largest statistic; None for
    Bonferroni's adjustment.
    """
    levels = _interval_levels(alpha)
    if quantiles is None:
        return [HalfWidths(*(half_width(each, level, len(moments)) for level in levels)) for each in moments]
    bounds = list(zip(quantiles, levels, strict=True))
    return [HalfWidths(*(joint_half_width(each, *bound) for bound in bounds)) for each in moments]


def _scaled_residuals(pairs: Paired, moments: Moments) -> FloatArray:
    values = pairs.residuals(moments)
    if moments.deviation == 0:
        return values
    # Where one unit has nearly all the weight, every value is near 0: the test's quantum would take it for 0.
    return np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))


def _weights_table(paired: Sequence[Paired], units: tuple[str, ...]) -> FloatArray | None:
    """Return the weights over their mean as a (units x columns) table; None if no column has weights."""
    sides = [pairs.units for pairs in paired]
    if all(side.shares is None for side in sides):
        return None
    shares = [np.ones(len(side.names)) if side.shares is None else side.shares for side in sides]
    return units_table(paired, shares, units)


def benjamini_hochberg(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values adjusted for the false discovery rate by Benjamini and Hochberg's method, in the order given.

    The i-th smallest of k p-values is multiplied by k / i; the result is limited to 1 and to the adjusted value of any
    larger p-value. The method is valid for independent and positively dependent tests.
    """
    values = np.asarray(p_values, dtype=np.float64)
    falling = np.argsort(values, kind="stable")[::-1]
    ranks = np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[falling] = np.minimum(np.minimum.accumulate(values[falling] * (len(values) / ranks)), 1.0)
    return tuple(adjusted.tolist())


def false_discovery_family(paired: Sequence[Paired], moments: Sequence[Moments], how: FamilyTest) -> list[TestResult]:
    """Test the columns of a family by sign flips, with p-values adjusted by Benjamini and Hochberg's method.

    Return one result per column, in order.
    """
    p_values = _own_p_values(paired, np.ones(len(paired)), (), how).tolist()
    exact = [pairs.flippable_units <= flips.ENUMERABLE for pairs in paired]
    words = [f"{'exact ' * is_exact}sign-flip, Benjamini-Hochberg" for is_exact in exact]
    return [
        TestResult(p_value, adjusted, procedure, all(exact), reach, factor=adjusted / p_value, resamples=how.resamples)
        for p_value, adjusted, procedure, reach in zip(
            p_values, benjamini_hochberg(p_values), words, _widths(moments, how.alpha), strict=True
        )
    ]


def adjust_family(paired: Sequence[Paired], moments: Sequence[Moments], how: FamilyTest) -> list[TestResult]:
    """Test the columns of a family and return one result per column, in order; [] without columns.

    An exploratory family is tested by sign flips with Benjamini and Hochberg's adjustment. Any other family is tested
    by sign flips and by the bootstrap, each with step-down max-T, and the stricter results count.
    """
    if not paired:
        return []
    if how.exploratory:
        return false_discovery_family(paired, moments, how)
    tests = zip(sign_flip_family(paired, moments, how), bootstrap_family(paired, moments, how), strict=True)
    return [combine_tests(flipped, resampled) for flipped, resampled in tests]


def simultaneous_quantiles(
    residuals: ArrayLike,
    levels: Sequence[float],
    *,
    shares: ArrayLike | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
    workers: int | None = None,
) -> tuple[float, ...]:
    """Return, for each level, a quantile of the largest |sum| / norm of any comparison under random sign flips.

    residuals: (n queries x k comparisons), each column centred on its mean; 0 if a column does not have the query.
    levels: levels of the k intervals together, in (0, 1).
    shares: (n x k), weights over their mean by which the residuals were multiplied; 0 if a column does not have the
        query. With shares, each flip's t statistic has the weighted standard error of
        `mean_difference.compute_moments`. It is converted to z, the unweighted |sum| / norm, by t = z sqrt((n - 1) / (n
        - z^2)).
    resamples, seed, workers: as in `sign_flip`.
    Raises ValueError for settings out of range.

    Notes
    -----
    Of m flips the result is the ceil(level * (m + 1))-th smallest of the largest statistics, infinite if there is none:
    the observed statistic counts as one more flip (Westfall and Young 1993, chapter 2).
    """
    for level in levels:
        check_probability("level", level)
    family = flips.standardise_family(np.asarray(residuals, dtype=np.float64))
    if not len(family.order):
        return (0.0,) * len(levels)
    summed = family
    largest: Callable[[FloatArray], FloatArray] = partial(_largest_statistic, family.scale)
    if shares is not None:
        summed, largest = _prepare_weighted_maximum(family, np.asarray(shares, dtype=np.float64))
    count, parts = flips.reduce_flips(summed, largest, resamples, seed, workers)
    samples = count if len(family.rows) <= flips.ENUMERABLE else count + 1
    ranked, ranks = np.sort(np.concatenate(parts)), [math.ceil(level * samples) for level in levels]
    return tuple(float(ranked[rank - 1]) if rank <= count else math.inf for rank in ranks)


def _largest_statistic(scale: FloatArray, sums: FloatArray) -> FloatArray:
    """Return the (flips,) largest |sum| / norm over a family's columns.

    scale: (columns,) 1 / norm. sums: (columns x flips) sums, which are overwritten.
    """
    return np.asarray((np.abs(sums, out=sums) * scale[:, np.newaxis]).max(axis=0))


def _prepare_weighted_maximum(family: Family, shares: FloatArray) -> tuple[Family, Callable[[FloatArray], FloatArray]]:
    """Return a family whose columns are to be summed under flips, and a function from their sums to the largest z.

    The columns are the residuals, followed by the products residual * share. The function takes the (columns x flips)
    sums and returns, per flip, the largest z of any comparison. z is the weighted |t|, converted by
    t = z sqrt((n - 1) / (n - z^2)).
    """
    own = shares.T[family.order]
    n, second = np.count_nonzero(own, axis=1, keepdims=True) * 1.0, np.square(own).sum(axis=1, keepdims=True)
    unbiased = (np.square(own) * (np.square(1 - own / n))).sum(axis=1)
    unbiased += (np.square(own) * np.maximum(second - np.square(own), 0)).sum(axis=1) / n[:, 0] ** 2
    squares = np.square(family.quantised).sum(axis=1, keepdims=True)
    products = np.rint(family.quantised * own[:, family.rows])

    def largest(sums: FloatArray) -> FloatArray:
        sums, crossed = np.split(sums, 2)
        means = sums / n
        spread = squares - 2 * means * crossed + np.square(means) * second
        between = np.square(sums) * unbiased[:, np.newaxis]
        within = (n - 1) * np.maximum(spread, 0) * second
        share = np.divide(between, within + between, out=np.zeros_like(between), where=between > 0)
        return np.asarray(np.sqrt(n * share).max(axis=0))

    matrix = np.vstack((family.quantised, products))
    return replace(family, quantised=matrix, totals=matrix.sum(axis=1)), largest
