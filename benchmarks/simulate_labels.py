"""Does the likely band cover the difference that all judgments give, when some of them are hidden?

    python benchmarks/simulate_labels.py [--seed 1] [--repetitions N] [--quick]

The five rankings of CAsT 2021 (NDCG_AB_DATA) without the documents that nobody judged: a world that is wholly judged.
Judgments are hidden of what the systems show: at random, or all that one system alone shows within the cutoff, as
where it was not pooled. Each setting is measured on the queries as they are, and on queries drawn anew with
replacement, whose band is to cover the difference over all queries. For contrast, the plain interval takes the hidden
documents for not relevant. Prints rows as `simulate.py` does, and ends with code 1 if one of them lies outside its
accepted range (docs/calibration.md).
"""

import argparse
import gzip
import os
from collections import defaultdict
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from simulate import Rng, Row, run

from ndcg_ab.labels.grade_chances import Pool, fit_grade_model
from ndcg_ab.labels.imputed_interval import DRAWS
from ndcg_ab.labels.missing_labels import systems_judged_by_choice
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import parse
from ndcg_core.measures.score import discount, gain
from ndcg_core.measures.unjudged.completions import Completions
from ndcg_core.measures.unjudged.places import Judged, Places
from ndcg_core.statistics.estimates.imputation import combine_draws
from ndcg_core.statistics.estimates.mean_difference import compute_moments, interval_from_moments

SYSTEMS = ("manual_bm25", "manual_ance", "manual_ance_bert", "convdr", "convdr_bert")
GRADES = (0.0, 1.0, 2.0, 3.0, 4.0)
COVERED, COVERED_ANEW = (0.93, 1.0), (0.90, 1.0)
# of a band that is withheld: where the choice is strong, where it is weak, and where there is none
ACCEPTED = {(0.8, 0.1): (0.93, 1.0), (0.5, 0.1): None, (0.5, 0.5): (0.0, 0.1)}
ALPHA = 0.05
IntArray = NDArray[np.int64]


class World(NamedTuple):
    """Row by row the documents that a system shows within the cutoff, by query: its number, the systems' ranks (0: not
    shown), the number of its grade. deeper: (queries, grades) judged documents that no system shows."""

    query: IntArray
    ranks: IntArray
    level: IntArray
    deeper: IntArray


def folder() -> Path | None:
    """The folder of the collection, where it is."""
    found = Path(os.environ.get("NDCG_AB_DATA", Path(__file__).parents[2] / "shared" / "data")) / "cast2021"
    return found if found.is_dir() else None


@cache
def world(cutoff: int) -> World:
    files = folder()
    assert files is not None
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    with gzip.open(files / "qrels.txt.gz", "rt") as lines:
        for line in lines:
            query_id, _, doc_id, grade = line.split()
            judged[query_id][doc_id] = int(grade)
    query_ids = sorted(query_id for query_id, grades in judged.items() if max(grades.values()) > 0)
    shown: dict[str, dict[str, list[int]]] = {query_id: {} for query_id in query_ids}
    for place, system in enumerate(SYSTEMS):
        scored: dict[str, list[tuple[float, str]]] = defaultdict(list)
        with gzip.open(files / f"{system}.run.gz", "rt") as lines:
            for line in lines:
                query_id, _, doc_id, _, score, _ = line.split()
                if doc_id in judged[query_id]:
                    scored[query_id].append((float(score), doc_id))
        for query_id in query_ids:
            best = sorted(scored[query_id], reverse=True)[:cutoff]
            for rank, (_, doc_id) in enumerate(best, start=1):
                shown[query_id].setdefault(doc_id, [0] * len(SYSTEMS))[place] = rank
    rows = [
        (number, ranks, judged[query_id][doc_id])
        for number, query_id in enumerate(query_ids)
        for doc_id, ranks in sorted(shown[query_id].items())
    ]
    query, ranks, levels = (np.array(column) for column in zip(*rows, strict=True))
    deeper = np.zeros((len(query_ids), len(GRADES)), dtype=np.int64)
    for number, query_id in enumerate(query_ids):
        for doc_id, level in judged[query_id].items():
            deeper[number, level] += doc_id not in shown[query_id]
    return World(query, ranks, levels, deeper)


def drawn_anew(rng: Rng, of: World) -> World:
    """As many queries, drawn with replacement; each draw is a query of its own."""
    queries = len(of.deeper)
    chosen = np.sort(rng.integers(0, queries, queries))
    starts = np.searchsorted(of.query, np.arange(queries + 1))
    rows = np.concatenate([np.arange(starts[query], starts[query + 1]) for query in chosen])
    query = np.repeat(np.arange(queries), (starts[1:] - starts[:-1])[chosen])
    return World(query, of.ranks[rows], of.level[rows], of.deeper[chosen])


def judged_of(of: World, hidden: NDArray[np.bool_]) -> Judged:
    counts = of.deeper.copy()
    np.add.at(counts, (of.query[~hidden], of.level[~hidden]), 1)
    return Judged(GRADES, counts)


