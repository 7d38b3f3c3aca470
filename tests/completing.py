"""Bounds of unjudged documents against every completion of small evaluations, scored one by one.

    python -m tests.completing --count 5000 [--seed N]

An evaluation has a few queries, two or three systems, and several metrics, drawn with every rule around them, tables of
gains, ties and weights. Every grade that every unjudged document may get is scored by `score_query`: of a comparison
and of a system exact bounds must be the extremes, outer ones must hold them, and the verdicts at both ends must be
those of the extremes. Now and then so little may be tried that bounds are outer. Ends with 1 where one is wrong.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from unittest import mock

import numpy as np

from ndcg_ab.comparing.families import make_families, paired_columns, whole_families
from ndcg_ab.comparing.sampling import Sampling
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.labels.bounds import add_bounds
from ndcg_ab.pipeline.conclude import read_summaries
from ndcg_ab.results.outcome import SystemSummary
from ndcg_ab.scoring import loading
from ndcg_ab.scoring.scoring import score_metrics
from ndcg_ab.sources import Queries
from ndcg_core.measures.metric import Metric, MetricError
from ndcg_core.measures.score import Result, arrange_places, score_query
from ndcg_core.measures.unjudged import walk_bounds
from ndcg_core.measures.unjudged.bounds import why_unbounded
from ndcg_core.statistics.verdicts.comparison import Comparison
from tests.laboratory import Judgments, Ranking, evaluation_of, pulled_judgments, pulled_ranking
from tests.strategies import any_metric

DOCUMENTS = [f"d{number}" for number in range(12)]
GRADES = (
    (0.0, 1.0),
    (0.0, 1.0),
    (1.0,),
    (0.0,),
    (0.0, 1.0, 2.0),
    (1.0, 3.0),
    (-1.0, 2.0),
    (-1.0, 0.0, 1.0),
    (0.3, 4.0),
)
WALKED = ("accuracy", "rr", "ap", "err", "rprec", "bpref", "infap")
MOST_COMPLETIONS = 3_000  # of a query; evaluations with more are drawn again
CLOSE = 1e-9
Ends = tuple[float, float]


@dataclass(frozen=True)
class Case:
    """An evaluation; weights: query_id -> weight, or None. tried, cells: how much may be tried."""

    judgments: Judgments
    rankings: Mapping[str, Ranking]
    metrics: tuple[Metric, ...]
    weights: Mapping[str, float] | None
    tried: float
    cells: float

    @property
    def levels(self) -> list[float]:
        return sorted({0.0, *(grade for grades in self.judgments.values() for grade in grades.values())})

    @property
    def highest(self) -> float:
        return max(grade for grades in self.judgments.values() for grade in grades.values())

    def results(self, system: str, query: str) -> list[Result]:
        return list(self.rankings[system].get(query, ()))

    def weight(self, query: str) -> float:
        return 1.0 if self.weights is None else self.weights[query]


# ---- what is drawn


def drawn(made: random.Random) -> Case:
    while True:
        case = anything(made)
        systems = tuple(case.rankings)
        unjudged = [
            len({each.doc_id for system in systems for each in case.results(system, query)} - grades.keys())
            for query, grades in case.judgments.items()
        ]
        if len(case.levels) ** max(unjudged) <= MOST_COMPLETIONS and case.metrics:
            return case


def anything(made: random.Random) -> Case:
    is_wide = made.random() < 0.5  # many unjudged documents of one kind of grade
    grades = (0.0, 1.0) if is_wide else made.choice(GRADES)
    queries = [f"q{number}" for number in range(made.randint(1, 2 if is_wide else 5))]
    known = {query: made.sample(DOCUMENTS[:7], made.randint(1, 2 if is_wide else 6)) for query in queries}
    pool = DOCUMENTS if is_wide else DOCUMENTS[:7]
    judgments = {query: {doc: made.choice(grades) for doc in docs} for query, docs in known.items()}
    systems = ["old", "new", "other"][: made.choice((2, 2, 3))]
    rankings = {system: {query: ranking(made, pool) for query in queries if made.random() < 0.9} for system in systems}
    held = {grade for each in judgments.values() for grade in each.values()}
    metrics = {metric.name: metric for metric in (some_metric(made, held) for _ in range(24)) if metric}
    weights = {query: made.choice((0.5, 1.0, 3.0)) for query in queries} if made.random() < 0.4 else None
    tried, cells = made.choice(((600_000, 1e8), (600_000, 1e8), (3, 1e8), (600_000, 60), (0, 0)))
    return Case(judgments, rankings, tuple(metrics.values()), weights, tried, cells)


def ranking(made: random.Random, pool: Sequence[str]) -> list[Result]:
    docs = made.sample(pool, made.randint(0, 6))
    return [Result(doc, float(made.randint(0, 4)), place) for place, doc in enumerate(docs, start=1)]


def some_metric(made: random.Random, held: set[float]) -> Metric | None:
    """One that has bounds, and takes the grades; None where the draw has none."""
    try:
        metric = any_metric(made.choice, (None, 1, 2, 3, 5, 6))
        if made.random() < 0.5:
            metric = replace(metric, measure=made.choice(WALKED), **{} if metric.cutoff else {"cutoff": None})
    except MetricError:
        measure = made.choice(WALKED)
        cutoff = None if measure in ("rprec", "bpref", "infap") else made.choice((None, 1, 2, 3, 5))
        metric = Metric(measure=measure, cutoff=cutoff)
    try:
        metric = replace(metric, no_relevant=made.choice(("exclude", "zero", "one")))
        if made.random() < 0.2:
            worth = {grade: made.choice((0.0, 0.0, 1.0, 2.0, 5.0)) for grade in held if grade > 0}
            metric = replace(metric, gain=tuple(worth.items()), relevant_from=None, max_grade=None)
        if made.random() < (0.2 if isinstance(metric.gain, str) else 0.5):
            metric = replace(metric, ideal="max", ideal_cut="cutoff", recall_depth=None, max_grade=None)
        for grade in held:
            score_query(metric, [Result("d", 1.0, 1)], {"d": grade}, max(held))
    except (MetricError, ValueError):
        return None
    return None if why_unbounded(metric) else metric


# ---- every completion


def filled(case: Case, metric: Metric, query: str, systems: tuple[str, ...]) -> Iterator[dict[str, float]]:
    """The judgments of a query with every grade of what these systems show unjudged where the metric looks."""
    known = case.judgments[query]
    shown = set()
    for system in systems:
        for rank, place in enumerate(arrange_places(metric, case.results(system, query), known), start=1):
            at = place.first_rank if metric.ties == "average" else rank
            if metric.cutoff is None or at <= metric.cutoff:
                shown.add(place.doc_id)
    unjudged = sorted(shown - known.keys())
    for grades in product(case.levels, repeat=len(unjudged)):
        yield {**known, **dict(zip(unjudged, grades, strict=True))}


def value(case: Case, metric: Metric, system: str, query: str, judgments: Mapping[str, float]) -> float | None:
    return score_query(metric, case.results(system, query), judgments, case.highest)


def extremes(case: Case, metric: Metric, query: str, systems: tuple[str, ...]) -> Ends | None:
    """Of one system's value, or of the difference of the first from the second; None where the query is left out."""
    if any(value(case, metric, system, query, case.judgments[query]) is None for system in systems):
        return None
    found = []
    for judgments in filled(case, metric, query, systems):
        values = [value(case, metric, system, query, judgments) or 0.0 for system in systems]
        found.append(values[0] - (values[1] if len(values) > 1 else 0.0))
    return min(found), max(found)


