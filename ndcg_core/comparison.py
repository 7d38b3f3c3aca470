"""A candidate against the baseline on one metric: from paired differences to one verdict each, as a family.

The unit is the query. p_value comes from the sign-flip test, p_adjusted from step-down max-T over the family
(`ndcg_core.signflip`, with the sources); the interval and the minimal detectable effect from Student's t
(`ndcg_core.estimates`). A verdict never says "no difference": it says what could have been detected.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ndcg_core.estimates import (
    Differences,
    mean_difference,
    minimal_detectable_effect,
    standard_deviation,
    t_interval,
)
from ndcg_core.signflip import (
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    raise_down_the_order,
    settle_ties,
    sign_flip,
)

DEFAULT_ALPHA = 0.05
POWER = 0.8
"""The power at which the minimal detectable effect is stated."""
TESTABLE = 6
"""Differing queries that a verdict needs: with five, the smallest p that any outcome can reach is 2^-4 = .0625."""
SMALL_SAMPLE = 30
"""Below so many differing queries the note `small sample` is given."""

QueryIds = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The differences of one comparison, before the test.

    baseline, candidate: system ids. metric: its name. query_ids: n distinct ids, in any order.
    differences: n numbers, candidate - baseline on the query at the same place, in the metric's unit. A query that a
        system did not answer is there with its score of 0; one that is excluded for the metric is not there.
    """

    baseline: str
    candidate: str
    metric: str
    query_ids: QueryIds
    differences: Differences


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result for one candidate, metric and family.

    baseline, candidate: system ids. metric: its name.
    queries: n >= 0, the queries that both systems are scored on.
    differing: queries with a win or a loss; wins + losses.
    wins, ties, losses: queries with a difference > 0, = 0 (magnitude <= 1e-9), < 0.
    difference: mean of candidate - baseline, in the metric's unit; None without a query.
    low, high: bounds of the (1 - alpha) confidence interval of the mean difference, in the metric's unit; not adjusted
        for the family; None for n < 2.
    p_value: sign-flip p, two-sided, in (0, 1]; None for n < 2.
    p_adjusted: family-wise p, in [p_value, 1]; None where p_value is.
    mde: mean difference, in the metric's unit, > 0, that a t test at alpha finds with 80 % power; None for n < 2 and
        where the differences do not vary.
    verdict: `not testable (...)`, `identical`, `improved`, `regressed` or `no detectable difference (...)`.
    notes: what to keep in mind, in words; often empty.
    family: name of the comparisons that p_adjusted covers. family_size: how many of them were tested (have a p_value).
    procedure: how p_value and p_adjusted were made; `exact` where all patterns of signs were counted.
    alpha: threshold for p_adjusted, in (0, 1).
    seed, resamples: of the flips, as asked for; enough to repeat the test.
    """

    baseline: str
    candidate: str
    metric: str
    queries: int
    differing: int
    wins: int
    ties: int
    losses: int
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None
    mde: float | None
    verdict: str
    notes: tuple[str, ...]
    family: str
    family_size: int
    procedure: str
    alpha: float
    seed: int
    resamples: int


def compare_family(
    columns: Sequence[Column],
    *,
    alpha: float = DEFAULT_ALPHA,
    seed: int = DEFAULT_SEED,
    resamples: int = DEFAULT_RESAMPLES,
    workers: int | None = None,
    family: str = "primary",
) -> list[Comparison]:
    """One Comparison per column, in the order of the columns; p_adjusted covers all of them together.

    alpha: in (0, 1). seed >= 0, resamples >= 1, workers >= 1: see `ndcg_core.signflip.sign_flip`.
    p_value depends on a column's own query ids and differences, on seed and resamples: not on the order of its
    queries, on the other columns or on their queries, nor on workers.
    Columns may have different queries; for p_adjusted a query absent from a column counts as a tie there.

    Raises ValueError for NaN or infinity (naming candidate, metric and query), a query_id given twice, as many
    differences as there are not query ids, and settings out of range.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha == {alpha}, must lie between 0 and 1")
    paired = _by_query(columns)
    testable = [number for number, pairs in enumerate(paired) if len(pairs.query_ids) > 1]
    results = _test([paired[number] for number in testable], seed, resamples, workers)
    tests = dict(zip(testable, results, strict=True))
    settings = _Settings(family, len(testable), alpha, seed, resamples)
    return [
        _comparison(column, pairs.differences, tests.get(number), settings)
        for number, (column, pairs) in enumerate(zip(columns, paired, strict=True))
    ]


@dataclass(frozen=True, slots=True)
class _Settings:
    family: str
    family_size: int
    alpha: float
    seed: int
    resamples: int


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """A column checked: query ids rising, ties exactly 0."""

    query_ids: QueryIds
    differences: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Test:
    p_value: float
    p_adjusted: float
    exact: bool
    exact_family: bool


def _by_query(columns: Sequence[Column]) -> list[_Pairs]:
    """Every column in rising order of its query ids: that of code points, which is that of their UTF-8 bytes."""
    orders: dict[QueryIds, tuple[QueryIds, NDArray[np.intp]]] = {}
    paired = []
    for column in columns:
        differences = _checked(column)
        if column.query_ids not in orders:
            order = sorted(range(len(column.query_ids)), key=column.query_ids.__getitem__)
            rising = tuple(column.query_ids[place] for place in order)
            for query_id, following in pairwise(rising):
                if query_id == following:
                    raise ValueError(f"{_named(column)}: query {query_id!r} is given twice, must be given once")
            orders[column.query_ids] = rising, np.array(order, dtype=np.intp)
        rising, places = orders[column.query_ids]
        paired.append(_Pairs(rising, settle_ties(differences)[places]))
    return paired


