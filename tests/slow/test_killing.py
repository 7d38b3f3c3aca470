"""A small case of `make kills`, and of every other module of `make soak`: it runs, and reports work."""

import json
import re
import subprocess
import sys

import pytest

from tests import killing
from tests.paths import ROOT
from tests.repeated import require_work

RECIPES = (ROOT / "Makefile").read_text(encoding="utf-8")
MODULES = sorted(set(re.findall(r"-m tests\.(\w+)(?: --(?:count|kills|seconds)|$)", RECIPES, re.MULTILINE)))
# module -> the test that calls what its command line does
SMALL = {
    "bombing": "ndcg_ab/sources/files/test_unpacking.py",
    "full_disks": "slow/test_full_disk.py",
    "fuzzing": "slow/test_fuzzing.py",
    "hiding": "ndcg_ab/test_errors.py",
    "killing": "slow/test_killing.py",
    "leaving": "ndcg_ab/test_temporary.py",
    "mistaking": "slow/test_fuzzing.py",
    "sanitizing": "slow/test_fuzzing.py",
    "two_ways": "slow/test_fuzzing.py",
}


def run(*words: str) -> tuple[int, list[dict[str, int]], str]:
    """Run `tests.killing` and return its exit code, the counts of each trial, and its errors."""
    command = [sys.executable, "-m", "tests.killing", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250, check=False)
    return done.returncode, [json.loads(line.partition(": ")[2]) for line in done.stdout.splitlines()], done.stderr


@pytest.mark.parametrize("name", MODULES)
def test_every_module_of_make_soak_has_a_small_case(name: str) -> None:
    text = (ROOT / "tests" / SMALL[name]).read_text(encoding="utf-8")
    assert re.search(rf"{name}\.main\(\[|\"tests\.{name}\"", text), SMALL[name]


def test_the_recipes_are_read() -> None:
    assert sorted(SMALL) == MODULES


def test_killed_nights_and_two_writers() -> None:
    code, (killed, together), errors = run("--kills", "1", "--seconds", "0.1", "--seed", "1")
    assert code == 0, errors
    assert killed["killed"] + killed.get("ended before", 0) == 1
    assert killed["evaluations"] >= 3 and together["evaluations"] >= 2 and together["reads"] >= 1
    assert {*killed, *together} <= set(killing.GOOD)


@pytest.mark.soak
def test_a_stopped_run() -> None:
    """In `make test` a run is stopped by tests/slow/test_stopping.py, in the midst of a pull."""
    code, (stopped,), errors = run("--kills", "0", "--seconds", "0", "--stops", "1", "--seed", "3")
    assert code == 0, errors
    assert stopped["stopped"] == 1 and stopped["bundles"] >= 1


def test_the_first_night_that_fails_ends_the_module_with_its_traceback() -> None:
    """As when the pipeline had another signature than the nights: no kill was looked at, and nobody saw why."""
    code = (
        "import sys, tests.killing as killing\n"
        "def night(evaluation): raise TypeError('say() takes 1 argument')\n"
        "killing.night = night\n"
        "sys.exit(killing.main(['--kills', '3', '--seconds', '0']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert "in night" in done.stderr and "TypeError: say() takes 1 argument" in done.stderr


def test_a_module_that_did_nothing_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="kills: did nothing: no nights, no reads"):
        require_work("kills", nights=0, reads=0, writers=1)
