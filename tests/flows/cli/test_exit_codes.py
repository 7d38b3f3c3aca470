"""Every way to end: one exit code for each, and a sentence."""

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

from ndcg_ab.errors import InputError, ParityError, SqlError
from ndcg_ab.flows.cli import base_command, exit_codes
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


@pytest.mark.slow
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


@pytest.mark.slow
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
