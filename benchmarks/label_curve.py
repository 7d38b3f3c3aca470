"""How many labels until the verdict of all judgments stands, in the order of judge-next and in others?

    python benchmarks/label_curve.py [--seed 1] [--repetitions 20] [--quick]

The rankings of CAsT 2021 (NDCG_AB_DATA) without the documents that nobody judged, as in `simulate_labels`: what nobody
judged cannot be bought here. Half of all judgments are hidden at random. Then they are bought one by one, and after
each one the verdict (t test at .05 of the differences on ndcg@10, hidden documents gaining nothing) is held against
that of all judgments. It stands from the label on after which it is never another one. The orders:

    judge-next         the largest root mean square change first, found anew after every batch, with the grades bought
    rank by rank       what either system shows, by its best rank
    random, shown      what either system shows, at random
    random, all        all hidden judgments, at random

What is left after the documents that a system shows comes at random in every order. judge-next was chosen among others
(docs/judging.md) on the pairs of the three systems without `bert` alone; pairs with such a ranking are told apart.
Without --quick it draws docs/images/label_curve.svg anew. Prints medians as Markdown, and ends with code 1 where
judge-next needs more than half of the labels of random order among what is shown; of all queries, where nearly every
verdict stands at once, nothing is asked.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import stdtr  # type: ignore[import-untyped]
from simulate import Rng
from simulate_labels import GRADES, SYSTEMS, World, folder, world

from ndcg_ab.labels.grade_chances import Pool, fit_grade_model
from ndcg_core.measures.notation import parse
from ndcg_core.measures.unjudged.next_label import possible_differences, root_mean_square
from ndcg_core.measures.unjudged.places import Judged, Places

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "label_curve.svg"
METRIC = parse("ndcg@10")
CUTOFF = 10
ALPHA = 0.05
NEAR = 0.01  # of the difference of all judgments of what is shown
ORDERS = ("judge-next", "rank by rank", "random, shown", "random, all")
DISCOUNTS = np.concatenate([[0.0], 1 / np.log2(np.arange(2, CUTOFF + 2))])
SUMS = np.cumsum(DISCOUNTS)
CHOSEN_ON = [pair for pair in combinations(range(len(SYSTEMS)), 2) if not any("bert" in SYSTEMS[at] for at in pair)]
KEPT_ASIDE = [pair for pair in combinations(range(len(SYSTEMS)), 2) if pair not in CHOSEN_ON]
WITH_BASELINE = [(0, other) for other in range(1, len(SYSTEMS))]


class Labels(NamedTuple):
    """Hidden judgments in an order: query, factor of its gain for the candidate less that for the baseline, level."""

    query: IntArray
    weight: FloatArray
    level: IntArray


class Curve(NamedTuple):
    """After 0, 1, 2 ... labels: the verdict (-1, 0, 1), and the mean difference."""

    verdicts: IntArray
    differences: FloatArray

    @property
    def labels(self) -> int:
        """Until the last verdict stands."""
        return last(self.verdicts != self.verdicts[-1])

    def share_until_near(self, shown: int) -> float:
        """Of the labels of what is shown, until the difference stays near what these give."""
        return last(np.abs(self.differences[: shown + 1] - self.differences[shown]) > NEAR) / max(shown, 1)


def last(is_off: NDArray[np.bool_]) -> int:
    """The place after the last True."""
    (off,) = np.nonzero(is_off)
    return int(off[-1]) + 1 if len(off) else 0


class Case:
    """A pair of systems on some queries, with half of all judgments hidden."""

    def __init__(self, rng: Rng, of: World, pair: tuple[int, int]) -> None:
        self.rng, self.of = rng, of
        self.hidden = rng.random(len(of.query)) < 0.5
        before, after = of.ranks[:, pair[0]], of.ranks[:, pair[1]]
        self.sides = after, before
        self.weight = DISCOUNTS[after] - DISCOUNTS[before]
        self.best = np.where((after > 0) & (before > 0), np.minimum(after, before), np.maximum(after, before))
        self.left = rng.binomial(of.deeper, 0.5)  # hidden judgments of what no system shows
        self.shown = np.flatnonzero(self.hidden & (self.best > 0))

    def curve(self, order: IntArray, rest: Rng) -> Curve:
        """Of rows of the world; then all other hidden judgments at random."""
        others = np.setdiff1d(np.flatnonzero(self.hidden), order)
        queries, levels = np.indices(self.left.shape)
        deeper = np.repeat(queries, self.left.ravel()), np.repeat(levels, self.left.ravel())
        query, level = (
            np.concatenate([each[others], more])
            for each, more in zip((self.of.query, self.of.level), deeper, strict=True)
        )
        weight = np.concatenate([self.weight[others], np.zeros(len(deeper[0]))])
        mixed = rest.permutation(len(query))
        first = self.of.query[order], self.weight[order], self.of.level[order]
        then = query[mixed], weight[mixed], level[mixed]
        return self.bought(Labels(*(np.concatenate(both) for both in zip(first, then, strict=True))))

    def known(self, hidden: NDArray[np.bool_]) -> tuple[FloatArray, IntArray]:
        """(queries,) numerators, and (queries, levels) counts of what is judged."""
        counts = self.of.deeper - self.left
        np.add.at(counts, (self.of.query[~hidden], self.of.level[~hidden]), 1)
        gained = np.where(hidden, 0.0, self.weight * self.of.level)
        return np.bincount(self.of.query, gained, len(counts)).astype(np.float64), counts

    def bought(self, labels: Labels) -> Curve:
        above, counts = self.known(self.hidden)
        by_query = np.argsort(labels.query, kind="stable")
        query, weight, level = (each[by_query] for each in labels)
        starts = np.searchsorted(query, query)
        one = np.zeros((len(query), len(GRADES)), dtype=np.int64)
        one[np.arange(len(query)), level] = 1
        after = quotient(above[query] + since(weight * level, starts), counts[query] + since(one, starts))
        first = quotient(above, counts)
        is_first = starts == np.arange(len(query))
        before = np.where(is_first[:, None], first[query], np.roll(after, 1, axis=0))
        steps = np.zeros((len(query) + 1, 3))
        steps[by_query + 1] = after - before
        steps[0] = first.sum(axis=0)
        total, squares, number = np.cumsum(steps, axis=0).T
        mean = total / number
        error = np.sqrt(np.maximum(squares - number * mean**2, 1e-300) / (number - 1) / number)
        chance = 2 * stdtr(number - 1, -np.abs(mean) / error)
        return Curve(np.where(chance <= ALPHA, np.sign(mean), 0).astype(np.int64), mean)

    def by_effect(self, batch: int) -> IntArray:
        """The order of judge-next, found anew after each batch."""
        of, hidden, left = self.of, self.hidden.copy(), self.shown
        queries, docs = (pa.array(np.arange(len(each)).astype(str)) for each in (of.deeper, of.query))
        pool = Pool(queries, docs, of.query, np.arange(len(of.query)), of.ranks, SYSTEMS, np.zeros(0), GRADES)
        taken: list[IntArray] = []
        while len(left):
            grade = np.where(hidden, np.nan, np.array(GRADES)[of.level])
            now = Pool(**{**vars(pool), "grade": grade})
            effect = self.effects(hidden, fit_grade_model(now).chances(now))
            best = left[np.argsort(-effect[left], kind="stable")[:batch]]
            taken.append(best)
            hidden[best] = False
            left = np.setdiff1d(left, best)
        return np.concatenate([np.zeros(0, dtype=np.int64), *taken])

    def effects(self, hidden: NDArray[np.bool_], chances: FloatArray) -> FloatArray:
        above, counts = self.known(hidden)
        value, _, is_counted = quotient(above, counts).T
        mean = value.sum() / is_counted.sum()
        sides = []
        for ranks in self.sides:
            (rows,) = np.nonzero(hidden & (ranks > 0))
            grade = np.full(len(rows), np.nan)
            sides.append(Places(self.of.query[rows], rows, ranks[rows], ranks[rows], np.ones_like(rows), grade))
        moved = possible_differences(METRIC, value, sides[0], sides[1], Judged(GRADES, counts), GRADES)
        change = moved.differences - np.where(is_counted > 0, value, mean)[moved.query][:, None]
        found = np.zeros(len(hidden))
        found[moved.doc] = root_mean_square(np.where(moved.counts, change, 0.0), chances[moved.doc])
        return found


def since(values: NDArray[np.float64 | np.int64], starts: IntArray) -> FloatArray:
    """Sums from the start of each one's group up to it."""
    sums = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
    return np.asarray(sums[1:] - sums[starts], dtype=np.float64)


