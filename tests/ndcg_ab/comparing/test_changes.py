"""What a candidate changed in the first places: counted by hand, and the SQL against the core."""

import dataclasses
import re

import pytest
from hypothesis import given, settings

from ndcg_ab.comparing import changes as module
from ndcg_ab.comparing.changes import find_changes
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.errors import ParityError
from ndcg_ab.report.markdown import format_comment
from ndcg_ab.report.sections import changes_by_candidate, format_changes, print_changes
from ndcg_ab.results.change_records import MovedDocuments, QueryDifference, RankingChanges, TopDocument
from ndcg_core.measures.overlap import overlap, rank_biased_overlap
from ndcg_core.measures.score import Result
from tests.examples import examples
from tests.laboratory import evaluation_of, fill, in_order, outcome_of, plant_fault
from tests.paths import ROOT
from tests.printing import print_to_text
from tests.strategies import JUDGMENTS, rankings

GRADES = {
    "changed": {"a": 3.0, "b": 1.0, "n": 0.0},
    "gone": {"a": 1.0, "g": 1.0},
    "same": {"a": 1.0},
    "swapped": {"a": 1.0, "b": 1.0},
    "unanswered": {"a": 1.0},
}
OLD = {
    "changed": in_order("n", "b", "u"),
    "gone": in_order("a"),
    "same": in_order("a", "x", "y"),
    "swapped": in_order("a", "b"),
}
NEW = {"changed": in_order("a", "b", "v", "w"), "same": in_order("a", "x", "z"), "swapped": in_order("b", "a")}


def found(metric: str = "ndcg@3") -> RankingChanges:
    (changes,) = outcome_of(GRADES, {"old": OLD, "new": NEW}, [metric]).changes
    return changes


@pytest.mark.slow
def test_what_changed_is_counted() -> None:
    changes = found("ndcg@2")
    assert (changes.candidate, changes.baseline, changes.metric, changes.depth) == ("new", "old", "ndcg@2", 2)
    assert (changes.queries, changes.changed, changes.metric_changed) == (5, 3, 2), "a swap of equal grades moves none"
    assert changes.grades == (MovedDocuments(3.0, 1, 0), MovedDocuments(1.0, 0, 1), MovedDocuments(0.0, 0, 1))
    assert (changes.entered, changes.entered_relevant, changes.entered_unjudged) == (1, 1, 0)
    assert (changes.left, changes.left_relevant, changes.left_unjudged) == (2, 1, 0)
    assert changes.overlap == pytest.approx((0.5 + 0 + 1 + 1 + 1) / 5)
    assert changes.overlap_median == 1.0


@pytest.mark.slow
def test_where_a_metric_has_no_cutoff() -> None:
    deep = {"changed": in_order(*"abcdefghijkl")}
    other = {"changed": in_order(*"abcdefghijlk")}
    (changes,) = outcome_of(GRADES, {"old": deep, "new": other}, ["ndcg"]).changes
    assert (changes.depth, changes.changed) == (10, 0), "only what stands below differs"
    assert format_changes(changes) == "top 10 unchanged on 5 queries"


@pytest.mark.slow
def test_of_several_candidates_each_has_its_own() -> None:
    both = outcome_of(GRADES, {"old": OLD, "same": OLD, "new": NEW}, ["ndcg@2", "recall@3"]).changes
    assert [(each.candidate, each.changed) for each in both] == [("same", 0), ("new", 3)]
    assert (both[0].rbo, both[0].entered, both[0].largest) == (1.0, 0, ())


@pytest.mark.slow
@settings(max_examples=examples(20), deadline=None)
@given(JUDGMENTS, rankings(), rankings())
def test_the_sql_gives_what_the_core_gives(
    judgments: dict[str, dict[str, float]], old: dict[str, list[Result]], new: dict[str, list[Result]]
) -> None:
    with DuckDBEngine(1) as engine:
        fill(engine, judgments, {"old": old, "new": new}, ["ndcg(gain=exponential, negative=zero)@3"])
        engine.build("top_document", default_depth=10, deepest=100)
        engine.build("query_change", persistence=0.9)
        order = "query_id, rank"
        ranked = engine.rows("ranked_doc", ("system_id", "query_id", "rank", "doc_id"), order=order)
        rows = engine.read("query_change").to_pylist()
    assert {each["query_id"] for each in rows} <= set(judgments)
    for each in rows:
        sides = [
            [doc for system, query, rank, doc in ranked if (system, query) == (name, each["query_id"]) and rank <= 3]
            for name in ("old", "new")
        ]
        assert each["rbo"] == pytest.approx(rank_biased_overlap(*sides), abs=1e-12)
        assert (each["overlap"], each["is_changed"]) == (overlap(*sides), sides[0] != sides[1])


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("table", "right", "wrong"),
    [
        ("query_change", "- first_weight.total + first_weight.own", "- first_weight.total"),
        ("query_change", "coalesce(counted.shared / cast", "coalesce(0 / cast"),
    ],
)
def test_a_fault_stops_the_evaluation(monkeypatch: pytest.MonkeyPatch, table: str, right: str, wrong: str) -> None:
    plant_fault(monkeypatch, table, right, wrong)
    with pytest.raises(ParityError, match=r"parity check: query '\w+', system new, (overlap|rank-biased overlap): SQL"):
        found()


@pytest.mark.slow
def test_nothing_where_it_would_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DOCUMENTS", 5 * 3 - 1)
    assert outcome_of(GRADES, {"old": OLD, "new": NEW}, ["ndcg@3"]).changes == ()


def test_nothing_without_a_candidate() -> None:
    evaluation = evaluation_of(["old"], ["ndcg@2"])
    with DuckDBEngine(1) as engine:
        fill(engine, GRADES, {"old": OLD}, ["ndcg@2"])
        assert find_changes(engine, evaluation) == ()


@pytest.mark.slow
def test_it_is_told_in_one_line() -> None:
    outcome = outcome_of(GRADES, {"old": OLD, "new": NEW}, ["ndcg@2"])
    said = (
        "top 2 changed on 3 of 5 queries (ndcg@2 on 2): 1 document added (1 relevant, 0 unjudged),"
        " 2 dropped (1 relevant, 0 unjudged)"
    )
    assert format_changes(outcome.changes[0]) == said
    assert f"- new, ndcg@2: {said}" in format_comment(outcome).replace("\\", "")
    told = print_to_text(print_changes, outcome)
    assert "what changed in the top 2 (decides nothing)" in told
    assert "new, by grade: grade 3: 1 in, 0 out" in told
    assert "    1  ✕ n (0)                                   + a (3)\n" in told
    many = dataclasses.replace(outcome, changes=outcome.changes * 9)
    assert changes_by_candidate(many) == {}, "of many candidates the tables tell"


def test_its_keys_are_documented() -> None:
    text = (ROOT / "docs" / "json.md").read_text(encoding="utf-8").partition("## What changed")[2].partition("\n## ")[0]
    keys = [key for cell in re.findall(r"^\| (`.*?`) \|", text, flags=re.M) for key in re.findall(r"`(\w+)`", cell)]
    assert keys == [field.name for field in dataclasses.fields(RankingChanges)]
    inner = [MovedDocuments, QueryDifference, TopDocument]
    lists = [", ".join(field.name for field in dataclasses.fields(kind)) for kind in inner]
    assert re.findall(r"`\[\{(.*?)\}\]`", text) == lists
