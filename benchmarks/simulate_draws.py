"""Do drawn queries tell a log's difference, with how much less variance than random ones, and is the plan right?

    python benchmarks/simulate_draws.py [--seed 1] [--repetitions N] [--quick]

Logs of 5,000 queries are drawn from collections whose every first result is judged, or taken to be: CAsT 2021 (of the
folder NDCG_AB_DATA, without which it is left out), the demo's queries, known items among its documents, images of
digits (scikit-learn), and simulated rankings. Of each log 60 queries are drawn again and again. Prints rows as
`simulate.py` does, and ends with code 1 if one of them lies outside its accepted range (docs/calibration.md).
"""

import argparse
import gzip
import hashlib
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from simulate import Rng, Row, run

from ndcg_core.measures.notation import parse
from ndcg_core.measures.overlap import disagreement
from ndcg_core.measures.score import Result, score_query
from ndcg_core.sampling.draws import (
    Draw,
    EarlierDraw,
    FloatArray,
    Population,
    draw_queries,
    drawn_standard_error,
    mean_disagreement,
    random_standard_error,
    relative_disagreements,
    scale_and_weights,
    unit_deviation,
)
from ndcg_core.statistics.estimates.mean_difference import (
    compute_moments,
    interval_from_moments,
    minimal_detectable_effect,
)
from ndcg_core.statistics.estimates.prediction_powered import correct_drawn
from ndcg_core.statistics.paired import Column

CONFIGS = Path(__file__).parent.parent / "configs"
METRIC, DEPTH = parse("ndcg@10"), 10
LOG, DRAWN, FIRST = 5_000, 60, 30
WITHIN = 0.15  # of the number of queries
ENOUGH = 1_000  # repetitions, for a variance within some per cent
PARTLY = 0.6  # of the queries: where no more changed, half of the variance is to be saved
COVERAGE, OF_SLICE = (0.935, 0.99), (0.91, 0.99)
HALF, NO_MORE, PLAN, POWER = (0.0, 0.5), (0.0, 1.0), (0.0, 0.2), (0.7, 0.95)
Ranking = Mapping[str, Sequence[str]]
Judgments = Mapping[str, Mapping[str, float]]


class Pair(NamedTuple):
    """Two systems on the queries of a collection.

    disagreements, differences: (n,) arrays, of nDCG@10.
    """

    name: str
    disagreements: FloatArray
    differences: FloatArray


