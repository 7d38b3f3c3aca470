"""`ndcg_ab.compare_judgments`: the command's numbers over dictionaries and tables, and errors that name arguments."""

import json
from typing import Any

import pyarrow as pa
import pytest

import ndcg_ab
from tests.commands import invoke
from tests.paths import DATA

pytestmark = pytest.mark.slow

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
