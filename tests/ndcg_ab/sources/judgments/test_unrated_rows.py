"""An empty grade is no judgment: the row is left out and counted, whatever the file is."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as papq
import pytest

import ndcg_ab
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.errors import InputError
from ndcg_ab.sources import JUDGMENT, pull_source
from ndcg_ab.sources.forms.plausible import NO_GRADE
from ndcg_ab.sources.judgments.gathering import pull_judgments

ROWS = [("1", "a", 3.0), ("1", "b", None), ("1", "c", 0.0), ("2", "a", None), ("2", "d", 1.0)]
NAMES = ("query_id", "doc_id", "grade")
RANKINGS = {"old": {"1": {"a": 2.0, "b": 1.0}, "2": {"d": 1.0}}, "new": {"1": {"a": 1.0, "c": 2.0}, "2": {"d": 1.0}}}


def text_of(separator: str, blank: str = "") -> str:
    rows = [NAMES, *((query, doc, blank if grade is None else f"{grade:g}") for query, doc, grade in ROWS)]
    return "".join(separator.join(row) + "\n" for row in rows)


def table() -> pa.Table:
    return pa.table({name: list(column) for name, column in zip(NAMES, zip(*ROWS, strict=True), strict=True)})


def write_file(path: Path) -> None:
    records = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    if path.suffix == ".parquet":
        papq.write_table(table(), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif path.suffix == ".json":
        path.write_text(json.dumps(records))
    else:
        path.write_text(text_of("\t" if path.suffix == ".tsv" else ",", "  " if path.stem == "blank" else ""))


@pytest.mark.parametrize("name", ["j.csv", "blank.csv", "j.tsv", "j.jsonl", "j.json", "j.parquet"])
def test_rows_of_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    write_file(path)
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
    "arrow": table(),
    "pandas": pd.DataFrame(ROWS, columns=list(NAMES)),
    "dictionaries": {"1": {"a": 3, "b": None, "c": 0}, "2": {"a": None, "d": 1}},
}


@pytest.mark.first_case
@pytest.mark.parametrize("data", IN_PYTHON.values(), ids=IN_PYTHON)
def test_rows_of_python_and_the_ledger(data: Any) -> None:
    result = ndcg_ab.compare(data, RANKINGS, resamples=100)
    outcome = result._outcome
    row = outcome.ledger[0]
    assert (row.read, row.used, row.reasons) == (5, 3, "without a grade: 2")
    (finding,) = [each for each in outcome.findings if each.code == "unrated_row"]
    assert finding.message.startswith("judgments: 2 rows have no grade and are left out (such as judgments")


def test_a_file_without_a_grade(tmp_path: Path) -> None:
    path = tmp_path / "j.csv"
    path.write_text("query_id,doc_id,grade\n1,a,\n1,b,\n")
    with pytest.raises(InputError, match=r"j\.csv: there is no judgment in the file"):
        pull_source(FileSource(file=path), JUDGMENT, tmp_path)
