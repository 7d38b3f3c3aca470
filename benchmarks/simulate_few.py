"""Is there a rule for few queries that errs as seldom as promised and finds as much as Holm over t?  Nine are tried.

    python benchmarks/simulate_few.py [--seed 1] [--repetitions N] [--quick]

Twelve comparisons that correlate at .5, 30 % ties, 20 queries, and 12: differences that are normal, exponential, and
minus exponential, each of mean 0; then one of them has an effect of 3.4 standard errors.  Every rule is asked for any
false detection, and for its power.  Wanted is an error of .06 at most under every null and at least Holm's power; none
of them has both (docs/calibration.md).  Prints rows as `simulate.py` does.

Sources: E. Mammen, Bootstrap and wild bootstrap for high dimensional linear models, Annals of Statistics 21 (1993);
N. J. Johnson, Modified t tests and confidence intervals for asymmetrical populations, Journal of the American
Statistical Association 73 (1978).
"""

import argparse
import math
from collections.abc import Iterator

import numpy as np
from simulate import ALPHA, FloatArray, Rng, Row, run
from simulate_nights import t_p_values

from ndcg_core.statistics.distributions import stdtr
from ndcg_core.statistics.hypothesis_tests.bootstrap_max_t import LEAST_SPREAD

RESAMPLES, COLUMNS, TIES, ERRORS = 999, 12, 0.3, 3.4
HALF = 0.5
"""A floor of a resample's spread that is five times as high as the one that is used."""
NULLS = ("normal", "exponential", "minus exponential")
WANTED = (0.0, 0.06)


def holm(p_values: FloatArray) -> FloatArray:
    """Adjust (k,) p-values by Holm's step-down rule."""
    order = np.argsort(p_values)
    raised = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    return np.minimum(raised, 1.0)[np.argsort(order)]


def null(rng: Rng, kind: str, queries: int) -> FloatArray:
    """(queries x COLUMNS) differences of mean 0, of which 30 % tie."""

    def draw(columns: int) -> FloatArray:
        if kind == NULLS[0]:
            return rng.normal(size=(queries, columns))
        return (rng.exponential(size=(queries, columns)) - 1) * (1 if kind == NULLS[1] else -1)

    mixed: FloatArray = (draw(1) + draw(COLUMNS)) / math.sqrt(2)
    places = np.argsort(rng.random(mixed.shape), axis=0)
    return mixed * (places >= round(TIES * queries))


def step_down(observed: FloatArray, drawn: FloatArray) -> FloatArray:
    """Adjusted p of |statistics| (k,) from those of (resamples x k), step-down max-T."""
    order = np.argsort(-observed)
    largest = np.maximum.accumulate(drawn[:, order][:, ::-1], axis=1)[:, ::-1]
    p_adjusted = np.empty(len(observed))
    reached = (largest >= observed[order] * (1 - 1e-12)).sum(axis=0)
    p_adjusted[order] = np.maximum.accumulate((1 + reached) / (len(drawn) + 1))
    return p_adjusted


def studentised(
    residuals: FloatArray, factors: FloatArray, squared: FloatArray, floor: float = LEAST_SPREAD
) -> FloatArray:
    """(resamples x k) |t|; factors, squared: (resamples x queries), of residuals in the sum and of their squares."""
    sums, squares = factors @ residuals, squared @ np.square(residuals)
    spread = np.maximum(squares - np.square(sums) / len(residuals), floor**2 * np.square(residuals).sum(axis=0))
    t: FloatArray = np.abs(sums) / np.sqrt(spread)
    return t


def johnson(differences: FloatArray) -> FloatArray:
    """Two-sided p of every column by the t statistic that allows for skewness."""
    n, mean = len(differences), differences.mean(axis=0)
    deviation, third = differences.std(axis=0, ddof=1), ((differences - mean) ** 3).mean(axis=0)
    moved = mean + third / (6 * n * deviation**2) + third * mean**2 / (3 * deviation**4)
    p_value: FloatArray = 2 * stdtr(n - 1, -np.abs(moved) * math.sqrt(n) / deviation)
    return p_value


def rules(rng: Rng, differences: FloatArray) -> Iterator[tuple[str, FloatArray]]:
    """The name of each rule and its adjusted p."""
    n = len(differences)
    means = differences.mean(axis=0)
    residuals = differences - means
    signs = rng.choice([-1.0, 1.0], size=(RESAMPLES, n))
    counts = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float64)
    norms = np.sqrt(np.square(differences).sum(axis=0))
    flips = step_down(np.abs(differences.sum(axis=0)) / norms, np.abs(signs @ differences) / norms)
    observed = n * np.abs(means) / np.sqrt(np.square(residuals).sum(axis=0))

    def drawn(factors: FloatArray, squared: FloatArray, floor: float = LEAST_SPREAD) -> FloatArray:
        return step_down(observed, studentised(residuals, factors, squared, floor))

    golden = math.sqrt(5)
    mammen = np.where(rng.random((RESAMPLES, n)) < (golden + 1) / (2 * golden), (1 - golden) / 2, (1 + golden) / 2)
    bootstrap, half = drawn(counts, counts), drawn(counts, counts, HALF)
    yield "flips", flips
    yield "t, Holm", holm(t_p_values(differences.T))
    yield "flips and bootstrap (used)", np.maximum(flips, bootstrap)
    yield "flips and bootstrap, spread at least half", np.maximum(flips, half)
    yield "mean p of flips and bootstrap", (flips + bootstrap) / 2
    yield "studentised flips of residuals", drawn(signs, np.ones_like(signs))
    yield "flips and flipped resamples", np.maximum(flips, drawn(signs * counts, counts))
    yield "flips and Mammen's wild bootstrap", np.maximum(flips, drawn(mammen, np.square(mammen)))
    yield "flips and Johnson's t, Holm", np.maximum(flips, holm(johnson(differences)))


def measured(rng: Rng, repetitions: int, kind: str, queries: int) -> list[Row]:
    wrong, found = dict[str, int](), dict[str, int]()
    effect = np.zeros(COLUMNS)
    effect[0] = ERRORS * math.sqrt((1 - TIES) / queries)
    for _ in range(repetitions):
        differences = null(rng, kind, queries)
        for name, p_adjusted in rules(rng, differences):
            wrong[name] = wrong.get(name, 0) + bool(p_adjusted.min() <= ALPHA)
        for name, p_adjusted in rules(rng, differences + effect):
            found[name] = found.get(name, 0) + bool(p_adjusted[0] <= ALPHA)
    setting = f"n = {queries}, {COLUMNS} comparisons, {kind}"
    asked = {"flips and bootstrap (used)": WANTED}
    return [
        row
        for name in wrong
        for row in (
            Row(f"any false detection, {name}", setting, repetitions, wrong[name] / repetitions, asked.get(name)),
            Row(f"power, {name}", setting, repetitions, found[name] / repetitions),
        )
    ]


def rows(seed: int, repetitions: int) -> list[Row]:
    found = []
    for queries in (12, 20):
        for at, kind in enumerate(NULLS):
            found += measured(np.random.default_rng([seed, 8, queries, at]), repetitions, kind, queries)
    return found


def all_rows(options: argparse.Namespace) -> list[Row]:
    return rows(options.seed, options.repetitions or (60 if options.quick else 2_000))


if __name__ == "__main__":
    run(__doc__, all_rows)
