"""Grades that begin with 1 for the best, told by the rankings; nothing is told of any other scale."""

import random
import re

import pytest

import ndcg_ab
from ndcg_ab.checks.plausibility_checks import (
    check_odd_documents,
    concordance,
    describe_repeated_texts,
    describe_shared_ids,
    is_reversed,
    system_orders,
)
from ndcg_ab.engines.duckdb.engine import DuckDBEngine
from ndcg_ab.results.outcome import Finding
from ndcg_core.measures.notation import parse
from ndcg_core.measures.score import Result
from tests.laboratory import fill, pulled_judgments

QUERIES = [f"q{number}" for number in range(20)]
DOCS = [f"d{number}" for number in range(12)]
DRAW = random.Random(8)
WORTH = {query: {doc: DRAW.choice([1, 2, 3, 4]) for doc in DOCS} for query in QUERIES}


def ranking(quality: float) -> dict[str, dict[str, float]]:
    """Scores by what documents are worth and by chance."""
    return {
        query: {doc: quality * worth + 2 * DRAW.random() for doc, worth in docs.items()}
        for query, docs in WORTH.items()
    }


SYSTEMS = {"old": ranking(1), "new": ranking(2)}


def find_reversed(grades: dict[str, dict[str, int]], systems: dict[str, dict[str, dict[str, float]]]) -> list[Finding]:
    found = ndcg_ab.compare(grades, systems, resamples=100, threads=1).findings
    return [finding for finding in found if finding.code == "reversed_grades"]


def marks(best: int) -> dict[str, dict[str, int]]:
    """Grades that fall with the worth, from `best` on."""
    return {query: {doc: best + 4 - worth for doc, worth in docs.items()} for query, docs in WORTH.items()}


@pytest.mark.slow
def test_grades_from_1_for_the_best_are_told_with_what_to_write() -> None:
    (finding,) = find_reversed(marks(1), SYSTEMS)
    assert finding.message.startswith("lower grades stand higher in every system: is 1 the best? → --metric ")
    metric = re.search("--metric '(.*?)'", finding.message)
    assert metric and metric[1] == "ndcg(gain={1:3, 2:2, 3:1, 4:0})@10"
    right = {query: {doc: worth - 1 for doc, worth in docs.items()} for query, docs in WORTH.items()}
    mended = ndcg_ab.compare(marks(1), SYSTEMS, metrics=metric[1], resamples=100)
    assert mended.findings == ()
    assert mended.comparison().difference == pytest.approx(
        ndcg_ab.compare(right, SYSTEMS, resamples=100).comparison().difference
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("grades", "systems"),
    [
        (WORTH, SYSTEMS),  # the higher, the better
        (marks(0), SYSTEMS),  # 0 is no grade of the best
        (marks(1), SYSTEMS | {"odd": ranking(-2)}),  # one system likes high grades
        ({query: dict.fromkeys(docs, 1) for query, docs in WORTH.items()}, SYSTEMS),
        (marks(1), {"chance": ranking(0)}),
    ],
    ids=["right", "with 0", "one system disagrees", "one grade", "by chance"],
)
def test_others_are_not(grades: dict[str, dict[str, int]], systems: dict[str, dict[str, dict[str, float]]]) -> None:
    assert find_reversed(grades, systems) == []


def test_all_places_that_the_metric_looks_at_count_and_no_others() -> None:
    """By hand: grades 1, 3 and 2 of 3 places; what is unjudged, and what is below them, is left out."""
    judgments = {"q": {"a": 1.0, "c": 3.0, "d": 2.0, "f": 9.0}}
    with DuckDBEngine() as engine:
        fill(engine, judgments, {"old": {"q": [Result(doc, -float(at)) for at, doc in enumerate("abcdf")]}}, ["ndcg@4"])
        assert system_orders(engine, parse("ndcg@4"), pulled_judgments(judgments)) == {"old": [-1 / 3]}


def test_judged_queries_are_looked_at_for_odd_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ndcg_ab.checks.plausibility_checks.QUERIES", 1)
    with DuckDBEngine() as engine:
        shown = {"q": [Result("a", 1.0)], "r": [Result("null", 1.0)]}
        fill(engine, {query: {"b": 1.0} for query in "qr"}, {"old": shown}, ["ndcg@4"])
        engine.connection.execute("update query set is_judged = false where query_id = 'q'")
        assert {finding.code for finding in check_odd_documents(engine, [parse("ndcg@4")])} == {"placeholder_document"}


def test_how_far_an_order_is_that_of_the_grades() -> None:
    assert concordance([3, 2, 1]) == 1
    assert concordance([1, 2, 2, 3]) == -1
    assert concordance([2, 1, 3]) == pytest.approx(-1 / 3)
    assert concordance([2, 2]) is None
    assert is_reversed([-0.5, -0.4] * 5)
    assert not is_reversed([-0.5, -0.4] * 3), "few queries"
    assert not is_reversed([-1.0, 0.5] * 6), "as far as chance goes"


# ---- ids and texts that look as if queries belonged together


def grouped(groups: int, size: int, mark: str = "_") -> list[str]:
    return [f"{100 + group}{mark}{turn}" for group in range(groups) for turn in range(size)]


@pytest.mark.parametrize(
    ("query_ids", "count"),
    [
        (grouped(6, 4), 24),
        (grouped(6, 4, "-"), 24),
        (grouped(6, 4) + ["7"], 24),
        ([f"q{number}" for number in range(50)], None),
        ([f"q_{number}" for number in range(50)], None),  # one beginning names all of them
        ([f"dl{year}-{number}" for year in (19, 20) for number in range(50)], None),
        (grouped(6, 60), None),  # collections, not conversations
        (grouped(6, 4) + [str(number) for number in range(20)], None),
        ([f"{number}_1" for number in range(40)], None),
    ],
)
def test_ids(query_ids: list[str], count: int | None) -> None:
    found = describe_shared_ids(query_ids)
    assert (found and found[1]) == count


@pytest.mark.parametrize(
    ("texts", "count"),
    [
        (["wine", "Wine ", "beer", "tea"], 2),
        (["wine", "beer", "tea"], None),
        ([f"query {number}" for number in range(98)] + ["wine", "wine"], None),
        ([f"query {number}" for number in range(30)] * 2, 60),
    ],
)
def test_texts(texts: list[str], count: int | None) -> None:
    found = describe_repeated_texts([(f"q{index}", text) for index, text in enumerate(texts)])
    assert (found and found[1]) == count
