"""How a command ends and what it prints: an exit code and a sentence for each end, comments, streams, no secrets."""

import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from markdown_it import MarkdownIt

from ndcg_ab.config.secrets import redaction
from ndcg_ab.config.secrets.redaction import remember_secret
from ndcg_ab.errors import InputError, ParityError, SqlError
from ndcg_ab.flows.cli import base_command, exit_codes
from ndcg_ab.flows.cli.console import program_name
from ndcg_ab.flows.cli.streams import prepare_streams
from ndcg_ab.pipeline import stages
from tests.commands import invoke, sentences
from tests.paths import DATA, ROOT

FILES = ["--judgments", str(DATA / "judgments.qrels"), "--system", f"old={DATA / 'old.run'}"]
COMPARE = ["compare", *FILES, "--system", f"new={DATA / 'new.run'}"]
NEEDS_FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_the_documented_codes_are_the_program_s() -> None:
    text = (ROOT / "docs" / "commands.md").read_text().partition("## Exit codes")[2].partition("\n## ")[0]
    meanings = dict(re.findall(r"^\| (\d+) \| (.*) \|$", text, re.MULTILINE))
    words = {
        exit_codes.GATE_FAILED: "gate](gates.md) failed",
        exit_codes.UNUSABLE: "cannot be used",
        exit_codes.BROKEN: "an error of ndcg-ab itself",
        exit_codes.PENDING: "is pending",
    }
    assert {int(code) for code in meanings} == {0, *words}
    assert all(said in meanings[str(code)] for code, said in words.items())


ERRORS: dict[str, tuple[BaseException, int, str]] = {
    "input": (InputError("q.run: is wrong"), 2, "ndcg-ab: q.run: is wrong"),
    "a full disk": (OSError(28, "No space left on device", "x"), 2, "No space left on device"),
    "memory": (MemoryError("Unable to allocate 9 GiB"), 2, "memory ran out: Unable to allocate 9 GiB; give it more"),
    "memory of Arrow": (MemoryError("malloc of size 1 failed"), 2, "memory ran out: malloc of size 1 failed"),
    "parity": (ParityError("parity check: planted"), 70, "ndcg-ab: parity check: planted"),
    "SQL": (SqlError("sql/1_check/110_x.sql: planted"), 70, "ndcg-ab: sql/1_check/110_x.sql: planted"),
    "ours": (ZeroDivisionError("division by zero"), 70, "please report it: ZeroDivisionError: division by zero (its"),
    "not of metrics": (ValueError("planted"), 70, "please report it: ValueError: planted (its traceback: "),
    "Ctrl-C": (KeyboardInterrupt(), 130, "ndcg-ab: stopped by SIGINT"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_has_its_code_and_one_sentence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    error, code, said = ERRORS[name]
    monkeypatch.setattr(stages, "load_and_check", raising(error))
    found = invoke([*COMPARE, "--quiet"])
    assert (found.exit_code, found.stdout, found.stderr.count("\n")) == (code, "", 1)
    assert said in found.stderr
    assert "Traceback" not in found.stderr


def test_the_traceback_of_an_error_of_ours_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(stages, "make_outcome", raising(ZeroDivisionError("planted \ud800")))
    found = invoke([*COMPARE, "--quiet"])
    (path,) = tmp_path.glob("ndcg-ab-error-*.txt")
    assert str(path) in found.stderr
    assert "in run_stages" in path.read_text(encoding="utf-8")
    monkeypatch.setenv(exit_codes.DEBUG, "1")
    assert "in run_stages" in invoke([*COMPARE, "--quiet"]).stderr
    assert len(list(tmp_path.iterdir())) == 1


def test_duckdb_s_memory_is_the_machine_s() -> None:
    error = SqlError("sql/1_check/110_x.sql: OutOfMemoryException")
    assert not exit_codes.is_memory_error(error)
    error.__cause__ = duckdb.OutOfMemoryException("1 MB")
    assert exit_codes.is_memory_error(error)


def shell(command: str) -> "subprocess.CompletedProcess[str]":
    words = " ".join(f"'{word}'" for word in (sys.executable, "-m", "ndcg_ab.flows.cli.main", *COMPARE))
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
    return subprocess.run(
        ["bash", "-c", f"{words} {command}"], capture_output=True, text=True, env=environment, check=False
    )


@pytest.mark.parametrize(("megabytes", "code"), [(400, 2), (2999, 2), (3000, 0)])
def test_too_little_address_space_is_refused(megabytes: int, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_command.resource, "getrlimit", lambda _: (megabytes * 10**6, -1))
    monkeypatch.setattr(base_command.os, "cpu_count", lambda: 2)
    found = invoke([*COMPARE, "--quiet"])
    said = f"ndcg-ab: ulimit -v: {megabytes:,} MB of address space are too little, 3,000 MB are needed"
    assert found.exit_code == code
    assert found.stderr.startswith(said if code else "")
    assert found.stderr.count("\n") == bool(code)


def test_a_process_without_room_does_not_hang() -> None:
    """OpenBLAS tried to allocate for ever: nothing that loads it may come first."""
    command = f"ulimit -v 400000; exec '{sys.executable}' -m ndcg_ab.flows.cli.main {' '.join(COMPARE)}"
    found = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.startswith("ndcg-ab: ulimit -v: 410 MB of address space are too little")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("closed", "code", "said"),
    [
        (">&-", 2, "ndcg-ab: standard output is closed, and the result has no other place"),
        pytest.param("> /dev/full", 2, "ndcg-ab: standard output: there is no room (No space left", marks=NEEDS_FULL),
        pytest.param("--metric nonsense 2> /dev/full", 2, "", marks=NEEDS_FULL),
        pytest.param("--quiet >&-", 0, "", marks=pytest.mark.soak),
        ("--metric nonsense 2>&- >&-", 2, ""),
        pytest.param("--nonsense 2>/dev/full", 2, "", marks=pytest.mark.soak),
        pytest.param("--alpha 7 2>/dev/full", 2, "", marks=pytest.mark.soak),
    ],
)
def test_streams_that_take_nothing(closed: str, code: int, said: str) -> None:
    found = shell(closed)
    assert found.returncode == code, found.stderr
    assert [line[: len(said)] for line in sentences(found.stderr)] == [said] * bool(said)


def test_streams_say_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    remember_secret("k3y-of-the-streams")
    streams = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    prepare_streams()
    prepare_streams()
    print("found k3y-of-the-streams")
    print("found k3y-of-the-streams", file=sys.stderr)
    assert [stream.getvalue() for stream in streams] == ["found •••\n"] * 2


def test_a_configuration_that_is_refused_is_quoted_without_its_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redaction, "_known", set())  # other tests' secrets hide more
    redaction.clear_secret_caches()
    path = tmp_path / "c.yaml"
    path.write_text("name: t\njudgments: q\nsystems: [{name: a, file: a.run}]\n")
    told = {"systems.b.file": "http://me:•••@h", "prefect.retries": "prefect.retries: holds what looks like a secret"}
    for key, said in told.items():
        setting = f"{key}=http://me:pl4in-w0rd@h"
        found = invoke(["check", str(path), "--set", setting])
        assert found.exit_code == 2
        assert said in found.output
        assert "pl4in" not in found.output


BETTER = [*COMPARE, "--metric", "ndcg@5"]
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


@pytest.mark.slow
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
    prepare_streams()
    print("✓ é ●")
    sys.stdout.flush()
    assert written.buffer.getvalue().decode(encoding) == f"{shown}\n"  # type: ignore[attr-defined]


@pytest.mark.slow
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


@pytest.mark.slow
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
