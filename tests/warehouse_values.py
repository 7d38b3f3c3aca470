"""What the queries of `ndcg-ab sql` are asked about in tests: tables, what is wrong in them, the core's values."""

import random
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import pytest

from ndcg_ab.warehouse.dialects import Tables
from ndcg_ab.warehouse.query import write_query
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.score import Result
from tests import warehouses
from tests.laboratory import Judgments, Ranking, core_scores
from tests.warehouses import Run

# Ids that stand in another order, or are the same, wherever texts are not compared as bytes.
DOCUMENTS = ["d1", "D1", "d2", "D2", "é", "e", "É", "€", "𝄞", "z", "Z", "a-b", "ab", "a b", "_x", "10", "9"]
DOCUMENTS += ["'q", '"w', "\\d", "d1 "]
SCORES = [0.0, -0.0, 0.5, 0.5, 1.0, 1.00000001, 16777216.0, 16777217.0, -1e300, 2e300]
GRADES = [-1.0, 0.0, 0.3, 0.7, 1.0, 1.0, 2.0, 3.0]
NOT_A_NUMBER = float("nan")
WRONG = {  # what is refused, in one query each; "right" is sound
    "right": ([("d1", 1.0), ("d2", 0.0), ("d2", 0.0)], [("d1", 1.0), ("d3", 0.0)]),
    "contradicting": ([("d1", 1.0), ("d1", 2.0)], [("d1", 1.0)]),
    "no grade": ([("d1", 1.0), ("d2", None)], [("d1", 1.0)]),
    "no number": ([("d1", 1.0), ("d2", NOT_A_NUMBER)], [("d1", 1.0)]),
    "infinite": ([("d1", 1.0)], [("d1", float("inf")), ("d2", 2.0)]),
    "twice": ([("d1", 1.0)], [("d1", 1.0), ("d1", 2.0)]),
    "below": ([("d1", 1.0), ("d2", -1.0)], [("d1", 1.0)]),
    "unlisted": ([("d1", 1.0), ("d2", 7.0)], [("d1", 1.0)]),
}
ODD = {"system_id": "Ranker", "query_id": '"Query ""Id"""', "doc_id": "URL", "score": "order", "grade": '"the grade"'}


class Given(NamedTuple):
    judgments: Judgments
    rankings: Mapping[str, Ranking]


@cache
def drawn_inputs() -> Given:
    """Ties, -0.0, ids of every kind, queries without answers, judgments or anything relevant; drawn once."""
    draw = random.Random(7)
    judgments = {
        query: {document: draw.choice(GRADES) for document in draw.sample(DOCUMENTS, 9)}
        for query in ("q1", "Q1", "q é", "q2", "q3", "q4")
    }
    judgments |= {"none": {"d1": 0.0, "d2": -1.0}, "unanswered": {"d1": 1.0, "d2": 2.0}}
    rankings: dict[str, dict[str, list[Result]]] = {}
    for system in ("old", "new", "New"):
        rankings[system] = {}
        for query in [*judgments, "unjudged"]:
            found = draw.sample(DOCUMENTS, draw.choice([3, 9, 14]))
            ranks = draw.sample(range(1, 40), len(found))
            pairs = zip(found, ranks, strict=True)
            rankings[system][query] = [Result(document, draw.choice(SCORES), rank) for document, rank in pairs]
    del rankings["new"]["unanswered"], rankings["New"]["unanswered"]
    rankings["new"]["q4"] = [Result("nobody", 1.0, 1), Result("knows", 1.0, 2)]
    rankings["lost"] = {"unjudged": [Result("d1", 1.0, 1)]}
    return Given(judgments, rankings)


def all_tables() -> warehouses.Tables:
    """What was given; the same of odd names; and what is refused."""
    judgments = [(query, *row) for query, grades in drawn_inputs().judgments.items() for row in grades.items()]
    rankings = [
        (system, query, row.doc_id, row.score, row.rank_given)
        for system, ranking in drawn_inputs().rankings.items()
        for query, rows in ranking.items()
        for row in rows
    ]
    wrong_judgments = [(query, *row) for query, (rows, _) in WRONG.items() for row in rows]
    wrong_rankings = [("new", query, *row, 1) for query, (_, rows) in WRONG.items() for row in rows]
    found = warehouses.tables(judgments, rankings)
    odd = {f"odd_{name}": warehouses.renamed(table, ODD) for name, table in found.items()}
    wrong = warehouses.tables(wrong_judgments, wrong_rankings)
    return {**found, **odd, **{f"wrong_{name}": table for name, table in wrong.items()}}


class Warehouse(NamedTuple):
    name: str
    run: Run

    def rows(self, metric: Metric, tables: Tables = Tables(), **more: Any) -> list[tuple[Any, ...]]:  # noqa: B008
        return self.run(write_query(metric, self.name, tables, **more))

    def values(self, metric: Metric, tables: Tables = Tables()) -> dict[tuple[str, str], float | None]:  # noqa: B008
        rows = self.rows(metric, tables)
        found = {(system, query): None if value is None else float(value) for system, query, value in rows}
        assert len(found) == len(rows), "one row per system and query"
        return found


@cache
def expected(name: str) -> dict[tuple[str, str], float]:
    """The core's values of a metric."""
    found = core_scores(drawn_inputs().judgments, drawn_inputs().rankings, [name])
    return {(system, query): value for (system, query, _), value in found.items()}


def assert_equal(found: Mapping[tuple[str, str], float | None], name: str) -> None:
    wanted = expected(name)
    assert found.keys() == wanted.keys(), name
    for place, value in wanted.items():
        assert found[place] == pytest.approx(value, rel=1e-12, abs=1e-12), f"{name}: {place}"
