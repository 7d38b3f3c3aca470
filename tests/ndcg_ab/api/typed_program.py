"""A user's program: mypy --strict checks it (pyproject.toml), and a test runs it."""

from collections.abc import Mapping
from pathlib import Path
from typing import assert_type

import ndcg_ab
from ndcg_ab import InputError, Verdict
from ndcg_ab.testing import assert_not_worse

JUDGMENTS = {f"q{index}": {"good": 2, "fair": 1, "bad": 0} for index in range(40)}
OLD = {query: {"bad": 3.0, "fair": 2.0, "good": 1.0} for query in JUDGMENTS}
NEW: dict[str, dict[str, float]] = {query: {"good": 3.0, "fair": 2.0} for query in JUDGMENTS}


def winner(judgments: Mapping[str, Mapping[str, int]]) -> str:
    result = ndcg_ab.compare(judgments, {"old": OLD, "new": NEW}, metrics=["ndcg@10", ndcg_ab.parse("rr")], seed=7)
    assert_type(result, ndcg_ab.CompareResult)
    found = result.comparison("new", "ndcg@10")
    assert_type(found.difference, float | None)
    assert_type(found.conclusion, Verdict)
    assert_type(result.metrics, tuple[ndcg_ab.Metric, ...])
    assert_type(result.to_json(), str)
    text: str = f"{result}\n{result!r}"
    assert text
    return found.candidate if found.conclusion is Verdict.IMPROVED else found.baseline


def refused() -> str:
    try:
        ndcg_ab.compare(Path("nowhere.qrels"), {"old": OLD})
    except InputError as error:
        return str(error)
    return ""


def main() -> None:
    assert winner(JUDGMENTS) == "new"
    assert refused() == "nowhere.qrels: there is no such file"
    assert_type(ndcg_ab.explain(JUDGMENTS, ranking=OLD, query="q1").value(), float | None)
    assert_type(assert_not_worse(JUDGMENTS, OLD, NEW, margin={"ndcg@10": 0.01}), ndcg_ab.CompareResult)
    assert ndcg_ab.power(deviation=0.2, effects=0.01, queries=[100, 200]).plans[0].needed[0].queries


if __name__ == "__main__":
    main()
