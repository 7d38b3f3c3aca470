"""Long ids, whole numbers that no double can hold, and decimals as ids: one rule for every container."""

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from ndcg_ab.config.model.inputs.connections import in_memory_file
from ndcg_ab.errors import InputError
from ndcg_ab.sources.tables.in_memory import InMemorySource
from ndcg_ab.sources.tables.reduced_ranking import NeededResults
from ndcg_ab.sources.tables.schema import LONGEST_ID
from tests.inputs import write_database, write_table
from tests.readings import read_ranking, reduce_ranking, results_of

TEXTS = ("trec", "trec.gz", "csv", "tsv", "jsonl", "json", "nested")
TYPED = ("parquet", "sqlite", "duckdb", "arrow", "pandas", "dictionary")
NAMES = ("query_id", "doc_id", "score")
LARGE = 2**53
PLAIN = [("q1", "a", 3), ("q1", "b", 2)]
Rows = list[tuple[Any, Any, Any]]


def read(form: str, rows: Rows, folder: Path) -> list[dict[str, Any]]:
    """Write the rows of a ranking in some form, and return them as they are read."""
    folder.mkdir(exist_ok=True)
    if form in ("arrow", "pandas", "dictionary"):
        table = pa.Table.from_pylist(as_records(rows))
        data = {"arrow": table, "pandas": pd.DataFrame(table.to_pylist()), "dictionary": as_nested(rows)}[form]
        return results_of(InMemorySource(in_memory_file("ranking", data), {}))
    path = folder / {"nested": "a.json", "trec": "a.run", "trec.gz": "a.run.gz"}.get(form, f"a.{form}")
    write_file(path, rows, form)
    return read_ranking(path)


def as_records(rows: Rows) -> list[dict[str, Any]]:
    return [dict(zip(NAMES, row, strict=True)) for row in rows]


def as_nested(rows: Rows) -> dict[Any, dict[Any, Any]]:
    found: dict[Any, dict[Any, Any]] = {}
    for query, doc, score in rows:
        found.setdefault(query, {})[doc] = score
    return found


def write_file(path: Path, rows: Rows, form: str) -> None:
    if form.startswith("trec"):
        text = "".join(f"{query} Q0 {doc} {at} {score} t\n" for at, (query, doc, score) in enumerate(rows, 1))
        path.write_bytes(gzip.compress(text.encode()) if form == "trec.gz" else text.encode())
    elif form == "nested":
        path.write_text(json.dumps(as_nested(rows)))
    elif form in ("sqlite", "duckdb"):
        write_database(path, as_records(rows))
    else:
        write_table(path, as_records(rows))


@pytest.mark.parametrize("form", TEXTS + TYPED)
def test_whole_scores_beyond_2_to_the_53_never_become_equal(form: str, tmp_path: Path) -> None:
    assert [row["score"] for row in read(form, PLAIN, tmp_path / "plain")] == [3, 2]
    for low, high in ((LARGE, LARGE + 1), (-LARGE - 1, -LARGE), (2**62, 2**62 + 9)):
        with pytest.raises(InputError, match=r"score = .*: is a whole number beyond 2\^53 that a double cannot hold"):
            read(form, [("q1", "a", high), ("q1", "b", low)], tmp_path / str(low))
    exact = [("q1", "a", 2**60), ("q1", "b", 2**59)]
    assert [row["score"] for row in read(form, exact, tmp_path / "exact")] == [2**60, 2**59]


def test_the_fast_reader_leaves_large_numbers_to_the_careful_one(tmp_path: Path) -> None:
    for form, name in (("trec", "a.run"), ("trec.gz", "a.run.gz"), ("parquet", "a.parquet")):
        path = tmp_path / name
        for rows, is_plain in ((PLAIN, True), ([("q1", "a", LARGE + 1), ("q1", "b", LARGE)], False)):
            write_file(path, rows, form)
            found = reduce_ranking(path, "parquet" if form == "parquet" else "trec", {}, NeededResults(5, frozenset()))
            assert found is None or is_plain


@pytest.mark.parametrize("kind", [pa.uint64(), pa.decimal128(20, 0), pa.decimal128(22, 2), pa.string()], ids=str)
@pytest.mark.parametrize("form", ["parquet", "duckdb", "arrow"])
def test_types_that_hold_more_than_a_double(form: str, kind: pa.DataType, tmp_path: Path) -> None:
    first, second = pa.array([LARGE + 1, LARGE], pa.int64()).cast(kind).to_pylist()
    with pytest.raises(InputError, match=r"is a whole number beyond 2\^53 that a double cannot hold"):
        read(form, [("q1", "a", first), ("q1", "b", second)], tmp_path)


@pytest.mark.parametrize("form", TEXTS + TYPED)
@pytest.mark.parametrize("place", [0, 1])
def test_long_ids_are_refused(form: str, place: int, tmp_path: Path) -> None:
    def rows(length: int) -> Rows:
        text = "é" * length
        return [(text, "a", 2), (text, "b", 1)] if place == 0 else [("q1", "a", 2), ("q1", text, 1)]

    assert len(read(form, rows(LONGEST_ID), tmp_path / "longest")) == 2
    with pytest.raises(InputError, match=r"_id = .*: is 10,001 characters long, and must be no longer than 10,000"):
        read(form, rows(LONGEST_ID + 1), tmp_path / "longer")


@pytest.mark.parametrize("form", ["parquet", "duckdb", "arrow"])
def test_whole_decimals_are_ids(form: str, tmp_path: Path) -> None:
    rows: Rows = [("q", Decimal(10**19 + 1), 2), ("q", Decimal(7), 1)]
    assert [row["doc_id"] for row in read(form, rows, tmp_path / "whole")] == [f"{10**19 + 1}", "7"]
    with pytest.raises(InputError, match="doc_id must be text or a whole number"):
        read(form, [("q", Decimal("1.5"), 2), ("q", Decimal("7.0"), 1)], tmp_path / "broken")
