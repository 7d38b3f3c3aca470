"""Do the tests err as often as they say, and do the intervals hold what they promise?  Measured on simulated rankings.

    python benchmarks/simulate.py [--seed 1] [--repetitions N] [--quick]

Prints one row for each measured quantity, as Markdown, and ends with code 1 if one lies outside its accepted range
(docs/calibration.md).  All draws come from the seed; a measurement has a stream of its own, so that its
rows do not depend on the others.  --repetitions sets those of every measurement; --quick takes fewer of them and
widens each accepted range by three standard errors.
"""

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, product
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_core.statistics.estimates.mean_difference import (
    Moments,
    compute_moments,
    interval_from_moments,
    minimal_detectable_effect,
    not_worse_p_value,
    relative_weights,
    t_p_value,
)
from ndcg_core.statistics.hypothesis_tests.flips import sign_flip
from ndcg_core.statistics.hypothesis_tests.procedures import benjamini_hochberg
from ndcg_core.statistics.verdicts.comparison import Column, Comparison, compare_family

FloatArray = NDArray[np.float64]
Rng = np.random.Generator
Kind = Literal["one relevant", "graded", "reciprocal rank"]

ALPHA = 0.05
RESAMPLES = 2_000
FAMILY_RESAMPLES = 1_000
QUERIES, DOCUMENTS, SETTLED = 20_000, 20, 0.25
EQUAL, BETTER = 10, 4
METRICS = ("ndcg@10", "ndcg@5", "ndcg", "rr", "precision@5")

TYPE_ONE, COVERAGE, POWER = (0.040, 0.060), (0.940, 0.965), (0.78, 0.82)
FAMILY_WISE, TOGETHER, MARGIN = (0.0, 0.07), (0.930, 0.985), (0.040, 0.065)
WEIGHTED_COVERAGE, FALSE_DISCOVERY = (0.93, 0.965), (0.0, 0.06)
WEIGHTED_TOGETHER = (0.930, 1.0)
"""50 queries with log-normal weights count as 18: there the bootstrap's intervals are wide."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measured quantity: a share of the repetitions, or a mean share, with its accepted range or None."""

    what: str
    setting: str
    repetitions: int
    measured: float
    accepted: tuple[float, float] | None = None

    def error(self, share: float) -> float:
        """Return the standard error of a share, or an upper bound of it for a mean share."""
        return math.sqrt(share * (1 - share) / self.repetitions)

    def holds(self, errors: float = 0) -> bool:
        """Return whether a share lies in its accepted range, widened at both ends by some standard errors."""
        low, high = self.accepted or (0.0, 1.0)
        return low - errors * self.error(low) <= self.measured <= high + errors * self.error(high)


@dataclass(frozen=True, slots=True)
class World:
    """The queries that all repetitions draw from: (queries x systems x METRICS) values, of two kinds of judgments.

    The first systems (10, and 2) are exchangeable, the last ones (4, and 1) truly better.
    """

    graded: FloatArray
    one_relevant: FloatArray

    def differences(self, kind: Kind, *, better: bool) -> FloatArray:
        """Return the differences of nDCG@10 (or the reciprocal rank) of a system from the first one, on every query."""
        values = (self.one_relevant if kind == "one relevant" else self.graded)[:, :, 3 * (kind == "reciprocal rank")]
        return values[:, -1 if better else 1] - values[:, 0]


@cache
def world(seed: int) -> World:
    """Draw the grades of 20 documents per query; relevant ones have a better quality, which systems see through noise.

    A quarter of the queries is settled: every system ranks them alike.  With one relevant document half of the
    differences between two equal systems are ties, with graded ones 30 %.
    """
    rng = np.random.default_rng([seed, 0])
    relevant = rng.integers(2, 9, size=QUERIES)
    grades = np.where(np.arange(DOCUMENTS) < relevant[:, None], rng.integers(1, 4, size=(QUERIES, DOCUMENTS)), 0)
    single = np.tile(np.arange(DOCUMENTS) == 0, (QUERIES, 1)).astype(np.float64)
    return World(
        graded=_values(_ranked(rng, grades, 0.4, [0.0] * EQUAL + [0.07] * BETTER)),
        one_relevant=_values(_ranked(rng, single, 0.55, [0.0, 0.0, 0.2])),
    )


