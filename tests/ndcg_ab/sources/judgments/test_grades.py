"""Grades that are words, empty grades, and ratings of users, whatever the source of judgments."""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import ndcg_ab
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.connections import in_memory_file
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.errors import InputError
from ndcg_ab.sources import JUDGMENT, pull_source
from ndcg_ab.sources.forms.plausible import NO_GRADE
from ndcg_ab.sources.judgments.gathering import pull_judgment_source
from tests.commands import invoke
from tests.inputs import write_judgments, write_rankings, write_table
from tests.small_evaluation import pull_judgments

LETTERS = [("1", "a", "E"), ("1", "b", "I"), ("1", "c", "S"), ("2", "a", "C"), ("2", "d", "E")]
ESCI = {"E": 3.0, "S": 2.0, "C": 1.0, "I": 0.0}
NAMES = ("query_id", "doc_id", "grade")
RANKINGS = {"old": {"1": {"b": 2, "a": 1}, "2": {"a": 2, "d": 1}}, "new": {"1": {"a": 2, "c": 1}, "2": {"d": 1}}}
NUMBERS = {query: {doc: ESCI[word] for other, doc, word in LETTERS if other == query} for query in ("1", "2")}


def write_letters(path: Path) -> Path:
    if path.suffix == ".qrels":
        path.write_text("".join(f"{query} 0 {doc} {word}\n" for query, doc, word in LETTERS))
        return path
    return write_table(path, [dict(zip(NAMES, row, strict=True)) for row in LETTERS])


@pytest.mark.first_case
@pytest.mark.parametrize("name", ["j.csv", "j.qrels", "j.jsonl", "j.parquet"])
def test_words_of_files(name: str, tmp_path: Path) -> None:
    path = str(write_letters(tmp_path / name))
    found, expected = (
        ndcg_ab.compare(judgments, RANKINGS, grades=grades, resamples=100)
        for judgments, grades in ((path, ESCI), (NUMBERS, None))
    )
    assert found.comparisons == expected.comparisons
    with pytest.raises(
        InputError, match=r"grade = '[EI]'.* --grades E=3,S=2,C=1,I=0 \(in a configuration grades: \{E: 3"
    ):
        ndcg_ab.compare(path, RANKINGS)
    with pytest.raises(
        InputError, match=rf"{name}.*: grade = 'I': must be a number or a word that has one \(E, S, C\)"
    ):
        ndcg_ab.compare(path, RANKINGS, grades={"E": 3, "S": 2, "C": 1})


def test_words_in_python_beside_numbers_and_empty_ones() -> None:
    judgments: dict[str, dict[str, Any]] = {"1": {"a": "good ", "b": 0, "c": None, "d": 2.5}, "2": {"d": "1"}}
    result = ndcg_ab.compare(judgments, RANKINGS, grades={"good": 3, "1": 2}, resamples=100)
    numbers = {"1": {"a": 3, "b": 0, "d": 2.5}, "2": {"d": 2}}
    assert result.comparisons == ndcg_ab.compare(numbers, RANKINGS, resamples=100).comparisons
    assert result._outcome.ledger[0].reasons == "without a grade: 1"
    with pytest.raises(InputError, match=r"every word needs a number: grades=\{'good': NUMBER\}"):
        ndcg_ab.compare(judgments, RANKINGS)


