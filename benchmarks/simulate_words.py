"""Do a verdict's words hold in its family: the MDE, the sizes, under skewed differences?

    python benchmarks/simulate_words.py [--seed 1] [--repetitions N] [--quick]

Prints and ends as `benchmarks/simulate.py`; its rows stand in docs/calibration.md.
"""

from functools import partial

import numpy as np
from simulate import ALPHA, FloatArray, Measurement, Rng, Row, in_processes, rejected, run

from ndcg_core.statistics.estimates.mean_difference import minimal_detectable_effect
from ndcg_core.statistics.hypothesis_tests.flips import sign_flip
from ndcg_core.statistics.hypothesis_tests.procedures import bootstrap_max_t
from ndcg_core.statistics.verdicts.comparison import Column, Comparison, compare_family
from ndcg_core.statistics.verdicts.verdict import Verdict

RESAMPLES = 1_000
PILOT = 40
"""Families from which the mean ratio of the family's MDE to that of a comparison alone is taken."""
CLAIMS, FAMILY_POWER, WISE = (0.0, 0.06), (0.77, 0.83), (0.0, 0.07)


def correlated(rng: Rng, queries: int, columns: int) -> FloatArray:
    """Draw (queries x columns) normal differences of deviation 1 and mean 0 that share half of their variance."""
    common = rng.normal(size=(queries, 1))
    mixed: FloatArray = (common + rng.normal(size=(queries, columns))) / np.sqrt(2)
    return mixed


def columns_of(differences: FloatArray, smallest: float | None = None) -> list[Column]:
    """Return the columns as candidates on one metric."""
    ids = tuple(f"q{number:05d}" for number in range(len(differences)))
    return [
        Column("old", f"new {number:03d}", "ndcg@10", ids, values, smallest_effect=smallest)
        for number, values in enumerate(differences.T)
    ]


def compared(rng: Rng, differences: FloatArray, smallest: float | None = None, **settings: object) -> list[Comparison]:
    """Compare the columns as candidates of one family that decides."""
    columns = columns_of(differences, smallest)
    known = {"alpha": ALPHA, "resamples": RESAMPLES, "seed": _seed(rng), "workers": 1, **settings}
    return compare_family(columns, **known)  # type: ignore[arg-type]


def _seed(rng: Rng) -> int:
    return int(rng.integers(2**32))


def power(rng: Rng, repetitions: int, queries: int, columns: int) -> list[Row]:
    """Measure how often the first column, better by the MDE of a known spread of 1, has adjusted p <= .05."""
    pilot = [correlated(rng, queries, columns) for _ in range(PILOT)]
    family = float(np.mean([(compared(rng, each)[0].mde or 0.0) / each[:, 0].std(ddof=1) for each in pilot]))
    alone = minimal_detectable_effect(queries, 1.0)
    shift = np.zeros(columns)
    found = dict.fromkeys((family, alone), 0.0)
    for effect in found:
        shift[0] = effect
        tables = (correlated(rng, queries, columns) + shift for _ in range(repetitions))
        found[effect] = rejected([compared(rng, each)[0].p_adjusted or 1.0 for each in tables])
    setting = f"n = {queries}, {columns} column{'s' * (columns > 1)}"
    rows = [Row("power at the family's MDE, adjusted p", setting, repetitions, found[family], FAMILY_POWER)]
    if columns > 1:
        rows += [Row("power at the MDE of one comparison alone, adjusted p", setting, repetitions, found[alone])]
    return rows


def sizes(rng: Rng, repetitions: int, queries: int, columns: int, errors: float) -> list[Row]:
    """Measure wrong claims on size for candidates exactly at the smallest effect, where every such claim is wrong."""
    effect = errors / np.sqrt(queries)
    said, equivalent, alone = 0, 0, 0
    for _ in range(repetitions):
        rows = compared(rng, correlated(rng, queries, columns) + effect, effect)
        said += any(row.size for row in rows)
        equivalent += any(row.conclusion is Verdict.EQUIVALENT for row in rows)
        own = [(row.low or 0.0, row.high or 0.0) for row in rows if row.conclusion.is_detected]
        alone += any(low > effect or (-effect < low and high < effect) for low, high in own)
    setting = f"n = {queries}, {columns} column{'s' * (columns > 1)}, all at δ = {errors:g} errors"
    return [
        Row("any false claim of a size", setting, repetitions, said / repetitions, CLAIMS),
        Row("the same from the intervals of one comparison alone", setting, repetitions, alone / repetitions),
        Row("any false claim of equivalence", setting, repetitions, equivalent / repetitions, CLAIMS),
    ]


