"""Dirty data in the queries of `ndcg-ab sql`: null exactly where `compare` refuses, and no error of the database.

Every case is a pair of tables.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import ndcg_ab
from ndcg_ab.errors import InputError
from ndcg_ab.sources.forms.plausible import MOST_GRADE
from ndcg_ab.warehouse.dialects import DIALECTS, Tables
from ndcg_ab.warehouse.query import write_query
from ndcg_ab.warehouse.step import PREFIX
from ndcg_core.measures.notation import parse
from ndcg_core.measures.score import Result, score_query
from tests import warehouses
from tests.repeated import mostly_soaked
from tests.warehouse_values import Warehouse
from tests.warehouses import JUDGMENTS, RANKINGS, WAREHOUSES

INFINITE, NAN = float("inf"), float("nan")
EXPONENTIAL, SINGLE = "ndcg(gain=exponential)@10", "ndcg(score_precision=float32)@10"
TABLE, STRICT, ENDLESS = "ndcg(gain={1:1, 2:3})@10", "ndcg(negative=error)@10", "ndcg(ideal=max, gain=exponential)@3"
METRICS = ("ndcg@10", EXPONENTIAL, SINGLE, "dcg@5", "dcg(gain=exponential)", "err@10", "err", TABLE, STRICT, ENDLESS)
METRICS += ("ap", "rbp", "rr@10", "bpref", "infap", "ndcg(duplicates=first, unanswered=exclude)", "judged@3")
OFTEN = ("ndcg@10", EXPONENTIAL, SINGLE, "err@10")  # in the fast tests
ALL = frozenset(METRICS)
POWERS = frozenset({EXPONENTIAL, "dcg(gain=exponential)", "err@10", "err", ENDLESS})


class Case(NamedTuple):
    """judgments: query_id, doc_id, grade. results: query_id, doc_id, score. refused: the metrics with which it is."""

    judgments: Sequence[tuple[str | None, str | None, float | None]]
    results: Sequence[tuple[str | None, str | None, float | None]]
    refused: frozenset[str] = frozenset()


SOUND = [("q1", "d1", 1.0), ("q1", "d2", 2.0)]
FOUND = [("q1", "d1", 1.0), ("q1", "d3", 0.5)]
CASES = {
    "sound": Case(SOUND, FOUND),
    "a score of nearly 0": Case(SOUND, [("q1", "d1", 1e-50), ("q1", "d2", -1e-50), ("q1", "d3", 0.0)]),
    "scores that 32 bits hardly hold": Case(SOUND, [("q1", "d1", 1e-45), ("q1", "d2", 1e-40), ("q1", "d3", 7e-46)]),
    "scores that 32 bits do not hold": Case(SOUND, [("q1", "d1", 1e39), ("q1", "d2", 2e39), ("q1", "d3", -1e300)]),
    "grade 1024": Case([*SOUND, ("q1", "d3", 1024.0)], FOUND, POWERS | {TABLE}),
    "grade 1000": Case([*SOUND, ("q1", "d3", 1000.0)], FOUND, POWERS | {TABLE}),
    "grade 996": Case([*SOUND, ("q1", "d3", 996.0)], FOUND, frozenset({"dcg(gain=exponential)", TABLE})),
    "grade 298": Case([*SOUND, ("q1", "d3", 298.0)], FOUND, frozenset({TABLE})),
    "grade 1e300": Case([*SOUND, ("q1", "d3", 1e300)], FOUND, POWERS | {TABLE, "dcg@5"}),
    "grade 1.1e300": Case(
        [*SOUND, ("q1", "d3", 1.1e300)], FOUND, ALL - {"ap", "rbp", "rr@10", "bpref", "infap", "judged@3"}
    ),
    "grade 1e90": Case([*SOUND, ("q1", "d3", 1e90)], FOUND, POWERS | {TABLE}),
    "grade 1e-300": Case([*SOUND, ("q1", "d3", 1e-300)], FOUND, frozenset({TABLE})),
    "grades far apart": Case([("q1", "d1", 1e-30), ("q1", "d2", 9e299)], FOUND, POWERS | {TABLE, "dcg@5"}),
    "grade -1e300": Case([*SOUND, ("q1", "d3", -1e300)], FOUND, frozenset({STRICT})),
    "only grade -1e300": Case([("q1", "d3", -1e300), ("q2", "d1", -2.0)], FOUND, frozenset({STRICT})),
    "grade -1": Case([*SOUND, ("q1", "d3", -1.0)], FOUND, frozenset({STRICT})),
    "no grade": Case([*SOUND, ("q1", "d3", None), ("q3", "d1", None)], FOUND),
    "a grade that is no number": Case([*SOUND, ("q1", "d3", NAN)], FOUND, ALL),
    "an infinite grade": Case([*SOUND, ("q1", "d3", INFINITE)], FOUND, ALL),
    "an infinite grade below 0": Case([*SOUND, ("q1", "d3", -INFINITE)], FOUND, ALL),
    "two grades": Case([*SOUND, ("q1", "d1", 2.0)], FOUND, ALL),
    "one grade twice": Case([*SOUND, SOUND[0]], FOUND),
    "a judgment of no document": Case([*SOUND, ("q1", None, 3.0)], FOUND, ALL),
    "a judgment of an empty document": Case([*SOUND, ("q1", "", 3.0)], FOUND, ALL),
    "a judgment of no query": Case([*SOUND, (None, "d1", 3.0)], FOUND, ALL),
    "a judgment of an empty query": Case([*SOUND, ("", "d1", 3.0)], FOUND, ALL),
    "a result of no document": Case(SOUND, [*FOUND, ("q1", None, 3.0)], ALL),
    "a result of an empty document": Case(SOUND, [*FOUND, ("q1", "", 3.0)], ALL),
    "a result of no query": Case(SOUND, [*FOUND, (None, "d2", 3.0)], ALL),
    "a result of an empty query": Case(SOUND, [*FOUND, ("", "d2", 3.0)], ALL),
    "no score": Case(SOUND, [*FOUND, ("q1", "d2", None)], ALL),
    "a score that is no number": Case(SOUND, [*FOUND, ("q1", "d2", NAN)], ALL),
    "an infinite score": Case(SOUND, [*FOUND, ("q1", "d2", -INFINITE)], ALL),
    "a document twice": Case(SOUND, [*FOUND, ("q1", "d1", 3.0)], ALL - {"ndcg(duplicates=first, unanswered=exclude)"}),
}


def tables_of(cases: dict[str, Case]) -> warehouses.Tables:
    """`judgments0`, `rankings0`, … of the cases in their order."""
    found = {}
    for at, case in enumerate(cases.values()):
        rankings = [("new", *row, None) for row in case.results]
        found[f"judgments{at}"] = table_of(case.judgments, JUDGMENTS)
        found[f"rankings{at}"] = table_of(rankings, RANKINGS)
    return found


def table_of(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=schema)


def is_refused(case: Case, metrics: Sequence[str]) -> bool:
    """Whether `compare` refuses the data."""
    judgments = table_of(case.judgments, JUDGMENTS)
    ranking = table_of([("new", *row, None) for row in case.results], RANKINGS).drop_columns(["system_id", "rank"])
    try:
        ndcg_ab.compare(judgments, {"new": ranking, "again": ranking}, metrics=list(metrics))
    except InputError:
        return True
    return False


def values_of(case: Case, name: str) -> dict[str, float]:
    """The core's values, where nothing is refused."""
    metric, found = parse(name), {}
    judgments = [(query, doc, grade) for query, doc, grade in case.judgments if grade is not None]
    highest = max(grade for _, _, grade in judgments)
    for query in dict.fromkeys(query for query, _, _ in judgments):
        grades = {doc: grade for own, doc, grade in judgments if own == query}
        results = [Result(doc, score) for own, doc, score in case.results if own == query]  # type: ignore[arg-type]
        value = score_query(metric, results, grades, highest)  # type: ignore[arg-type]
        if value is not None:
            found[str(query)] = value
    return found