@dataclass(frozen=True, eq=False)
class Log:
    """A query log with two systems.

    disagreements, relative, differences: (N,) arrays. weights: (N,) or None. truth: the difference over all queries.
    """

    disagreements: FloatArray
    differences: FloatArray
    weights: FloatArray | None = None

    @property
    def is_changed(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        return self.disagreements > 0

    @property
    def truth(self) -> float:
        return float(np.average(self.differences, weights=self.weights))

    def relative(self) -> FloatArray:
        return relative_disagreements(self.disagreements, self.is_changed)


# ---- collections


def pair(name: str, judgments: Judgments, baseline: Ranking, candidate: Ranking) -> Pair:
    rows = []
    for query_id, grades in judgments.items():
        sides = [list(ranking.get(query_id, ()))[:DEPTH] for ranking in (baseline, candidate)]
        results = [[Result(doc_id, -float(index)) for index, doc_id in enumerate(side)] for side in sides]
        before, after = (score_query(METRIC, each, grades) for each in results)
        if before is not None and after is not None:
            rows.append((disagreement(*sides), after - before))
    found = np.array(rows)
    return Pair(name, found[:, 0], found[:, 1])


def on_half(baseline: Ranking, candidate: Ranking) -> Ranking:
    """Return the candidate's rankings on half of the queries, chosen by a hash of their ids, else the baseline's."""
    return {
        query_id: (candidate if hashlib.sha256(query_id.encode()).digest()[0] % 2 else baseline).get(query_id, ())
        for query_id in {*baseline, *candidate}
    }


def cast() -> Iterator[Pair]:
    folder = Path(os.environ["NDCG_AB_DATA"]) / "cast2021"
    judgments: dict[str, dict[str, float]] = defaultdict(dict)
    for query_id, _, doc_id, grade in lines(folder / "qrels.txt.gz"):
        judgments[query_id][doc_id] = float(grade)
    systems = ("convdr", "convdr_bert", "manual_ance", "manual_ance_bert")
    runs: dict[str, dict[str, list[str]]] = {name: defaultdict(list) for name in systems}
    for name, ranking in runs.items():
        for query_id, _, doc_id, *_ in lines(folder / f"{name}.run.gz"):
            ranking[query_id].append(doc_id)
    ance, bert = runs["manual_ance"], runs["manual_ance_bert"]
    yield pair("CAsT 2021, reranked", judgments, ance, bert)
    yield pair("CAsT 2021, half reranked", judgments, ance, on_half(ance, bert))
    yield pair("CAsT 2021, other retrieval", judgments, runs["convdr"], ance)
    yield pair(
        "CAsT 2021, half reranked, ConvDR", judgments, runs["convdr"], on_half(runs["convdr"], runs["convdr_bert"])
    )
    yield pair("kept aside: CAsT 2021, reranked, ConvDR", judgments, runs["convdr"], runs["convdr_bert"])
    yield pair("kept aside: CAsT 2021, reranked twice", judgments, runs["convdr_bert"], bert)


def lines(path: Path) -> Iterator[list[str]]:
    with gzip.open(path, "rt") as file:
        yield from (line.split() for line in file)


def demo_runs(queries: Mapping[str, str], versions: Sequence[str]) -> dict[str, Ranking]:
    sys.path.insert(0, str(CONFIGS))
    import demo_engine

    demo_engine.VERSIONS["weight 4"] = demo_engine.Version(name=4.0)
    found = {name: demo_engine.search(queries, name, DEPTH) for name in versions}
    ordered = {
        name: {query_id: sorted(docs, key=lambda doc: -doc[1]) for query_id, docs in answers.items()}
        for name, answers in found.items()
    }
    return {
        name: {query_id: [doc_id for doc_id, _ in docs] for query_id, docs in answers.items()}
        for name, answers in ordered.items()
    }


def demo() -> Iterator[Pair]:
    rows = [line.split("\t") for line in (CONFIGS / "demo_judgments.tsv").read_text().splitlines()[1:]]
    judgments: dict[str, dict[str, float]] = defaultdict(dict)
    for query_id, doc_id, grade in rows:
        judgments[query_id][doc_id] = float(grade)
    queries = dict(line.split("\t")[:2] for line in (CONFIGS / "demo_queries.tsv").read_text().splitlines()[1:])
    runs = demo_runs(queries, ("name-weighted", "weight 4", "general-first", "body-only"))
    yield pair("demo, another weight", judgments, runs["name-weighted"], runs["weight 4"])
    yield pair("demo, another ranker", judgments, runs["body-only"], runs["general-first"])
    yield pair("kept aside: demo, general pages first", judgments, runs["name-weighted"], runs["general-first"])
    yield pair("kept aside: demo, names weighted", judgments, runs["body-only"], runs["name-weighted"])


def known_items() -> Iterator[Pair]:
    """Yield systems on known-item queries: three words of a documentation text, the only relevant one."""
    sys.path.insert(0, str(CONFIGS))
    import demo_engine

    rng = np.random.default_rng(1)
    queries = {}
    for doc_id, text in demo_engine.documents():
        words = re.findall(r"[a-z]{3,}", text.lower())[:40]
        if len(words) >= 8:
            queries[doc_id] = " ".join(rng.choice(words, 3, replace=False))
    judgments = {query_id: {query_id: 1.0} for query_id in queries}
    runs = demo_runs(queries, ("name-weighted", "weight 4", "general-first"))
    yield pair("known items, another weight", judgments, runs["name-weighted"], runs["weight 4"])
    yield pair("known items, another ranker", judgments, runs["name-weighted"], runs["general-first"])


def digits() -> Iterator[Pair]:
    """Yield systems that rank the nearest of 1,797 images of digits; images of the same digit are relevant."""
    from sklearn.datasets import load_digits  # type: ignore[import-untyped]

    images, labels = load_digits(return_X_y=True)
    centred = images / 16 - (images / 16).mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]

    def nearest(values: FloatArray) -> Ranking:
        squares = np.square(values).sum(axis=1)
        distances = squares[:, None] + squares - 2 * values @ values.T
        np.fill_diagonal(distances, np.inf)
        order = np.argsort(distances, axis=1, kind="stable")[:, :DEPTH]
        return {str(index): [str(other) for other in row] for index, row in enumerate(order.tolist())}

    judgments = {
        str(index): {str(other): 1.0 for other in np.flatnonzero(labels == label).tolist() if other != index}
        for index, label in enumerate(labels.tolist())
    }
    few, more, coarse = (nearest(centred @ axes[:count].T) for count in (20, 24, 5))
    yield pair("digits, half with more axes", judgments, few, on_half(few, more))
    yield pair("digits, fewer axes", judgments, few, coarse)
    eight, twelve, sixteen = (nearest(centred @ axes[:count].T) for count in (8, 12, 16))
    yield pair("kept aside: digits, 8 and 12 axes", judgments, eight, twelve)
    yield pair("kept aside: digits, 12 and 16 axes, half", judgments, twelve, on_half(twelve, sixteen))