def of_queries(case: Case, metric: Metric, systems: tuple[str, ...]) -> dict[str, Ends]:
    found = {query: extremes(case, metric, query, systems) for query in case.judgments}
    return {query: ends for query, ends in found.items() if ends is not None}


def means(case: Case, ends: Mapping[str, Ends]) -> Ends | None:
    total = sum(case.weight(query) for query in ends)
    if not ends:
        return None
    low, high = (sum(case.weight(query) * each[end] for query, each in ends.items()) / total for end in (0, 1))
    return low, high


# ---- what the application says


def wrong(case: Case, counted: Counter[str]) -> Iterator[str]:
    """What is wrong of a case, in words; counted: what was compared."""
    with (
        DuckDBEngine(1) as engine,
        mock.patch.object(walk_bounds, "MOST_TRIED", case.tried),
        mock.patch.object(walk_bounds, "MOST_CELLS", case.cells),
    ):
        statistics = {"bounds": True}
        evaluation = evaluation_of(list(case.rankings), [metric.name for metric in case.metrics], statistics=statistics)
        tables = {name: pulled_ranking(name, ranking) for name, ranking in case.rankings.items()}
        loading.load_tables(engine, pulled_judgments(case.judgments), Queries(), tables, evaluation)
        score_metrics(engine, evaluation.metric_list)
        sampling = Sampling(case.weights)
        before = make_families(engine, evaluation, sampling)
        systems, rows, _ = add_bounds(engine, evaluation, sampling, read_summaries(engine, case.weights), before)
        columns = paired_columns(engine, evaluation, sampling)
        every = {metric.name: metric for metric in case.metrics}
        ends = {
            (row.metric, row.candidate): of_queries(case, every[row.metric], (row.candidate, row.baseline))
            for row in rows
        }
        at_ends = []
        for end in (0, 1):
            moved = [
                replace(
                    column,
                    differences=np.array([ends[column.metric, column.candidate][q][end] for q in column.query_ids]),
                )
                for column in columns
            ]
            at_ends.append({(row.metric, row.candidate): row for row in whole_families(moved, evaluation)})
    all_exact = all(row.bound_exact is not False for row in rows)
    for row in rows:
        key = (row.metric, row.candidate)
        yield from wrong_comparison(case, row, means(case, ends[key]), counted)
        if all_exact and row.bound_low is not None:
            counted["verdicts"] += 2
            told = (row.bound_low_conclusion, row.bound_high_conclusion)
            wanted = tuple(of[key].conclusion for of in at_ends)
            if told != wanted or row.label_settled != (set(wanted) == {row.conclusion}):
                what = f"{told}, settled {row.label_settled}; not {wanted}, {row.conclusion}"
                yield f"{row.metric} {row.candidate}: {what}"
    for system in systems:
        yield from wrong_system(case, every[system.metric], system, counted)