def _ranked(rng: Rng, grades: FloatArray, noise: float, bonus: Sequence[float]) -> FloatArray:
    """Return (queries x systems x documents) grades in rank order.

    noise: the deviation of a system's view of the quality. bonus: the addition per grade in a better system.
    """
    seen = 0.5 * grades + rng.normal(size=grades.shape)
    open_query = rng.random((QUERIES, 1)) >= SETTLED
    ranked = []
    for more in bonus:
        own = more * grades + noise * rng.normal(size=grades.shape)
        ranked.append(np.take_along_axis(grades, np.argsort(-(seen + open_query * own), axis=1), axis=1))
    return np.stack(ranked, axis=1).astype(np.float64)


def _values(ranked: FloatArray) -> FloatArray:
    """Return the METRICS of grades in rank order along a new last axis, as `ndcg_core.measures.score` computes them."""
    discount = 1 / np.log2(np.arange(2, DOCUMENTS + 2))
    ideal = -np.sort(-ranked, axis=-1)

    def ndcg(cutoff: int) -> FloatArray:
        gained: FloatArray = ranked[..., :cutoff] @ discount[:cutoff] / (ideal[..., :cutoff] @ discount[:cutoff])
        return gained

    relevant = ranked > 0
    first = 1 / (1 + np.argmax(relevant, axis=-1))
    return np.stack([ndcg(10), ndcg(5), ndcg(DOCUMENTS), first, relevant[..., :5].mean(axis=-1)], axis=-1)


def coin(rng: Rng, differences: FloatArray, queries: int, columns: int, ratio: float) -> FloatArray:
    """Draw differences whose mean is `ratio` of their deviation: a coin decides which system has the larger value.

    At ratio 0 the coin is fair: the null hypothesis is true and exactly symmetric.
    """
    size = np.abs(differences)
    wins = rng.random((queries, columns)) < (1 + mean_at(differences, ratio) / size.mean()) / 2
    signed: FloatArray = np.where(wins, 1, -1) * rng.choice(size, size=(queries, columns))
    return signed


def mean_at(differences: FloatArray, ratio: float) -> float:
    """Return the true mean of the differences that `coin` draws."""
    return ratio * math.sqrt(np.square(differences).mean() / (1 + ratio**2))


def batches(repetitions: int, size: int = 500) -> list[int]:
    """Return batch sizes that sum to the repetitions; the columns of a batch share their flips."""
    return [min(size, repetitions - start) for start in range(0, repetitions, size)]


def ties(differences: FloatArray) -> str:
    return f"{100 * np.mean(np.abs(differences) <= 1e-9):.0f} % ties"


# ---- one comparison


def type_one(world: World, rng: Rng, repetitions: int, kind: Kind, queries: int) -> list[Row]:
    """Measure how often systems that are swapped at random are called different."""
    differences = world.differences(kind, better=False)
    flip, t = list[float](), list[float]()
    for size in batches(repetitions):
        table = coin(rng, differences, queries, size, 0)
        flip += _flipped(rng, table)
        t += [t_p_value(compute_moments(column)) for column in table.T]
    setting = f"n = {queries}, {kind}, {ties(differences)}"
    return [
        Row("type-I error, sign-flip", setting, repetitions, rejected(flip), TYPE_ONE),
        Row("type-I error, t", setting, repetitions, rejected(t), TYPE_ONE),
    ]


def _seed(rng: Rng) -> int:
    return int(rng.integers(2**32))


def _flipped(rng: Rng, table: FloatArray) -> tuple[float, ...]:
    return sign_flip(table, resamples=RESAMPLES, seed=_seed(rng), workers=1).p_value


def rejected(p_values: Sequence[float]) -> float:
    return float(np.mean(np.array(p_values) <= ALPHA))