def simulated(seed: int) -> Iterator[Pair]:
    """Yield systems that see the grades of 20 documents per query through noise; 45 % of the queries get a new rule."""
    rng = np.random.default_rng([seed, 11])
    rankings: list[dict[str, list[str]]] = [{}, {}, {}]
    judgments = {}
    for index in range(2_000):
        grades = np.where(np.arange(20) < rng.integers(2, 9), rng.integers(1, 4, 20), 0)
        seen = 0.5 * grades + rng.normal(size=20)
        own = 0.4 * rng.normal(size=20) + 0.05 * grades
        judgments[str(index)] = {str(doc): float(grade) for doc, grade in enumerate(grades.tolist())}
        for ranking, score in zip(rankings, (seen, seen + own, seen + own * (rng.random() < 0.45)), strict=True):
            ranking[str(index)] = [str(doc) for doc in np.argsort(-score).tolist()]
    yield pair("simulated, some queries", judgments, rankings[0], rankings[2])
    yield pair("simulated, every query", judgments, rankings[0], rankings[1])


# ---- draws


def log_of(rng: Rng, found: Pair) -> Log:
    chosen = rng.integers(len(found.differences), size=LOG)
    return Log(found.disagreements[chosen], found.differences[chosen])


class ChangeLine(NamedTuple):
    """An estimate with its interval; truth: the difference over the log."""

    estimate: float
    low: float
    high: float
    truth: float

    @property
    def holds(self) -> bool:
        return self.low <= self.truth <= self.high

    def detects(self, effect: float) -> bool:
        """Return whether the interval would lie above 0 if the difference over the whole log were `effect`."""
        return self.low - self.truth + effect > 0


def estimate(log: Log, drawn: Draw, relative: FloatArray, part: "np.ndarray | slice" = slice(None)) -> ChangeLine:
    """Estimate the difference over the log, or over a part of it, from drawn queries, with its interval."""
    taken = drawn.is_drawn[part]
    weights = np.ones(LOG) if log.weights is None else log.weights
    mean = mean_disagreement(relative[part], weights[part])
    scales, weighing = scale_and_weights(
        relative[part][taken], weights[part][taken] / drawn.probability[part][taken], mean
    )
    found = compute_moments(scales * log.differences[part][taken], weighing, long_tailed=True)
    interval = interval_from_moments(found)
    truth = float(np.average(log.differences[part], weights=weights[part]))
    return ChangeLine(found.mean, *interval, truth)