def quotient(above: FloatArray, counts: NDArray[np.float64 | np.int64]) -> FloatArray:
    """(n, 3): nDCG's difference, its square, and whether the query counts."""
    reached = np.cumsum(counts[:, :0:-1], axis=1)
    ideal = SUMS[np.minimum(reached, CUTOFF).astype(np.int64)].sum(axis=1)  # each level gains 1 more than the last
    value = np.divide(above, ideal, out=np.zeros(len(above)), where=ideal > 0)
    return np.column_stack([value, value**2, ideal > 0])


def some(rng: Rng, of: World, queries: int) -> World:
    """So many queries, drawn without replacement."""
    chosen = np.sort(rng.choice(len(of.deeper), queries, replace=False))
    kept = np.isin(of.query, chosen)
    return World(np.searchsorted(chosen, of.query[kept]), of.ranks[kept], of.level[kept], of.deeper[chosen])


@cache
def curves(
    seed: int, pairs: tuple[tuple[int, int], ...], repetitions: int, queries: int, batch: int
) -> list[tuple[int, dict[str, Curve]]]:
    """Of every pair and seed how many hidden documents the two systems show, and the curve of every order."""
    whole = world(CUTOFF)
    found = []
    for repetition in range(repetitions):
        for pair in pairs:
            rng = np.random.default_rng([seed, 7, repetition, *pair])
            case = Case(rng, some(rng, whole, queries), pair)
            shown = case.shown
            ranked = shown[np.lexsort((case.of.query[shown], case.best[shown]))]
            orders = dict(zip(ORDERS, (case.by_effect(batch), ranked, rng.permutation(shown)), strict=False))
            made = {name: case.curve(order, rng) for name, order in orders.items()}
            found.append((len(shown), made | {ORDERS[-1]: case.curve(np.zeros(0, dtype=np.int64), rng)}))
    return found


