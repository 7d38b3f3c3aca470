"""Do the intervals of what requests cost hold what they promise?

    python benchmarks/simulate_costs.py [--seed 1] [--repetitions N] [--quick]

Two systems answer the same queries; how long they take is log-normal, in milliseconds. In each world the true
quantiles are known; in the last two, queries have weights that go with the baseline's times, or come in clusters of
five. Prints rows as `simulate.py` does (docs/calibration.md): how often the interval of a difference of
quantiles lies wholly below the true one (the chance that a guardrail exactly at its margin is called kept, at most
alpha / 2) or wholly above it (that it is called broken); the same of the percentile bootstrap, for comparison; and the
coverage of the mean difference by Student's t.
"""

import math
from collections.abc import Callable
from itertools import product

import numpy as np
from scipy.optimize import brentq  # type: ignore[import-untyped]
from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]
from simulate import FloatArray, Rng, Row, in_processes

from ndcg_core.statistics.estimates.cost_quantiles import (
    PLAIN,
    Sample,
    Tails,
    draw_quantile_bounds,
    interval_from_draws,
    mean_interval,
)

World = Callable[[int, Rng], tuple[FloatArray, FloatArray, Sample]]

TAILS = Tails(0.025, 0.025)
ACCEPTED = (0.0, 0.03)  # of each tail
HEAVY = 0.7  # of the logarithm of weights
DRAWS, BOOTSTRAPS = 1_000, 500
SHARES = (0.5, 0.95)
COUNTS = (20, 72, 200, 800)
SLOW = 100.0  # milliseconds that some requests take more


def independent(count: int, generator: Rng) -> tuple[FloatArray, FloatArray]:
    return np.exp(3 + 0.6 * generator.normal(size=count)), np.exp(3.2 + 0.4 * generator.normal(size=count))


def a_tenth_more(count: int, generator: Rng) -> tuple[FloatArray, FloatArray]:
    base = np.exp(3 + 0.6 * generator.normal(size=count))
    return base, 1.1 * base + 5


def correlated(count: int, generator: Rng) -> tuple[FloatArray, FloatArray]:
    """Draw the latencies of two systems whose logarithms are correlated by .9."""
    shared, first, second = generator.normal(size=(3, count))
    own = math.sqrt(1 - 0.9)
    base = math.sqrt(0.9) * shared
    return np.exp(3 + 0.6 * (base + own * first)), np.exp(3.2 + 0.6 * (base + own * second))


def some_slow(count: int, generator: Rng) -> tuple[FloatArray, FloatArray]:
    """Draw latencies of which 6 % of the candidate's take 100 ms more."""
    base = np.exp(3 + 0.4 * generator.normal(size=count))
    return base, base + SLOW * (generator.random(count) < 0.06)


def whole_milliseconds(count: int, generator: Rng) -> tuple[FloatArray, FloatArray]:
    base, other = correlated(count, generator)
    return np.ceil(base), np.ceil(other)


def weighted(count: int, generator: Rng) -> tuple[FloatArray, FloatArray, Sample]:
    """Draw latencies with weights: queries that are slow for the baseline are more frequent."""
    shared, own, other = generator.normal(size=(3, count))
    weights = np.exp(HEAVY * shared + HEAVY * own)
    return np.exp(3 + 0.6 * shared), np.exp(3.2 + 0.6 * other), Sample(weights, None)


def clustered(count: int, generator: Rng) -> tuple[FloatArray, FloatArray, Sample]:
    """Draw latencies in clusters of five queries, whose logarithms are correlated by .8."""
    members = np.repeat(np.arange(count), 5)
    shared, own = generator.normal(size=(2, count)), generator.normal(size=(2, 5 * count))
    base, other = math.sqrt(0.8) * shared[:, members] + math.sqrt(0.2) * own
    return np.exp(3 + 0.6 * base), np.exp(3.2 + 0.6 * other), Sample(None, members)


def log_normal(mean: float, deviation: float) -> Callable[[float], float]:
    return lambda share: math.exp(mean + deviation * float(ndtri(share)))


def slow_quantile(share: float) -> float:
    def above(value: float) -> float:
        plain, slow = (ndtr((math.log(max(each, 1e-9)) - 3) / 0.4) for each in (value, value - SLOW))
        return float(0.94 * plain + 0.06 * slow - share)

    return float(brentq(above, 1e-3, 1e4))


