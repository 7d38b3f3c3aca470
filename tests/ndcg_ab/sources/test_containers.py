"""One rule for every container: long ids, large whole numbers, decimals, several systems.

Damage is refused, or changes nothing. A proof of being whole is what a container says of its content: a checksum
(gzip, zstd, a page of Parquet, a block of DuckDB), a count (rows of Parquet) or its end (gzip, zstd, JSON, the length
that a server announces). Text without an end has none.
"""

import bz2
import gzip
import json
import lzma
import random
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as papq
import pytest
from pyarrow import feather, ipc

import ndcg_ab
from ndcg_ab.config.model.inputs.connections import in_memory_file
from ndcg_ab.errors import InputError
from ndcg_ab.sources.tables.in_memory import InMemorySource
from ndcg_ab.sources.tables.reduced_ranking import NeededResults
from ndcg_ab.sources.tables.schema import LONGEST_ID
from tests.commands import invoke
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


# ---- damaged inputs


QUERIES, DEPTH = 12, 25
ROWS = [
    {"query_id": f"q{query:02}", "doc_id": f"d{(query * 7 + index) % 90}", "score": 50.0 - index - query / 64}
    for query in range(QUERIES)
    for index in range(DEPTH)
]
TEXT = "".join(
    f"{row['query_id']} Q0 {row['doc_id']} {at % DEPTH + 1} {row['score']} t\n" for at, row in enumerate(ROWS)
)


def write_parquet(path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    papq.write_table(table, path, row_group_size=100, write_page_checksum=True)


def write_document(path: Path) -> None:
    found: dict[str, dict[str, float]] = {}
    for row in ROWS:
        found.setdefault(str(row["query_id"]), {})[str(row["doc_id"])] = float(row["score"])  # type: ignore[arg-type]
    path.write_text(json.dumps(found))


def write_checked_zstd(path: Path) -> None:
    if shutil.which("zstd") is None:
        pytest.skip("the command zstd, which writes checksums, is not installed")
    path.write_bytes(subprocess.run(["zstd", "-q", "-c"], input=TEXT.encode(), capture_output=True, check=True).stdout)


def write_lz4(path: Path) -> None:
    with pa.CompressedOutputStream(str(path), "lz4") as file:
        file.write(TEXT.encode())


def write_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("runs/a.run", TEXT)


def write_arrow_stream(path: Path) -> None:
    table = pa.Table.from_pylist(ROWS)
    with ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)


class Container(NamedTuple):
    """name: of the file. write: makes it. shows_changes: whether it proves every byte, or only that it is not cut."""

    name: str
    write: Callable[[Path], Any]
    shows_changes: bool = False


CONTAINERS = {
    "gzip": Container("a.run.gz", lambda path: path.write_bytes(gzip.compress(TEXT.encode(), mtime=0)), True),
    "zstd": Container("a.run.zst", lambda path: path.write_bytes(pa.compress(TEXT.encode(), "zstd", asbytes=True))),
    "zstd with a checksum": Container("a.run.zst", write_checked_zstd, True),
    "lz4": Container("a.run.lz4", write_lz4),
    "xz": Container("a.run.xz", lambda path: path.write_bytes(lzma.compress(TEXT.encode())), True),
    "bzip2": Container("a.run.bz2", lambda path: path.write_bytes(bz2.compress(TEXT.encode())), True),
    "ZIP": Container("a.run.zip", write_zip, True),
    "Feather": Container("a.feather", lambda path: feather.write_feather(pa.Table.from_pylist(ROWS), path)),
    "Arrow stream": Container("a.arrows", write_arrow_stream),
    "Parquet": Container("a.parquet", write_parquet, True),
    "a list in JSON": Container("a.json", lambda path: path.write_text(json.dumps(ROWS))),
    "JSON by query": Container("a.json", write_document),
    "SQLite": Container("a.db", lambda path: write_database(path, ROWS)),
    "DuckDB": Container("a.duckdb", lambda path: write_database(path, ROWS), True),
}


