"""Do guardrails hold where harm is rare, and does a gate on slices err as often as it says?

    python benchmarks/simulate_guardrails.py [--seed 1] [--repetitions N] [--quick]

Each cell has a true mean difference of exactly -margin: to pass is then an error. Beside simulated cells the worst of
many small distributions is searched for, with exact chances. Power is that of a candidate without any effect, beside
Student's t. Prints rows as `simulate.py` does, and ends with code 1 if one lies outside its accepted range
(docs/calibration.md).
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, combinations_with_replacement

import numpy as np
from simulate import ALPHA, FloatArray, Rng, Row, run, world

from ndcg_core.statistics.estimates.mean_difference import compute_moments
from ndcg_core.statistics.estimates.mean_difference import not_worse_p_value as t_p_value
from ndcg_core.statistics.hypothesis_tests.guardrails import not_worse_p_value
from ndcg_core.statistics.verdicts.comparison import Column, check_guardrails, compare_family

NO_MORE_THAN_ALPHA = (0.0, 0.055)
SLICES = {"language": 6, "length": 4, "device": 3, "market": 5}
"""Attributes, and how many values each has."""

Draw = Callable[[Rng, int], FloatArray]


def rare(loss: float, share: float, spread: float = 0.0) -> Draw:
    """Return a function that draws differences: a share of the queries loses `loss`, the others tie or get noise."""

    def draw(rng: Rng, n: int) -> FloatArray:
        others = np.clip(rng.normal(0, spread, n), -1, 1) if spread else np.zeros(n)
        return np.where(rng.random(n) < share, -loss, others)

    return draw


def mixed(rng: Rng, n: int) -> FloatArray:
    """Draw differences: 1 in 50 loses 1.0, 1 in 50 gains 0.5, the rest tie."""
    return np.asarray(rng.choice([-1.0, 0.5, 0.0], p=[0.02, 0.02, 0.96], size=n))


def dense(spread: float, mean: float) -> Draw:
    return lambda rng, n: np.clip(rng.normal(mean, spread, n), -1, 1)


def graded(seed: int, mean: float) -> Draw:
    """Draw differences of nDCG@10 of two equal systems, moved to a given mean; tenths of them tie."""
    values = world(seed).differences("graded", better=False)
    values = values - values.mean()
    values = values[values + mean > -1] + mean
    return lambda rng, n: rng.choice(values, n) - (values.mean() - mean)


def passed(rng: Rng, repetitions: int, draw: Draw, n: int, margin: float) -> tuple[float, float]:
    """Return the shares of samples that pass by the guardrail and by Student's t."""
    samples = [draw(rng, n) for _ in range(repetitions)]
    by_bound = [not_worse_p_value(values, margin, 1.0) < ALPHA for values in samples]
    by_t = [t_p_value(compute_moments(values), margin) < ALPHA for values in samples]
    return float(np.mean(by_bound)), float(np.mean(by_t))


def error_rows(rng: Rng, repetitions: int, name: str, draw: Draw, n: int, margin: float) -> list[Row]:
    bound, t = passed(rng, repetitions, draw, n, margin)
    setting = f"n = {n}, margin {margin:g}, {name}"
    return [
        Row("passes at the margin, guardrail", setting, repetitions, bound, NO_MORE_THAN_ALPHA),
        Row("passes at the margin, t", setting, repetitions, t),
    ]


def errors(seed: int, rng: Rng, repetitions: int, sizes: Sequence[int]) -> list[Row]:
    found = []
    shapes: list[tuple[str, Draw, float]] = [
        ("1 in 100 loses 1", rare(1, 0.01), 0.01),
        ("1 in 20 loses 1", rare(1, 0.05), 0.05),
        ("1 in 500 loses 1", rare(1, 0.002), 0.002),
        ("1 in 50 loses .5", rare(0.5, 0.02), 0.01),
        ("1 in 50 loses 1, 1 in 50 gains .5", mixed, 0.01),
        ("noise of .1, 1 in 100 loses 1", rare(1, 0.01, 0.1), 0.01),
        ("normal, deviation .1", dense(0.1, -0.02), 0.02),
        ("graded nDCG", graded(seed, -0.02), 0.02),
    ]
    for name, draw, margin in shapes:
        for n in sizes:
            found += error_rows(rng, repetitions, name, draw, n, margin)
    return found