def world_differences(name: str, share: float) -> float:
    """Return the true difference of the quantiles."""
    base = log_normal(3, 0.6)(share)
    match name:
        case "independent":
            return log_normal(3.2, 0.4)(share) - base
        case "a tenth and 5 ms more":
            return 0.1 * base + 5
        case "correlated by .9" | "clusters of five":
            return log_normal(3.2, 0.6)(share) - base
        case "weights that go with the times":
            return log_normal(3.2, 0.6)(share) - log_normal(3 + 0.6 * HEAVY, 0.6)(share)
        case "6 % take 100 ms more":
            return slow_quantile(share) - log_normal(3, 0.4)(share)
        case _:
            return math.ceil(log_normal(3.2, 0.6)(share)) - math.ceil(base)


def mean_in_world(name: str) -> float:
    """Return the true mean difference, or NaN for whole milliseconds, for which it is not known exactly."""
    base = math.exp(3 + 0.18)
    known = {
        "independent": math.exp(3.2 + 0.08) - base,
        "a tenth and 5 ms more": 0.1 * base + 5,
        "correlated by .9": math.exp(3.2 + 0.18) - base,
        "clusters of five": math.exp(3.2 + 0.18) - base,
        "weights that go with the times": math.exp(3.2 + 0.18) - base * math.exp(0.6 * HEAVY),
        "6 % take 100 ms more": 0.06 * SLOW,
    }
    return known.get(name, math.nan)


def plain(draw: Callable[[int, Rng], tuple[FloatArray, FloatArray]]) -> World:
    return lambda count, generator: (*draw(count, generator), PLAIN)


WORLDS: dict[str, World] = {
    "independent": plain(independent),
    "a tenth and 5 ms more": plain(a_tenth_more),
    "correlated by .9": plain(correlated),
    "6 % take 100 ms more": plain(some_slow),
    "whole milliseconds": plain(whole_milliseconds),
    "weights that go with the times": weighted,
    "clusters of five": clustered,
}


def bootstrap(base: FloatArray, other: FloatArray, share: float, generator: Rng) -> tuple[float, float]:
    """Return the percentile interval of pairs of latencies that are drawn with replacement."""
    drawn = generator.integers(0, len(base), (BOOTSTRAPS, len(base)))
    index = math.ceil(share * len(base) - 1e-9) - 1
    found = np.sort(other[drawn], axis=1)[:, index] - np.sort(base[drawn], axis=1)[:, index]
    return float(np.quantile(found, 0.025)), float(np.quantile(found, 0.975))


def measured(index: int, seed: int, repetitions: int | None = None, quick: bool = False) -> list[Row]:
    """Return the rows of one world with one number of queries."""
    name, count = list(product(WORLDS, COUNTS))[index]
    times = repetitions or (60 if quick else 1_000)
    generator = np.random.default_rng([seed, index])
    truths = [world_differences(name, share) for share in SHARES]
    misses = np.zeros((len(SHARES), 2, 2))
    covered = 0
    for turn in range(times):
        base, other, sample = WORLDS[name](count, generator)
        low, high = draw_quantile_bounds(np.stack([base, other], axis=1), SHARES, draws=DRAWS, seed=turn, sample=sample)
        for at, (share, truth) in enumerate(zip(SHARES, truths, strict=True)):
            ours = interval_from_draws(low[:, 1, at] - high[:, 0, at], high[:, 1, at] - low[:, 0, at], TAILS)
            for which, ends in enumerate((ours, bootstrap(base, other, share, generator))):
                misses[at, which] += (ends[1] < truth - 1e-9, ends[0] > truth + 1e-9)
        ends = mean_interval(other - base, TAILS, sample)
        covered += ends.low <= mean_in_world(name) <= ends.high
    rows = []
    methods = ("", ", percentile bootstrap")[: 1 if sample is not PLAIN else 2]  # which knows no weights, no clusters
    for (at, share), (which, method) in product(enumerate(SHARES), enumerate(methods)):
        for side, what in enumerate(("below", "above")):
            accepted = None if which or name.startswith("weights") else ACCEPTED
            words = f"p{100 * share:.0f}: interval {what} the true difference{method}"
            rows.append(Row(words, f"{name}, n = {count}", times, misses[at, which, side] / times, accepted))
    if not math.isnan(mean_in_world(name)):
        rows.append(Row("mean: coverage of Student's t", f"{name}, n = {count}", times, covered / times))
    return rows


if __name__ == "__main__":
    from simulate import run

    run(__doc__, lambda given: in_processes(measured, len(WORLDS) * len(COUNTS), given))