def random_sample(rng: Rng, log: Log) -> ChangeLine:
    chosen = rng.choice(LOG, DRAWN, replace=False)
    found = compute_moments(log.differences[chosen], None if log.weights is None else log.weights[chosen])
    interval = interval_from_moments(found)
    return ChangeLine(found.mean, *interval, log.truth)


def measured(rng: Rng, found: Pair, repetitions: int) -> list[Row]:
    log = log_of(rng, found)
    relative = log.relative()
    changed = float(log.is_changed.mean())
    estimates = [estimate(log, draw_queries(relative, rng.random(LOG), DRAWN), relative) for _ in range(repetitions)]
    plain = [random_sample(rng, log) for _ in range(repetitions)]
    variance = float(np.var([each.estimate for each in estimates]))
    of_random = float(np.var(log.differences)) / DRAWN
    population = Population(log.disagreements, relative, None, float(log.differences.std()))
    error, freedom = drawn_standard_error(population, DRAWN)
    planned, at_random = error**2, random_standard_error(population, DRAWN)[0] ** 2
    effect = minimal_detectable_effect(DRAWN, error * DRAWN**0.5, freedom=freedom)
    power = float(np.mean([each.detects(effect) for each in estimates]))
    by_judged = [planned * deviation_by_judged(rng, log) / population.deviation**2 for _ in range(repetitions)]
    within = float(np.mean([abs(each / variance - 1) <= WITHIN for each in by_judged]))
    setting, most = f"{found.name}, {100 * changed:.0f} % changed", HALF if changed <= PARTLY else NO_MORE
    return [
        Row("coverage", setting, repetitions, share(estimates), COVERAGE),
        Row("coverage, random", setting, repetitions, share(plain)),
        Row(
            "variance over random", setting, repetitions, variance / of_random, most if repetitions >= ENOUGH else None
        ),
        Row("variance planned over random", setting, repetitions, planned / at_random),
        Row("queries planned, part too many or few", setting, repetitions, abs(planned / variance - 1), PLAN),
        Row("plans within .15, deviation by 60 judged queries", setting, repetitions, within),
        Row("power at the planned effect", setting, repetitions, power, POWER),
    ]


def deviation_by_judged(rng: Rng, log: Log) -> float:
    """Estimate the deviation of the differences over the log from as many random queries, by their disagreements."""
    chosen = rng.choice(LOG, DRAWN, replace=False)
    unit = unit_deviation([log.differences[chosen]], log.relative()[chosen], log.disagreements[chosen])
    return float(unit**2 * np.square(log.disagreements).mean())


def share(estimates: Sequence[ChangeLine]) -> float:
    return float(np.mean([each.holds for each in estimates]))


def weighted(rng: Rng, found: Pair, repetitions: int) -> list[Row]:
    """Measure draws from queries of unequal frequency, half of them in a slice."""
    plain = log_of(rng, found)
    log = Log(plain.disagreements, plain.differences, rng.lognormal(0, 1, LOG))
    assert log.weights is not None
    relative, part = log.relative(), np.arange(0, LOG, 2)
    draws = [draw_queries(relative * log.weights, rng.random(LOG), DRAWN) for _ in range(repetitions)]
    whole, sliced = ([estimate(log, each, relative, of) for each in draws] for of in (slice(None), part))
    random = [random_sample(rng, log).estimate for _ in range(repetitions)]
    setting = f"{found.name}, log-normal frequencies"
    return [
        Row("coverage", setting, repetitions, share(whole), COVERAGE),
        Row("coverage, a slice of half", setting, repetitions, share(sliced), OF_SLICE),
        Row(
            "variance over random",
            setting,
            repetitions,
            float(np.var([each.estimate for each in whole]) / np.var(random)),
            NO_MORE if repetitions >= ENOUGH else None,
        ),
    ]


