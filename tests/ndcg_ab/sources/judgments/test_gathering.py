"""Several files of judgments, several judges of one document: which grade counts, what is told, what is refused."""

from pathlib import Path
from typing import Any

import pytest

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.sources import JUDGMENT, Pulled
from ndcg_ab.sources.judgments.gathering import split_by_judge
from tests.cases import read_cases
from tests.inputs import write_table
from tests.sentences import refusal_text
from tests.small_evaluation import pull_judgments

PLAIN = "query_id,doc_id,grade\n"
JUDGED = "query_id,doc_id,grade,judge\n"


def evaluation_of(folder: Path, *texts: str, **keys: Any) -> Evaluation:
    """Of files a.csv, b.csv, … with these texts."""
    names = [f"{chr(ord('a') + at)}.csv" for at in range(len(texts))]
    for name, text in zip(names, texts, strict=True):
        (folder / name).write_text(text)
    content = {"name": "e", "judgments": names[0], "more_judgments": names[1:], "systems": [{"name": "s", "file": "s"}]}
    return Evaluation.model_validate(content | {"directory": folder} | keys)


def grades(pulled: Pulled) -> dict[tuple[str, str], float]:
    columns = (pulled.table[name].to_pylist() for name in ("query_id", "doc_id", "grade"))
    return {(query_id, doc_id): grade for query_id, doc_id, grade in zip(*columns, strict=True)}


TWO_FILES = (PLAIN + "q,d,1\nq,e,2\nr,d,0\n", PLAIN + "q,d,3\nq,e,2\nq,f,1\n", PLAIN + "q,d,2\n")


@pytest.mark.parametrize(("precedence", "expected"), [("last", 2.0), ("first", 1.0), ("highest", 3.0), ("lowest", 1.0)])
def test_later_files_add_and_correct_by_the_precedence(tmp_path: Path, precedence: str, expected: float) -> None:
    found = pull_judgments(evaluation_of(tmp_path, *TWO_FILES, judgments_precedence=precedence))
    assert grades(found) == {("q", "d"): expected, ("q", "e"): 2.0, ("r", "d"): 0.0, ("q", "f"): 1.0}
    assert found.layout is JUDGMENT and found.table.schema.equals(JUDGMENT.schema)


def test_what_each_file_changed_is_told(tmp_path: Path) -> None:
    first, second, *others = pull_judgments(evaluation_of(tmp_path, *TWO_FILES)).remarks
    assert (first.code, first.count) == ("more_judgments", 2)
    assert first.message == "b.csv: adds 1, changes 1 and leaves 1 of those before it (judgments_precedence = last)"
    assert first.examples == ("query 'q', document 'd': 1 is now 3",)
    assert second.message == "c.csv: adds 0, changes 1 and leaves 0 of those before it (judgments_precedence = last)"
    assert second.examples == ("query 'q', document 'd': 3 is now 2",)
    assert [(each.code, each.count) for each in others] == [("grade_off_scale", 1)]
    assert others[0].message == "b.csv: 1 of its grades are outside 0 to 2, the grades of a.csv"


@pytest.mark.parametrize(("grade", "count"), [(22, 1), (-5, 1), (3, 1), (2, 0), (0, 0), (1.5, 0)])
def test_a_later_grade_outside_the_scale_is_reported(grade: float, count: int, tmp_path: Path) -> None:
    files = ("query_id,doc_id,grade\nq,d,0\nq,e,2\n", f"query_id,doc_id,grade\nq,f,{grade}\n")
    found = pull_judgments(evaluation_of(tmp_path, *files)).remarks
    assert sum(each.count for each in found if each.code == "grade_off_scale") == count


THREE_JUDGES = JUDGED + "q,d,0,ann\nq,d,3,bob\nq,d,3,cy\nq,e,1,ann\nq,e,2,bob\nq,f,2,ann\n"


@pytest.mark.parametrize(
    ("combine", "d", "e"),
    [("majority", 3.0, 1.0), ("median", 3.0, 1.5), ("mean", 2.0, 1.5), ("highest", 3.0, 2.0), ("lowest", 0.0, 1.0)],
)
def test_grades_of_several_judges_are_combined(tmp_path: Path, combine: str, d: float, e: float) -> None:
    found = pull_judgments(evaluation_of(tmp_path, THREE_JUDGES, combine=combine))
    assert grades(found) == {("q", "d"): d, ("q", "e"): e, ("q", "f"): 2.0}
    (remark,) = found.remarks
    assert remark.message == f"2 documents are judged by several of 3 judges, who disagree on 2: {combine} counts"
    assert found.singles is not None and found.singles["judge"].to_pylist() == ["ann", "bob", "cy", "ann", "bob", "ann"]


