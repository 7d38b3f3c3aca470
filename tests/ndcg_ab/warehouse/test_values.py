"""What the queries of `ndcg-ab sql` compute, in seven databases, against the Python core."""

import random
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import pytest

from ndcg_ab.errors import InputError
from ndcg_ab.warehouse.dialects import DIALECTS
from ndcg_ab.warehouse.names import Tables
from ndcg_ab.warehouse.query import query_for
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import parse
from ndcg_core.measures.score import Result
from tests import warehouses
from tests.laboratory import Judgments, Ranking, core_scores, sql_scores
from tests.strategies import CUTOFFS, numbered
from tests.warehouses import WAREHOUSES, Run

# Ids that stand in another order, or are the same, wherever texts are not compared as bytes.
DOCUMENTS = ["d1", "D1", "d2", "D2", "é", "e", "É", "€", "𝄞", "z", "Z", "a-b", "ab", "a b", "_x", "10", "9"]
DOCUMENTS += ["'q", '"w', "\\d", "d1 "]
SCORES = [0.0, -0.0, 0.5, 0.5, 1.0, 1.00000001, 16777216.0, 16777217.0, -1e300, 2e300]
GRADES = [-1.0, 0.0, 0.3, 0.7, 1.0, 1.0, 2.0, 3.0]
TABLE = "gain={0.3:0.5, 0.7:2, 1:1, 2:8, 3:3.5}"
METRICS = [
    *("ndcg@10", "ndcg", "ndcg@3", "ndcg@25", "ndcg(gain=exponential)@5", f"ndcg({TABLE})@5", "ndcg(gain=binary)@5"),
    *("ndcg(gain=binary, relevant_from=0.7)@5", "ndcg(discount=reciprocal)", "ndcg(discount=none)@4"),
    *("ndcg(discount=jarvelin_kekalainen)@5", "ndcg(discount=jarvelin_kekalainen, discount_base=3)"),
    *("ndcg(ideal=local)@5", "ndcg(ideal=local)", "ndcg(ideal=recall, recall_depth=6)@3"),
    *("ndcg(ideal=recall, ideal_cut=none)@3", "ndcg(ideal=max)@5", "ndcg(ideal=max)", f"ndcg(ideal=max, {TABLE})@5"),
    *("ndcg(ideal=max, max_grade=4, gain=exponential)@5", "ndcg(ideal=max, ideal_cut=returned)@5"),
    *("ndcg(ideal=max, discount=none)", "ndcg(ideal_cut=none)@3", "ndcg(ideal_cut=returned)@10"),
    *("ndcg(ideal_cut=returned)", "ndcg(ties=doc_id_asc)@5", "ndcg(ties=average)@5", "ndcg(ties=given)@5"),
    *("ndcg(ties=average, ideal=local)@3", "ndcg(ties=average, ideal=recall, recall_depth=7)@3"),
    *("ndcg(score_precision=float32)@5", "ndcg(unjudged=condense, ties=average)@5", "ndcg(unjudged=condense)@5"),
    *("ndcg(unjudged=condense, negative=unjudged)@5", "ndcg(unanswered=exclude)@5", "ndcg(no_relevant=zero)@5"),
    *("ndcg(no_relevant=one)@5", "ndcg(duplicates=first)@5", "ndcg(duplicates=first, ties=given)@5"),
    "ndcg(unanswered=exclude, no_relevant=one, unjudged=condense, ties=doc_id_asc, score_precision=float32)",
    *(
        "dcg@5",
        "dcg(gain=exponential)@30",
        "dcg",
        "cg@5",
        "cg",
        "precision@5",
        "precision",
        "precision(ties=average)@3",
    ),
    *("recall@5", "recall", "recall(relevant_from=0.7)@5", "rr@5", "rr", "rr(relevant_from=2)", "accuracy@1"),
    *("accuracy(relevant_from=2)", "judged@5", "judged(no_relevant=one)", "judged(ties=average)@2"),
    "judged(unjudged=condense)@3",
]
FEW = ["ndcg(ties=average, ideal=recall, unjudged=condense, no_relevant=one)@3"]  # where one takes seconds
SLOW = [name for name in WAREHOUSES if name not in ("duckdb", "sqlite")]

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
REFUSED = {
    "ndcg@10": {"contradicting", "no grade", "no number", "infinite", "twice"},
    "precision(duplicates=first)@1": {"contradicting", "no grade", "no number", "infinite"},
    "ndcg(negative=error)@10": {"contradicting", "no grade", "no number", "infinite", "twice", "below"},
    "ndcg(gain={1:1, 2:2})@10": {"contradicting", "no grade", "no number", "infinite", "twice", "unlisted"},
    "ndcg(ideal=max, max_grade=4)@10": {"contradicting", "no grade", "no number", "infinite", "twice", "unlisted"},
    "ndcg(ideal=max, gain={1:1, 2:2})@10": set(WRONG),  # what every place holds cannot be told
}
ODD = {"system_id": "Ranker", "query_id": '"Query ""Id"""', "doc_id": "URL", "score": "order", "grade": '"the grade"'}


class Given(NamedTuple):
    judgments: Judgments
    rankings: Mapping[str, Ranking]


