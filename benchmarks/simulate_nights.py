"""What a year of nights does to the chance of an error, and what is found: `simulate.py`'s rows for nights.

    python benchmarks/simulate_nights.py [--seed 1] [--repetitions N] [--quick]

One null candidate is compared on 365 nights, a share of whose queries has another result each night; new candidates
come every night on the same queries; a system breaks overnight on some queries.  The null differences are those of
simulated rankings, skewed ones, and, where the folder NDCG_AB_DATA has CAsT 2021, those of five real rankings less
their mean.  The draws, the rows and the options are those of `benchmarks.simulate` (docs/calibration.md).
"""

import csv
import gzip
import os
from collections.abc import Callable
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from simulate import ALPHA, FloatArray, Measurement, Rng, Row, World, in_processes, run, world

from ndcg_core.statistics.distributions import stdtr
from ndcg_core.statistics.hypothesis_tests import DEFAULT_RESAMPLES
from ndcg_core.statistics.hypothesis_tests.flips import sign_flip_p_values
from ndcg_core.statistics.hypothesis_tests.guardrails import bounded_p_value
from ndcg_core.statistics.over_time import spend_alpha
from ndcg_core.statistics.verdicts.comparison import Column, compare_family
from ndcg_core.statistics.verdicts.verdict import Verdict

NIGHTS, QUERIES, CAST_QUERIES = 365, 200, 158
BY_FLIPS = 3  # looks whose levels the default number of flips can show
BROKEN, LEFT = 0.08, 0.3  # share of the queries that a system breaks on, and what is left of their values
DENSE = 0.2  # deviation of normal differences, as of real ones: .17 to .30 for ndcg@10 of CAsT 2021

AT_MOST_ALPHA, FOUND, ENOUGH = (0.0, 0.065), (0.85, 1.0), (0.6, 1.0)


class Null(NamedTuple):
    """A distribution of differences with mean 0.

    population: returns the differences to draw from. queries: the number of queries of a night.
    """

    name: str
    population: Callable[[World], FloatArray]
    queries: int = QUERIES


def equal(world: World) -> FloatArray:
    differences = world.differences("graded", better=False)
    return np.concatenate([differences, -differences])


def recentred(world: World) -> FloatArray:
    differences = world.differences("graded", better=True)
    centred: FloatArray = differences - differences.mean()
    return centred


def rare_gain(gain: float, one_in: int) -> FloatArray:
    """Draw differences with mean 0: one query in `one_in` gains `gain`, and the others lose the balance."""
    return np.array([gain] + [-gain / (one_in - 1)] * (one_in - 1))


def exponential(world: World) -> FloatArray:
    """Draw exponential differences minus their mean, with the deviation DENSE and an upper limit of 1."""
    values = np.minimum(DENSE * np.random.default_rng(1838).exponential(size=20_000), 1.0)
    centred: FloatArray = values - values.mean()
    return centred


@cache
def cast() -> FloatArray | None:
    """Return (pairs x queries) differences of ndcg@10 less their mean, for every two of CAsT 2021's five rankings."""
    folder = Path(os.environ.get("NDCG_AB_DATA", Path(__file__).parents[2] / "shared" / "data")) / "cast2021"
    if not folder.is_dir():
        return None
    values: dict[str, dict[str, float]] = {}
    with gzip.open(folder / "expected_per_query.tsv.gz", "rt") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["measure"] == "ndcg_cut_10":
                values.setdefault(row["run"], {})[row["qid"]] = float(row["value"])
    queries = sorted(set().union(*values.values()))
    table = np.array([[values[run].get(query, 0.0) for query in queries] for run in sorted(values)])
    found = np.array([table[later] - table[earlier] for earlier, later in combinations(range(len(table)), 2)])
    centred: FloatArray = found - found.mean(axis=1, keepdims=True)
    return centred


SYMMETRIC, RECENTRED = Null("symmetric null", equal), Null("skewed null", recentred)
SKEWED = (
    Null("1 in 20 gains .6, the others lose as much", lambda world: rare_gain(0.6, 20), 50),
    Null("1 in 50 gains .8, the others lose as much", lambda world: rare_gain(0.8, 50)),
    Null("exponential", exponential, 50),
    Null("exponential", exponential),
)


def worst_pair(
    world: World, rng: Rng, repetitions: int, rows_of: Callable[[World, Rng, int, Null], list[Row]], queries: int
) -> list[Row]:
    """Return each row for the pair of CAsT 2021 on which it is largest; no rows without the data."""
    pairs = cast()
    if pairs is None:
        return []
    name = f"the worst of {len(pairs)} pairs of CAsT 2021"
    found = [rows_of(world, rng, repetitions, Null(name, lambda world, pair=pair: pair, queries)) for pair in pairs]  # type: ignore[misc]
    return [max(rows, key=lambda row: row.measured) for rows in zip(*found, strict=True)]


