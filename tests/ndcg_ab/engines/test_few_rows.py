"""Engines of few rows: one database of the process, statements that are few and short, and the same results."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

from ndcg_ab.engines.duckdb import DuckDBEngine, GrowingDatabase, files
from ndcg_ab.engines.sql_files import PART, pipeline_files, prune_file, sql_files
from ndcg_ab.scoring.loading import NARROWING
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import parse
from ndcg_core.measures.registry import IDEALS, MEASURES
from tests.laboratory import fill, in_order

GRADES = {"q": {"a": 2.0, "b": 0.0, "c": 1.0}}
RANKINGS = {"old": {"q": in_order("b", "a", "x")}, "new": {"q": in_order("a", "c", "b")}}


def test_what_was_read_is_read_again_when_it_is_another() -> None:
    with DuckDBEngine() as engine:
        engine.expect_rows(1)
        for text in ("a", "b"):
            engine.put("pulled_document", pa.table({"doc_id": [text], "title": [None], "url": [None]}))
            assert (
                engine.rows("pulled_document", ("doc_id",)) == [(text,)] == engine.rows("pulled_document", ("doc_id",))
            )
            assert engine.read("pulled_document")["doc_id"].to_pylist() == [text]


def test_parts_name_choices_that_there_are() -> None:
    """A part whose value is misspelt would be left out for ever."""
    choices = {"ties": {"average", "doc_id_asc"}, "unjudged": {"condense"}, "ideal_cut": {"returned"}}
    choices |= {"measure": set(MEASURES), "ideal": set(IDEALS), "reduced": {"yes", "no"}}
    assert choices.keys() == {*NARROWING, "reduced"}
    for column in ("ties", "unjudged", "ideal_cut"):
        for value in choices[column]:
            assert Metric(**{column: value})
    for file in pipeline_files().values():
        parts = PART.findall(file.text)
        assert len(parts) == file.text.count("-- only ") == len(re.findall("-- end$", file.text, flags=re.MULTILINE))
        for column, values, _ in parts:
            assert {*values.split(", ")} <= choices[column], file.display_path


def test_a_part_is_left_out_with_what_it_reads() -> None:
    score, ranked = sql_files()["query_score"], sql_files()["ranked_doc"]
    plain = prune_file(score, frozenset({("measure", frozenset({"ndcg"}))}))
    assert "walk_sum" in score.reads and "join walk_sum" not in plain.text and "walk_sum" not in plain.reads
    assert prune_file(score, frozenset({("measure", frozenset({"ndcg", "ap"}))})) == score
    assert prune_file(score, frozenset()) == score == prune_file(score, frozenset({("ties", frozenset({"given"}))}))
    assert prune_file(ranked, frozenset({("ties", frozenset({"average"}))})).text.count("-- only") == 2


@pytest.mark.parametrize(("reduced", "read"), [("no", "ranking"), ("yes", "pulled_answer")])
def test_the_first_of_several_selects_can_be_left_out(reduced: str, read: str) -> None:
    """With the `union all` behind it, and what it reads."""
    met = prune_file(sql_files()["met_query"], frozenset({("reduced", frozenset({reduced}))}))
    assert read in met.reads and ("ranking" in met.reads) == (reduced == "no")
    assert re.search(r"counted as \(\s+--.*\s+select\b", met.text)


def test_metrics_that_come_later_have_their_parts() -> None:
    later = [parse("ap").name, parse("ndcg(ties=average)@3").name, parse("ndcg(unjudged=condense)@3").name]
    with DuckDBEngine() as engine:
        fill(engine, GRADES, RANKINGS, ["ndcg@3"])
        assert "walk_sum" not in engine.made
        fill(engine, GRADES, RANKINGS, later)
        assert {name for (name,) in engine.rows("metric_value", ("metric",))} == {*later}
        assert engine.count("walk_sum") == 2


def threads_of(engine: DuckDBEngine) -> int:
    found: int = engine.connection.execute("select current_setting('threads')").fetchall()[0][0]
    return found


def test_a_file_of_few_rows_is_worked_on_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its size; one that is large has every thread."""
    with GrowingDatabase(tmp_path / "grows.duckdb") as engine:
        every = threads_of(engine)
    for size, threads in ((1 << 30, 1), (1000, every)):
        monkeypatch.setattr(files, "SMALL_FILE", size)
        with GrowingDatabase(tmp_path / "grows.duckdb") as engine:
            assert threads_of(engine) == threads


def test_rows_are_added_by_the_names_of_columns_and_an_empty_table_adds_new_columns(tmp_path: Path) -> None:
    with GrowingDatabase(tmp_path / "grows.duckdb") as engine:
        engine.append("night", pa.table({"a": pa.array([], pa.int64())}))
        engine.append("night", pa.table({"a": [1]}))
        engine.append("night", pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())}))
        engine.append("night", pa.table({"a": pa.array([], pa.int64())}))
        engine.append("night", pa.table({"c": [3], "b": ["x"], "a": [2]}))
        assert engine.rows("night", ("a", "b", "c"), order="a") == [(1, None, None), (2, "x", 3)]
