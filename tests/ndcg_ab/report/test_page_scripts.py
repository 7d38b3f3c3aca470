"""What the page's script says of numbers, without a browser: by hand, for three queries."""

import json
import re
from typing import Any

import pytest
from py_mini_racer import MiniRacer

from tests.paths import ROOT

TEMPLATES = ROOT / "ndcg_ab" / "report" / "page" / "templates"
QUERIES = ["tea", "milk", "bread", "rice"]
OLD, NEW = [0.5, 0.25, 1.0, 0.5], [0.75, 0.25, 0.375, None]  # differences: a win of .25, a tie, a loss of .625
DATA: dict[str, Any] = {
    "metrics": ["ndcg@10"],
    "systems": ["old", "new"],
    "baseline": 0,
    "values": [[OLD, NEW]],
    "queries": {"id": QUERIES, "text": ["", "", "", ""]},
    "comparisons": [],
    "limits": {"full": 2000, "groups": 1000, "cells": 40},
    "nights": [
        {"metric": "ndcg@10", "ordinal": ordinal, "system": system, "mean": mean, "regressed": ordinal == 2}
        | {"night": f"2026-11-0{ordinal}", "verdict": None}
        for ordinal, system, mean in [(2, "old", 0.5), (3, "old", 0.5625), (3, "new", 0.25)]
    ],
}


# Elements of the page: each writes down its attributes and contents.
ELEMENTS = """
class Node {
  constructor(name) { this.name = name; this.attributes = {}; this.children = []; }
  setAttribute(key, value) { this.attributes[key] = value; }
  append(...children) { this.children.push(...children); }
}
const document = { addEventListener() {}, createElementNS: (space, name) => new Node(name) };
"""


@pytest.fixture(scope="module")
def script() -> MiniRacer:
    found = MiniRacer()
    found.eval(ELEMENTS)
    for name in ("core.js", "queries.js", "figures.js"):
        found.eval((TEMPLATES / name).read_text(encoding="utf-8"))
    found.eval(f"data = {json.dumps(DATA)}")
    return found


def called(script: MiniRacer, text: str) -> Any:
    return json.loads(str(script.eval(f"JSON.stringify({text})")))


def test_the_largest_loss_and_the_largest_win(script: MiniRacer) -> None:
    caption = called(script, "figures.differences(names()).caption")
    assert caption.startswith("new against old on 3 queries: 1 win, 1 tie, 1 loss.")
    assert "Largest loss -0.6250 (bread), largest win +0.2500 (tea)." in caption
    script.eval("data.baseline = 1, state.candidate = 0")
    caption = called(script, "figures.differences(names()).caption")
    script.eval("data.baseline = 0, state.candidate = 1")
    assert "Largest loss -0.2500 (tea), largest win +0.6250 (bread)." in caption


@pytest.mark.parametrize(("name", "marks"), [("differences", 3), ("values", 3), ("nights", 3)])
def test_every_mark_has_a_place(name: str, marks: int, script: MiniRacer) -> None:
    """A field of data or rows that is misspelt makes the places NaN, which browsers leave out."""
    script.eval(f"figure = figures.{name}(names())")
    figure = str(script.eval("JSON.stringify(figure.plot(figure.rows, 640, names()))"))
    assert figure.count('"class":"mark') == marks
    assert not re.search(r"NaN|undefined|Infinity|null", figure), figure


def test_bars_stand_in_the_order_of_their_differences(script: MiniRacer) -> None:
    rows = called(script, "figures.differences(names()).rows")
    assert [(row["query"], row["difference"], row["outcome"]) for row in rows] == [
        ("bread", -0.625, "loss"),
        ("milk", 0.0, "tie"),
        ("tea", 0.25, "win"),
    ]
    assert [(row["from"], row["to"]) for row in rows] == [(0, 1), (1, 2), (2, 3)]


def test_a_mark_has_the_values_of_both_systems(script: MiniRacer) -> None:
    rows = called(script, "figures.values(names()).rows")
    assert {(row["query"], row["baseline"], row["candidate"]) for row in rows} == {
        ("tea", 0.5, 0.75),
        ("milk", 0.25, 0.25),
        ("bread", 1.0, 0.375),
    }


def test_the_last_night_and_those_that_regressed(script: MiniRacer) -> None:
    caption = called(script, "figures.nights(names()).caption")
    assert caption.startswith("Last: old 0.5625, new 0.2500.")
    assert "(old in evaluation 2)" in caption


@pytest.mark.parametrize(("value", "text"), [(0.03125, "+0.0312"), (0.09375, "+0.0938"), (-0.5, "-0.5000")])
def test_numbers_are_written_as_python_writes_them(value: float, text: str, script: MiniRacer) -> None:
    assert called(script, f"signed({value})") == text == f"{value:+.4f}"


@pytest.mark.parametrize(
    ("least", "most", "at"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (-0.25, 0.75, [-0.2, 0, 0.2, 0.4, 0.6]),
        (0, 92, [0, 20, 40, 60, 80]),
        (0.701, 0.704, [0.701, 0.7015, 0.702, 0.7025, 0.703, 0.7035, 0.704]),
    ],
)
def test_axes_are_divided_by_round_numbers(least: float, most: float, at: list[float], script: MiniRacer) -> None:
    assert called(script, f"ticks({least}, {most}).at") == pytest.approx(at)
    texts = called(script, f"ticks({least}, {most}).at.map(ticks({least}, {most}).text)")
    assert [float(text) for text in texts] == pytest.approx(at) and len(set(texts)) == len(at)


def test_many_queries_are_drawn_in_groups(script: MiniRacer) -> None:
    """6,000 queries: bars of neighbours with one outcome, and marks of like values; none is lost."""
    script.eval(
        "kept = data; data = { ...data, values: [[Array.from({ length: 6000 }, (_, i) => (i * 7919 % 6000) / 6000),"
        " Array.from({ length: 6000 }, (_, i) => (i * 104729 % 6000) / 6000)]],"
        " queries: { id: Array.from({ length: 6000 }, (_, i) => `q${i}`), text: Array(6000).fill('') } }"
    )
    for name in ("differences", "values"):
        rows = called(script, f"figures.{name}(names()).rows")
        assert len(rows) <= 1700 and sum(row["count"] for row in rows) == 6000
        total = sum(row["count"] * row["difference"] for row in rows)
        assert total == pytest.approx(0, abs=1e-6)
    script.eval("data = kept")