def power(world: World, rng: Rng, repetitions: int, queries: int, kind: Kind | None) -> list[Row]:
    """Measure how often an effect as large as the MDE is detected; kind None: normal differences, as in the formula."""
    ratio = minimal_detectable_effect(queries, 1.0)
    differences = np.array([0.0]) if kind is None else world.differences(kind, better=False)
    flip, t = list[float](), list[float]()
    for size in batches(repetitions):
        normal = rng.normal(ratio, 1, size=(queries, size))
        table = normal if kind is None else coin(rng, differences, queries, size, ratio)
        flip += _flipped(rng, table)
        t += [t_p_value(compute_moments(column)) for column in table.T]
    setting = f"n = {queries}, " + ("normal" if kind is None else f"{kind}, {ties(differences)}")
    return [
        Row("power at the MDE, t", setting, repetitions, rejected(t), POWER),
        Row("power at the MDE, sign-flip", setting, repetitions, rejected(flip), POWER),
    ]


def equivalence_p_value(of: Moments, margin: float) -> float:
    """Return p of two one-sided t tests: small if the mean lies between -margin and +margin beyond doubt."""
    return max(not_worse_p_value(of, margin), not_worse_p_value(of._replace(mean=-of.mean), margin))


def coverage(world: World, rng: Rng, repetitions: int, kind: Kind, queries: int) -> list[Row]:
    """Measure coverage of the mean's interval for better candidates, also by the skewed and tied reciprocal rank."""
    differences = world.differences(kind, better=True)
    covered = 0
    for sample in chain.from_iterable(rng.choice(differences, size=(size, queries)) for size in batches(repetitions)):
        low, high = interval_from_moments(compute_moments(sample))
        covered += low <= differences.mean() <= high
    setting = f"n = {queries}, {kind}, {ties(differences)}, shifted"
    accepted = None if kind == "reciprocal rank" else COVERAGE
    return [Row("coverage of the t interval", setting, repetitions, covered / repetitions, accepted)]


def margins(world: World, rng: Rng, repetitions: int, queries: int) -> list[Row]:
    """Measure wrong claims of equivalence for effects exactly at the margin. Guardrails: simulate_guardrails.py."""
    differences = world.differences("graded", better=False)
    ratio = 2.5 / math.sqrt(queries)  # 2.5 standard errors: the other margin hardly matters
    margin = mean_at(differences, ratio)
    equivalent = []
    for size in batches(repetitions):
        table = coin(rng, differences, queries, size, ratio)
        equivalent += [equivalence_p_value(compute_moments(column), margin) for column in table.T]
    setting = f"n = {queries}, graded, {ties(differences)}"
    return [Row("type-I error at the margin, equivalence", setting, repetitions, rejected(equivalent), MARGIN)]


def weighted(world: World, rng: Rng, repetitions: int, queries: int) -> list[Row]:
    """Measure intervals with log-normal weights (sigma 1) that are independent of the differences."""
    null, shifted = (world.differences("graded", better=better) for better in (False, True))
    flip, covered = list[float](), 0
    for size in batches(repetitions):
        weights = rng.lognormal(size=(queries, size))
        shares = np.column_stack([relative_weights(column, queries) for column in weights.T])
        flip += _flipped(rng, shares * coin(rng, null, queries, size, 0))
        for sample, weight in zip(rng.choice(shifted, size=(size, queries)), weights.T, strict=True):
            low, high = interval_from_moments(compute_moments(sample, weight))
            covered += low <= shifted.mean() <= high
    setting = f"n = {queries}, graded, log-normal weights"
    return [
        Row("type-I error, weighted sign-flip", setting, repetitions, rejected(flip), TYPE_ONE),
        Row("coverage of the weighted interval", setting, repetitions, covered / repetitions, WEIGHTED_COVERAGE),
    ]


