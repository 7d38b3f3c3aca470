"""What `compare` writes for people and for pull requests: gates, comments, streams of every kind."""

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from ndcg_ab.flows.cli import streams
from ndcg_ab.flows.cli.console import program_name
from tests.commands import invoke, sentences
from tests.paths import DATA

pytestmark = pytest.mark.slow

COMPARE = ["compare", "--judgments", str(DATA / "judgments.qrels"), "--metric", "ndcg@5"]
BETTER = [*COMPARE, "--system", f"old={DATA / 'old.run'}", "--system", f"new={DATA / 'new.run'}"]
WORSE = [*BETTER, "--baseline", "new"]


def test_a_failed_gate_costs_no_output(tmp_path: Path) -> None:
    path = tmp_path / "comment.md"
    found = invoke([*WORSE, "--gate", "--markdown", str(path), "--json", str(tmp_path / "j.json")])
    assert found.exit_code == 1
    said = r"^\? judge more results  old: ndcg@5 regressed \(-.*; turns if unjudged results"
    assert re.search(said, found.stdout, flags=re.MULTILINE)
    assert path.read_text().startswith("### ? judge more results: old\n")
    assert '"decision": "judge_results"' in (tmp_path / "j.json").read_text()


def test_a_comment_is_markdown() -> None:
    """A renderer finds the tables, the code and the folded parts, and no cell is torn."""
    command = [*BETTER, "--metric", "rr", "--guardrail", "recall@1=0.2", "--markdown", "-"]
    found = invoke(command)
    assert found.exit_code == 0
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(found.stdout)
    assert page.startswith("<h3>? judge more results: new</h3>")
    widths = [[row.count("<td") for row in part.split("<tr>")[2:]] for part in page.split("<table>")[1:]]
    assert [set(rows) for rows in widths] == [{4}, {4}, {3}], "decisions, systems and metrics, queries"
    assert len(widths[-1]) == 10, "the queries that moved most"
    assert page.count("<details><summary>") == page.count("</details>") >= 1
    assert "|" not in re.sub(r"<[^>]*>", "", page), "a row that the renderer did not read"


def test_a_comment_has_the_matrix_notes_below_and_the_texts_of_queries() -> None:
    found = invoke([*BETTER, "--queries", str(DATA / "queries.tsv"), "--markdown", "-"])
    (row,) = re.findall(r"^\| new .*", found.stdout, flags=re.MULTILINE)
    assert re.fullmatch(r"\| new \| 0\.\d{4} ▲ \+0\.\d{4} \[\+.*\] L \|", row.replace("\xa0", " "))
    assert "\n- note: small sample: new on ndcg@5\n" in found.stdout
    assert "| query | text | candidate | difference |" in found.stdout
    assert "\n| tofu | tofu recipe | new | -0.7012 |\n" in found.stdout


def test_columns_are_obeyed_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    widths = {}
    for columns in ("70", "150", "0", "wide"):
        monkeypatch.setenv("COLUMNS", columns)
        found = invoke([*BETTER, "--details"])
        widths[columns] = max(map(len, found.stdout.splitlines()))
    assert widths["70"] <= 70 < widths["150"] <= 150
    assert widths["0"] == widths["wide"] <= 200


@pytest.mark.parametrize(("encoding", "shown"), [("latin-1", "? é ?"), ("utf-8", "✓ é ●")])
def test_what_an_encoding_lacks_is_a_question_mark(encoding: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", written)
    streams.prepare_streams()
    print("✓ é ●")
    sys.stdout.flush()
    assert written.buffer.getvalue().decode(encoding) == f"{shown}\n"  # type: ignore[attr-defined]


def test_a_reader_that_leaves_early_is_no_error() -> None:
    """The gate is checked all the same: its exit code is that of the command, not of the pipe."""
    command = [sys.executable, "-m", "ndcg_ab.flows.cli.main", *WORSE, "--gate", "--details", "--metric", "rr"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 1
    said = sentences(errors)
    assert len(said) == 1 and said[0].startswith("ndcg-ab: gate failed: no regression")


def test_printed_commands_work_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name where the shell finds it, else by its path, relative where that is short."""
    place = tmp_path / "a folder" / "bin"
    place.mkdir(parents=True)
    (place / "ndcg-ab").touch()
    monkeypatch.setattr(sys, "executable", str(place / "python"))
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.chdir(tmp_path)
    assert program_name() == "'a folder/bin/ndcg-ab'"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert program_name() == f"'{place}/ndcg-ab'"
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert program_name() == "ndcg-ab"