def test_judges_of_all_files_can_stand_together(tmp_path: Path) -> None:
    """A file without judges is one of its name, and a judge's latest judgment counts."""
    texts = (JUDGED + "q,d,0,ann\nq,d,1,bob\n", PLAIN + "q,d,2\n", JUDGED + "q,d,3,ann\n")
    found = pull_judgments(evaluation_of(tmp_path, *texts, judgments_precedence="together", combine="mean"))
    assert grades(found) == {("q", "d"): 2.0}
    assert found.singles is not None
    assert set(found.singles["judge"].to_pylist()) == {"ann", "bob", "b.csv"}
    last = pull_judgments(evaluation_of(tmp_path, *texts, combine="mean"))
    assert grades(last) == {("q", "d"): 3.0}


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_judge_and_source_are_read_in_every_format_with_columns(tmp_path: Path, ending: str) -> None:
    """A name may lack; without one a judgment is that of a judge without a name."""
    rows = [
        {"query_id": "q", "doc_id": "d", "grade": 1, "who": None, "source": "old"},
        {"query_id": "q", "doc_id": "d", "grade": 1, "who": "bob", "source": "new"},
    ]
    path = write_table(tmp_path / f"judged.{ending}", rows)
    place = {"file": path, "columns": {"judge": "who"}}
    content = {"name": "e", "judgments": place, "systems": [{"name": "s", "file": "s"}], "directory": tmp_path}
    found = pull_judgments(Evaluation.model_validate(content))
    assert grades(found) == {("q", "d"): 1.0}
    assert found.singles is not None
    assert found.singles.select(["judge", "source", "file"]).to_pylist() == [
        {"judge": None, "source": "old", "file": path.name},
        {"judge": "bob", "source": "new", "file": path.name},
    ]


def test_sources_alone_make_no_repetition(tmp_path: Path) -> None:
    text = "query_id,doc_id,grade,source\nq,d,1,old\nq,d,1,new\nq,e,1,old\nq,e,1,old\n"
    found = pull_judgments(evaluation_of(tmp_path, text))
    assert grades(found) == {("q", "d"): 1.0, ("q", "e"): 1.0}
    ((code, count, examples, *_),) = [vars(remark).values() for remark in found.remarks]
    assert (code, count, examples) == ("repeated_judgment", 1, (f"{tmp_path}/a.csv, lines 4 and 5",))


CASES = read_cases("gathering")
REFUSED = CASES["REFUSED"]


@pytest.mark.parametrize("mistake", REFUSED)
def test_what_has_no_one_grade_is_refused(mistake: str, tmp_path: Path) -> None:
    texts, said = REFUSED[mistake]
    evaluation = evaluation_of(tmp_path, *texts)
    if "column" in mistake:
        evaluation.judgments.columns["judge"] = "who"  # type: ignore[union-attr]
    assert refusal_text(pull_judgments, evaluation).startswith(said.replace("{}", str(tmp_path)))


@pytest.mark.parametrize(
    ("precedence", "expected"),
    [
        ("last", {"ann": {"d": 3.0, "e": 1.0}}),
        ("first", {"ann": {"d": 0.0, "e": 1.0}, "bob": {"d": 1.0}}),
        ("together", {"ann": {"d": 3.0, "e": 1.0}, "bob": {"d": 1.0}}),
        ("highest", {"ann": {"d": 3.0, "e": 1.0}, "bob": {"d": 1.0}}),
    ],
)
def test_what_each_judge_says_is_what_counts(
    tmp_path: Path, precedence: str, expected: dict[str, dict[str, float]]
) -> None:
    texts = (JUDGED + "q,d,0,ann\nq,d,1,bob\nq,e,1,ann\n", JUDGED + "q,d,3,ann\n")
    found = pull_judgments(evaluation_of(tmp_path, *texts, judgments_precedence=precedence, combine="mean"))
    assert found.singles is not None
    judged = split_by_judge(found.singles, precedence)
    tables = {name: judged.of_judge(name) for name in judged.judges}
    grades_of = {
        name: dict(zip(table["doc_id"].to_pylist(), table["grade"].to_pylist(), strict=True))
        for name, table in tables.items()
    }
    assert grades_of == expected
