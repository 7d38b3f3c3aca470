"""The examples and tables of the documentation, computed from the SQL and from the core."""

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from ndcg_core.measures.metric import VALUES, Metric
from ndcg_core.measures.notation import PRESETS, parse
from ndcg_core.measures.registry import MEASURES
from ndcg_core.statistics.verdicts.comparison import Column, Comparison, check_guardrails
from tests.laboratory import Case, both_of_cases, both_of_metrics, in_order
from tests.ndcg_core.statistics.columns import by_flips
from tests.paths import ROOT

CASE = {"q": {"a": 3, "b": 3, "c": 2, "d": 1, "e": 0} | {f"r{number}": 1 for number in range(20)}}


class Example(NamedTuple):
    """One line of a block: grades in rank order (- is unjudged), grades not returned, metric, value."""

    returned: str
    not_returned: str
    metric: str
    value: str


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def examples() -> list[Example]:
    blocks = re.findall(r"^```worked-examples\n(.*?)^```", page("definitions.md"), flags=re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()[1:]]
    return [Example(*(cell.strip() for cell in line.split("|"))) for line in lines]


def tolerance(value: str) -> float:
    """Half a unit of the last digit that is written."""
    return 0.5 * 10 ** -len(value.partition(".")[2]) + 1e-12 if "." in value else 1e-9


def test_there_are_examples() -> None:
    assert len(examples()) >= 25


@pytest.mark.slow
@pytest.mark.parametrize("example", examples(), ids=lambda example: f"{example.returned}: {example.metric}")
def test_worked_example(example: Example) -> None:
    for computed in all_computed()[example]:
        assert computed == pytest.approx(float(example.value), abs=tolerance(example.value))


@functools.cache
def all_computed() -> dict[Example, tuple[float, float]]:
    return dict(zip(examples(), both_of_cases([case_of(example) for example in examples()]), strict=True))


def case_of(example: Example) -> Case:
    returned = example.returned.split()
    grades = {f"d{index}": float(grade) for index, grade in enumerate(returned) if grade != "-"}
    grades |= {f"m{index}": float(grade) for index, grade in enumerate(example.not_returned.split())}
    return Case(grades, in_order(*(f"d{index}" for index in range(len(returned)))), example.metric)


def rows(name: str) -> dict[str, list[str]]:
    """First cell (without backquotes) -> the other cells, of every table row that begins with code."""
    found = re.findall(r"^\| `([^`]+)`[^|]* \| (.*) \|$", page(name), flags=re.MULTILINE)
    return {first: [cell.strip() for cell in rest.split(" | ")] for first, rest in found}


@functools.cache
def of_presets() -> dict[str, tuple[float, float]]:
    return both_of_metrics(CASE, in_order("a", "x", "c"), [f"ndcg(preset={preset})@10" for preset in PRESETS])


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_documented_with_its_value(preset: str) -> None:
    changes, _, value = rows("presets.md")[preset]
    metric = parse(f"ndcg(preset={preset})@10")
    written = ", ".join(re.findall(r"`([^`]+)`", changes))
    assert metric == (parse(f"ndcg({written})@10") if written else parse("ndcg@10"))
    for computed in of_presets()[metric.name]:
        assert computed == pytest.approx(float(value), abs=tolerance(value))


def test_no_preset_is_documented_that_does_not_exist() -> None:
    assert set(rows("presets.md")) == set(PRESETS)


@pytest.mark.parametrize("choice", [name for name in Metric.__dataclass_fields__ if name not in ("measure", "cutoff")])
def test_every_choice_is_documented_with_its_values(choice: str) -> None:
    cells = rows("definitions.md")[choice]
    if choice in VALUES:
        named = re.findall(r"`([a-z][a-z0-9_]*)`", cells[0])
        assert named == list(VALUES[choice]), "all of them, the default first"


def test_every_measure_is_documented() -> None:
    text = page("definitions.md")
    assert all(re.search(rf"^\| (`\w+`, )?`{measure}`", text, flags=re.MULTILINE) for measure in MEASURES)


class Claim(NamedTuple):
    """One cell of the worked example in docs/significance.md: how it was compared, which candidate, field and value."""

    kind: str
    candidate: str
    field: str
    value: str


def claims() -> Iterator[Claim]:
    kind = ""
    candidates: list[str] = []
    for line in section("A worked example").splitlines():
        if not line.startswith("| "):
            continue
        first, *cells = (cell.strip() for cell in line.strip("|").split(" | "))
        if first.startswith("`"):
            for candidate, cell in zip(candidates, cells, strict=True):
                yield Claim(kind, candidate, first.strip("`"), cell)
        else:
            kind, candidates = first, cells


def section(name: str) -> str:
    (text,) = re.findall(rf"^## {name}\n(.*?)(?=^## )", page("significance.md"), flags=re.DOTALL | re.MULTILINE)
    return str(text)


def worked_comparison(kind: str, candidate: str) -> Comparison:
    """The comparison of the example's differences: `plain`, `weighted` or as a `guardrail`."""
    (block,) = re.findall(r"^```differences\n(.*?)^```", section("A worked example"), flags=re.DOTALL | re.MULTILINE)
    head, *lines = [line.split() for line in block.splitlines()]
    by_name = dict(zip(head, zip(*lines, strict=True), strict=True))
    columns = [
        Column(
            "old",
            name,
            "ndcg@10",
            by_name["query"],
            [float(cell) for cell in by_name[name]],
            weights=[float(cell) for cell in by_name["weight"]] if kind == "weighted" else None,
            smallest_effect=0.06,
        )
        for name in head[2:]
    ]
    found = check_guardrails(columns) if kind == "guardrail" else by_flips(columns)
    (row,) = [row for row in found if row.candidate == candidate]
    return row


def test_the_comparison_is_worked_in_three_ways() -> None:
    assert {claim.kind for claim in claims()} == {"plain", "guardrail", "weighted"}
    assert len(list(claims())) >= 40


@pytest.mark.parametrize("claim", list(claims()), ids=" ".join)
def test_worked_comparison(claim: Claim) -> None:
    row = worked_comparison(claim.kind, claim.candidate)
    holder = row if hasattr(row, claim.field) else row.descriptive
    value = getattr(holder, claim.field)
    if isinstance(value, str):
        assert value == claim.value
    else:
        assert value == pytest.approx(float(claim.value), abs=tolerance(claim.value))
