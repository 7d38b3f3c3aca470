"""What a year of nights does to the chance of an error, and what is found: `simulate.py`'s rows for nights.

    python benchmarks/simulate_nights.py [--seed 1] [--repetitions N] [--quick]

One null candidate is compared 365 times on 200 queries, a share of which changes its result each night; new candidates
come every night on the same queries; a system breaks overnight on some queries.  The draws, the rows and the options
are those of `benchmarks.simulate` (docs/calibration.md).
"""

import argparse
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from simulate import ALPHA, FloatArray, Rng, Row, World, in_processes, run, world

from ndcg_core.statistics.distributions import stdtr
from ndcg_core.statistics.hypothesis_tests.flips import DEFAULT_RESAMPLES
from ndcg_core.statistics.hypothesis_tests.sign_flip import sign_flip_p_values
from ndcg_core.statistics.over_time.monitor import Evidence, judge_hypotheses, spend_alpha
from ndcg_core.statistics.verdicts.comparison import Column, compare_family
from ndcg_core.statistics.verdicts.verdict import Verdict

NIGHTS, QUERIES = 365, 200
BY_FLIPS = 3  # looks whose levels the default number of flips can show
BROKEN, LEFT = 0.08, 0.3  # share of the queries that a system breaks on, and what is left of their values
Null = Literal["symmetric", "skewed"]

AT_MOST_ALPHA, FOUND = (0.0, 0.065), (0.85, 1.0)


def population(world: World, null: Null) -> FloatArray:
    """Differences of mean 0: of two equal systems, or of a better one less their mean."""
    differences = world.differences("graded", better=null == "skewed")
    return np.concatenate([differences, -differences]) if null == "symmetric" else differences - differences.mean()


def t_p_values(sample: FloatArray) -> FloatArray:
    """(years x queries) -> the two-sided p of Student's t, year by year."""
    n = sample.shape[1]
    deviation = sample.std(axis=1, ddof=1)
    statistic = np.abs(sample.mean(axis=1)) * np.sqrt(n) / np.where(deviation > 0, deviation, 1)
    p_value: FloatArray = np.where(deviation > 0, 2 * stdtr(n - 1, -statistic), 1.0)
    return p_value


def year(world: World, rng: Rng, repetitions: int, null: Null, changed: int) -> list[Row]:
    """One null candidate for a year; changed: queries in a hundred that have another result each night."""
    differences = population(world, null)
    sample = rng.choice(differences, size=(repetitions, QUERIES))
    count = round(changed / 100 * QUERIES)
    plain, watched = np.zeros(repetitions, dtype=bool), np.zeros(repetitions, dtype=bool)
    for look in range(1, (NIGHTS if count else 1) + 1):
        p_value = t_p_values(sample)
        plain |= p_value <= ALPHA
        if look <= BY_FLIPS:
            p_value = np.array(sign_flip_p_values(sample.T, resamples=DEFAULT_RESAMPLES, seed=look, workers=1))
        watched |= p_value <= spend_alpha(ALPHA, look)
        if count:
            places = np.argsort(rng.random(sample.shape), axis=1)[:, :count]
            np.put_along_axis(sample, places, rng.choice(differences, size=places.shape), axis=1)
    setting = f"n = {QUERIES}, {NIGHTS} nights, {changed} % of the queries change, {null} null"
    return [
        Row("any night of a year, night by night", setting, repetitions, float(plain.mean())),
        Row("any night of a year, monitor", setting, repetitions, float(watched.mean()), AT_MOST_ALPHA),
    ]


def monitor_power(world: World, rng: Rng, repetitions: int, look: int) -> list[Row]:
    """What the spending costs: an effect of twice the MDE of one evaluation at look 1, 10, …"""
    effect = 2 * (1.96 + 0.8416) / np.sqrt(QUERIES)
    p_value = t_p_values(rng.normal(effect, 1, size=(repetitions, QUERIES)))
    found = float((p_value <= spend_alpha(ALPHA, look)).mean())
    return [Row("power at twice the MDE, monitor", f"n = {QUERIES}, look {look}", repetitions, found)]


