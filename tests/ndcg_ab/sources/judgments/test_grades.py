"""Grades that are words: every word has the number that is named, whatever the source, and no other word is read."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as papq
import pytest

import ndcg_ab
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError
from tests.commands import invoke
from tests.inputs import write_judgments, write_rankings
from tests.small_evaluation import DATA, small, undrawn

LETTERS = [("1", "a", "E"), ("1", "b", "I"), ("1", "c", "S"), ("2", "a", "C"), ("2", "d", "E")]
ESCI = {"E": 3.0, "S": 2.0, "C": 1.0, "I": 0.0}
NAMES = ("query_id", "doc_id", "grade")
RANKINGS = {"old": {"1": {"b": 2, "a": 1}, "2": {"a": 2, "d": 1}}, "new": {"1": {"a": 2, "c": 1}, "2": {"d": 1}}}
NUMBERS = {query: {doc: ESCI[word] for other, doc, word in LETTERS if other == query} for query in ("1", "2")}


def files(folder: Path) -> dict[str, Path]:
    columns = dict(zip(NAMES, map(list, zip(*LETTERS, strict=True)), strict=True))
    texts = {
        "j.csv": "".join(",".join(row) + "\n" for row in [NAMES, *LETTERS]),
        "j.qrels": "".join(f"{query} 0 {doc} {word}\n" for query, doc, word in LETTERS),
        "j.jsonl": "".join(json.dumps(dict(zip(NAMES, row, strict=True))) + "\n" for row in LETTERS),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    papq.write_table(pa.table(columns), folder / "j.parquet")
    return {name: folder / name for name in [*texts, "j.parquet"]}


@pytest.mark.first_case
@pytest.mark.parametrize("name", ["j.csv", "j.qrels", "j.jsonl", "j.parquet"])
def test_words_of_files(name: str, tmp_path: Path) -> None:
    path = str(files(tmp_path)[name])
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


@pytest.mark.slow
def test_words_in_python_beside_numbers_and_empty_ones() -> None:
    judgments: dict[str, dict[str, Any]] = {"1": {"a": "good ", "b": 0, "c": None, "d": 2.5}, "2": {"d": "1"}}
    result = ndcg_ab.compare(judgments, RANKINGS, grades={"good": 3, "1": 2}, resamples=100)
    numbers = {"1": {"a": 3, "b": 0, "d": 2.5}, "2": {"d": 2}}
    assert result.comparisons == ndcg_ab.compare(numbers, RANKINGS, resamples=100).comparisons
    assert result._outcome.ledger[0].reasons == "without a grade: 1"
    with pytest.raises(InputError, match=r"every word needs a number: grades=\{'good': NUMBER\}"):
        ndcg_ab.compare(judgments, RANKINGS)


def test_words_of_other_files(tmp_path: Path) -> None:
    """More judgments have the words of the judgments, or their own."""
    content = {"name": "words", "judgments": {"file": "first.csv", "grades": ESCI}, "metrics": ["ndcg@10"]}
    content["systems"] = [{"name": "old", "file": "old.run"}]
    content["more_judgments"] = ["j.csv", {"file": "own.csv", "grades": {"E": 9}}]
    files(tmp_path)
    (tmp_path / "first.csv").write_text("query_id,doc_id,grade\n1,a,E\n2,d,I\n")
    (tmp_path / "own.csv").write_text("query_id,doc_id,grade\n2,x,E\n2,y,4\n")
    write_rankings(tmp_path, RANKINGS)
    from tests.small_evaluation import pull_inputs

    read = pull_inputs(Evaluation.model_validate({**content, "directory": tmp_path}))
    assert read.judgments is not None
    grades = {(row["query_id"], row["doc_id"]): row["grade"] for row in read.judgments.table.to_pylist()}
    assert grades == {(query, doc): ESCI[word] for query, doc, word in LETTERS} | {("2", "x"): 9, ("2", "y"): 4}


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


@pytest.mark.slow
def test_other_numbers_are_read_again(tmp_path: Path) -> None:
    """A night that changes the numbers of words alone does not take what another night read."""
    small(tmp_path)
    lines = [line.split() for line in (DATA / "judgments.qrels").read_text().splitlines()]
    text = "".join(f"{query} 0 {doc} {'no' if grade == '0' else 'yes'}\n" for query, _, doc, grade in lines)
    (tmp_path / "inputs" / "judgments.qrels").write_text(text)
    for number in (1.0, 3.0):
        place = {"file": "judgments.qrels", "grades": {"yes": number, "no": 0}}
        bundle = undrawn(small(tmp_path, judgments=place)).bundle
        with duckdb.connect(bundle / "evaluation.duckdb", read_only=True) as kept:
            assert kept.execute("select max(grade) from judgment").fetchall() == [(number,)]


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


@pytest.mark.first_case
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_commands(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files(tmp_path)
    write_rankings(tmp_path, RANKINGS)
    write_judgments(Path("numbers.qrels"), NUMBERS)
    Path("queries.csv").write_text("query_id,text\n1,one\n2,two\n")
    words = command.format(j="j.csv").split()
    refused = invoke(words)
    assert refused.exit_code == 2
    assert "--grades E=3,S=2,C=1,I=0" in refused.stderr
    found = invoke([*words, "--grades", "E=3,S=2,C=1,I=0"])
    assert found.exit_code == 0, found.output
