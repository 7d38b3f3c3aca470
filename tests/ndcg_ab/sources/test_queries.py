"""Titles and addresses of documents: only the rows that are wanted, from every format, and what is refused."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ndcg_ab.config.model.inputs.connections import in_memory_file
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.errors import InputError
from ndcg_ab.sources.base import Source
from ndcg_ab.sources.queries import read_documents
from ndcg_ab.sources.registry import file_source
from ndcg_ab.sources.tables.schema import DOCUMENT
from tests.inputs import write_table
from tests.sentences import refusal_text

ROWS: list[dict[str, Any]] = [
    {"doc_id": "a", "title": "First, with a comma", "url": "https://example.org/a"},
    {"doc_id": "b", "title": "Second", "url": None},
    {"doc_id": "007", "title": None, "url": "https://example.org/7"},
    {"doc_id": "z", "title": "Nobody asks", "url": "https://example.org/z"},
]
WANTED = pa.chunked_array([["b", "a"], ["007", "unknown", "a"]])
EXPECTED = [ROWS[2], ROWS[0], ROWS[1]]  # in the order of the ids


def documents(path: Path, **described: Any) -> Source:
    return file_source(FileSource(file=path, **described), Path())


def in_memory(data: Any, columns: dict[str, str] | None = None) -> Source:
    return file_source(FileSource(file=in_memory_file("documents", data), columns=columns or {}), Path())


@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.csv.gz", "d.jsonl", "d.parquet"])
def test_every_format_gives_the_rows_that_are_wanted(name: str, tmp_path: Path) -> None:
    assert read_documents(documents(write_table(tmp_path / name, ROWS)), WANTED).to_pylist() == EXPECTED


@pytest.mark.parametrize(
    "data",
    [pa.Table.from_pylist(ROWS), {row["doc_id"]: {"title": row["title"], "url": row["url"]} for row in ROWS}],
    ids=["table", "dictionaries"],
)
def test_data_in_memory(data: Any) -> None:
    assert read_documents(in_memory(data), WANTED).to_pylist() == EXPECTED


def test_a_text_alone_is_the_title_and_ids_may_be_numbers() -> None:
    found = read_documents(in_memory({"a": "First", 7: "Seven"}), pa.chunked_array([["7", "a"]])).to_pylist()
    assert [(row["doc_id"], row["title"]) for row in found] == [("7", "Seven"), ("a", "First")]


REFUSED = [
    ("d.csv", "key,title\n1,One\n", "d.csv: there is no column 'doc_id' for doc_id (columns: key, title); say"),
    ("d.csv", "doc_id,title\n1,One\n,Two\n", "d.csv, line 3: doc_id is empty: every row needs one"),
    ("d.csv", "doc_id,title\n1,One\n1,Uno\n", "d.csv: document '1' has two titles: 'One' and 'Uno'"),
    ("d.jsonl", '{"doc_id": "2', "d.jsonl, line 1: is not JSON (Unterminated string starting at character 12)"),
    ("d.txt", "1 One\n", "d.txt: a file of documents must be csv, tsv, jsonl or parquet, by its name or its format"),
    ("d.csv", "", "d.csv: the file is empty"),
    ("d.csv", None, "d.csv: there is no such file"),
]


@pytest.mark.parametrize(("name", "text", "said"), REFUSED)
def test_is_refused(tmp_path: Path, name: str, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    assert refusal_text(read_documents, documents(tmp_path / name), pa.chunked_array([["1"]])).startswith(
        f"{tmp_path}/{said}"
    )


def test_a_field_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="columns: 'link' is no field of a document"):
        in_memory(pa.Table.from_pylist(ROWS), {"link": "url"}).check(DOCUMENT)
    with pytest.raises(InputError, match=r"say documents_columns=\{'doc_id': 'COLUMN'\}"):
        in_memory(pa.table({"address": ["1"]})).check(DOCUMENT)
    in_memory(pa.table({"docid": ["1"]})).check(DOCUMENT)