def stream(world: World, rng: Rng, repetitions: int, better: int) -> list[Row]:
    """A new candidate every night on the same queries against one baseline; better: in a hundred that truly are.

    A better one wins by .3 standard deviations.  Two differences correlate at .5, for they share the baseline.
    """
    plain, listed, found = list[float](), list[float](), list[float]()
    for _ in range(repetitions):
        is_better = rng.random(NIGHTS) < better / 100
        own, baseline = rng.normal(size=(NIGHTS, QUERIES)), rng.normal(size=QUERIES)
        p_value = t_p_values((own - baseline) / np.sqrt(2) + 0.3 * is_better[:, np.newaxis])
        judged = judge_hypotheses([Evidence(p, p, 1, DEFAULT_RESAMPLES) for p in p_value.tolist()], ALPHA)
        discovered = np.array([each.is_detected for each in judged])
        plain.append(false_share(p_value <= ALPHA, is_better))
        listed.append(false_share(discovered, is_better))
        found.append(float(discovered[is_better].mean()) if is_better.any() else 0.0)
    setting = f"n = {QUERIES}, {NIGHTS} new candidates, {better} % better"
    rows = [
        Row("false discovery rate, night by night", setting, repetitions, float(np.mean(plain))),
        Row("false discovery rate, ledger", setting, repetitions, float(np.mean(listed)), AT_MOST_ALPHA),
    ]
    return rows + ([Row("power, ledger", setting, repetitions, float(np.mean(found)))] if better else [])


def false_share(discovered: NDArray[np.bool_], is_better: NDArray[np.bool_]) -> float:
    return float((discovered & ~is_better).sum() / max(discovered.sum(), 1))


def overnight(world: World, rng: Rng, repetitions: int, share: float) -> list[Row]:
    """A system loses 70 % of its value on a share of the queries: against the baseline, and against its last night."""
    baseline_found, own_found = 0, 0
    count = round(share * QUERIES)
    for _ in range(repetitions):
        chosen = rng.integers(len(world.one_relevant), size=QUERIES)
        values = world.one_relevant[chosen, 1, 0]
        broken = values.copy()
        broken[:count] *= LEFT
        columns = {"old": broken - world.one_relevant[chosen, 0, 0], "new": broken - values}
        for baseline, differences in columns.items():
            ids = tuple(map(str, range(QUERIES)))
            (row,) = compare_family([Column(baseline, "new", "ndcg@10", ids, differences)], resamples=1000, workers=1)
            regressed = row.conclusion is Verdict.REGRESSED
            baseline_found += regressed and baseline == "old"
            own_found += regressed and baseline == "new"
    setting = f"n = {QUERIES}, one relevant, 70 % lost on {100 * share:.0f} % of the queries"
    return [
        Row("drop found against the baseline", setting, repetitions, baseline_found / repetitions),
        Row("drop found since last night", setting, repetitions, own_found / repetitions, FOUND if count else (0, 0)),
    ]


class Measurement(NamedTuple):
    """What is measured, how often, and how often in a quick run."""

    rows: Callable[[World, Rng, int], list[Row]]
    repetitions: int
    quick: int


def measurements() -> list[Measurement]:
    nulls: tuple[Null, ...] = ("symmetric", "skewed")
    found = [
        Measurement(partial(year, null=null, changed=changed), 1_000, 40)
        for null in nulls
        for changed in (0, 1, 5, 20, 100)
    ]
    found += [Measurement(partial(monitor_power, look=look), 10_000, 200) for look in (1, 10, 37, 365)]
    found += [Measurement(partial(stream, better=better), 400, 10) for better in (0, 10, 50)]
    return [*found, *(Measurement(partial(overnight, share=share), 1_000, 50) for share in (0.0, BROKEN))]


def measured(place: int, seed: int, repetitions: int | None = None, quick: bool = False) -> list[Row]:
    """The rows of the measurement at a place of the list."""
    chosen = measurements()[place]
    rng = np.random.default_rng([seed, 2, place])
    return chosen.rows(world(seed), rng, repetitions or (chosen.quick if quick else chosen.repetitions))


def all_rows(options: argparse.Namespace) -> list[Row]:
    one = partial(measured, seed=options.seed, repetitions=options.repetitions, quick=options.quick)
    return in_processes(one, len(measurements()))


if __name__ == "__main__":
    run(__doc__, all_rows)