@pytest.mark.parametrize(
    ("grades", "rule"),
    [
        ({}, "names no word"),
        ({"E": "high"}, "'high': must be a number"),
        ({"E": float("nan")}, "nan: must be a number"),
        ({True: 1}, "True: must be a word: put it in quotes"),
    ],
)
def test_what_no_words_are(grades: Any, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        ndcg_ab.compare(NUMBERS, RANKINGS, grades=grades)


COMMANDS = {
    "compare": "compare {j} old.run new.run",
    "explain": "explain {j} old.run --query 1",
    "sensitivity": "sensitivity {j} old.run new.run",
    "judgments": "judgments {j} numbers.qrels",
    "judge-next": "judge-next {j} old.run new.run",
    "check": "check {j} old.run new.run",
    "init": "init {j} old.run new.run --output-file -",
    "draw": "draw old.run new.run --queries queries.csv --judgments {j} -n 2",
}
OF_DOCUMENTS = ("compare", "explain", "sensitivity", "judge-next")  # which hear what a document is


@pytest.mark.first_case
@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rankings of chunks, each line twice, meet the judgments by the options that the messages name."""
    monkeypatch.chdir(tmp_path)
    write_letters(tmp_path / "j.csv")
    write_judgments(Path("numbers.qrels"), NUMBERS)
    write_table(Path("queries.csv"), [{"query_id": "1", "text": "one"}, {"query_id": "2", "text": "two"}])
    remedies, ending = ["--grades E=3,S=2,C=1,I=0"], ""
    if name in OF_DOCUMENTS:
        remedies, ending = [*remedies, "--duplicates first"], "#1"
    chunks = {
        system: {query: {f"{doc}{ending}": score for doc, score in docs.items()} for query, docs in ranking.items()}
        for system, ranking in RANKINGS.items()
    }
    write_rankings(tmp_path, chunks)
    words = COMMANDS[name].format(j="j.csv").split()
    if ending:
        words += ["--document-prefix", "#", "--own", "drop"]
        for system in RANKINGS:
            Path(f"{system}.run").write_text(Path(f"{system}.run").read_text() * 2)
    for remedy in remedies:
        refused = invoke(words)
        assert refused.exit_code == 2
        assert remedy in refused.stderr
        words += remedy.split()
    found = invoke(words)
    assert found.exit_code == 0, found.output


# ---- an empty grade is no judgment: the row is left out and counted, whatever the file is


ROWS = [("1", "a", 3.0), ("1", "b", None), ("1", "c", 0.0), ("2", "a", None), ("2", "d", 1.0)]
OF_ROWS = {"old": {"1": {"a": 2.0, "b": 1.0}, "2": {"d": 1.0}}, "new": {"1": {"a": 1.0, "c": 2.0}, "2": {"d": 1.0}}}
RECORDS = [dict(zip(NAMES, row, strict=True)) for row in ROWS]


@pytest.mark.parametrize("name", ["j.csv", "blank.csv", "j.tsv", "j.jsonl", "j.json", "j.parquet"])
def test_rows_of_files(name: str, tmp_path: Path) -> None:
    empty = "  " if name == "blank.csv" else None
    path = write_table(tmp_path / name, [row | {"grade": empty} if row["grade"] is None else row for row in RECORDS])
    found = pull_source(FileSource(file=path), JUDGMENT, tmp_path)
    assert list(zip(*found.table.to_pydict().values(), strict=True)) == [row for row in ROWS if row[2] is not None]
    (remark,) = found.remarks
    assert (remark.code, remark.count) == ("unrated_row", 2)
    assert remark.examples[0].startswith(str(path))


@pytest.mark.parametrize("name", ["j.csv", "j.tsv", "j.qrels"])
def test_words_for_no_grade_in_texts(name: str, tmp_path: Path) -> None:
    """In files of numbers and of words alike; a word with a number of its own is a grade."""
    separator = {"csv": ",", "tsv": "\t", "qrels": " 0 "}[name.partition(".")[2]]
    usual: dict[str, Any] = {"name": "t", "directory": tmp_path, "systems": [{"name": "a", "file": "a.run"}]}
    for word in NO_GRADE:
        for grades in (None, {"E": 3.0, "I": 0.0}, {"E": 3.0, "I": 0.0, word: 1.0}):
            words = [word if grade is None else ("E" if grade else "I") if grades else grade for *_, grade in ROWS]
            filled = [(query, doc, text) for (query, doc, _), text in zip(ROWS, words, strict=True)]
            lines = filled if name == "j.qrels" else [NAMES, *filled]
            text = [f"{query}{separator}{doc}{separator.replace('0 ', '')}{grade}\n" for query, doc, grade in lines]
            (tmp_path / name).write_text("".join(text))
            judgments = {"file": name, **({"grades": grades} if grades else {})}
            evaluation = Evaluation.model_validate(usual | {"judgments": judgments})
            remarks = [(each.code, each.count) for each in pull_judgments(evaluation).remarks]
            assert remarks == ([] if grades and word in grades else [("unrated_row", 2)]), (word, grades)
        with pytest.raises(InputError, match="every word needs a number"):
            pull_judgments(Evaluation.model_validate(usual | {"judgments": name}))


IN_PYTHON: dict[str, Any] = {
    "arrow": pa.Table.from_pylist(RECORDS),
    "pandas": pd.DataFrame(ROWS, columns=list(NAMES)),
    "dictionaries": {"1": {"a": 3, "b": None, "c": 0}, "2": {"a": None, "d": 1}},
}


@pytest.mark.first_case
@pytest.mark.parametrize("data", IN_PYTHON.values(), ids=IN_PYTHON)
def test_rows_of_python_and_the_ledger(data: Any) -> None:
    result = ndcg_ab.compare(data, OF_ROWS, resamples=100)
    outcome = result._outcome
    row = outcome.ledger[0]
    assert (row.read, row.used, row.reasons) == (5, 3, "without a grade: 2")
    (finding,) = [each for each in outcome.findings if each.code == "unrated_row"]
    assert finding.message.startswith("judgments: 2 rows have no grade and are left out (such as judgments")


# ---- ratings of users that would be judged as judgments, in every container that judgments come in


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


def put_into(name: str, rows: Rows, folder: Path) -> FileSource:
    """Put rows into a container: a file by its name, or data in memory."""
    table = pa.Table.from_pylist([dict(zip(NAMES, row, strict=True)) for row in rows])
    nested = {query: {doc: grade for other, doc, grade in rows if other == query} for query, *_ in rows}
    if name in ("table", "dictionary"):
        return FileSource(file=in_memory_file("judgments", table if name == "table" else nested))
    path, columns = folder / name, {}
    if ".qrels" in name:
        text = "".join(f"{query} 0 {document} {grade!r}\n" for query, document, grade in rows)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    elif name == "j.json":
        path.write_text(json.dumps(nested))
    elif name == "j.csv":
        columns = {"query_id": "user", "doc_id": "stars", "grade": "when"}
        write_table(path, table.rename_columns([*columns.values()]).to_pylist())
    else:
        write_table(path, table.to_pylist())
    return FileSource(file=path, columns=columns)


CONTAINERS = ["j.qrels", "j.qrels.gz", "j.csv", "j.parquet", "j.json", "table", "dictionary"]


@pytest.mark.parametrize("rows", [RATINGS, ITEMS, EXTREMES, NEGATIVE])
@pytest.mark.parametrize("name", CONTAINERS)
def test_ratings_are_no_judgments(name: str, rows: Rows, tmp_path: Path) -> None:
    source = put_into(name, rows, tmp_path)
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
    assert pull_source(put_into("j.qrels", rows, tmp_path), JUDGMENT, tmp_path).count == len(rows)


@pytest.mark.parametrize("sign", ["\t", "::"])
def test_a_file_of_ratings_is_judged(sign: str, tmp_path: Path) -> None:
    rows = [("196", "242", "3", "881250949"), ("186", "302", "5", "891717742")]
    (tmp_path / "u.tsv").write_text("".join(sign.join(row) + "\n" for row in rows))
    found = pull_source(FileSource(file=tmp_path / "u.tsv"), JUDGMENT, tmp_path)
    assert found.table.select(["query_id", "doc_id", "grade"]).to_pylist() == [
        {"query_id": "196", "doc_id": "242", "grade": 3.0},
        {"query_id": "186", "doc_id": "302", "grade": 5.0},
    ]