class Measured(NamedTuple):
    """runs: pairs times seeds; still_open: those in which the verdict does not stand at once in every order.
    shown: median of the hidden documents shown. labels: median of each order, over the runs that are still open.
    near: median share of the labels of what is shown, until the difference stays within NEAR."""

    setting: str
    runs: int
    still_open: int
    shown: float
    labels: dict[str, float]
    near: dict[str, float]
    is_asked: bool = True  # whether it is to hold

    @property
    def holds(self) -> bool:
        """Whether judge-next needs at most half of the labels that random order needs."""
        return self.labels[ORDERS[0]] <= 0.5 * self.labels["random, shown"]


def measured(setting: str, found: Sequence[tuple[int, dict[str, Curve]]]) -> Measured:
    labels = np.array([[each[order].labels for order in ORDERS] for _, each in found])
    open_ones = labels[labels.any(axis=1)]
    medians = np.median(open_ones, axis=0) if len(open_ones) else np.zeros(len(ORDERS))
    shares = [[each[order].share_until_near(shown) for order in ORDERS[:3]] for shown, each in found]
    return Measured(
        setting,
        len(found),
        len(open_ones),
        float(np.median([shown for shown, _ in found])),
        dict(zip(ORDERS, medians.tolist(), strict=True)),
        dict(zip(ORDERS, np.median(shares, axis=0).tolist(), strict=False)),
    )


def settings(seed: int, repetitions: int, quick: bool = False) -> list[Measured]:
    found = []
    for queries in (40,) if quick else (40, 80):
        for name, pairs in (("chosen on", CHOSEN_ON), ("kept aside", KEPT_ASIDE)):
            title = f"{queries} queries, {len(pairs)} pairs {name}"
            found.append(measured(title, curves(seed, tuple(pairs), repetitions, queries, 20)))
    if not quick:
        every = len(world(CUTOFF).deeper)
        title = f"all {every} queries, {len(WITH_BASELINE)} comparisons with {SYSTEMS[0]}"
        told = measured(title, curves(seed, tuple(WITH_BASELINE), repetitions, every, 50))
        found.append(told._replace(is_asked=False))
    return found


def table(found: Sequence[Measured]) -> str:
    """As Markdown."""
    names = ("setting", "runs", "still open", "shown", *ORDERS, *(f"near, {order}" for order in ORDERS[:3]))
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    for row in found:
        numbers = [row.runs, row.still_open, *(f"{each:g}" for each in (row.shown, *row.labels.values()))]
        numbers += [f"{share:.2f}" for share in row.near.values()]
        lines.append(f"| {row.setting} | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines)


def draw(found: Sequence[tuple[int, dict[str, Curve]]], path: Path) -> None:
    """The share of the runs whose verdict stands, over the share of the labels of what is shown."""
    import altair as alt

    from ndcg_ab.report.pictures.commands import save

    needed = [(shown, each) for shown, each in found if any(curve.labels for curve in each.values())]
    rows = []
    for order in ORDERS[:3]:
        shares = [0.0, *np.sort([each[order].labels / shown for shown, each in needed])]
        rows += [{"order": order, "share": share, "settled": at / len(needed)} for at, share in enumerate(shares)]
    drawn = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("share:Q", title="labels, of the hidden documents that either system shows"),
            y=alt.Y("settled:Q", title="verdicts that hold"),
            color=alt.Color("order:N", title=None, sort=None),
        )
        .properties(width=560, height=320)
    )
    save(drawn, "Labels until the verdict is that of all judgments (CAsT 2021, 40 queries)", path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repetitions", type=int)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    if folder() is None:
        sys.exit("NDCG_AB_DATA: there is no folder cast2021 in it")
    repetitions = options.repetitions or (3 if options.quick else 20)
    found = settings(options.seed, repetitions, options.quick)
    print(table(found))
    if not options.quick:
        draw(curves(options.seed, tuple(KEPT_ASIDE), repetitions, 40, 20), PICTURE)
    sys.exit(0 if all(each.holds for each in found if each.is_asked) else 1)


if __name__ == "__main__":
    main()
