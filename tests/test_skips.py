"""What cannot be tested is said: in the last lines of the tests, and by .ci/run, which fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.skips import say_skipped

PROGRAMS = ("chromium", "groonga", "java")
TEST = """import pytest
@pytest.mark.parametrize("turn", range(2))
@pytest.mark.skipif(True, reason="no browser")
def test_page(turn): pass
def test_it(): pass
"""


def skipped(reason: str) -> pytest.TestReport:
    return pytest.TestReport("test_a.py::test_a", ("", 0, ""), {}, "skipped", ("a.py", 1, f"Skipped: {reason}"), "call")


def test_every_reason_is_said_with_the_number_of_its_tests() -> None:
    assert say_skipped([skipped("no Java"), skipped("no browser"), skipped("no Java")]) == [
        "2 skipped: no Java",
        "1 skipped: no browser",
    ]
    assert say_skipped([]) == []


@pytest.mark.slow
def test_the_last_lines_of_a_run_say_it(tmp_path: Path) -> None:
    (tmp_path / "test_page.py").write_text(TEST)
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    said = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    *_, title, reason, result = said.splitlines()
    assert "NOT TESTED HERE" in title
    assert reason == "2 skipped: no browser"
    assert "1 passed, 2 skipped" in result


def run_ci(folder: Path, programs: tuple[str, ...]) -> "subprocess.CompletedProcess[str]":
    """.ci/run by somebody who is not root, where these programs and PostgreSQL are; `make` only says its target."""
    binaries = folder / "bin"
    binaries.mkdir(parents=True)
    (folder / "postgresql" / "15" / "bin").mkdir(parents=True)
    for name in ("bash", "dirname", "ls", "tr"):
        (binaries / name).symlink_to(str(shutil.which(name)))
    for name, answer in (("id", "1000"), ("make", "made $1"), *((name, "") for name in programs)):
        (binaries / name).write_text(f'#!{binaries / "bash"}\necho "{answer}"\n')
        (binaries / name).chmod(0o755)
    environment = {"PATH": str(binaries), "POSTGRESQL": str(folder / "postgresql")}
    command = [str(binaries / "bash"), str(ROOT / ".ci" / "run")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_ci_fails_where_it_cannot_install_what_tests_need(tmp_path: Path) -> None:
    found = run_ci(tmp_path / "all", PROGRAMS)
    assert (found.returncode, found.stdout) == (0, "made test\n"), found.stderr
    found = run_ci(tmp_path / "without", ("groonga",))
    assert (found.returncode, found.stdout) == (1, "")
    assert "cannot install what these tests need: chromium openjdk-17-jre-headless" in found.stderr