def check(warehouse: Warehouse, at: int, case: Case, name: str, *, refused: bool) -> None:
    metric, told = parse(name), f"{warehouse.name}, {name}: {case}"
    if metric.score_precision == "float32" and not DIALECTS[warehouse.name].real32:
        return
    given = Tables(f"judgments{at}", f"rankings{at}")
    if warehouse.name == "sqlite" and any(grade is NAN for _, _, grade in case.judgments):
        return  # SQLite has a null for it, which is no judgment
    found = warehouse.rows(metric, given)
    assert not any(query in (None, "") for _, query, _ in found), told
    mean = warehouse.rows(metric, given, mean=True) if name == METRICS[0] else []
    if refused:
        assert {value for _, _, value in found} == {None}, told
        assert {value for _, value, _ in mean} <= {None}, told
        return
    wanted = values_of(case, name)
    assert {query for _, query, _ in found} == wanted.keys(), told
    for _, query, value in found:
        assert float(value) == pytest.approx(wanted[query], rel=1e-12, abs=1e-12), told


KEPT = ["sound", "grade 1e300", "grade -1e300", "no grade", "one grade twice", "a document twice"]  # others: make soak
EVERY = mostly_soaked(WAREHOUSES, kept=["duckdb"])
NAMED = mostly_soaked(WAREHOUSES, kept=["sqlite"])  # values of all of them: test_values.py


