"""How long bounds and completions of unjudged documents take: 7,000 queries and 10 comparisons on several metrics.

Every query has 40 documents that a system may show, of which 12 are judged, on four grades. Seeded.
"""

import time
from typing import Any

import numpy as np

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import parse
from ndcg_core.measures.unjudged.bounds import difference_bounds
from ndcg_core.measures.unjudged.completions import Completions
from ndcg_core.measures.unjudged.many_completions import is_cascade_measure
from ndcg_core.measures.unjudged.places import Judged, Places

METRICS = ("ndcg", "rr", "accuracy", "err", "ap")
QUERIES, CANDIDATES, SHOWN, POOL, JUDGED = 7_000, 10, 10, 40, 12
GRADES = (0.0, 1.0, 2.0, 3.0)
SEED = 14
DRAWS = 20


def main() -> None:
    made = np.random.default_rng(SEED)
    grades = np.where(np.arange(POOL) < JUDGED, made.integers(0, len(GRADES), (QUERIES, POOL)), -1)
    grades[:, 0] = 3  # something is relevant
    judged = Judged(GRADES, np.stack([(grades == grade).sum(axis=1) for grade in GRADES], axis=1))
    ideal = np.array([dcg(np.sort(row[:JUDGED])[::-1][:SHOWN]) for row in grades])
    query, doc = np.nonzero(grades < 0)
    drawn = made.choice(GRADES, (DRAWS, len(query)))
    systems = []
    for _ in range(CANDIDATES + 1):
        docs = made.permuted(np.tile(np.arange(POOL), (QUERIES, 1)), axis=1)[:, :SHOWN]
        shown = np.take_along_axis(grades, docs, axis=1)
        queries, ranks = np.repeat(np.arange(QUERIES), SHOWN), np.tile(np.arange(1, SHOWN + 1), QUERIES)
        numbers = queries * (POOL - JUDGED) + docs.ravel() - JUDGED  # among all unjudged documents
        own = np.where(shown < 0, np.nan, shown).ravel()
        places = Places(queries, np.maximum(numbers, 0), ranks, ranks, np.ones_like(ranks), own)
        assert (doc[places.doc[~places.is_judged]] == docs.ravel()[~places.is_judged]).all()
        systems.append((places, dcg(np.maximum(shown, 0).T) / ideal))
    for name in METRICS:
        measure(parse(f"{name}@{SHOWN}"), judged, systems, query, drawn)


def measure(metric: Metric, judged: Judged, systems: list[Any], query: np.ndarray, drawn: np.ndarray) -> None:
    (baseline, before), *candidates = systems
    differences = [values - before for _, values in candidates]
    if is_cascade_measure(metric):
        as_it_is = Completions(metric, judged, query, np.zeros((1, len(query))))
        sides = [candidate for candidate, _ in candidates]
        every = np.arange(QUERIES)
        differences = [as_it_is.differences(before, every, side, baseline)[0] for side in sides]
    cores = time.process_time()
    exact = 0
    for (candidate, _), values in zip(candidates, differences, strict=True):
        found = difference_bounds(metric, values, candidate, baseline, judged)
        assert (found.low <= found.high).all()
        exact += int(found.is_exact.sum())
    cores = time.process_time() - cores
    share = exact / QUERIES / CANDIDATES
    print(f"{QUERIES} queries, {CANDIDATES} comparisons, {metric.name}: {cores:.2f} s of cores, {share:.0%} exact")
    cores = time.process_time()
    made_up = Completions(metric, judged, query, drawn)
    for (candidate, _), values in zip(candidates, differences, strict=True):
        made_up.differences(values, np.arange(QUERIES), candidate, baseline)
    cores = time.process_time() - cores
    print(f"  {DRAWS} completions of each: {cores:.2f} s of cores")


def dcg(gains: np.ndarray) -> np.ndarray:
    discounts = 1 / np.log2(np.arange(len(gains)) + 2)
    return np.tensordot(discounts, gains, axes=1)


if __name__ == "__main__":
    main()