def wrong_comparison(case: Case, row: Comparison, ends: Ends | None, counted: Counter[str]) -> Iterator[str]:
    if row.bound_low is None or row.bound_high is None or row.difference is None:
        if ends is not None:
            yield f"{row.metric} {row.candidate}: has no bounds"
        return
    assert ends is not None
    counted["comparisons"] += 1
    counted["exact" if row.bound_exact else "outer"] += 1
    holds = row.bound_low - CLOSE <= ends[0] and ends[1] <= row.bound_high + CLOSE
    is_reached = abs(row.bound_low - ends[0]) <= CLOSE and abs(row.bound_high - ends[1]) <= CLOSE
    if not (holds and row.bound_low - CLOSE <= row.difference <= row.bound_high + CLOSE):
        yield f"{row.metric} {row.candidate}: {row.bound_low} … {row.bound_high} does not hold {ends}, {row.difference}"
    elif row.bound_exact and not is_reached:
        yield f"{row.metric} {row.candidate}: {row.bound_low} … {row.bound_high} is not exactly {ends}"
    if (
        not row.bound_exact
        and case.tried > 1000
        and case.cells > 1000
        and row.metric.split("(")[0] not in ("bpref", "infap")
    ):
        yield f"{row.metric} {row.candidate}: could have been exact"


def wrong_system(case: Case, metric: Metric, row: SystemSummary, counted: Counter[str]) -> Iterator[str]:
    ends = means(case, of_queries(case, metric, (row.system_id,)))
    if row.bound_low is None or row.bound_high is None:
        if ends is not None and case.tried > 1000 and case.cells > 1000 and metric.measure not in ("bpref", "infap"):
            yield f"{row.metric} {row.system_id}: has no bounds"
        return
    counted["systems"] += 1
    if ends is None or max(abs(row.bound_low - ends[0]), abs(row.bound_high - ends[1])) > CLOSE:
        yield f"{row.metric} of {row.system_id}: {row.bound_low} … {row.bound_high} is not {ends}"


def run(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """At least so many comparisons; what was compared, and what was wrong."""
    counted: Counter[str] = Counter()
    found: list[str] = []
    number = 0
    while counted["comparisons"] < count:
        made = random.Random(f"{seed} {number}")
        case = drawn(made)
        told = list(wrong(case, counted))
        found += [f"case {seed} {number}: {text}" for text in told]
        number += 1
    return counted, found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=5000, help="comparisons")
    parser.add_argument("--seed", type=int, default=21)
    options = parser.parse_args()
    start = time.perf_counter()
    counted, found = run(options.count, options.seed)
    print(*found[:40], sep="\n")
    print(f"seed {options.seed}: {dict(counted)}, {len(found)} wrong, {time.perf_counter() - start:.0f} s")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