def t_p_values(sample: FloatArray) -> FloatArray:
    """Return the two-sided p-value of Student's t for each of (samples x queries) rows."""
    n = sample.shape[1]
    deviation, mean = sample.std(axis=1, ddof=1), sample.mean(axis=1)
    statistic = np.abs(mean) * np.sqrt(n) / np.where(deviation > 0, deviation, 1)
    p_value: FloatArray = np.where(deviation > 0, 2 * stdtr(n - 1, -statistic), mean == 0)
    return p_value


def bounded(sample: FloatArray, p_value: FloatArray, level: float) -> FloatArray:
    """Return the (samples,) p-values of Gaffke's bound where p_value is at most the level, else 1.

    The larger one of both p-values decides.
    """
    found = np.ones(len(sample))
    for index in np.flatnonzero(p_value <= level):
        found[index] = bounded_p_value(sample[index], 1.0)
    return found


def year(world: World, rng: Rng, repetitions: int, null: Null, *, changed: int) -> list[Row]:
    """Simulate a year of one null candidate; `changed` percent of the queries get another result each night."""
    differences = null.population(world)
    sample = rng.choice(differences, size=(repetitions, null.queries))
    count = round(changed / 100 * null.queries)
    plain, by_t, watched = (np.zeros(repetitions, dtype=bool) for _ in range(3))
    for look in range(1, (NIGHTS if count else 1) + 1):
        p_value, level = t_p_values(sample), spend_alpha(ALPHA, look)
        plain |= p_value <= ALPHA
        if look <= BY_FLIPS:
            p_value = np.array(sign_flip_p_values(sample.T, resamples=DEFAULT_RESAMPLES, seed=look, workers=1))
        by_t |= p_value <= level
        watched |= np.maximum(p_value, bounded(sample, p_value, level)) <= level
        if count:
            indices = np.argsort(rng.random(sample.shape), axis=1)[:, :count]
            np.put_along_axis(sample, indices, rng.choice(differences, size=indices.shape), axis=1)
    setting = f"n = {null.queries}, {NIGHTS} nights, {changed} % of the queries change, {null.name}"
    return [
        Row("any night of a year, night by night", setting, repetitions, float(plain.mean())),
        Row("any night of a year, flips and t at the monitor's levels", setting, repetitions, float(by_t.mean())),
        Row("any night of a year, monitor", setting, repetitions, float(watched.mean()), AT_MOST_ALPHA),
    ]


def monitor_power(world: World, rng: Rng, repetitions: int, queries: int, spread: float, look: int) -> list[Row]:
    """Measure the power at look 1, 10, … for an effect of twice the MDE of a single evaluation."""
    effect, level = 2 * (1.96 + 0.8416) * spread / np.sqrt(queries), spend_alpha(ALPHA, look)
    sample = np.clip(rng.normal(effect, spread, size=(repetitions, queries)), -1, 1)
    p_value = t_p_values(sample)
    found = float((np.maximum(p_value, bounded(sample, p_value, level)) <= level).mean())
    setting = f"n = {queries}, deviation {spread:g}, look {look}"
    accepted = ENOUGH if queries * effect > 15 else None
    return [
        Row("power at twice the MDE, monitor", setting, repetitions, found, accepted),
        Row("power at twice the MDE, t at its levels", setting, repetitions, float((p_value <= level).mean())),
    ]


def overnight(world: World, rng: Rng, repetitions: int, share: float) -> list[Row]:
    """Measure detections if a system loses 70 % of its value on a share of the queries.

    The system is compared with the baseline, and with itself in the night before.
    """
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


def measurements() -> list[Measurement]:
    found = [
        Measurement(partial(year, null=null, changed=changed), 1_000, 40)
        for null in (SYMMETRIC, RECENTRED)
        for changed in (0, 1, 5, 20, 100)
    ]
    found += [
        Measurement(partial(monitor_power, queries=queries, spread=spread, look=look), 2_000, 100)
        for queries, spread in ((QUERIES, 0.1), (QUERIES, DENSE), (QUERIES, 0.3), (50, DENSE), (1_000, 0.1))
        for look in (1, 10, 37, NIGHTS)
    ]
    found += [Measurement(partial(overnight, share=share), 1_000, 50) for share in (0.0, BROKEN)]
    a_fifth = partial(year, changed=20)
    found += [Measurement(partial(a_fifth, null=null), 400, 40) for null in SKEWED]
    return found + [
        Measurement(partial(worst_pair, rows_of=a_fifth, queries=queries), 400, 5) for queries in (50, CAST_QUERIES)
    ]


def measured(index: int, seed: int, repetitions: int | None = None, quick: bool = False) -> list[Row]:
    """Return the rows of one measurement, chosen by its index in the list."""
    chosen = measurements()[index]
    rng = np.random.default_rng([seed, 2, index])
    return chosen.rows(world(seed), rng, repetitions or (chosen.quick if quick else chosen.repetitions))


if __name__ == "__main__":
    run(__doc__, lambda given: in_processes(measured, len(measurements()), given))