def read_if_whole(path: Path, content: bytes) -> list[dict[str, Any]]:
    """Return the rows of a file with this content, those of the undamaged file if it is refused."""
    path.write_bytes(content)
    try:
        return read_ranking(path)
    except InputError:
        return ROWS


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_cut_container_is_refused_or_read_as_it_was(name: str, tmp_path: Path) -> None:
    container = CONTAINERS[name]
    path = tmp_path / container.name
    container.write(path)
    assert read_ranking(path) == ROWS
    content = path.read_bytes()
    size = len(content)
    for length in (1, 10, size // 4, size // 2, 3 * size // 4, size - 100, size - 9, size - 8, size - 4, size - 1):
        assert read_if_whole(path, content[:length]) == ROWS, length


@pytest.mark.first_case
@pytest.mark.parametrize("name", [name for name, each in CONTAINERS.items() if each.shows_changes])
def test_a_changed_byte_is_refused_or_changes_nothing(name: str, tmp_path: Path) -> None:
    """A footer of Parquet has no checksum: its counts have a test of their own."""
    container, chance = CONTAINERS[name], random.Random(24)
    path = tmp_path / container.name
    container.write(path)
    content = path.read_bytes()
    end = len(content) - (8 + int.from_bytes(content[-8:-4], "little") if name == "Parquet" else 0)
    for _ in range(40):
        changed, place = bytearray(content), chance.randrange(end)
        changed[place] ^= 1 << chance.randrange(8)
        assert read_if_whole(path, bytes(changed)) == ROWS, place


def test_both_ways_through_parquet_look_at_the_checksums(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_parquet(path)
    assert reduce_ranking(path, "parquet", {}, NeededResults(5, frozenset())) is not None
    content = bytearray(path.read_bytes())
    scores = papq.read_metadata(path).row_group(0).column(2)
    content[scores.data_page_offset + scores.total_compressed_size - 1] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"the Parquet file is broken, write it again: .*CRC"):
        read_ranking(path)
    assert reduce_ranking(path, "parquet", {}, NeededResults(5, frozenset())) is None


def count_in_footer(content: bytes, rows: int, other: int, at: int) -> bytes:
    """Write another count, of as many bytes, over one of the places of a footer that hold a count of rows."""
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    old, new = (bytes([0x16, (2 * each & 0x7F) | 0x80, 2 * each >> 7]) for each in (rows, other))
    places = [index for index in range(footer, len(content)) if content.startswith(old, index)]
    return content[: places[at]] + new + content[places[at] + 3 :]


@pytest.mark.parametrize("at", range(5))
def test_counts_of_a_footer_that_disagree_are_refused(at: int, tmp_path: Path) -> None:
    """The rows of the file, the values of its three columns, the rows of its only group."""
    path = tmp_path / "a.parquet"
    table = pa.Table.from_pylist(ROWS)
    papq.write_table(table, path, store_schema=False, write_statistics=False)
    path.write_bytes(count_in_footer(path.read_bytes(), len(ROWS), len(ROWS) - 49, at))
    with pytest.raises(InputError, match="the Parquet file is broken, write it again: it promises"):
        read_ranking(path)


BOTH = {"query_id": ["q1", "q1", "q2", "q2"], "doc_id": ["d1", "d2", "d1", "d2"], "score": [4.0, 3.0, 2.0, 1.0]}


def rankings(column: str, values: list[Any]) -> pa.Table:
    return pa.table({column: values, **BOTH})


def write(folder: Path, ending: str, table: pa.Table) -> Path:
    path = write_table(folder / f"both.{ending}", table.to_pylist())
    (folder / "j.qrels").write_text("q1 0 d1 1\nq2 0 d1 1\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_files(ending: str, tmp_path: Path) -> None:
    path = write(tmp_path, ending, rankings("tag", ["a", "a", "b", "b"]))
    judgments, new = str(tmp_path / "j.qrels"), str(tmp_path / "new.yaml")
    for command in (["compare", judgments, str(path), "--json", "-"], ["check", judgments, str(path)],
                    ["check", str(path)], ["init", judgments, str(path), "--output-file", new]):  # fmt: skip
        found = invoke(command)
        assert found.exit_code == 0, (command, found.stderr)
        assert re.search("a 2 results, b 2 results" if command[0] != "compare" else '"baseline": "a"', found.stdout)
    for name in ("a", "b"):
        config = tmp_path / f"{name}.yaml"
        config.write_text(
            f"name: n\njudgments: j.qrels\nsystems: [{{name: {name}, file: {path.name}}}]\nmetrics: [ndcg]\n"
        )
        assert f"{name} 2 results" in invoke(["check", str(config)]).stdout


def test_a_system_that_is_not_in_it_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "csv", rankings("system_id", ["a", "a", "b", "b"]))
    found = invoke(["compare", str(tmp_path / "j.qrels"), f"c={path}"])
    assert found.exit_code == 2
    assert (
        "names 2 systems (a, b), and a ranking is of one system: call the system one of them, not 'c'" in found.stderr
    )


@pytest.mark.parametrize("values", [["a", "a", "b", ""], ["a", None, "a", "a"]])
def test_rows_without_a_system_are_refused(values: list[Any], tmp_path: Path) -> None:
    path = write(tmp_path, "csv", rankings("system_id", values))
    found = invoke(["compare", str(tmp_path / "j.qrels"), str(path)])
    assert found.exit_code == 2
    assert "its column 'system_id' is empty in some rows: name the system in each row, or in none" in found.stderr
    with pytest.raises(InputError, match="is empty in some rows"):
        ndcg_ab.compare({"q1": {"d1": 1}, "q2": {"d1": 1}}, {"a": rankings("run", values)})


def test_python(tmp_path: Path) -> None:
    judgments = {"q1": {"d1": 1}, "q2": {"d1": 1}}
    with pytest.raises(InputError, match="names 2 systems") as caught:
        ndcg_ab.compare(judgments, {"x": rankings("run", ["a", "b", "a", "b"])})
    assert "systems['x']" in str(caught.value)
    assert ndcg_ab.compare(judgments, {"x": rankings("run", ["a", "a", "a", "a"])})
    assert ndcg_ab.compare(judgments, {"x": rankings("run", [0.5, 1.5, 2.5, 3.5])}), "no names"