def _checked(column: Column) -> NDArray[np.float64]:
    differences = np.asarray(column.differences, dtype=np.float64)
    if differences.shape != (len(column.query_ids),):
        shape, queries = differences.shape, len(column.query_ids)
        raise ValueError(f"{_named(column)}: differences have shape {shape}, must be one for each of {queries} queries")
    finite = np.isfinite(differences)
    if not finite.all():
        place = int(np.argmin(finite))
        query_id, value = column.query_ids[place], differences[place]
        raise ValueError(f"{_named(column)}: the difference of query {query_id!r} == {value}, must be finite")
    return differences


def _named(column: Column) -> str:
    return f"candidate {column.candidate!r}, metric {column.metric!r}"


def _test(paired: Sequence[_Pairs], seed: int, resamples: int, workers: int | None) -> list[_Test]:
    """p_value from a column's own queries alone; p_adjusted from the queries of all columns together."""
    query_ids = _union(paired)
    joint = sign_flip(_table(paired, query_ids), resamples=resamples, seed=seed, workers=workers)
    p_values = np.array(joint.p_value)
    # Flips belong to row numbers. Queries that only other columns have would shift the rows of this one.
    for own_ids in {pairs.query_ids for pairs in paired} - {query_ids}:
        numbers = [number for number, pairs in enumerate(paired) if pairs.query_ids == own_ids]
        table = _table([paired[number] for number in numbers], own_ids)
        p_values[numbers] = sign_flip(table, resamples=resamples, seed=seed, workers=workers).p_value
    p_adjusted = raise_down_the_order(joint.p_adjusted, p_values, joint.statistic)
    return [
        _Test(p_value, adjusted, exact, joint.jointly_enumerated)
        for p_value, adjusted, exact in zip(p_values.tolist(), p_adjusted, joint.enumerated, strict=True)
    ]


def _union(paired: Sequence[_Pairs]) -> QueryIds:
    distinct = {pairs.query_ids for pairs in paired}
    return distinct.pop() if len(distinct) == 1 else tuple(sorted(set().union(*distinct)))


def _table(paired: Sequence[_Pairs], query_ids: QueryIds) -> NDArray[np.float64]:
    """(queries x columns), 0 where a column does not have the query."""
    rows = {query_id: row for row, query_id in enumerate(query_ids)}
    table = np.zeros((len(query_ids), len(paired)))
    for number, pairs in enumerate(paired):
        if pairs.query_ids == query_ids:
            table[:, number] = pairs.differences
        else:
            table[[rows[query_id] for query_id in pairs.query_ids], number] = pairs.differences
    return table


def _comparison(
    column: Column, differences: NDArray[np.float64], test: _Test | None, settings: _Settings
) -> Comparison:
    n = len(differences)
    wins, losses = int(np.count_nonzero(differences > 0)), int(np.count_nonzero(differences < 0))
    difference = mean_difference(differences) if n > 0 else None
    low, high = t_interval(differences, level=1 - settings.alpha) if n > 1 else (None, None)
    deviation = standard_deviation(differences) if n > 1 else 0.0
    mde = minimal_detectable_effect(n, deviation, alpha=settings.alpha, power=POWER) if deviation > 0 else None
    return Comparison(
        baseline=column.baseline,
        candidate=column.candidate,
        metric=column.metric,
        queries=n,
        differing=wins + losses,
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
        difference=difference,
        low=low,
        high=high,
        p_value=test.p_value if test else None,
        p_adjusted=test.p_adjusted if test else None,
        mde=mde,
        verdict=_verdict(n, wins + losses, difference, test, mde, settings.alpha),
        notes=_notes(wins + losses, deviation, test, settings),
        family=settings.family,
        family_size=settings.family_size,
        procedure=_procedure(test),
        alpha=settings.alpha,
        seed=settings.seed,
        resamples=settings.resamples,
    )


def _verdict(
    n: int, differing: int, difference: float | None, test: _Test | None, mde: float | None, alpha: float
) -> str:
    """The first that matches, from top to bottom."""
    if test is None or difference is None:
        return f"not testable (n = {n})"
    if 0 < differing < TESTABLE:
        return f"not testable ({differing} differing {'query' if differing == 1 else 'queries'})"
    if differing == 0:
        return "identical"
    if test.p_adjusted <= alpha:
        return "improved" if difference > 0 else "regressed"
    if mde is None:
        return "no detectable difference (zero variance)"
    return f"no detectable difference (MDE = {_readable(mde)} at {100 * POWER:.0f} % power)"


def _readable(effect: float) -> str:
    """An effect > 0 with three decimals, or with two significant digits where those would be 0.000."""
    rounded = f"{effect:.3f}"
    return rounded if float(rounded) > 0 else f"{effect:.{1 - math.floor(math.log10(effect))}f}"


def _notes(differing: int, deviation: float, test: _Test | None, settings: _Settings) -> tuple[str, ...]:
    if test is None or differing == 0:
        return ()
    notes = []
    if deviation == 0:
        notes.append("zero variance")
    if TESTABLE <= differing < SMALL_SAMPLE:
        notes.append("small sample")
    if differing >= TESTABLE and not test.exact_family and _near_alpha(test.p_adjusted, settings):
        notes.append("within Monte-Carlo error of alpha; raise resamples")
    return tuple(notes)


def _near_alpha(p_adjusted: float, settings: _Settings) -> bool:
    """Whether other flips might well put p_adjusted on the other side of alpha: three standard errors."""
    error = math.sqrt(settings.alpha * (1 - settings.alpha) / settings.resamples)
    return abs(p_adjusted - settings.alpha) <= 3 * error


def _procedure(test: _Test | None) -> str:
    if test is None:
        return "not tested"
    return f"{'exact ' if test.exact else ''}sign-flip, {'exact ' if test.exact_family else ''}step-down max-T"