def weighted_family(world: World, rng: Rng, repetitions: int, queries: int) -> list[Row]:
    """Measure how often all simultaneous intervals of ten candidates hold, with weights that all candidates share."""
    values = world.graded[:, :, 0]
    differences = np.delete(values, 0, axis=1)[:, :10] - values[:, :1]
    ids, together = _ids(queries), 0
    for _ in range(repetitions):
        rows, weights = rng.integers(len(values), size=queries), rng.lognormal(size=queries)
        columns = [
            Column("old", f"{at}", "ndcg@10", ids, column, weights=weights)
            for at, column in enumerate(differences[rows].T)
        ]
        found = compare_family(columns, resamples=1_000, seed=_seed(rng), workers=1)
        bounds = [(row.simultaneous_low or -1, row.simultaneous_high or 1) for row in found]
        together += all(low <= mean <= high for (low, high), mean in zip(bounds, differences.mean(axis=0), strict=True))
    setting = f"n = {queries}, 10 columns, log-normal weights"
    return [Row("coverage, simultaneous intervals", setting, repetitions, together / repetitions, WEIGHTED_TOGETHER)]


# ---- families


@dataclass(frozen=True, slots=True)
class Family:
    """The repetitions of one family of tests, as (repetitions x columns) arrays.

    null: True where the null hypothesis is true. covered: True where the simultaneous interval holds the true mean.
    """

    null: NDArray[np.bool_]
    p_value: FloatArray
    p_adjusted: FloatArray
    covered: NDArray[np.bool_]

    def any_true_null(self, p_adjusted: FloatArray) -> float:
        return float((p_adjusted[:, self.null] <= ALPHA).any(axis=1).mean())

    def found(self, p_adjusted: FloatArray) -> float:
        return float((p_adjusted[:, ~self.null] <= ALPHA).mean())

    def false_discoveries(self, p_adjusted: FloatArray) -> float:
        rejections = p_adjusted <= ALPHA
        return float((rejections[:, self.null].sum(axis=1) / np.maximum(rejections.sum(axis=1), 1)).mean())


def family_of(world: World, rng: Rng, repetitions: int, queries: int, equal: int, better: int) -> Family:
    """Simulate candidates as good as the baseline, and better ones, on all metrics; equal systems swap at random."""
    values = np.concatenate([world.graded[:, : equal + 1], world.graded[:, EQUAL : EQUAL + better]], axis=1)
    means = values.mean(axis=0)
    truth = np.concatenate([np.zeros((equal, len(METRICS))), means[equal + 1 :] - means[: equal + 1].mean(axis=0)])
    null = np.repeat(np.arange(equal + better) < equal, len(METRICS))
    results = []
    for _ in range(repetitions):
        sample = values[rng.integers(QUERIES, size=queries)]
        permutation = np.argsort(rng.random((queries, equal + 1)), axis=1)
        sample[:, : equal + 1] = np.take_along_axis(sample[:, : equal + 1], permutation[:, :, np.newaxis], axis=1)
        results.append(_compared(sample[:, 1:] - sample[:, :1], _seed(rng)))

    def of(field: str) -> FloatArray:
        return np.array([[getattr(each, field) for each in row] for row in results], dtype=np.float64)

    covered = (of("simultaneous_low") <= truth.ravel()) & (truth.ravel() <= of("simultaneous_high"))
    return Family(null, of("p_value"), of("p_adjusted"), covered)


def _compared(differences: FloatArray, seed: int) -> list[Comparison]:
    """Return the comparisons of (queries x candidates x metrics) differences as one family that decides."""
    columns = [
        Column("old", f"new {candidate}", METRICS[metric], _ids(len(differences)), differences[:, candidate, metric])
        for candidate, metric in np.ndindex(differences.shape[1:])
    ]
    return compare_family(columns, alpha=ALPHA, resamples=FAMILY_RESAMPLES, seed=seed, workers=1)


@cache
def _ids(queries: int) -> tuple[str, ...]:
    return tuple(f"q{number:05d}" for number in range(queries))


def family(world: World, rng: Rng, repetitions: int, queries: int, equal: int, better: int) -> list[Row]:
    of = family_of(world, rng, repetitions, queries, equal, better)
    setting = f"n = {queries}, {len(of.null)} columns, {np.count_nonzero(of.null)} nulls true"

    def row(what: str, measured: float, accepted: tuple[float, float] | None = None) -> Row:
        return Row(what, setting, repetitions, measured, accepted)

    rows = [row("coverage, simultaneous intervals", float(of.covered.all(axis=1).mean()), TOGETHER)]
    if equal:
        error = of.any_true_null(of.p_adjusted)
        rows += [row("family-wise error", error, FAMILY_WISE)]
    if equal and better:
        rows += [row("power", of.found(of.p_adjusted))]
        discovered = np.array([benjamini_hochberg(row) for row in of.p_value])
        rows += [row("false discovery rate, Benjamini-Hochberg", of.false_discoveries(discovered), FALSE_DISCOVERY)]
    return rows