@pytest.fixture(scope="module", params=EVERY)
def warehouse(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with WAREHOUSES[request.param](tables_of(CASES), tmp_path_factory.mktemp(request.param)) as run:
        yield Warehouse(request.param, run)


@pytest.mark.slow
def test_a_value_is_null_exactly_where_the_data_are_refused(warehouse: Warehouse) -> None:
    """Each case with two metrics in turn; with every metric: the next test."""
    for at, case in enumerate(CASES.values()):
        for name in OFTEN[at % 2 :: 2]:
            check(warehouse, at, case, name, refused=name in case.refused)


@pytest.mark.parametrize("chosen", mostly_soaked([("sqlite", 3), *((name, 1) for name in WAREHOUSES)], [("sqlite", 3)]))
def test_the_same_of_every_metric(chosen: tuple[str, int], tmp_path: Path) -> None:
    """In SQLite, each case with every third metric, and each metric with a third of the cases; in soak all."""
    name, step = chosen
    with WAREHOUSES[name](tables_of(CASES), tmp_path) as run:
        for at, case in enumerate(CASES.values()):
            for metric in METRICS[at % step :: step]:
                check(Warehouse(name, run), at, case, metric, refused=metric in case.refused)


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_soaked(CASES, kept=KEPT))
def test_compare_refuses_the_same(name: str) -> None:
    """All metrics that are not refused at once; of those that are, where that is all of them, one tells of all."""
    refused = sorted(CASES[name].refused)
    if any(MOST_GRADE < abs(grade) < INFINITE for _, _, grade in CASES[name].judgments if grade is not None):
        assert is_refused(CASES[name], ["judged@3"]), "by the reader, which a query in a warehouse has not"
        return
    assert all(is_refused(CASES[name], [metric]) for metric in (refused[:1] if CASES[name].refused == ALL else refused))
    assert len(refused) == len(METRICS) or not is_refused(CASES[name], sorted(ALL - CASES[name].refused))


def test_a_max_grade_whose_gain_cannot_be_added_up_is_a_sentence() -> None:
    for name in ("err(max_grade=1024)@10", "ndcg(ideal=max, max_grade=1000, gain=exponential)@10"):
        with pytest.raises(InputError, match=r"max_grade = 10.* is too large to add up"):
            write_query(parse(name), "duckdb")


# ---- names of tables


def step_names() -> list[str]:
    """The name of every select in any query, with and without what it begins with."""
    found = set()
    for name in (*METRICS, "ndcg@10", "ndcg(ideal=max)@5", "ndcg(ideal=local, ties=average)@5"):
        for line in write_query(parse(name), "duckdb", mean=True).splitlines():
            if line.removeprefix("with ").startswith(PREFIX) and line.endswith(" as ("):
                found.add(line.removeprefix("with ").removesuffix(" as ("))
    assert len(found) > 15
    return sorted(found | {name.removeprefix(PREFIX) for name in found} | {"judged", "returned", "judgment", "ranking"})


@pytest.mark.parametrize("name", NAMED)
def test_tables_may_be_called_like_any_select(name: str, tmp_path: Path) -> None:
    """As judgments and as rankings, in queries that have that select."""
    judgments, rankings = table_of(SOUND, JUDGMENTS), table_of([("new", *row, None) for row in FOUND], RANKINGS)
    called = step_names()
    tables = dict.fromkeys(called, judgments) | {f"{each}_2": rankings for each in called}
    wanted = {metric: values_of(CASES["sound"], metric)["q1"] for metric in ("ndcg@10", "err@10")}
    with WAREHOUSES[name](tables, tmp_path) as run:
        for each in called:
            for metric, value in wanted.items():
                rows = run(write_query(parse(metric), name, Tables(each, f"{each}_2")))
                assert [float(row[2]) for row in rows] == [pytest.approx(value)], each
    with WAREHOUSES[name]({"plain_judgments": judgments} | dict.fromkeys(called, rankings), tmp_path) as run:
        for each in called:
            rows = run(write_query(parse("ndcg@10"), name, Tables("plain_judgments", each), mean=True))
            assert [float(row[1]) for row in rows] == [pytest.approx(wanted["ndcg@10"])], each
