"""How long bounds and completions of unjudged documents take: 7,000 queries and 10 comparisons on nDCG@10.

Every query has 40 documents that a system may show, of which 12 are judged, on four grades. Seeded.
"""

import time

import numpy as np

from ndcg_core.measures.bounds import Judged, Places, difference_bounds
from ndcg_core.measures.completions import Completions
from ndcg_core.measures.notation import parse

QUERIES, CANDIDATES, SHOWN, POOL, JUDGED = 7_000, 10, 10, 40, 12
GRADES = (0.0, 1.0, 2.0, 3.0)
SEED = 14
DRAWS = 20


def main() -> None:
    made = np.random.default_rng(SEED)
    metric = parse(f"ndcg@{SHOWN}")
    grades = np.where(np.arange(POOL) < JUDGED, made.integers(0, len(GRADES), (QUERIES, POOL)), -1)
    grades[:, 0] = 3  # something is relevant
    judged = Judged(GRADES, np.stack([(grades == grade).sum(axis=1) for grade in GRADES], axis=1))
    ideal = np.array([dcg(np.sort(row[:JUDGED])[::-1][:SHOWN]) for row in grades])
    systems = []
    for _ in range(CANDIDATES + 1):
        docs = made.permuted(np.tile(np.arange(POOL), (QUERIES, 1)), axis=1)[:, :SHOWN]
        shown = np.take_along_axis(grades, docs, axis=1)
        query, place = np.nonzero(shown < 0)
        ranks = place + 1
        values = dcg(np.maximum(shown, 0).T) / ideal
        systems.append((Places(query, docs[query, place], ranks, ranks, np.ones_like(ranks)), values))
    cores, wall = time.process_time(), time.perf_counter()
    (baseline, before), *candidates = systems
    for candidate, values in candidates:
        found = difference_bounds(metric, values - before, candidate, baseline, judged)
        assert (found.low <= found.high).all()
    cores, wall = time.process_time() - cores, time.perf_counter() - wall
    print(f"{QUERIES} queries, {CANDIDATES} comparisons, {metric.name}: {cores:.2f} s of cores, {wall:.2f} s")
    query, doc = np.nonzero(grades < 0)
    numbered_places = [numbered(side, doc, POOL - JUDGED) for side, _ in systems]
    cores, wall = time.process_time(), time.perf_counter()
    made_up = Completions(metric, judged, query, made.choice(GRADES, (DRAWS, len(query))))
    for shown_there, (_, values) in zip(numbered_places[1:], systems[1:], strict=True):
        made_up.differences(values - before, np.arange(QUERIES), shown_there, numbered_places[0])
    cores, wall = time.process_time() - cores, time.perf_counter() - wall
    print(f"{DRAWS} completions of each: {cores:.2f} s of cores, {wall:.2f} s")


def numbered(places: Places, doc: np.ndarray, unjudged: int) -> Places:
    """The same with the number among all unjudged documents; doc: theirs within each query, so many in each."""
    numbers = places.query * unjudged + places.doc - (POOL - unjudged)
    assert (doc[numbers] == places.doc).all()
    return places._replace(doc=numbers)


def dcg(gains: np.ndarray) -> np.ndarray:
    discounts = 1 / np.log2(np.arange(len(gains)) + 2)
    return np.tensordot(discounts, gains, axes=1)


if __name__ == "__main__":
    main()
