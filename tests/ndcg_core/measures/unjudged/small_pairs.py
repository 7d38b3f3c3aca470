"""Small random pairs of rankings with judgments, as `SystemPair` and as dictionaries, for tests by enumeration."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

import numpy as np

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import Result, order_results, score_query
from ndcg_core.measures.unjudged.contributions import JudgedCounts, RankedResults
from ndcg_core.measures.unjudged.differences import SystemPair

GRADES = (0.0, 1.0, 2.0, 3.0)
DOCS = tuple(f"d{number}" for number in range(9))
METRICS = (
    "ndcg@3",
    "ndcg(gain=exponential)@4",
    "ndcg(ideal=max, max_grade=3)@3",
    "ndcg(ideal=local)@3",
    "ndcg(ideal_cut=none)@3",
    "ndcg(ideal_cut=returned)@3",
    "ndcg(ties=average)@3",
    "dcg@3",
    "cg@2",
    "precision@3",
    "precision",
    "recall@3",
    "accuracy@2",
    "rr@3",
    "rr",
    "ap",
    "ap@3",
    "rbp@4",
    "err(max_grade=3)@4",
    "rprec",
    "bpref",
    "infap",
)


class Pair(NamedTuple):
    """One query. judgments: doc -> grade. rankings: of the candidate and of the baseline."""

    judgments: dict[str, float]
    rankings: tuple[list[Result], list[Result]]

    def difference(self, metric: Metric, more: Mapping[str, float] | None = None) -> float:
        """Return the difference by the core, with the grades of more documents."""
        judgments = self.judgments | dict(more or {})
        values = [score_query(metric, ranking, judgments, GRADES[-1]) for ranking in self.rankings]
        assert values[0] is not None and values[1] is not None
        return values[0] - values[1]

    def shown(self, metric: Metric) -> SystemPair:
        """Return the pair as arrays."""
        return SystemPair(
            metric,
            judged_of([self.judgments]),
            *(ranked_results(metric, [each], [self.judgments]) for each in self.rankings),
        )

    def completions(self, metric: Metric) -> Iterator[tuple[tuple[float, ...], float]]:
        """Yield the grades of the unjudged documents within the metric's depth, and the difference with them."""
        pair = self.shown(metric)
        numbers = {*pair.candidate.doc.tolist(), *pair.baseline.doc.tolist()}
        unjudged = [doc for number, doc in enumerate(DOCS) if number in numbers and doc not in self.judgments]
        for grades in itertools.product(GRADES, repeat=len(unjudged)):
            yield grades, self.difference(metric, dict(zip(unjudged, grades, strict=True)))


def draw_pair(random: Random) -> Pair:
    """Return a random pair: at least one relevant judgment, ties in scores, two to five results each."""
    judgments = {doc: random.choice(GRADES) for doc in random.sample(DOCS, random.choice([2, 4, 5]))}
    judgments[random.choice([*judgments])] = random.choice(GRADES[1:])
    rankings = [
        [Result(doc, float(random.randint(1, 5))) for doc in random.sample(DOCS, random.choice([2, 3, 5]))]
        for _ in range(2)
    ]
    return Pair(judgments, (rankings[0], rankings[1]))


def judged_of(judgments: Sequence[Mapping[str, float]]) -> JudgedCounts:
    """Return the counts of the grades of each query."""
    rows = [
        (query, grade, sum(each == grade for each in by_doc.values()))
        for query, by_doc in enumerate(judgments)
        for grade in sorted({*by_doc.values()})
    ]
    query, grade, documents = (np.array(column) for column in zip(*rows, strict=True))
    return JudgedCounts(query, grade.astype(float), documents, len(judgments), GRADES)


def ranked_results(
    metric: Metric, rankings: Sequence[Sequence[Result]], judgments: Sequence[Mapping[str, float]]
) -> RankedResults:
    """Return the results within the metric's depth."""
    rows = []
    for query, (ranking, by_doc) in enumerate(zip(rankings, judgments, strict=True)):
        order = order_results(ranking, metric)
        for rank, document in enumerate(order, start=1):
            size = sum(other.first_rank == document.first_rank for other in order)
            group = (document.first_rank, size) if metric.ties == "average" else (rank, 1)
            rows.append((query, DOCS.index(document.doc_id), rank, *group, by_doc.get(document.doc_id, np.nan)))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    whole = [column.astype(np.int64) for column in columns[:5]]
    return RankedResults(*whole, columns[5].astype(float)).within(metric.depth)