def powers(rng: Rng, repetitions: int, sizes: Sequence[int]) -> list[Row]:
    found = []
    for spread, margin in ((0.1, 0.02), (0.1, 0.05), (0.2, 0.05)):
        for n in sizes:
            bound, t = passed(rng, repetitions, dense(spread, 0.0), n, margin)
            setting = f"n = {n}, margin {margin:g}, normal, deviation {spread:g}"
            found.append(Row("power without any effect, guardrail", setting, repetitions, bound))
            found.append(Row("power without any effect, t", setting, repetitions, t))
    return found


def heavy(rng: Rng, repetitions: int, n: int) -> Row:
    """Measure errors if a harm of .02 hits queries of ten times the weight, which samples without one cannot reveal."""
    columns = []
    ids = tuple(f"q{number:05d}" for number in range(n))
    share = 0.02 / (10 - 9 * 0.02)  # 10 share / (10 share + 1 - share) = .02
    for _ in range(repetitions):
        lost = rng.random(n) < share
        weights = np.where(lost, 10.0, 1.0)
        columns.append(Column("old", "new", "rr", ids, (-1.0 * lost).tolist(), weights=weights, smallest_effect=0.02))
    held = float(np.mean([row.conclusion.holds_margin for row in check_guardrails(columns)]))
    return Row("passes at the margin, guardrail", f"n = {n}, rare queries of weight 10 lose 1", repetitions, held)


def unequal(rng: Rng, repetitions: int, n: int, *, clusters: bool) -> Row:
    """Measure errors with log-normal weights, or with conversations of 3 to 11 turns: 1 in 50 of them loses 1."""
    units = n // 7 if clusters else n
    columns = []
    for _ in range(repetitions):
        lost = -(rng.random(units) < 0.02).astype(np.float64)
        sizes = rng.integers(3, 12, units) if clusters else np.ones(units, dtype=np.int64)
        members = np.repeat(np.arange(units), sizes)
        ids = tuple(f"q{number:05d}" for number in range(len(members)))
        names = tuple(map(str, members)) if clusters else None
        weights = None if clusters else rng.lognormal(size=units)
        values = lost[members]
        columns.append(Column("old", "new", "rr", ids, values, weights=weights, clusters=names, smallest_effect=0.02))
    held = float(np.mean([row.conclusion.holds_margin for row in check_guardrails(columns)]))
    name = f"{units} conversations" if clusters else f"n = {n}, log-normal weights"
    return Row("passes at the margin, guardrail", f"{name}, 1 in 50 loses 1", repetitions, held, NO_MORE_THAN_ALPHA)


def exact_error(values: Sequence[float], chances: Sequence[float], n: int, margin: float) -> float:
    """Return the exact chance to pass for n queries whose differences have a few values with given chances."""
    error = 0.0
    for counts in _counts(len(values), n):
        log_chance = math.lgamma(n + 1) - sum(math.lgamma(count + 1) for count in counts)
        if any(count and not chance for count, chance in zip(counts, chances, strict=True)):
            continue
        log_chance += sum(c * math.log(chance) for c, chance in zip(counts, chances, strict=True) if c)
        if not_worse_p_value(np.repeat(values, counts), margin, 1.0) < ALPHA:
            error += math.exp(log_chance)
    return error


def _counts(kinds: int, n: int) -> list[tuple[int, ...]]:
    """Yield every way to divide n queries among the values."""
    bars = combinations_with_replacement(range(n + 1), kinds - 1)
    return [tuple(np.diff([0, *chosen, n]).tolist()) for chosen in bars]


