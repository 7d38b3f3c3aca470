"""`resampling` arrives from the command line and from Python, and decides what a primary family is tested by."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ndcg_ab
from ndcg_ab.flows.cli.app import app
from tests.places import ROOT

pytestmark = pytest.mark.slow

DATA = ROOT / "tests" / "data"


def test_the_option_decides(tmp_path: Path) -> None:
    command = ["compare", "--judgments", f"{DATA}/judgments.qrels", "--quiet", "--metric", "ndcg@10"]
    command += ["--system", f"old={DATA}/old.run", "--system", f"new={DATA}/new.run", "--resamples", "500"]
    rows = {}
    for method in ("sign-flip", "bootstrap"):
        path = tmp_path / f"{method}.json"
        found = CliRunner().invoke(app, [*command, "--resampling", method, "--json", str(path)])
        assert found.exit_code == 0, found.output
        (rows[method],) = json.loads(path.read_text())["comparisons"]
    assert rows["bootstrap"]["procedure"] == "studentised bootstrap, step-down max-T"
    assert rows["bootstrap"]["p_adjusted"] == rows["sign-flip"]["second_p_adjusted"]
    assert rows["bootstrap"]["second_p_adjusted"] is None
    found = CliRunner().invoke(app, [*command, "--resampling", "jackknife"])
    assert found.exit_code == 2
    assert "--resampling" in found.stderr


def test_the_argument_decides() -> None:
    judgments = {f"q{number}": {"a": 1, "b": 0} for number in range(20)}
    systems = {
        "old": {query: {"a": 0.1, "b": 0.5} for query in judgments},
        "new": {query: {"a": 0.5, "b": 0.1 + number % 3 / 3} for number, query in enumerate(judgments)},
    }
    found = ndcg_ab.compare(judgments, systems, metrics="rr", resampling="bootstrap", resamples=200)
    assert found.comparison("new", "rr").procedure == "studentised bootstrap, step-down max-T"
    with pytest.raises(ndcg_ab.InputError, match="resampling"):
        ndcg_ab.compare(judgments, systems, metrics="rr", resampling="jackknife")  # type: ignore[arg-type]