@cache
def given() -> Given:
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
    judgments = [(query, *row) for query, grades in given().judgments.items() for row in grades.items()]
    rankings = [
        (system, query, row.doc_id, row.score, row.rank_given)
        for system, ranking in given().rankings.items()
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
        return self.run(query_for(metric, self.name, tables, **more))

    def values(self, metric: Metric, tables: Tables = Tables()) -> dict[tuple[str, str], float | None]:  # noqa: B008
        rows = self.rows(metric, tables)
        found = {(system, query): None if value is None else float(value) for system, query, value in rows}
        assert len(found) == len(rows), "one row per system and query"
        return found


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in WAREHOUSES]
)
def warehouse(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with WAREHOUSES[request.param](all_tables(), tmp_path_factory.mktemp(request.param)) as run:
        yield Warehouse(request.param, run)


@cache
def expected(name: str) -> dict[tuple[str, str], float]:
    """The core's values of a metric."""
    found = core_scores(given().judgments, given().rankings, [name])
    return {(system, query): value for (system, query, _), value in found.items()}


def assert_equal(found: Mapping[tuple[str, str], float | None], name: str) -> None:
    wanted = expected(name)
    assert found.keys() == wanted.keys(), name
    for place, value in wanted.items():
        assert found[place] == pytest.approx(value, rel=1e-12, abs=1e-12), f"{name}: {place}"


def spare_spark(warehouse: Warehouse) -> None:
    if warehouse.name == "spark":
        pytest.skip("a query takes seconds there")


def test_every_value_is_ours(warehouse: Warehouse) -> None:
    for name in FEW if warehouse.name == "spark" else METRICS:
        metric = parse(name)
        if metric.score_precision == "double" or DIALECTS[warehouse.name].real32:
            assert_equal(warehouse.values(metric), name)


def test_the_sql_of_an_evaluation_says_the_same() -> None:
    found = sql_scores(given().judgments, given().rankings, METRICS)
    of_core = {(*place, parse(name).name): value for name in METRICS for place, value in expected(name).items()}
    assert found == pytest.approx(of_core, rel=1e-12, abs=1e-12)


def test_any_metric(warehouse: Warehouse) -> None:
    """Drawn ones, in combinations that nobody thought of."""
    spare_spark(warehouse)
    drawn = {metric.name: metric for number in range(40) for metric in [numbered(number, CUTOFFS)]}
    for metric in drawn.values():
        refuses = metric.negative == "error" and "negative" in metric.choices()
        if not refuses and (metric.score_precision == "double" or DIALECTS[warehouse.name].real32):
            assert_equal(warehouse.values(metric), metric.name)


def test_what_is_refused_has_no_value(warehouse: Warehouse) -> None:
    tables = Tables("wrong_judgments", "wrong_rankings")
    spare_spark(warehouse)
    if warehouse.name == "clickhouse":
        pytest.skip("it refuses a missing grade itself")
    for name, wrong in REFUSED.items():
        found = warehouse.values(parse(name), tables)
        assert {query for (_, query), value in found.items() if value is None} == wrong, name
        assert found["new", "right"] or "right" in wrong, name


def test_the_mean(warehouse: Warehouse) -> None:
    spare_spark(warehouse)
    metric = parse("ndcg(unanswered=exclude)@5")
    found = {system: (value, count) for system, value, count in warehouse.rows(metric, mean=True)}
    wanted: dict[str, list[float]] = {}
    for (system, _), value in expected("ndcg(unanswered=exclude)@5").items():
        wanted.setdefault(system, []).append(value)
    assert {system: count for system, (_, count) in found.items()} == {name: len(all_) for name, all_ in wanted.items()}
    for system, values in wanted.items():
        assert float(found[system][0]) == pytest.approx(fmean(values), rel=1e-12)


def test_a_mean_of_refused_values_is_none(warehouse: Warehouse) -> None:
    spare_spark(warehouse)
    if warehouse.name == "clickhouse":
        pytest.skip("it refuses a missing grade itself")
    rows = warehouse.rows(parse("ndcg@10"), Tables("wrong_judgments", "wrong_rankings"), mean=True)
    assert rows == [("new", None, len(WRONG))]


def test_names_of_every_kind(warehouse: Warehouse) -> None:
    """Capitals, words of SQL, blanks and quotation marks; and systems with a table of their own."""
    spare_spark(warehouse)
    judged = {field: ODD[field] for field in ("query_id", "doc_id", "grade")}
    columns = {field: ODD[field] for field in ("system_id", "query_id", "doc_id", "score")}
    tables = Tables("odd_judgments", "odd_rankings", judgments_columns=judged, columns=columns)
    assert_equal(warehouse.values(parse("ndcg@3"), tables), "ndcg@3")
    each_its_own = Tables("wrong_judgments", systems={"a": "wrong_rankings", "b c": "wrong_rankings"})
    if warehouse.name != "clickhouse":
        found = warehouse.values(parse("ndcg@3"), each_its_own)
        assert found["a", "right"] == found["b c", "right"] == 1.0
        assert {system for system, _ in found} == {"a", "b c"}


def test_a_planted_fault_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `collate` ids would be compared as the columns of the tables say."""
    from ndcg_ab.warehouse import dialects

    with WAREHOUSES["sqlite"](all_tables(), Path()) as run:
        assert_equal(Warehouse("sqlite", run).values(parse("ndcg@10")), "ndcg@10")
        monkeypatch.setitem(dialects.DIALECTS, "sqlite", dialects.Dialect("SQLite", "text", "real"))
        with pytest.raises(AssertionError):
            assert_equal(Warehouse("sqlite", run).values(parse("ndcg@10")), "ndcg@10")


def test_what_cannot_be_said() -> None:
    for name in ("sqlite", "snowflake", "bigquery"):
        with pytest.raises(InputError, match="score_precision = float32 cannot be said in"):
            query_for(parse("ndcg(score_precision=float32)@10"), name)