def worst(rng: Rng, trials: int, sizes: Sequence[int]) -> list[Row]:
    """Return the largest exact error over distributions of three values with mean -margin that a climb finds."""
    found = []
    for n in sizes:
        best = 0.0
        for _ in range(trials):
            best = max(best, _climb(rng, n))
        setting = f"n = {n}, worst of three values, {trials} climbs"
        found.append(Row("passes at the margin, guardrail", setting, 100_000, best, (0.0, ALPHA + 1e-6)))
    return found


def _climb(rng: Rng, n: int, steps: int = 12) -> float:
    """Return the largest exact error that a climb finds over values -1 <= a < b <= 1 with mean -margin."""
    point, best = rng.random(4), -1.0
    for step in range(steps):
        tried = point if step == 0 else np.clip(point + rng.normal(0, 0.3 / (1 + step / 4), 4), 0, 1)
        error = _error_at(tried, n)
        if error >= best:
            point, best = tried, error
    return best


def _error_at(point: FloatArray, n: int) -> float:
    """Return the exact error of a distribution of three values with mean -margin.

    point: the margin, the middle and the highest value, and the middle's share, each scaled to 0 to 1.
    """
    margin = 0.02 + 0.9 * float(point[0])
    high = -margin + (1 + margin) * max(0.02, float(point[2]))
    middle = -1 + (high + 1) * float(point[1])
    share = 0.98 * float(point[3])
    # What is left after the middle's share goes to -1 and to the highest value, so that the mean is -margin.
    upper = (-margin - share * middle + (1 - share)) / (high + 1)
    if not 0 <= upper <= 1 - share:
        return 0.0
    return exact_error([-1.0, middle, high], [1 - share - upper, share, upper], n, margin)


def slices(rng: Rng, repetitions: int, queries: int) -> list[Row]:
    """Measure how often a gate fails for an equal candidate that is tested on all slices of four attributes."""
    ids = tuple(f"q{number:05d}" for number in range(queries))
    together = apart = 0
    for _ in range(repetitions):
        values = np.rint(rng.normal(0, 0.2, queries) * 10) / 10
        seed = int(rng.integers(2**32))
        by_attribute = {}
        for attribute, count in SLICES.items():
            parts = rng.integers(0, count, queries)
            by_attribute[attribute] = [
                Column(
                    "old",
                    "new",
                    "rr",
                    tuple(np.array(ids)[parts == part].tolist()),
                    values[parts == part],
                    attribute=attribute,
                    slice=str(part),
                )
                for part in range(count)
            ]
        compared = partial(compare_family, resamples=1_000, seed=seed, workers=1, least_queries=25)
        whole = compared(list(chain.from_iterable(by_attribute.values())))
        together += any(row.conclusion.direction < 0 for row in whole)
        by_rate = partial(compared, exploratory=True)
        alone = chain.from_iterable(by_rate(columns) for columns in by_attribute.values())
        apart += any(row.conclusion.direction < 0 for row in alone)
    setting = f"n = {queries}, {len(SLICES)} attributes, {sum(SLICES.values())} slices"
    return [
        Row("a gate fails, slices together", setting, repetitions, together / repetitions, NO_MORE_THAN_ALPHA),
        Row("a gate fails, each attribute alone", setting, repetitions, apart / repetitions),
    ]


def rows(seed: int, repetitions: int, *, quick: bool = False) -> list[Row]:
    rng = np.random.default_rng([seed, 3])
    found = errors(seed, rng, repetitions, (25, 400) if quick else (25, 100, 200, 500, 1000))
    found += [unequal(rng, repetitions // 2, n, clusters=clusters) for n in (100, 500) for clusters in (False, True)]
    found.append(heavy(rng, repetitions // 4, 500))
    found += worst(rng, 4 if quick else 60, (2, 5) if quick else (1, 2, 3, 5, 8))
    if not quick:
        found += powers(rng, repetitions // 4, (50, 100, 200, 500, 1000))
    return found + slices(rng, max(repetitions // 5, 40), 300)


if __name__ == "__main__":
    run(
        __doc__, lambda given: rows(given.seed, given.repetitions or (150 if given.quick else 2_000), quick=given.quick)
    )
