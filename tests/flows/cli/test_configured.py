"""What every command that reads a configuration has: --set; and the moment of check."""

import json
from pathlib import Path

import pytest

from ndcg_ab.errors import InputError
from ndcg_ab.flows.cli.inputs import parse_at_option
from tests.commands import invoke
from tests.paths import ROOT

CONFIG = f"""
name: t
judgments: {ROOT}/tests/data/judgments.qrels
systems:
  - {{name: old, file: {ROOT}/tests/data/old.run}}
  - {{name: new, file: "new-{{date}}.run"}}
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "new-2026-11-20.run").write_bytes((ROOT / "tests" / "data" / "new.run").read_bytes())
    path = tmp_path / "t.yaml"
    path.write_text(CONFIG)
    return str(path)


def test_check_as_json_has_the_findings(config: str) -> None:
    found = invoke(["check", config, "--at", "2026-11-20T02:00", "--json", "-"])
    content = json.loads(found.stdout)
    assert content["read"][-1].startswith("20 judged queries")
    assert "unanswered_query" in {finding["code"] for finding in content["findings"]}


@pytest.mark.parametrize(
    "text", ["0001-01-01T00:00+14:00", "9999-12-31T23:59-12:00", "0999-01-01", "1969-12-31", "tomorrow"]
)
def test_a_moment_that_no_night_has_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--at"):
        parse_at_option(text)


@pytest.mark.slow
def test_run_writes_the_results_that_it_keeps(config: str, tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    options = ["--at", "2026-11-20T02:00", "--set", "tracker={json_lines: {folder: lines}}", "--set", "output=out"]
    command = ["run", config, *options, "--set", "statistics.resamples=100", "--threads", "1"]
    found = invoke([*command, "--json", str(path)])
    assert found.exit_code == 0, found.output
    assert found.stdout.splitlines()[-1] == f"written: {path}"
    (bundle,) = (tmp_path / "out" / "t").glob("*/bundle.json")
    assert json.loads(bundle.read_text())["outcome"] == json.loads(path.read_text())
    again = invoke([*command, "--json", "-"])
    assert again.stdout == path.read_text(), "reused, and nothing beside it"


@pytest.mark.parametrize("command", ["check", "run", "history", "publish", "serve", "deploy"])
def test_set_is_heard(command: str, config: str) -> None:
    found = invoke([command, config, "--set", "statistics.seed=1", "--set", "statistics.alhpa=1"])
    assert found.exit_code == 2
    assert found.stderr.startswith("ndcg-ab: --set: key 'statistics.alhpa' is unknown; did you")
    assert found.stderr.count("\n") == 1