# ---- the whole


class Measurement(NamedTuple):
    """A function that measures rows, with its numbers of repetitions in a full and in a quick run."""

    rows: Callable[..., list[Row]]
    repetitions: int
    quick: int


def measurements() -> list[Measurement]:
    kinds: tuple[Kind, ...] = ("one relevant", "graded")
    found = []
    for kind, queries in product(kinds, (25, 50, 200, 1000)):
        found.append(Measurement(partial(type_one, kind=kind, queries=queries), 10_000, 500))
    for queries in (50, 200):
        found.append(Measurement(partial(family, queries=queries, equal=9, better=0), 2_000, 50))
        found.append(Measurement(partial(family, queries=queries, equal=5, better=4), 2_000, 50))
        found.append(Measurement(partial(family, queries=queries, equal=0, better=1), 2_000, 50))
    for queries in (25, 50, 200):
        for kind in kinds:
            found.append(Measurement(partial(coverage, kind=kind, queries=queries), 20_000, 1_000))
        found.append(Measurement(partial(coverage, kind="reciprocal rank", queries=queries), 20_000, 500))
    for queries in (50, 200, 1000):
        found.append(Measurement(partial(power, queries=queries, kind=None), 10_000, 500))
        found.append(Measurement(partial(power, queries=queries, kind="graded"), 10_000, 500))
        found.append(Measurement(partial(margins, queries=queries), 10_000, 500))
    found += [Measurement(partial(weighted_family, queries=queries), 2_000, 50) for queries in (50, 200)]
    return [*found, Measurement(partial(weighted, queries=200), 10_000, 500)]


def measured(index: int, seed: int, repetitions: int | None = None, quick: bool = False) -> list[Row]:
    """Return the rows of one measurement, chosen by its index in the list."""
    chosen = measurements()[index]
    rng = np.random.default_rng([seed, 1, index])
    return chosen.rows(world(seed), rng, repetitions or (chosen.quick if quick else chosen.repetitions))


def table(rows: Sequence[Row], errors: float = 0) -> str:
    lines = ["| what | setting | repetitions | measured | accepted | |", "|---|---|---|---|---|---|"]
    for row in rows:
        accepted = f"{row.accepted[0]:.3f} to {row.accepted[1]:.3f}" if row.accepted else "–"
        verdict = "" if row.accepted is None else "ok" if row.holds(errors) else "OUT"
        spread = f"{row.measured:.4f} ± {row.error(row.measured):.4f}"
        lines.append(f"| {row.what} | {row.setting} | {row.repetitions:,} | {spread} | {accepted} | {verdict} |")
    return "\n".join(lines)


def in_processes(measured: Callable[..., list[Row]], count: int, options: argparse.Namespace) -> list[Row]:
    """Return the rows of every measurement, in order, computed on all processors; options: those of `run`."""
    one = partial(measured, seed=options.seed, repetitions=options.repetitions, quick=options.quick)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(chain.from_iterable(pool.map(one, range(count))))


def run(about: str | None, rows_of: Callable[[argparse.Namespace], list[Row]]) -> None:
    """Run a simulation as a command: print its rows, and end with 1 if one lies outside its accepted range.

    rows_of: a function of the options seed, repetitions (None: the usual number) and quick that returns the rows.
    """
    parser = argparse.ArgumentParser(description=(about or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repetitions", type=int)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    start = time.perf_counter()
    rows = rows_of(options)
    errors = 3 if options.quick else 0
    print(table(rows, errors))
    print(f"\nseed {options.seed}, {time.perf_counter() - start:.0f} s", file=sys.stderr)
    sys.exit(0 if all(row.holds(errors) for row in rows) else 1)


if __name__ == "__main__":
    run(__doc__, lambda given: in_processes(measured, len(measurements()), given))
