"""Adjust the p-values of a family: two step-down max-T tests if it decides, else Benjamini-Hochberg.

The width of simultaneous intervals of a family comes from sign flips of the centred columns
(`simultaneous_quantiles`).

Sources: `hypothesis_tests.flips` (max-T, the flips), `hypothesis_tests.bootstrap_max_t` (the studentised
bootstrap). Y. Benjamini and Y. Hochberg, Controlling the False Discovery Rate, Journal of the Royal Statistical Society
B 57 (1995); R's `p.adjust` and `scipy.stats.false_discovery_control` agree. P. H. Westfall and S. S. Young,
Resampling-Based Multiple Testing (1993), chapter 2 (the largest statistic under joint resampling). Measured coverage:
docs/calibration.md.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ndcg_core.statistics.estimates.mean_difference import Moments, check_probability, half_width, joint_half_width
from ndcg_core.statistics.hypothesis_tests import DEFAULT_RESAMPLES, DEFAULT_SEED
from ndcg_core.statistics.hypothesis_tests.bootstrap_max_t import bootstrap_max_t
from ndcg_core.statistics.hypothesis_tests.flips import (
    ENUMERABLE,
    Family,
    check_settings,
    monotone_p_values,
    reduce_flips,
    sign_flip,
    sign_flip_p_values,
    standardise_family,
)
from ndcg_core.statistics.paired import FloatArray, Paired, all_units, units_table
from ndcg_core.statistics.verdicts.verdict import TESTABLE, HalfWidths, TestResult

EFFORT, OF_DRAWING = 2_000_000_000, 60
"""Resamples x units x (columns + OF_DRAWING) of a bootstrap: some .3 s. Drawing a unit costs as much as 60 columns."""
AT_LEAST = 100
"""Fewest resamples times alpha: 2,000 resamples at .05."""


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

        The number of resamples is at least `AT_LEAST` / alpha, unless the settings have fewer.
        """
        affordable = EFFORT // max(1, units * (columns + OF_DRAWING))
        least = math.ceil(AT_LEAST / self.alpha)
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
        p_values[numbers] = sign_flip_p_values(rows, **how.drawing)
    return p_values


def sign_flip_family(paired: Sequence[Paired], moments: Sequence[Moments], how: FamilyTest) -> list[TestResult]:
    """Test a family by sign flips.

    p_value comes from each column alone, and p_adjusted from step-down max-T over all columns. Return one result per
    column, in order.
    """
    units = all_units(paired)
    flipped = sign_flip(units_table(paired, [pairs.units.flippable for pairs in paired], units), **how.drawing)
    p_values = _own_p_values(paired, np.array(flipped.p_value), units, how)
    p_adjusted = monotone_p_values(flipped.p_adjusted, p_values, flipped.statistic)
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
    levels, how = _interval_levels(how.alpha), how.for_bootstrap(len(units), len(paired))
    means = [each.mean for each in moments]
    resampled = bootstrap_max_t(means, residuals, shares, levels=levels, least_values=TESTABLE, **how.drawing)
    totals = len(units) if shares is None else shares.sum(axis=0)
    linear = np.sqrt(np.square(residuals).sum(axis=0)) / totals
    reaches = _widths(moments, how.alpha)
    if len(paired) > 1:
        bounds = list(zip(resampled.quantiles, levels, strict=True))
        reaches = [
            HalfWidths(*(_studentised(each, bound, error, level) for bound, level in bounds))
            for each, error in zip(moments, linear.tolist(), strict=True)
        ]
    return [
        TestResult(p_value, adjusted, "studentised bootstrap, step-down max-T", False, reach, resamples=how.resamples)
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
        reaches=HalfWidths(*(None if None in pair else max(filter(None, pair)) for pair in pairs)),
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
    return [
        HalfWidths(*(joint_half_width(each, *known) for known in zip(quantiles, levels, strict=True)))
        for each in moments
    ]


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
    exact = [pairs.flippable_units <= ENUMERABLE for pairs in paired]
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
    return [combine_tests(flipped, drawn) for flipped, drawn in tests]


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
    check_settings(resamples, seed, workers)
    for level in levels:
        check_probability("level", level)
    family = standardise_family(np.asarray(residuals, dtype=np.float64))
    if not len(family.order):
        return (0.0,) * len(levels)
    summed = family
    take: Callable[[FloatArray], FloatArray] = partial(_largest_statistic, family.scale)
    if shares is not None:
        summed, take = _prepare_weighted_maximum(family, np.asarray(shares, dtype=np.float64))
    flips, parts = reduce_flips(summed, take, resamples, seed, workers)
    samples = flips if len(family.rows) <= ENUMERABLE else flips + 1
    ranked, ranks = np.sort(np.concatenate(parts)), [math.ceil(level * samples) for level in levels]
    return tuple(float(ranked[rank - 1]) if rank <= flips else math.inf for rank in ranks)


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
    n, second = (each[:, np.newaxis] for each in (np.count_nonzero(own, axis=1).astype(np.float64), _squares(own)))
    unbiased = (np.square(own) * (np.square(1 - own / n))).sum(axis=1)
    unbiased += (np.square(own) * np.maximum(second - np.square(own), 0)).sum(axis=1) / n[:, 0] ** 2
    squares = _squares(family.quantised)[:, np.newaxis]
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


def _squares(values: FloatArray) -> FloatArray:
    return np.asarray(np.square(values).sum(axis=1))
