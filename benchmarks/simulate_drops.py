"""Is a drop the ranking's own on a night that also brings new judgments?  `simulate.py`'s rows for such nights.

    python benchmarks/simulate_drops.py [--seed 1] [--repetitions N] [--quick]

Two systems on 200 queries, whose rankings change overnight on a fifth of them.  Before, the twelve
documents of 20 that look best are judged; in the night the others are judged too, and a tenth of all grades becomes
harsher: what is relevant and not on top lowers every nDCG.  Harmless: the rankings of
both nights see the same through noise of their own.  Real: on 12 % of the queries the best results of one system are
gone.  The draws, the rows and the options are those of `benchmarks.simulate` (docs/calibration.md).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from simulate import DOCUMENTS, FloatArray, Rng, Row, in_processes, run

from ndcg_core.statistics.verdicts.comparison import Column, compare_family
from ndcg_core.statistics.verdicts.verdict import Verdict

QUERIES, CHANGED, BROKEN, LOST = 200, 0.2, 0.12, 5
POOL, HARSHER = 12, 0.1
CUTOFF = 10
AT_MOST_ALPHA, FOUND = (0.0, 0.05), (0.85, 1.0)
IDS = tuple(map(str, range(QUERIES)))


class Night(NamedTuple):
    """The values of one system's rankings, named RANKING_by_JUDGMENTS: before (then) and after (now) the night."""

    then_by_then: FloatArray
    then_by_now: FloatArray
    now_by_then: FloatArray
    now_by_now: FloatArray


def ndcg(grades: FloatArray, order: NDArray[np.intp]) -> FloatArray:
    """Return the nDCG@10 of each query; 0 if nothing is relevant."""
    discount = 1 / np.log2(np.arange(2, CUTOFF + 2))
    ranked = np.take_along_axis(grades, order, axis=1)[:, :CUTOFF]
    ideal = -np.sort(-grades, axis=1)[:, :CUTOFF] @ discount
    return np.divide(ranked @ discount, ideal, out=np.zeros(len(grades)), where=ideal > 0)


def draw_night(rng: Rng, grades: tuple[FloatArray, FloatArray], seen: FloatArray, broken: float) -> Night:
    """Draw the values of one system before and after a night.

    grades: the judgments then and now. seen: the qualities as the system sees them. broken: the share of the queries
    that lose their best results.
    """
    moves = rng.random((QUERIES, 1)) < CHANGED
    common = 0.4 * rng.normal(size=seen.shape)
    scores = [seen + common + 0.4 * moves * rng.normal(size=seen.shape) for _ in range(2)]
    orders = [np.argsort(-score, axis=1) for score in scores]
    worse = rng.random(QUERIES) < broken
    orders[1][worse] = np.roll(orders[1][worse], -LOST, axis=1)
    values = [[ndcg(judged, order) for judged in grades] for order in orders]
    return Night(*values[0], *values[1])


def drops(differences: list[FloatArray]) -> list[bool]:
    """Return, per system, whether it drops, tested as one family, as the section `since last` of a report does."""
    columns = [Column(str(at), str(at), "ndcg@10", IDS, each) for at, each in enumerate(differences)]
    found = compare_family(columns, resamples=1_000, workers=1)
    return [row.conclusion is Verdict.REGRESSED for row in found]


def overnight(rng: Rng, repetitions: int, broken: float) -> list[Row]:
    """Measure how often any system drops on harmless nights, or the broken one on other nights."""
    counts = dict.fromkeys(("now - then", "by the judgments of now", "without new judgments"), 0)
    for _ in range(repetitions):
        relevant = rng.integers(2, 9, size=(QUERIES, 1))
        true = np.where(np.arange(DOCUMENTS) < relevant, rng.integers(1, 4, size=(QUERIES, DOCUMENTS)), 0)
        harsher = np.maximum(true - (rng.random(true.shape) < HARSHER), 0).astype(np.float64)
        seen = 0.5 * true + rng.normal(size=true.shape)
        pooled = np.argsort(np.argsort(-seen, axis=1), axis=1) < POOL
        known = np.where(pooled, true, 0).astype(np.float64)
        nights = [draw_night(rng, (known, harsher), seen, share) for share in (broken, 0.0)]
        ways = {
            "now - then": [each.now_by_now - each.then_by_then for each in nights],
            "by the judgments of now": [each.now_by_now - each.then_by_now for each in nights],
            "without new judgments": [each.now_by_then - each.then_by_then for each in nights],
        }
        for way, differences in ways.items():
            told = drops(differences)
            counts[way] += told[0] if broken else any(told)
    what = "a real drop is found" if broken else "any drop on a harmless night"
    setting = f"n = {QUERIES}, rankings change on {100 * CHANGED:.0f} % of the queries"
    accepted = FOUND if broken else AT_MOST_ALPHA
    return [
        Row(f"{what}, {way}", setting, repetitions, count / repetitions, None if way == "now - then" else accepted)
        for way, count in counts.items()
    ]


def measured(index: int, seed: int, repetitions: int | None = None, quick: bool = False) -> list[Row]:
    """Return the rows of harmless nights and of nights with a real drop."""
    rng = np.random.default_rng([seed, 11, index])
    return overnight(rng, repetitions or (40 if quick else 1_000), (0.0, BROKEN)[index])


if __name__ == "__main__":
    run(__doc__, lambda given: in_processes(measured, 2, given))