def nulls(rng: Rng, kind: str, queries: int, columns: int) -> FloatArray:
    """Draw (queries x columns) differences of mean 0, 30 % of them ties: normal, exponential, or minus exponential."""
    draw = rng.standard_normal if kind == "normal" else lambda size: rng.exponential(size=size) - 1
    mixed: FloatArray = (draw((queries, 1)) + draw((queries, columns))) / np.sqrt(2)
    return mixed * (rng.random((queries, columns)) < 0.7) * (-1 if kind == "minus exponential" else 1)


def resamplings(rng: Rng, repetitions: int, kind: str, queries: int, columns: int) -> list[Row]:
    """Measure false detections in all columns but the first, and power in the first, by each test and by both."""
    shift = np.zeros(columns)
    shift[0] = 3.4 / np.sqrt(queries)
    wrong, found, covered = np.zeros(3), np.zeros(3), 0
    for _ in range(repetitions):
        differences = nulls(rng, kind, queries, columns) + shift
        means, seed = differences.mean(axis=0), _seed(rng)
        boot = bootstrap_max_t(
            means.tolist(), differences - means, None, levels=(1 - ALPHA,), resamples=RESAMPLES, seed=seed, workers=1
        )
        flips = sign_flip(differences, resamples=RESAMPLES, seed=seed, workers=1)
        alone = np.array([flips.p_adjusted, boot.p_adjusted])
        every = np.vstack([alone.max(axis=0), alone])
        wrong += every[:, 1:].min(axis=1) <= ALPHA
        found += every[:, 0] <= ALPHA
        error = np.sqrt(np.square(differences - means).sum(axis=0)) / queries
        covered += bool((np.abs(means - shift) <= boot.quantiles[0] * error).all())
    setting = f"n = {queries}, {columns} columns, {kind}, 30 % ties"
    named = list(enumerate(("flips and bootstrap", "flips alone", "bootstrap alone")))
    asked = (WISE, WISE if kind == "normal" else None, WISE)
    return [
        *(
            Row(f"any false detection, {name}", setting, repetitions, wrong[at] / repetitions, asked[at])
            for at, name in named
        ),
        *(Row(f"power, {name}", setting, repetitions, found[at] / repetitions) for at, name in named),
        Row("coverage, simultaneous bootstrap intervals", setting, repetitions, covered / repetitions, (0.93, 1.0)),
    ]


def measurements() -> list[Measurement]:
    found = [
        Measurement(partial(power, queries=queries, columns=columns), 2_000, 60)
        for columns in (1, 15, 45, 135)
        for queries in (50, 200)
    ]
    for columns in (1, 45):
        for errors in (2.0, 5.0):
            found.append(Measurement(partial(sizes, queries=100, columns=columns, errors=errors), 1_000, 60))
    for kind in ("normal", "exponential"):
        for queries in (25, 50, 100):
            found.append(Measurement(partial(resamplings, kind=kind, queries=queries, columns=45), 1_000, 60))
    for kind in ("normal", "exponential", "minus exponential"):
        found.append(Measurement(partial(resamplings, kind=kind, queries=20, columns=12), 2_000, 60))
    return found


def measured(index: int, seed: int, repetitions: int | None = None, quick: bool = False) -> list[Row]:
    """Return the rows of one measurement, chosen by its index in the list."""
    chosen = measurements()[index]
    rng = np.random.default_rng([seed, 2, index])
    return chosen.rows(rng, repetitions or (chosen.quick if quick else chosen.repetitions))


if __name__ == "__main__":
    run(__doc__, lambda given: in_processes(measured, len(measurements()), given))
