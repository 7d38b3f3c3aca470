"""Every command that prints works in a terminal of any width."""

import json
from pathlib import Path

import pytest

from tests.commands import invoke
from tests.paths import ROOT
from tests.repeated import mostly_soaked
from tests.small_evaluation import nights

pytestmark = pytest.mark.slow

DATA = ROOT / "tests" / "data"
FILES = [str(DATA / name) for name in ("judgments.qrels", "old.run", "new.run")]
QUERIES = str(DATA / "queries.tsv")
WORSE = [FILES[0], FILES[2], FILES[1]]
FAILING = ["compare", *WORSE, "--metric", "ndcg@5", "--guardrail", "recall@1=0.001", "--gate"]
COMMANDS = {
    "compare": ["compare", *FILES, "--metric", "ndcg@5", "--metric", "ap"],
    "details": ["compare", *FILES, "--details", "--slice", "kind", "--queries", QUERIES],
    "gate": FAILING,
    "explain": ["explain", *FILES, "--query", "bread", "--metric", "ndcg@5", "--metric", "ap"],
    "sensitivity": ["sensitivity", *FILES],
    "draw": ["draw", FILES[1], FILES[2], "--queries", QUERIES, "-n", "5"],
    "judge-next": ["judge-next", *FILES],
    "judgments": ["judgments", FILES[0], FILES[0], *FILES[1:]],
    "power": ["power", "--deviation", "0.2", "--effect", "0.05"],
    "check": ["check", *FILES],
    "history": ["history", "CONFIG"],
    "metrics": ["help", "metrics"],
    "findings": ["help", "findings"],
    "options": ["compare", "--help-all"],
    "no command": ["cmopare"],
}
NARROW = (1, 4, 20)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nights")
    nights(folder, 2)
    path = folder / "config.yaml"
    files = {"judgments": FILES[0], "systems": [{"name": "old", "file": FILES[1]}, {"name": "new", "file": FILES[2]}]}
    path.write_text(json.dumps({"name": "small", "output": str(folder / "out"), **files}))
    return path


@pytest.mark.parametrize("width", mostly_soaked(NARROW, kept=[1]))
@pytest.mark.parametrize("name", COMMANDS)
def test_a_narrow_terminal_changes_no_exit_code(name: str, width: int, config: Path) -> None:
    words = [word.replace("CONFIG", str(config)).replace("FOLDER", str(config.parent)) for word in COMMANDS[name]]
    found = invoke(words, env={"COLUMNS": str(width)})
    assert found.exit_code == {"gate": 1, "no command": 2}.get(name, 0), found.output
    assert "an error of ndcg-ab" not in found.output
