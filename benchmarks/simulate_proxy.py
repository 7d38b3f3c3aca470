"""Do intervals that proxy judgments correct hold, and how much narrower are they?

    python benchmarks/simulate_proxy.py [--seed 1] [--repetitions N] [--quick]

Careful differences are drawn from the graded queries of `simulate.py`, with their ties; proxy ones are half of them, of
a given correlation and with a bias. Correlation 0 is proxy judgments that say nothing. Prints rows as `simulate.py`
does, and ends with code 1 if one of them lies outside its accepted range (docs/calibration.md).
"""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from simulate import Rng, Row, run, world

from ndcg_core.statistics.estimates.mean_difference import compute_moments, interval_from_moments
from ndcg_core.statistics.estimates.prediction_powered import FloatArray, ProxySample, estimate_from_arrays
from ndcg_core.statistics.verdicts.record import ProxyCorrected

CORRECTED = (0.94, 0.96)
AT_LEAST = (0.93, 1.0)
NARROW = (0.0, 0.8)  # of a correlation of .7 and more, with many queries beside the careful ones
BIAS, UNIT = 0.05, 0.5
TIMES = 20  # as many queries as are judged carefully
ALPHA = 0.05
RARE_SIZES = (10, 30, 100, 300)
SEEN_SIZES = (120, 300)


def drawn(rng: Rng, pool: FloatArray, count: int, correlation: float) -> tuple[FloatArray, FloatArray]:
    """Draw careful and proxy differences of a number of queries."""
    exact = pool[rng.integers(len(pool), size=count)]
    noise = pool[rng.integers(len(pool), size=count)]
    return exact, BIAS + UNIT * (correlation * exact + (1 - correlation**2) ** 0.5 * noise)


def relative_width(found: ProxyCorrected) -> float:
    """Return the width of an interval over that of the careful judgments alone."""
    return float((1 + found.saved / found.careful_queries) ** -0.5)


