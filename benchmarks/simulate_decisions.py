"""How often does each decision come out, and is it right?  And is the number of queries that it names the right one?

    python benchmarks/simulate_decisions.py [--seed 1] [--repetitions N] [--quick]

A user as a whole, with complete judgments: three candidates, one metric that decides (smallest effect δ = .02), two
guardrails (margins .02 and .05), 20 to 2,000 queries.  All candidates are as good as the baseline, or better by δ/2, δ
or 2δ, or worse by δ/4, δ or .1.  A chance of .05 at most is promised, over all three, that any candidate gets

- `do not ship`, if it is as good or better;
- `ship`, if it is not better by more than δ, and `ship if cheap`, if it is not better;
- `nothing changed`, if it is worse by δ.

The numbers of queries are held against samples of that size.  Prints rows as `simulate.py` does, and ends with code 1
if one lies outside its accepted range (docs/calibration.md).
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from simulate import FloatArray, Rng, Row, run

from ndcg_ab.results.decisions import Choice, decide, measured_state
from ndcg_ab.results.wording import GUARDRAILS, PRIMARY
from ndcg_core.statistics.estimates.power import queries_to_hold
from ndcg_core.statistics.hypothesis_tests.guardrails import not_worse_p_value
from ndcg_core.statistics.verdicts.comparison import Column, Comparison, check_guardrails, compare_family
from ndcg_core.statistics.verdicts.record import Unjudged

CANDIDATES = ("a", "b", "c")
DELTA = 0.02
MARGINS = {"rr@10": 0.05, "recall@100": 0.02}
RESAMPLES = 999
RARELY = (0.0, 0.065)
"""A chance of .05 is promised; 400 repetitions have a standard error of .011."""
EFFECTS = (0.0, DELTA / 2, DELTA, 2 * DELTA, -DELTA / 4, -DELTA, -0.1)
CLOSE = (0.7, 0.9)
"""A chance of .8, and what 15 % more or fewer queries would make of it."""
Draw = Callable[[Rng, int], FloatArray]


def normal(spread: float) -> Draw:
    return lambda rng, n: rng.normal(0, spread, n)


def sparse(share: float, size: float) -> Draw:
    """Draw differences of which a share is +size or -size, and the rest ties."""
    return lambda rng, n: np.where(rng.random(n) < share, rng.choice([-size, size], n), 0.0)


def skewed(rng: Rng, n: int) -> FloatArray:
    """Draw differences with mean 0: 1 in 20 loses .6, and the gains of the others balance the losses."""
    return np.where(rng.random(n) < 0.05, -0.6, 0.6 * 0.05 / 0.95)


SHAPES: dict[str, Draw] = {
    "normal, deviation .1": normal(0.1),
    "normal, deviation .2": normal(0.2),
    "9 of 10 tie": sparse(0.1, 0.5),
    "1 in 20 loses .6, the mean is 0": skewed,
}


def compared(rng: Rng, n: int, draw: Draw, effect: float, harm: float) -> list[Comparison]:
    """Return the comparisons of one evaluation whose candidates share half of their variance."""
    ids = tuple(f"q{number:05d}" for number in range(n))

    def column(candidate: str, metric: str, mean: float, smallest: float, common: FloatArray) -> Column:
        own = draw(rng, n)
        mixed = np.where(rng.random(n) < 0.5, common, own) + mean
        return Column("old", candidate, metric, ids, np.clip(mixed, -1, 1), smallest_effect=smallest)

    shared = {name: draw(rng, n) for name in ("ndcg@10", *MARGINS)}
    primary = [column(name, "ndcg@10", effect, DELTA, shared["ndcg@10"]) for name in CANDIDATES]
    guarded = [
        column(name, metric, -harm, margin, shared[metric]) for metric, margin in MARGINS.items() for name in CANDIDATES
    ]
    found = compare_family(primary, family=PRIMARY, resamples=RESAMPLES, workers=1)
    found += check_guardrails(guarded, family=GUARDRAILS, resamples=RESAMPLES, workers=1)
    return [replace(row, unjudged=Unjudged(0, measured_state(row), 1.2, is_declared=True)) for row in found]


def wrong_decisions(effect: float, harm: float) -> dict[str, set[Choice]]:
    """Return, by candidate, the decisions that are wrong for its true effect."""
    wrong = {"any `ship` of one not better by δ": {Choice.SHIP}} if effect <= DELTA or harm else {}
    if effect >= 0 and not harm:
        wrong["any `do not ship` of one as good or better"] = {Choice.DO_NOT_SHIP}
    if effect <= 0:
        wrong["any `ship if cheap` of one not better"] = {Choice.SHIP_IF_CHEAP}
    if effect <= -DELTA:
        wrong["any `nothing changed` of one worse by δ"] = {Choice.NOTHING_CHANGED}
    return wrong


def decided(rng: Rng, repetitions: int, name: str, n: int, effect: float, harm: float) -> list[Row]:
    """Return how often any candidate gets a wrong decision, and the share of each decision."""
    evaluations = []
    for _ in range(repetitions):
        rows = compared(rng, n, SHAPES[name], effect, harm)
        evaluations.append([decide(candidate, rows).decision for candidate in CANDIDATES])
    lost = f", guardrails {-harm:+g}" if harm else ""
    setting = f"n = {n}, {name}, {effect:+g}{lost}"
    found = []
    for what, wrong in wrong_decisions(effect, harm).items():
        measured = float(np.mean([not wrong.isdisjoint(choices) for choices in evaluations]))
        found.append(Row(what, setting, repetitions, measured, RARELY))
    for choice in Choice:
        share = float(np.mean([choice is each for choices in evaluations for each in choices]))
        if share:
            found.append(Row(f"decided: {choice.words}", setting, repetitions, share))
    return found


def numbered(rng: Rng, repetitions: int, name: str, margin: float, shift: float) -> Row:
    """Return the chance that a guardrail is shown to hold with the number of queries that is reported."""
    population = np.clip(SHAPES[name](rng, 20_000) + shift, -1, 1)
    count = queries_to_hold(population, margin, 1.0)
    if count is None:
        raise AssertionError("no number of queries is found")
    held = [not_worse_p_value(rng.choice(population, count), margin, 1.0) < 0.05 for _ in range(repetitions)]
    setting = f"margin {margin:g}, {name}, {shift:+g}: {count} queries"
    return Row("chance to hold at the number named", setting, repetitions, float(np.mean(held)), CLOSE)


def rows(seed: int, repetitions: int, *, quick: bool = False) -> list[Row]:
    rng = np.random.default_rng([seed, 9])
    found = []
    for name in list(SHAPES)[1:3] if quick else SHAPES:
        for n in (50,) if quick else (20, 50, 100, 400, 2_000):
            for effect in (0.0, -0.1) if quick else EFFECTS:
                found += decided(rng, repetitions, name, n, effect, 0.0)
            found += decided(rng, repetitions, name, n, DELTA, 0.1)
    for name in list(SHAPES)[1:3] if quick else SHAPES:
        for margin, shift in ((0.02, 0.0), (0.05, 0.0), (0.05, -0.02)):
            found.append(numbered(rng, 5 * repetitions, name, margin, shift))
    return found


if __name__ == "__main__":
    run(__doc__, lambda given: rows(given.seed, given.repetitions or (20 if given.quick else 400), quick=given.quick))