def values(metric: Metric, of: World, hidden: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(systems, queries): hidden documents gain nothing; 0 where nothing else is relevant."""
    cutoff = metric.cutoff or 0
    gains = np.array([gain(metric, grade) for grade in GRADES])
    discounts = np.array([0.0, *(discount(metric, rank) for rank in range(1, cutoff + 1))])
    counts = judged_of(of, hidden).counts[:, ::-1]
    ends = np.minimum(np.cumsum(counts, axis=1), cutoff)
    sums = np.cumsum(discounts)[ends]
    ideal = np.diff(sums, axis=1, prepend=0.0) @ gains[::-1]
    below = ideal if metric.ideal_traits is not None else np.full(len(counts), float(cutoff))
    worth = np.where(hidden, 0.0, gains[of.level])
    above = [np.bincount(of.query, worth * discounts[ranks], len(counts)) for ranks in of.ranks.T]
    found: NDArray[np.float64] = np.divide(above, below, out=np.zeros((len(SYSTEMS), len(counts))), where=below > 0)
    return found


def pool_of(of: World, hidden: NDArray[np.bool_]) -> Pool:
    queries, docs = np.arange(len(of.deeper)), np.arange(len(of.query))
    grade = np.where(hidden, np.nan, np.array(GRADES)[of.level])
    ids = pa.array(queries.astype(str)), pa.array(docs.astype(str))
    return Pool(*ids, of.query, docs, of.ranks, SYSTEMS, grade, GRADES)


def covered(
    rng: Rng, metric: Metric, of: World, hidden: NDArray[np.bool_], truth: NDArray[np.float64], systems: set[int]
) -> list[tuple[bool, bool]]:
    """Of every comparison with one of the systems: whether band and plain interval cover the target."""
    judged = judged_of(of, hidden)
    queries = np.arange(len(of.deeper))
    pool = pool_of(of, hidden)
    grades = fit_grade_model(pool).draw(pool, rng, DRAWS)
    completions = Completions(metric, judged, of.query[hidden], grades)
    places = []
    for ranks in of.ranks[hidden].T:
        (rows,) = np.nonzero(ranks)
        grade = np.full(len(rows), np.nan)
        places.append(Places(of.query[hidden][rows], rows, ranks[rows], ranks[rows], np.ones_like(rows), grade))
    known = values(metric, of, hidden)
    found = []
    for first, second in combinations(range(len(SYSTEMS)), 2):
        if systems & {first, second}:
            target = float(truth[second] - truth[first])
            before = known[second] - known[first]
            lines = completions.differences(before, queries, places[second], places[first])
            band = combine_draws([compute_moments(line) for line in lines], ALPHA)
            plain = interval_from_moments(compute_moments(before), 1 - ALPHA)
            assert band.low is not None and band.high is not None
            found.append((band.low <= target <= band.high, plain.low <= target <= plain.high))
    return found


def measured(rng: Rng, name: str, share: float | None, repetitions: int, anew: bool) -> list[Row]:
    """share: of the judgments to hide at random; None hides those of what one system alone shows, each in turn."""
    metric = parse(name)
    whole = world(metric.cutoff or 0)
    truth = values(metric, whole, np.zeros(len(whole.query), dtype=bool)).mean(axis=1)
    found = []
    for repetition in range(repetitions):
        of = drawn_anew(rng, whole) if anew else whole
        if share is None:
            system = repetition % len(SYSTEMS)
            hidden = (of.ranks[:, system] > 0) & ((of.ranks > 0).sum(axis=1) == 1)
            found += covered(rng, metric, of, hidden, truth, {system})
        else:
            hidden = rng.random(len(of.query)) < share
            found += covered(rng, metric, of, hidden, truth, set(range(len(SYSTEMS))))
    what = "one system's own" if share is None else f"{share:.0%} at random" if share else "nothing"
    setting = f"{name}, {what} hidden, {'queries drawn anew' if anew else 'the same queries'}"
    band, plain = np.mean(found, axis=0).tolist()
    return [
        Row("coverage of the likely band", setting, repetitions, band, COVERED_ANEW if anew else COVERED),
        Row("coverage of the plain interval", setting, repetitions, plain),
    ]


def by_choice(rng: Rng, name: str, bad: float, good: float, repetitions: int) -> list[Row]:
    """Hidden are such shares of one system's own documents that are not relevant, and that are: each system in turn."""
    metric = parse(name)
    whole = world(metric.cutoff or 0)
    truth = values(metric, whole, np.zeros(len(whole.query), dtype=bool)).mean(axis=1)
    found, withheld = [], []
    for repetition in range(repetitions):
        system = repetition % len(SYSTEMS)
        own = (whole.ranks[:, system] > 0) & ((whole.ranks > 0).sum(axis=1) == 1)
        hidden = own & (rng.random(len(own)) < np.where(whole.level > 0, good, bad))
        found += covered(rng, metric, whole, hidden, truth, {system})
        pool = pool_of(whole, hidden)
        withheld.append(SYSTEMS[system] in systems_judged_by_choice(pool, fit_grade_model(pool)))
    setting = f"{name}, {bad:.0%} of one system's own bad and {good:.0%} of its good ones hidden"
    band = float(np.mean([is_covered for is_covered, _ in found]))
    return [
        Row("coverage of the likely band, were it shown", setting, repetitions, band),
        Row("the likely band is not shown", setting, repetitions, float(np.mean(withheld)), ACCEPTED[bad, good]),
    ]


def rows(seed: int, repetitions: int, names: tuple[str, ...] = ("ndcg@10", "ndcg@20", "precision@10")) -> list[Row]:
    """A quarter of the repetitions on the same queries, where only what is hidden changes."""
    found: list[Row] = []
    for place, name in enumerate(names):
        rng = np.random.default_rng([seed, 5, place])
        found += measured(rng, name, 0.0, repetitions, True)
        for share in (0.2, 0.5, None):
            found += measured(rng, name, share, max(repetitions // 4, len(SYSTEMS)), False)
            found += measured(rng, name, share, repetitions, True)
        for bad, good in ((0.8, 0.1), (0.5, 0.1), (0.5, 0.5)):
            found += by_choice(rng, name, bad, good, max(repetitions // 4, len(SYSTEMS)))
    return found


def all_rows(options: argparse.Namespace) -> list[Row]:
    if folder() is None:
        return []
    return rows(options.seed, options.repetitions or (20 if options.quick else 240))


if __name__ == "__main__":
    run(__doc__, all_rows)
