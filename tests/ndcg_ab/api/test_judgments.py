"""`compare_judgments` and `judge_next` from Python: the commands' numbers, and errors that name arguments."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ndcg_ab
from tests.commands import invoke
from tests.paths import DATA
from tests.sentences import refusal_text

PEOPLE = {f"q{number}": {"a": 1, "b": 0} for number in range(20)}
MODEL = {query: {"a": 0, "b": 1} for query in PEOPLE}
SYSTEMS = {
    name: {query: dict(scores) for query in PEOPLE}
    for name, scores in (("old", {"a": 2.0, "b": 1.0}), ("new", {"b": 1.0}))
}


def test_dictionaries_and_tables() -> None:
    rows = [(query, doc, grade) for query, grades in MODEL.items() for doc, grade in grades.items()]
    table = pa.table(dict(zip(("query_id", "doc_id", "rating"), map(list, zip(*rows, strict=True)), strict=True)))
    found = ndcg_ab.compare_judgments(PEOPLE, table, SYSTEMS, metrics="rr", second_columns={"grade": "rating"})
    assert found.compared.agreement.cohen_kappa == pytest.approx(-1)
    assert [(row.first.difference, row.second.difference, row.changed) for row in found.compared.verdicts] == [
        (-1, 0.5, True)
    ]
    assert (found.compared.first, found.compared.second) == ("first", "second")
    assert repr(found) == "<JudgmentsResult: 40 pairs judged in both>"
    assert "1 verdict of 1 changes" in str(found) and "1 verdict of 1 changes" in found._repr_html_()


def test_each_of_the_two_has_grades_of_its_own() -> None:
    words = [{query: {"a": "good", "b": "bad"} for query in PEOPLE} for _ in range(2)]
    grades = {"first_grades": {"good": 1, "bad": 0}, "second_grades": {"good": 0, "bad": 1}}
    assert ndcg_ab.compare_judgments(*words, **grades).compared.agreement.cohen_kappa == pytest.approx(-1)


@pytest.mark.slow
def test_what_the_command_writes() -> None:
    judgments, systems = str(DATA / "judgments.qrels"), {name: str(DATA / f"{name}.run") for name in ("old", "new")}
    options = [word for name, file in systems.items() for word in ("--system", f"{name}={file}")]
    written = invoke(["judgments", judgments, judgments, *options, "--json", "-"]).stdout
    assert json.loads(ndcg_ab.compare_judgments(judgments, judgments, systems).to_json()) == json.loads(written)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"second": {"q0": {"c": 1}}}, "first and second: no document of a query is judged in both"),
        ({"second": None}, "second: None: must be a path"),
        ({"second": {"q0": {"a": "high"}}}, "second, query 'q0', document 'a'"),
        ({"systems": {"old": SYSTEMS["old"]}}, "systems: holds 1; at least 2 systems are needed, or none"),
        ({"second_columns": {"grade": "x"}}, "second_columns = {'grade': 'x'}: names columns of a table, and second"),
    ],
)
def test_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ndcg_ab.InputError, match=message):
        ndcg_ab.compare_judgments(**{"first": PEOPLE, "second": MODEL, **arguments})


# ---- judge_next from Python: the same rows as the command's, and its own mistakes


FILES = {"old": DATA / "old.run", "new": DATA / "new.run"}


def test_rows_table_and_sheet_agree(tmp_path: Path) -> None:
    found = ndcg_ab.judge_next(DATA / "judgments.qrels", FILES, metric="precision@5", count=2, candidates="new")
    assert [row.place for row in found.rows] == [1, 2]
    assert found.to_csv().splitlines()[1].startswith(f"1,{found.rows[0].query_id},{found.rows[0].doc_id},")
    assert len(json.loads(found.to_json())["documents"]) == 2
    assert "new against old, precision@5: undecided" in str(found)
    found.sheet(tmp_path / "sheet.html")
    assert found.rows[1].doc_id in (tmp_path / "sheet.html").read_text()


def test_a_configuration_is_taken_as_of_now(tmp_path: Path) -> None:
    """Its patterns name files, and its dates are written out."""
    for name, path in FILES.items():
        shutil.copy(path, tmp_path / f"{name}-{datetime.now(UTC):%Y}.run")
    systems = [{"name": "old", "file": "old*.run"}, {"name": "new", "file": "new-{date:%Y}.run"}]
    content = {"name": "shop", "judgments": str(DATA / "judgments.qrels"), "systems": systems}
    (tmp_path / "shop.yaml").write_text(json.dumps(content))
    found = ndcg_ab.judge_next(config=tmp_path / "shop.yaml", count=3)
    assert found.rows == ndcg_ab.judge_next(DATA / "judgments.qrels", FILES, count=3).rows


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, "count = 0: must be a whole number, at least 1"),
        ({"config": "a.yaml"}, "config: replaces judgments and systems"),
        ({"metric": "ndcg(unjudged=condense)@10"}, "the effect of a grade on it is not known"),
        ({"candidates": ["other"]}, "candidates 'other': is none of the candidates (new)"),
    ],
)
def test_mistakes_of_judge_next_name_the_argument(arguments: dict[str, Any], message: str) -> None:
    assert message in refusal_text(ndcg_ab.judge_next, DATA / "judgments.qrels", FILES, **arguments)
