"""Do a verdict's words hold in its family: the MDE, the sizes, equivalence?  Measured on correlated candidates.

    python benchmarks/simulate_words.py [--seed 1] [--repetitions N] [--quick]

Prints and ends as `benchmarks/simulate.py`; its rows stand in docs/calibration.md.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
from simulate import ALPHA, FloatArray, Rng, Row, rejected, table

from ndcg_core.statistics.comparison import Column, Comparison, compare_family
from ndcg_core.statistics.estimates import minimal_detectable_effect
from ndcg_core.statistics.sign_flip import sign_flip
from ndcg_core.statistics.verdict import Verdict

RESAMPLES = 1_000
PILOT = 40
"""Families from which the mean ratio of the family's MDE to that of a comparison alone is taken."""
CLAIMS, FAMILY_POWER = (0.0, 0.06), (0.77, 0.83)


def correlated(rng: Rng, queries: int, columns: int) -> FloatArray:
    """(queries x columns) normal differences of deviation 1 and mean 0 that share half of their variance."""
    common = rng.normal(size=(queries, 1))
    mixed: FloatArray = (common + rng.normal(size=(queries, columns))) / np.sqrt(2)
    return mixed


def compared(rng: Rng, differences: FloatArray, smallest: float | None = None, **settings: object) -> list[Comparison]:
    """The columns as candidates of one max-T family."""
    ids = tuple(f"q{number:05d}" for number in range(len(differences)))
    columns = [
        Column("old", f"new {number:03d}", "ndcg@10", ids, values, smallest_effect=smallest)
        for number, values in enumerate(differences.T)
    ]
    known = {"alpha": ALPHA, "resamples": RESAMPLES, "seed": _seed(rng), "workers": 1, **settings}
    return compare_family(columns, **known)  # type: ignore[arg-type]


def _seed(rng: Rng) -> int:
    return int(rng.integers(2**32))


def power(rng: Rng, repetitions: int, queries: int, columns: int) -> list[Row]:
    """How often the first column, better by the MDE of a spread known to be 1, has adjusted p <= .05."""
    pilot = [compared(rng, correlated(rng, queries, columns))[0] for _ in range(PILOT)]
    alone = minimal_detectable_effect(queries, 1.0)
    family = alone * float(np.mean([(row.mde or 0.0) / (row.mde_alone or 1.0) for row in pilot]))
    shift = np.zeros(columns)
    found = dict.fromkeys((family, alone), 0.0)
    for effect in found:
        shift[0] = effect
        tables = (correlated(rng, queries, columns) + shift for _ in range(repetitions))
        p_values = [sign_flip(each, resamples=RESAMPLES, seed=_seed(rng), workers=1).p_adjusted[0] for each in tables]
        found[effect] = rejected(p_values)
    setting = f"n = {queries}, {columns} column{'s' * (columns > 1)}"
    rows = [Row("power at the family's MDE, adjusted p", setting, repetitions, found[family], FAMILY_POWER)]
    if columns > 1:
        rows += [Row("power at the MDE of one comparison alone, adjusted p", setting, repetitions, found[alone])]
    return rows


def sizes(rng: Rng, repetitions: int, queries: int, columns: int, errors: float) -> list[Row]:
    """All candidates exactly at the smallest effect: `by more than`, `smaller than` and `equivalent` are wrong."""
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


class Measurement(NamedTuple):
    """What is measured, how often, and how often in a quick run."""

    rows: Callable[[Rng, int], list[Row]]
    repetitions: int
    quick: int


def measurements() -> list[Measurement]:
    found = [
        Measurement(partial(power, queries=queries, columns=columns), 2_000, 60)
        for columns in (1, 15, 45, 135)
        for queries in (50, 200)
    ]
    for columns in (1, 45):
        for errors in (2.0, 5.0):
            found.append(Measurement(partial(sizes, queries=100, columns=columns, errors=errors), 1_000, 60))
    return found


def measured(place: int, seed: int, repetitions: int | None = None, quick: bool = False) -> list[Row]:
    """The rows of the measurement at a place of the list."""
    chosen = measurements()[place]
    rng = np.random.default_rng([seed, 2, place])
    return chosen.rows(rng, repetitions or (chosen.quick if quick else chosen.repetitions))


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repetitions", type=int)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(given)
    start = time.perf_counter()
    one = partial(measured, seed=options.seed, repetitions=options.repetitions, quick=options.quick)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        rows = list(chain.from_iterable(pool.map(one, range(len(measurements())))))
    errors = 3 if options.quick else 0
    print(table(rows, errors))
    print(f"\nseed {options.seed}, {time.perf_counter() - start:.0f} s", file=sys.stderr)
    sys.exit(0 if all(row.holds(errors) for row in rows) else 1)


if __name__ == "__main__":
    main()
