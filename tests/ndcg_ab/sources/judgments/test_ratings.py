"""Ratings of users that would be judged as judgments, in every container that judgments come in."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as papq
import pytest

import ndcg_ab
from ndcg_ab.config.model.inputs.connections import in_memory_file
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.errors import InputError
from ndcg_ab.sources.judgments.gathering import pull_judgment_source
from ndcg_ab.sources.registry import pull_source
from ndcg_ab.sources.tables.schema import JUDGMENT

Rows = list[tuple[str, str, float]]
RATINGS = [("11", "3", 881250949.0), ("12", "3", 891717742.0), ("13", "1", 878887116.0), ("11", "2", 880606923.0)]
ITEMS = [
    ("11", "3", 242.0),
    ("12", "3.5", 302.0),
    ("13", "1", 377.0),
    ("11", "2", 51.0),
    ("14", "5", 22.0),
    ("15", "1", 3),
]
EXTREMES = [("q1", "d1", 1e300), ("q1", "d2", 1.0)]
NEGATIVE = [("q1", "d1", -1001.0), ("q1", "d2", 1.0)]


def as_trec(rows: Rows, folder: Path) -> FileSource:
    (folder / "j.qrels").write_text("".join(f"{query} 0 {document} {grade!r}\n" for query, document, grade in rows))
    return FileSource(file=folder / "j.qrels")


def as_packed(rows: Rows, folder: Path) -> FileSource:
    text = "".join(f"{query} 0 {document} {grade!r}\n" for query, document, grade in rows)
    (folder / "j.qrels.gz").write_bytes(gzip.compress(text.encode()))
    return FileSource(file=folder / "j.qrels.gz")


def as_csv(rows: Rows, folder: Path) -> FileSource:
    lines = "".join(f"{query},{document},{grade!r}\n" for query, document, grade in rows)
    (folder / "j.csv").write_text("user,stars,when\n" + lines)
    return FileSource(file=folder / "j.csv", columns={"query_id": "user", "doc_id": "stars", "grade": "when"})


def as_parquet(rows: Rows, folder: Path) -> FileSource:
    papq.write_table(as_table(rows), folder / "j.parquet")
    return FileSource(file=folder / "j.parquet")


def as_json(rows: Rows, folder: Path) -> FileSource:
    (folder / "j.json").write_text(json.dumps(as_dictionary(rows)))
    return FileSource(file=folder / "j.json")


def in_memory(make: Callable[[Rows], Any]) -> Callable[[Rows, Path], FileSource]:
    def held(rows: Rows, folder: Path) -> FileSource:
        return FileSource(file=in_memory_file("judgments", make(rows)))

    return held


def as_table(rows: Rows) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table(dict(zip(("query_id", "doc_id", "grade"), map(list, columns), strict=True)))


def as_dictionary(rows: Rows) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for query, document, grade in rows:
        found.setdefault(query, {})[document] = grade
    return found


CONTAINERS = [as_trec, as_packed, as_csv, as_parquet, as_json, in_memory(as_table), in_memory(as_dictionary)]


@pytest.mark.parametrize("rows", [RATINGS, ITEMS, EXTREMES, NEGATIVE])
@pytest.mark.parametrize("write", CONTAINERS)
def test_ratings_are_no_judgments(write: Any, rows: Rows, tmp_path: Path) -> None:
    source = write(rows, tmp_path)
    for pull in (pull_judgment_source, lambda *given: pull_source(given[0], JUDGMENT, given[1])):
        with pytest.raises(
            InputError, match=r"If these are ratings .* If they are judgments, |looks like a ranking"
        ) as caught:
            pull(source, tmp_path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "rows",
    [
        [(f"q{query}", str(document), float(document % 3)) for query in range(30) for document in range(1, 8)],
        [("q1", "1", 1000.0), ("q1", "2", 0.0)],
        [(f"q{query}", str(document), query / 7) for query in range(30) for document in range(1, 8)],
        [(str(query), str(100 + document), float(query)) for query in range(30) for document in range(1, 8)],
    ],
)
def test_judgments_are_no_ratings(rows: Rows, tmp_path: Path) -> None:
    assert pull_source(as_trec(rows, tmp_path), JUDGMENT, tmp_path).count == len(rows)


def test_a_file_of_ratings_with_their_columns_named_is_judged(tmp_path: Path) -> None:
    (tmp_path / "u.tsv").write_text("user\titem\tstars\twhen\n196\t242\t3\t881250949\n186\t302\t5\t891717742\n")
    columns = {"query_id": "user", "doc_id": "item", "grade": "stars"}
    found = pull_source(FileSource(file=tmp_path / "u.tsv", columns=columns), JUDGMENT, tmp_path)
    assert found.table["grade"].to_pylist() == [3.0, 5.0]


@pytest.mark.parametrize("sign", ["\t", "::"])
def test_a_file_of_ratings_is_judged(sign: str, tmp_path: Path) -> None:
    rows = [("196", "242", "3", "881250949"), ("186", "302", "5", "891717742")]
    (tmp_path / "u.tsv").write_text("".join(sign.join(row) + "\n" for row in rows))
    found = pull_source(FileSource(file=tmp_path / "u.tsv"), JUDGMENT, tmp_path)
    assert found.table.select(["query_id", "doc_id", "grade"]).to_pylist() == [
        {"query_id": "196", "doc_id": "242", "grade": 3.0},
        {"query_id": "186", "doc_id": "302", "grade": 5.0},
    ]


def test_more_judgments_and_the_python_api_refuse_them_too() -> None:
    rankings = {"a": {"q1": {"d1": 2.0}}, "b": {"q1": {"d1": 1.0}}}
    with pytest.raises(InputError, match="grade = 1100: must be from -1,000 to 1,000"):
        ndcg_ab.compare({"q1": {"d1": 1100}}, rankings)