def holds(found: ProxyCorrected, truth: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


def independent(
    rng: Rng, pool: FloatArray, repetitions: int, careful: int, every: int, correlation: float
) -> list[Row]:
    """Measure coverage for independent queries, over the samples for which a difference is given."""
    truth = float(pool.mean())
    known = np.arange(every) < careful
    held, usually, widths = list[bool](), list[bool](), list[float]()
    for _ in range(repetitions):
        exact, proxy = drawn(rng, pool, every, correlation)
        found = estimate_from_arrays(ProxySample(proxy, exact, known, known), ALPHA)
        if found is None or found.why_none:
            continue
        alone = interval_from_moments(compute_moments(exact[:careful]), 1 - ALPHA)
        held.append(holds(found, truth))
        usually.append(alone.low <= truth <= alone.high)
        widths.append(relative_width(found))
    setting = f"{careful} of {every} queries, correlation {correlation:g}"
    narrow = NARROW if correlation >= 0.7 and every >= TIMES * careful else None
    return [
        Row("coverage, corrected by proxy judgments", setting, len(held), float(np.mean(held)), CORRECTED),
        Row("coverage, careful judgments alone", setting, len(held), float(np.mean(usually))),
        Row("mean width, corrected over careful alone", setting, len(held), float(np.mean(widths)), narrow),
        Row("largest width, corrected over careful alone", setting, len(held), max(widths), (0.0, 1.0)),
    ]


def seen(rng: Rng, pool: FloatArray, repetitions: int, careful: int) -> list[Row]:
    """Measure coverage for a judge that saw half of the careful grades: over all queries, and over the unseen ones."""
    every, truth = TIMES * careful, float(pool.mean())
    is_seen, known = np.arange(every) < careful // 2, np.arange(every) < careful
    by_all, by_unseen = list[bool](), list[bool]()
    for _ in range(repetitions):
        exact, proxy = drawn(rng, pool, every, 0.9)
        given = ProxySample(np.where(is_seen, exact, proxy), exact, known, known)
        left = ~is_seen
        unseen = ProxySample(given.proxy[left], exact[left], known[left], known[left])
        for judged, told in ((given, by_all), (unseen, by_unseen)):
            found = estimate_from_arrays(judged, ALPHA)
            if found is not None and not found.why_none:
                told.append(holds(found, truth))
    setting = f"half of {careful} careful queries of {every} seen by the judge, bias {BIAS:g}"
    return [
        Row("coverage, by all careful queries", setting, len(by_all), float(np.mean(by_all))),
        Row("coverage, by the unseen ones", setting, len(by_unseen), float(np.mean(by_unseen)), CORRECTED),
    ]


def rare(rng: Rng, repetitions: int, careful: int, share: float, kind: str) -> list[Row]:
    """Measure coverage for few differing queries of one sign, most of which the proxy judgments find."""
    every = TIMES * careful
    known = np.arange(every) < careful
    held = []
    for _ in range(repetitions):
        size = np.ones(every) if kind == "all alike" else np.minimum(rng.exponential(1, every), 4) / 4
        exact = size * (rng.random(every) < share)
        seen = 0.7 * exact * (rng.random(every) < 0.8)
        proxy = seen + 0.3 * (rng.random(every) < share) * rng.choice([-1, 1], every)
        found = estimate_from_arrays(ProxySample(proxy, exact, known, known), ALPHA)
        truth = share * (1.0 if kind == "all alike" else (1 - math.exp(-4)) / 4)
        if found is not None and not found.why_none:
            held.append(holds(found, truth))
    setting = f"{careful} of {every} queries, {100 * share:.0f} % differ, {kind}"
    given = Row("difference given, rare differences", setting, repetitions, len(held) / repetitions)
    if len(held) < repetitions / 20:
        return [given]
    return [given, Row("coverage, rare differences", setting, len(held), float(np.mean(held)), AT_LEAST)]


def clustered(rng: Rng, pool: FloatArray, repetitions: int, groups: int, *, weighted: bool) -> list[Row]:
    """Measure coverage for conversations of 3 to 11 turns that share half of the variance; a twentieth is judged."""
    shared = pool - pool.mean()
    held = 0
    widths = []
    for _ in range(repetitions):
        sizes = rng.integers(3, 12, TIMES * groups)
        members = np.repeat(np.arange(len(sizes)), sizes)
        of_group, of_group_proxy = drawn(rng, shared, len(sizes), 0.8)
        own, own_proxy = drawn(rng, shared, len(members), 0.8)
        weights = rng.lognormal(0, 0.5, len(members)) if weighted else None
        known = members < groups
        given = ProxySample(
            of_group_proxy[members] + own_proxy, of_group[members] + own, known, known, weights, members
        )
        found = estimate_from_arrays(given, ALPHA)
        if found is None or found.why_none:
            raise AssertionError(f"{groups} careful clusters do not vary")
        held += holds(found, 0)
        widths.append(relative_width(found))
    setting = f"{groups} of {TIMES * groups} clusters, correlation 0.8" + ", log-normal weights" * weighted
    return [
        Row("coverage, corrected by proxy judgments", setting, repetitions, held / repetitions, CORRECTED),
        Row("mean width, corrected over careful alone", setting, repetitions, float(np.mean(widths)), NARROW),
    ]


def rows(seed: int, repetitions: int, sizes: Sequence[int] = (60, 100, 500)) -> list[Row]:
    rng = np.random.default_rng([seed, 3])
    pool = world(seed).differences("graded", better=True)
    found: list[Row] = []
    for careful in sizes:
        for correlation in (0.0, 0.3, 0.7, 0.9):
            found += independent(rng, pool, repetitions, careful, TIMES * careful, correlation)
    found += independent(rng, pool, repetitions, 60, 120, 0.7)
    found += clustered(rng, pool, repetitions, 30, weighted=False)
    found += clustered(rng, pool, repetitions, 30, weighted=True)
    for careful in SEEN_SIZES:
        found += seen(rng, pool, repetitions, careful)
    for kind, share, careful in product(("all alike", "exponential"), (0.1, 0.3), RARE_SIZES):
        found += rare(rng, repetitions, careful, share, kind)
    return found


if __name__ == "__main__":
    run(__doc__, lambda given: rows(given.seed, given.repetitions or (200 if given.quick else 5_000)))
