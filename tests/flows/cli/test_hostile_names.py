"""Every command with names that a terminal would obey, in terminals of any width: what it writes holds none of them."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import Result

from tests.commands import invoke
from tests.inputs import write_judgments, write_rankings
from tests.paths import ROOT
from tests.repeated import mostly_soaked
from tests.small_evaluation import nights

pytestmark = pytest.mark.slow

ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eexe\u2066\u200b\ufeff\x1b[8m"
WORD = f"q{ESCAPES}[link=http://evil.example]x[/link][bold]:smile:"
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff]")
QUERIES = [f"{WORD}{number}" for number in range(30)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Judgments, two rankings, queries with texts and slices, in a folder that is called so too."""
    made = tmp_path_factory.mktemp("hostile") / f"d{ESCAPES}[red]"
    made.mkdir()
    docs = [f"{WORD}d{number}" for number in range(3)]
    write_judgments(made / "judgments.qrels", {query: {docs[at % 3]: 1} for at, query in enumerate(QUERIES)})
    write_rankings(made, {"old": dict.fromkeys(QUERIES, docs), "new": dict.fromkeys(QUERIES, docs[::-1])})
    rows = [f'"{query}","text {WORD}","{WORD}{number % 2}"\n' for number, query in enumerate(QUERIES)]
    (made / "queries.csv").write_text(f'query_id,text,"kind{ESCAPES}"\n{"".join(rows)}', encoding="utf-8")
    (made / "broken.csv").write_text(f"query_id,doc_id,score\n{WORD},d1,high{ESCAPES}\n", encoding="utf-8")
    (made / "columns.csv").write_text(f"query_id,doc{ESCAPES},score\nq,d,1\n", encoding="utf-8")
    files = "queries: {file: queries.csv}\nsystems:\n  - {name: old, file: old.run}\n  - {name: new, file: new.run}"
    (made / "e.yaml").write_text(f"name: e\njudgments: {{file: judgments.qrels}}\n{files}\nmetrics: [ndcg@2]\n")
    nights(made / "kept", 2)
    files = "judgments: judgments.qrels\nsystems: [{name: old, file: old.run}, {name: new, file: new.run}]\n"
    (made / "kept" / "inputs" / "config.yaml").write_text(f"name: small\noutput: ../out\n{files}")
    return made


def commands(folder: Path, width: int = 200) -> dict[str, tuple[list[str], int]]:
    """Command -> its arguments, its exit code."""
    data = ["--judgments", str(folder / "judgments.qrels"), "--metric", "ndcg@2"]
    systems = ["--system", f"old={folder / 'old.run'}", "--system", f"new={folder / 'new.run'}"]
    sliced = ["--queries", str(folder / "queries.csv"), "--slice", f"kind{ESCAPES}", "--smallest-slice", "6"]
    compare = ["compare", *data, *systems]
    init = ["init", *(str(folder / name) for name in INIT), "--output-file"]
    return {
        "compare": ([*compare, *sliced, "--gate"], 0),
        "a gate that fails": ([*compare, "--require", "judged=1"], 1),
        "details": ([*compare, *sliced, "--details"], 0),
        "all pairs": ([*compare, *sliced, "--details", "--all-pairs"], 0),
        "markdown": ([*compare, *sliced, "--markdown", "-"], 0),
        "json": ([*compare, *sliced, "--json", "-"], 0),
        "explain": (["explain", *data, *systems[:2], "--query", QUERIES[3], "--metric", "recall@2"], 0),
        "explain nothing": (["explain", *data, *systems[:2], "--query", f"no{ESCAPES}"], 2),
        "sensitivity": (["sensitivity", *data[:2], *systems, "--cutoff", "2", "--resamples", "100"], 0),
        "draw": (["draw", str(folder / "old.run"), str(folder / "new.run"), *sliced[:2], "-n", "5"], 0),
        "judge-next": (["judge-next", *data[:2], *systems], 0),
        "judgments": (["judgments", data[1], data[1], *systems], 0),
        "power": (["power", "--deviation", "0.2", "--effect", "0.05"], 0),
        "check": (["check", str(folder / "e.yaml")], 0),
        "history": (["history", str(folder / "kept" / "inputs" / "config.yaml")], 0),
        "metrics": (["help", "metrics"], 0),
        "findings": (["help", "findings"], 0),
        "options": (["compare", "--help-all"], 0),
        "no configuration": (["check", str(folder / f"none{ESCAPES}.yaml")], 2),
        "an unknown key": (["check", str(folder / "e.yaml"), "--set", f"na{ESCAPES}=1"], 2),
        "init": ([*init, str(folder / "new.yaml"), "--force"], 0),
        "init prints": ([*init, "-"], 0),
        "example": (["example", str(folder / f"example{width}")], 0),
        "no history": (["history", str(folder / "e.yaml")], 2),
        "no bundle": (["publish", str(folder / f"none{ESCAPES}")], 2),
        "no scores": (["power", "--scores", str(folder / f"none{ESCAPES}.csv")], 2),
        "a score": ([*compare[:5], "--system", f"a={folder / 'broken.csv'}", *systems], 2),
        "a column": ([*compare[:5], "--system", f"a={folder / 'columns.csv'}", *systems], 2),
        "a metric": (["metrics", f"ndcg{ESCAPES}@10"], 2),
        "an option": ([*compare, f"--al{ESCAPES}", "1"], 2),
        "a name": ([*compare, "--system", f"a{ESCAPES}={folder / 'old.run'}"], 2),
        "a number": ([*compare, "--alpha", f"1{ESCAPES}"], 2),
    }


INIT = ("judgments.qrels", "old.run", "new.run", "queries.csv")


CASES = [(name, width) for name in commands(Path()) for width in (1, 200)]
KEPT = [(name, width) for name, width in CASES if width == 1 or name in ("details", "explain", "json")]


@pytest.mark.parametrize("case", mostly_soaked(CASES, KEPT), ids=lambda case: f"{case[0]}, {case[1]} columns")
def test_no_command_sends_what_a_terminal_obeys(case: tuple[str, int], folder: Path) -> None:
    name, width = case
    arguments, code = commands(folder, width)[name]
    found: Result = invoke(arguments, env={"COLUMNS": str(width)})
    written = found.stdout_bytes.decode() + found.stderr_bytes.decode()
    assert found.exit_code == code, written
    assert written
    assert not FORBIDDEN.search(written), FORBIDDEN.search(written)
    if case in [("explain", 200), ("details", 200)]:
        assert r"\x1b" in written
    if case == ("explain", 200):
        assert "[link=" in written and ":smile:" in written
    if name == "json":
        assert json.loads(found.stdout)["findings"] is not None


def test_commands_print_by_the_functions_that_show_what_is_hidden() -> None:
    for module in (ROOT / "flows" / "cli").rglob("*.py"):
        calls = set(re.findall(r"(?<![\w.])(print|output_console|echo|secho)\(", module.read_text(encoding="utf-8")))
        allowed = {"console.py": {"print", "output_console"}, "app.py": {"print"}, "about.py": {"print"}}
        allowed |= {"starting.py": {"print"}, "exit_codes.py": {"print"}}
        assert calls <= allowed.get(module.name, set()), module.name
