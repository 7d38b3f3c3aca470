"""Two sets of judgments compared: grades by hand, verdicts that change, and what is refused."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests import commands
from tests.inputs import write_judgments, write_rankings

QUERIES = [f"q{number:02d}" for number in range(40)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """old shows a before b, new b before a; people find a relevant, the model b (and it judges one more)."""
    folder = tmp_path_factory.mktemp("judgments")
    orders = {"old": "ab", "same": "ab", "new": "ba"}
    write_rankings(folder, {name: dict.fromkeys(QUERIES, order) for name, order in orders.items()})
    people = write_judgments(folder / "people", {query: {"a": 1, "b": 0} for query in QUERIES}).read_text()
    (folder / "model").write_text(people.replace("a 1", "a 0").replace("b 0", "b 1") + "q00 0 c -1\n")
    (folder / "twice").write_text(people + "q00 0 a 1\n")
    (folder / "contradicts").write_text(people + "q00 0 b 2\n")
    (folder / "others").write_text(people.replace("q", "query"))
    (folder / "model.csv").write_text("qid,rating,doc\n" + "".join(f"{query},1,a\n{query},0,b\n" for query in QUERIES))
    return folder


def invoke(folder: Path, *words: str) -> Any:
    return commands.invoke(["judgments", *(word.replace("{}", str(folder)) for word in words)])


def content(folder: Path, *words: str) -> dict[str, Any]:
    found = invoke(folder, *words, "--json", "-")
    assert found.exit_code == 0, found.output
    made: dict[str, Any] = json.loads(found.stdout)
    return made


def systems(*names: str) -> list[str]:
    return [word for name in names for word in ("--system", f"{name}={{}}/{name}.run")]


def graded(folder: Path, name: str, counts: Mapping[tuple[int, int], int]) -> list[str]:
    """Two files in which as many documents have these grades."""
    pairs = [pair for pair, count in counts.items() for _ in range(count)]
    for place in (0, 1):
        rows = [f"q{number % 3} 0 d{number} {pair[place]}\n" for number, pair in enumerate(pairs)]
        (folder / f"{name}{place}").write_text("".join(rows))
    return [f"{{}}/{name}0", f"{{}}/{name}1"]


def test_grades_by_hand(folder: Path) -> None:
    """Of [[1 1 0] [0 1 0] [0 0 1]] the kappas are 1 - 4/11 of plain, 1 - 1/3.5 and 1 - 1/5 of weighted disagreement."""
    found = content(folder, *graded(folder, "small", {(0, 0): 1, (0, 1): 1, (1, 1): 1, (2, 2): 1}))
    assert found["agreement"] == {
        "pairs": 4,
        "queries": 3,
        "only_first": 0,
        "only_second": 0,
        "equal": 0.75,
        "second_higher": 0.25,
        "second_lower": 0,
        "cohen_kappa": pytest.approx(1 - 4 / 11),
        "cohen_kappa_linear": pytest.approx(1 - 1 / 3.5),
        "cohen_kappa_quadratic": pytest.approx(1 - 1 / 5),
        # coincidences [[2 1 0] [1 2 0] [0 0 2]]: of 3, 3 and 2, whose middles are 1.5, 4.5 and 7
        "krippendorff_alpha": pytest.approx(1 - 7 * (2 * 9) / (2 * (9 * 9 + 6 * 5.5**2 + 6 * 2.5**2))),
        "cells": [{"first": first, "second": second, "count": 1} for first, second in ((0, 0), (0, 1), (1, 1), (2, 2))],
    }
    assert (found["orders"], found["verdicts"], found["schema"]) == ([], [], 1)


def test_one_grade_alone_tells_nothing(folder: Path) -> None:
    files = graded(folder, "ones", {(1, 1): 3})
    assert content(folder, *files)["agreement"]["cohen_kappa"] is None
    assert "All grades are the same one" in invoke(folder, *files).stdout


@pytest.fixture(scope="module")
def turned(folder: Path) -> str:
    """What is printed of people and model, beside turned.json."""
    words = ("{}/people", "{}/model", *systems("old", "same", "new"), "--metric", "rr", "--json", "{}/turned.json")
    return invoke(folder, *words).stdout


@pytest.mark.slow
def test_order_and_verdicts_turn(folder: Path, turned: str) -> None:
    found = json.loads((folder / "turned.json").read_text())
    assert (found["agreement"]["pairs"], found["agreement"]["only_second"]) == (80, 1)
    assert found["agreement"]["cohen_kappa"] == pytest.approx(-1)
    (order,) = found["orders"]
    assert [row["first"] for row in order["systems"]] == [1, 1, 0.5]
    assert [row["second"] for row in order["systems"]] == [0.5, 0.5, 1]
    assert (order["tau"], order["weighted_tau"]) == (pytest.approx(-1), pytest.approx(-1))
    told = {row["candidate"]: row for row in found["verdicts"]}
    assert [told[name]["changed"] for name in ("same", "new")] == [False, True]
    assert [told["new"][side]["conclusion"] for side in ("first", "second")] == ["regressed", "improved"]
    assert [told["new"][side]["difference"] for side in ("first", "second")] == [-0.5, 0.5]
    assert {row["code"] for row in found["second_findings"]} - {row["code"] for row in found["first_findings"]} == {
        "negative_grade"
    }


@pytest.mark.slow
def test_the_same_judgments_change_nothing(folder: Path) -> None:
    """A judgment that stands twice is one."""
    found = invoke(folder, "{}/people", "{}/twice", *systems("old", "new"), "--metric", "rr")
    assert (
        "80 documents are judged in both, of 40 queries; 0 in the first alone, 0 in the second alone." in found.stdout
    )
    assert "Cohen's kappa 1.0000" in found.stdout and "Kendall's tau +1.0000" in found.stdout
    assert "No verdict of 1 changes with the judgments." in found.stdout


def test_what_is_printed(turned: str) -> None:
    lines = [" ".join(line.split()) for line in turned.splitlines()]
    assert {"0 0 40", "1 40 0", "new 0.5000 1.0000 +0.5000", "1 verdict of 2 changes with the judgments."} <= {*lines}
    assert "Equal grades 0 %; the second is higher in 50 %, lower in 50 %." in lines
    at = lines.index("rr new first -0.5000 regressed")
    assert lines[at + 1] == "rr new second +0.5000 improved; changes"


@pytest.mark.slow
def test_warnings_are_told_once(folder: Path) -> None:
    """What the sets share stands below the first alone, notes in the JSON alone."""
    (folder / "odd").write_text((folder / "people").read_text().replace("q01 0 a 1", "q01 0 a 0") + "q99 0 a 1\n")
    told = invoke(folder, "{}/odd", "{}/odd", *systems("old", "new")).stdout
    assert told.count("[unanswered_query]") == 2 and "[no_relevant_query]" not in told
    assert "what it does not share" not in told
    told = invoke(folder, "{}/people", "{}/odd", *systems("old", "new")).stdout
    assert told.partition("what it does not share with the first")[2].count("[unanswered_query]") == 2


def test_many_grades_are_in_the_json_alone(folder: Path) -> None:
    files = graded(folder, "many", {(grade, grade): 1 for grade in range(13)})
    assert "13 and 13 grades: the table of them is in --json." in invoke(folder, *files).stdout
    assert len(content(folder, *files)["agreement"]["cells"]) == 13


def test_formats_and_columns_of_each_file(folder: Path) -> None:
    """Once for both, or once for each; an empty text for one that needs none."""
    csv = ["--judgments-columns", "query_id=qid,doc_id=doc,grade=rating"]
    assert content(folder, "{}/model.csv", "{}/model.csv", *csv)["agreement"]["cohen_kappa"] == pytest.approx(1)
    found = content(folder, "{}/people", "{}/model.csv", "--judgments-columns", "", *csv)
    assert (found["agreement"]["pairs"], found["agreement"]["equal"]) == (80, 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "people others",
            "people and others: no document of a query is judged in both, of 80 and 80 judgments (such as document 'a'"
            " of query 'q00', and document 'a' of query 'query00'): their ids must meet",
        ),
        (
            "people contradicts",
            "contradicts, lines 2 and 81: query 'q00', document 'b' has the grades 0 and 2: a document has one grade"
            " for a query; keep one of them",
        ),
        ("people nothing", "nothing: there is no such file"),
        ("people model --metric rr", "--metric: is about systems, and none is given: add two rankings or more"),
        ("people model --seed 0", "--seed: is about systems, and none is given: add two rankings or more"),
        (
            "people model --system old=old.run",
            "--system: 1 given; at least 2 systems are needed; add --system NAME=FILE",
        ),
        (
            f"people model {'--judgments-format trec ' * 3}",
            "--judgments-format: given 3 times: give it once for both files, or once for each",
        ),
        ("people model --json model", "--json model: is one of the inputs, and would be overwritten"),
    ],
)
def test_refused(folder: Path, words: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    found = commands.invoke(["judgments", *words.split()])
    assert (found.exit_code, found.stderr.splitlines()[-1]) == (2, f"ndcg-ab: {message}")
