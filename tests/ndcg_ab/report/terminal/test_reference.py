"""`ndcg-ab metrics`: complete, readable at 80 columns, and what it says of one metric."""

import json
from pathlib import Path
from typing import Any

import pytest

from ndcg_core.measures.metric import VALUES
from ndcg_core.measures.notation import PRESETS, parse
from ndcg_core.measures.registry import MEASURES
from tests import commands


def invoke(*words: str) -> Any:
    return commands.invoke(["metrics", *words])


GIVEN = [
    "ndcg(preset=elasticsearch)@10",
    "rr",
    "ndcg(gain={1:1, 2:4, 3:9, 4:16, 5:25, 6:36}, ideal=max, max_grade=6)@5",
    "precision(relevant_from=2)@10",
    "dcg(discount=jarvelin_kekalainen, discount_base=10, ties=average, unjudged=condense)@1000",
]


@pytest.mark.parametrize("words", [[], *([given] for given in GIVEN)], ids=str)
def test_no_line_is_longer_than_80(words: list[str]) -> None:
    found = invoke(*words)
    assert found.exit_code == 0
    assert max(map(len, found.stdout.splitlines())) <= 80


def test_the_list_names_everything_and_marks_the_defaults() -> None:
    words = invoke().stdout.split()
    text = invoke().stdout
    for name in (*MEASURES, *VALUES, *PRESETS):
        assert name in words, name
    for choice, values in VALUES.items():
        (block,) = text.partition(f"\n  {choice} ")[2].split("\n\n")[:1]
        assert f"  * {values[0]} " in block
        for value in values[1:]:
            assert f"    {value} " in block


def test_one_metric_is_explained() -> None:
    lines = invoke("nDCG(preset=elasticsearch)@10").stdout.splitlines()
    metric = parse("ndcg(preset=elasticsearch)@10")
    assert lines[0].split(maxsplit=1) == ["metric", "ndcg(gain=exponential, ideal_cut=returned)@10"]
    assert lines[1].split(maxsplit=1) == ["written", "nDCG(preset=elasticsearch)@10"]
    text = "\n".join(lines)
    assert f"hash          {metric.hash}" in text
    full = " ".join(text.partition("in full")[2].partition("in trackers")[0].split())
    assert parse(full) == metric
    assert set(metric.choices()) == {part.partition("=")[0].strip() for part in full[5:-4].split(",")}
    assert "  gain             exponential  what a grade is worth: 2^grade − 1" in lines
    assert "* discount         log2         the factor of a rank: 1 / log2(rank + 1)" in lines


def test_json(tmp_path: Path) -> None:
    path = tmp_path / "metrics.json"
    assert invoke("rr", "ndcg@5", "--json", str(path)).exit_code == 0
    found = json.loads(path.read_text())["metrics"]
    assert [(each["name"], each["hash"]) for each in found] == [
        (parse(n).name, parse(n).hash) for n in ("rr", "ndcg@5")
    ]
    lists = json.loads(invoke("--json", "-").stdout)
    assert [each["measure"] for each in lists["measures"]] == list(MEASURES)
    assert {each["preset"]: parse(each["metric"]).hash for each in lists["presets"]} == {
        each["preset"]: each["hash"] for each in lists["presets"]
    }
    (binary,) = [each for each in lists["choices"] if each["choice"] == "relevant_from"]
    assert binary["needs"] == "gain=binary"


def test_a_wrong_metric_is_one_sentence() -> None:
    found = invoke("ndcg(preset=rankx)@10")
    assert (found.exit_code, found.stderr.count("\n"), found.stdout) == (2, 1, "")
    assert "did you mean 'ranx'?" in found.stderr
