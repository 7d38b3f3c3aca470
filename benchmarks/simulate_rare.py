"""What rare differences do to a verdict: harm on few queries that is called equivalent, and gains that are none.

    python benchmarks/simulate_rare.py [--seed 1] [--repetitions N] [--quick]

A candidate loses 1 on one query in 50, a mean of -.02, and is asked whether it is equivalent within .02; it gains .0204
on all others, a mean of 0, and is asked whether it is improved by more than .005.  One query in 50 gains .8 and the
others lose as much, or nine of ten tie and the rest is exponential: any difference shown is an error of the rule that
decides (flips and bootstrap), and a loss shown is a `do not ship` or a failed `no_drop`.  Prints rows as `simulate.py`
does, and ends with code 1 if one lies outside its accepted range; rows without one are known to fail
(docs/calibration.md).
"""

from collections.abc import Callable

import numpy as np
from simulate import FloatArray, Rng, Row, run

from ndcg_core.statistics.verdicts.comparison import Column, Comparison, compare_family
from ndcg_core.statistics.verdicts.verdict import Size, Verdict

RESAMPLES = 499
SIZES = (20, 50, 100, 200)
SAFE, NEARLY = (0.0, 0.05), (0.0, 0.08)
Draw = Callable[[Rng, int], FloatArray]


def harm(rng: Rng, n: int) -> FloatArray:
    return np.where(rng.random(n) < 0.02, -1.0, 0.0)


def balanced(rng: Rng, n: int) -> FloatArray:
    return np.where(rng.random(n) < 0.02, -1.0, 0.02 / 0.98)


def rare_gain(rng: Rng, n: int) -> FloatArray:
    return np.where(rng.random(n) < 0.02, 0.8, -0.8 / 49)


def sparse(rng: Rng, n: int) -> FloatArray:
    return np.where(rng.random(n) < 0.1, np.minimum(0.2 * (rng.exponential(size=n) - 1), 1.0), 0.0)


def judged(rng: Rng, draw: Draw, n: int, effect: float) -> Comparison:
    ids = tuple(f"q{number:05d}" for number in range(n))
    column = Column("old", "new", "ndcg@10", ids, draw(rng, n), smallest_effect=effect)
    seed = int(rng.integers(2**32))
    return compare_family([column], resamples=RESAMPLES, seed=seed, workers=1)[0]


def cell(rng: Rng, repetitions: int, draw: Draw, n: int) -> list[Row]:
    """Return the shares of wrong verdicts for one kind of differences."""
    said = [judged(rng, draw, n, 0.02 if draw is harm else 0.005) for _ in range(repetitions)]
    if draw is harm:
        wrong = [row.conclusion is Verdict.EQUIVALENT for row in said]
        return [Row("equivalent within .02", f"n = {n}, 1 in 50 loses 1", repetitions, float(np.mean(wrong)), SAFE)]
    if draw is balanced:
        wrong = [row.conclusion is Verdict.IMPROVED and row.size is Size.BY_MORE_THAN for row in said]
        told = [
            is_wrong and "would go unseen" in " ".join(row.notes) for is_wrong, row in zip(wrong, said, strict=True)
        ]
        setting = f"n = {n}, 1 in 50 loses 1, the mean is 0"
        return [
            Row("improved by more than .005", setting, repetitions, float(np.mean(wrong))),
            Row(
                "the same, and no note of unseen losses",
                setting,
                repetitions,
                float(np.mean(wrong) - np.mean(told)),
                SAFE,
            ),
        ]
    wrong = [row.conclusion.is_detected for row in said]
    name, accepted = (
        ("1 in 50 gains .8, the mean is 0", None) if draw is rare_gain else ("9 of 10 tie, exponential", NEARLY)
    )
    found = [Row("a difference is shown", f"n = {n}, {name}", repetitions, float(np.mean(wrong)), accepted)]
    if draw is rare_gain:
        stopped = float(np.mean([row.conclusion is Verdict.REGRESSED for row in said]))
        found.append(Row("do not ship, or a drop since last night", f"n = {n}, {name}", repetitions, stopped))
    return found


def rows(seed: int, repetitions: int) -> list[Row]:
    rng = np.random.default_rng([seed, 3])
    return [
        row for draw in (harm, balanced, rare_gain, sparse) for n in SIZES for row in cell(rng, repetitions, draw, n)
    ]


if __name__ == "__main__":
    run(__doc__, lambda given: rows(given.seed, given.repetitions or (50 if given.quick else 1_000)))