def corrected(rng: Rng, found: Pair, repetitions: int) -> list[Row]:
    """Measure corrections by proxy judgments of the whole log, correlated by .7 with the careful ones."""
    log = log_of(rng, found)
    relative, deviation = log.relative(), float(log.differences[log.is_changed].std())
    noise = rng.normal(0, deviation, LOG) + 0.3 * deviation
    proxy = np.where(log.is_changed, 0.35 * log.differences + 0.35 * noise, 0.0)
    held, widths = list[bool](), list[float]()
    for _ in range(repetitions):
        drawn = draw_queries(relative, rng.random(LOG), DRAWN)
        taken = np.flatnonzero(drawn.is_drawn)
        scales, weights = scale_and_weights(relative[taken], 1 / drawn.probability[taken], mean_disagreement(relative))
        ids = tuple(f"{index:05}" for index in taken.tolist())
        column = Column("a", "b", METRIC.name, ids, log.differences[taken], weights=weights, scales=scales)
        estimates = correct_drawn(column, proxy[taken], float(proxy.mean()), LOG, 0.05)
        if estimates is not None and estimates.low is not None and estimates.high is not None:
            held.append(estimates.low <= log.truth <= estimates.high)
            widths.append((1 + estimates.saved / estimates.careful_queries) ** -0.5)
    accepted = COVERAGE if len(held) > repetitions / 2 else None  # of the others few queries differ
    if len(held) < repetitions / 20:
        return []
    setting = f"{found.name}, proxy judgments of the log"
    return [
        Row("coverage, corrected by proxy judgments", setting, len(held), float(np.mean(held)), accepted),
        Row("mean width, corrected over drawn alone", setting, len(held), float(np.mean(widths)), (0.0, 1.0)),
    ]


def extended(rng: Rng, first: Pair, second: Pair, repetitions: int) -> list[Row]:
    """Measure draws for one pair of systems that are extended for a second pair on the same queries."""
    chosen = rng.integers(len(first.differences), size=LOG)
    before = Log(first.disagreements[chosen], first.differences[chosen])
    now = Log(second.disagreements[chosen], second.differences[chosen])
    sizes, both = before.relative(), before.is_changed | now.is_changed
    relative = relative_disagreements(now.disagreements, both)
    estimates = []
    for _ in range(repetitions):
        numbers = rng.random(LOG)
        drawn = draw_queries(sizes, numbers, FIRST)
        kept = EarlierDraw(np.where(drawn.is_drawn, drawn.probability, 0.0), sizes)
        estimates.append(estimate(now, draw_queries(relative, numbers, DRAWN, kept), relative))
    setting = f"{first.name}, then {second.name}"
    return [Row("coverage, kept and extended", setting, repetitions, share(estimates), COVERAGE)]


def rows(seed: int, repetitions: int, collections: Sequence[Callable[[], Iterator[Pair]]]) -> list[Row]:
    found: list[Row] = []
    for index, collection in enumerate(collections):
        rng = np.random.default_rng([seed, 12, index])
        pairs = list(collection())
        for each in pairs:
            found += measured(rng, each, repetitions)
        found += weighted(rng, pairs[0], repetitions)
        found += corrected(rng, pairs[1], repetitions)
        found += extended(rng, pairs[0], pairs[1], repetitions)
    return found


def all_rows(options: argparse.Namespace) -> list[Row]:
    every: list[Callable[[], Iterator[Pair]]] = [demo, lambda: simulated(options.seed)]
    if not options.quick:
        every += [digits, known_items]
        every += [cast] if "NDCG_AB_DATA" in os.environ else []
    return rows(options.seed, options.repetitions or (100 if options.quick else 2_000), every)


if __name__ == "__main__":
    run(__doc__, all_rows)
