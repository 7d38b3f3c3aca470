"""What a candidate changed in the first places, and the queries that a change was meant for, tested apart."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

import ndcg_ab
from ndcg_ab.comparing import changes as module
from ndcg_ab.comparing.changes import find_changes
from ndcg_ab.engines.duckdb import DuckDBEngine
from ndcg_ab.errors import InputError, ParityError
from ndcg_ab.pipeline.stages import check_only
from ndcg_ab.report.markdown import format_comment
from ndcg_ab.report.sections import changes_by_candidate, format_changes, format_intended, print_changes
from ndcg_ab.results.change_records import MovedDocuments, QueryDifference, RankingChanges, TopDocument
from ndcg_ab.scoring.scoring import open_engine_for
from ndcg_core.measures.overlap import overlap, rank_biased_overlap
from ndcg_core.measures.score import Result
from tests.examples import examples
from tests.laboratory import evaluation_of, fill, in_order, outcome_of, plant_fault
from tests.paths import ROOT
from tests.printing import print_to_text
from tests.repeated import mostly_soaked
from tests.small_evaluation import small
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


def test_what_changed_is_counted() -> None:
    changes = found("ndcg@2")
    assert (changes.candidate, changes.baseline, changes.metric, changes.depth) == ("new", "old", "ndcg@2", 2)
    assert (changes.queries, changes.changed, changes.metric_changed) == (5, 3, 2), "a swap of equal grades moves none"
    assert changes.grades == (MovedDocuments(3.0, 1, 0), MovedDocuments(1.0, 0, 1), MovedDocuments(0.0, 0, 1))
    assert (changes.entered, changes.entered_relevant, changes.entered_unjudged) == (1, 1, 0)
    assert (changes.left, changes.left_relevant, changes.left_unjudged) == (2, 1, 0)
    assert changes.overlap == pytest.approx((0.5 + 0 + 1 + 1 + 1) / 5)
    assert changes.overlap_median == 1.0


def test_where_a_metric_has_no_cutoff() -> None:
    deep = {"changed": in_order(*"abcdefghijkl")}
    other = {"changed": in_order(*"abcdefghijlk")}
    (changes,) = outcome_of(GRADES, {"old": deep, "new": other}, ["ndcg"]).changes
    assert (changes.depth, changes.changed) == (10, 0), "only what stands below differs"
    assert format_changes(changes) == "top 10 unchanged on 5 queries"


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


def test_nothing_where_it_would_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DOCUMENTS", 5 * 3 - 1)
    assert outcome_of(GRADES, {"old": OLD, "new": NEW}, ["ndcg@3"]).changes == ()


def test_nothing_without_a_candidate() -> None:
    evaluation = evaluation_of(["old"], ["ndcg@2"])
    with DuckDBEngine(1) as engine:
        fill(engine, GRADES, {"old": OLD}, ["ndcg@2"])
        assert find_changes(engine, evaluation) == ()


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


# ---- the queries that a change was meant for


DATA = Path(__file__).parents[2] / "data"
MEANT = ["butter", "eggs", "fish", "honey", "pasta", "salad", "tofu"]
FILES = {"old": str(DATA / "old.run"), "new": str(DATA / "new.run")}


def compared(intended: Any, **options: Any) -> ndcg_ab.CompareResult:
    return ndcg_ab.compare(str(DATA / "judgments.qrels"), FILES, intended=intended, resamples=200, **options)


@pytest.fixture(scope="module")
def result() -> ndcg_ab.CompareResult:
    return compared(MEANT)


def parts(result: ndcg_ab.CompareResult) -> dict[str, ndcg_ab.Comparison]:
    return {row.slice or "": row for row in result.comparisons if row.family == "intended"}


@pytest.mark.slow
def test_it_decides_nothing(result: ndcg_ab.CompareResult) -> None:
    alone = compared(None)
    assert result.decisions == alone.decisions
    assert [row for row in result.comparisons if row.family != "intended"] == list(alone.comparisons)
    assert result._outcome.slices == []
    assert "slices_disagree" not in {finding.code for finding in result.findings}


def test_it_is_told_below_the_metric(result: ndcg_ab.CompareResult) -> None:
    told = format_intended(result._outcome, "new", "ndcg@10")
    row = parts(result)["intended"]
    assert told is not None
    assert told.startswith(f"moved {row.differing} of the 7 queries it was meant for: {row.difference:+.4f} [")
    assert "; and 13 of 13 others: " in told
    assert told[:40] in format_comment(result._outcome).replace("\\", "")
    assert format_intended(result._outcome, "new", "rr") is None


@pytest.mark.slow
def test_where_every_query_is_meant(result: ndcg_ab.CompareResult) -> None:
    every = compared(sorted({row["query_id"] for row in result.query_scores.to_pylist()}))
    assert list(parts(every)) == ["intended"]
    told = format_intended(every._outcome, "new", "ndcg@10")
    assert told is not None and told.startswith("moved 20 of the 20 queries it was meant for: ") and "other" not in told


@pytest.mark.slow
@pytest.mark.parametrize("ending", mostly_soaked(["txt", "csv", "jsonl", "parquet"], kept=["jsonl"]))
def test_it_is_read_from_every_format(ending: str, result: ndcg_ab.CompareResult, tmp_path: Path) -> None:
    path = tmp_path / f"intended.{ending}"
    if ending == "parquet":
        import pyarrow.parquet as papq

        papq.write_table(pa.table({"query_id": MEANT}), path)
    else:
        header = {"txt": "# a comment\n", "csv": "kind,query_id\n"}.get(ending, "")
        form = {"txt": "{}\n", "csv": "x,{}\n", "jsonl": '{{"query_id": "{}"}}\n'}[ending]
        path.write_text(header + "".join(form.format(each) for each in [*MEANT, MEANT[0]]))
    assert parts(compared(path)) == parts(result), "an id that stands twice counts once"


def test_unknown_ids_are_left_out_and_told() -> None:
    found = compared([*MEANT, "zap", "zip"])
    (finding,) = [each for each in found.findings if each.code == "intended_unknown"]
    assert finding.message == ("2 of the 9 intended queries of intended are not judged (such as 'zap'): left out")
    assert (finding.severity, finding.count, finding.examples) == ("warning", 2, ("query 'zap'", "query 'zip'"))
    assert parts(found)["intended"].queries == 7


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (["zip", "zap"], "intended: intended names none of the 20 judged queries (the first is 'bread', the first of"),
        ([], "intended: is empty: at least one query id is needed"),
        ([7], "intended: 7: must be the text of a query id"),
    ],
)
def test_what_is_refused(ids: list[Any], said: str) -> None:
    with pytest.raises(InputError) as error:
        compared(ids)
    assert str(error.value).startswith(said)


def test_with_scores_of_another_tool(result: ndcg_ab.CompareResult) -> None:
    given = ndcg_ab.compare(scores=result.query_scores, intended=MEANT, resamples=200)
    assert [row.differing for row in parts(given).values()] == [row.differing for row in parts(result).values()]


def test_check_tells_unknown_ids(tmp_path: Path) -> None:
    evaluation = small(tmp_path, intended={"file": "intended.txt"})
    (tmp_path / "inputs" / "intended.txt").write_text("tofu\nzap\n")
    with open_engine_for(evaluation) as engine:
        found, _ = check_only(evaluation, engine)
    assert "intended_unknown" in {finding.code for finding in found}
