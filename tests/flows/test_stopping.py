"""A signal ends the process in order: one sentence, nothing after it, its children with it, in time."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ndcg_ab.flows import stopping
from tests.leaving import names_in
from tests.paths import ROOT

BEGIN = """
import atexit, os, signal, subprocess, sys, threading, time
from ndcg_ab.flows import stopping
stopping.LONGEST = .5
for number in (signal.SIGHUP, signal.SIGINT):  # ignored below a shell in the background, and below nohup
    signal.signal(number, signal.default_int_handler)
stopping.obey_signals()
def ready():
    print("ready", flush=True)
"""
CASES = {
    "that swallows it": "ready()\nwhile True:\n    try: time.sleep(9)\n    except BaseException: pass",
    "that waits for a thread": (
        "ready()\nthread = threading.Thread(target=time.sleep, args=(9,))\nthread.start()\nthread.join()"
    ),
    "with threads that print": (
        "def chatter():\n    while True: sys.stderr.write('noise\\n'); sys.stderr.flush(); time.sleep(.01)\n"
        "def begin():\n    time.sleep(.2)\n    chatter()\n"
        "class Late:\n    def __del__(self): sys.stderr.write('late')\n"
        "late = Late()\natexit.register(sys.stderr.write, 'at the end')\n"
        "threading.Thread(target=begin, daemon=True).start()\nready()\ntime.sleep(.1)\ntime.sleep(9)"
    ),
    "that is ending": "atexit.register(time.sleep, 9)\natexit.register(ready)\nstopping.Stopped.code = 0",
    "that is importing": "ready()\nimport importlib\ntime.sleep(9)",
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("number", stopping.SIGNALS, ids=lambda number: number.name)
def test_a_process(case: str, number: signal.Signals) -> None:
    process = started(CASES[case])
    began = time.monotonic()
    process.send_signal(number)
    said, errors = process.communicate(timeout=30)
    assert time.monotonic() - began < 4, "half a second, on a busy machine"
    assert (process.returncode, said, errors) == (128 + number, "", f"ndcg-ab: stopped by {number.name}\n")


def started(code: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", BEGIN + code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


FOLDERS = """
from ndcg_ab import temporary
from ndcg_ab.flows.cli import exit_codes
stopping.CLEAN_UP.append(temporary.remove_open_folders)
def hold():
    with temporary.temporary_folder() as folder:
        (folder / "copy").write_text("rows")
        ready()
        time.sleep(60)
"""
STOPPED = {  # who holds a temporary folder when the signal comes
    "the main thread": "try: hold()\nexcept KeyboardInterrupt: exit_codes.leave_program(0)",
    "another thread": (
        "threading.Thread(target=hold, daemon=True).start()\n"
        "try: time.sleep(60)\nexcept KeyboardInterrupt: exit_codes.leave_program(0)"
    ),
    "a main thread that swallows it": "while True:\n    try: hold()\n    except BaseException: hold()",
}


@pytest.mark.first_case
@pytest.mark.parametrize("case", STOPPED)
def test_a_stop_leaves_no_temporary_folder(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = started(FOLDERS + STOPPED[case])
    process.send_signal(signal.SIGHUP)
    assert process.communicate(timeout=30)[1] == "ndcg-ab: stopped by SIGHUP\n"
    assert (process.returncode, names_in(tmp_path)) == (129, [])


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    code = "signal.signal(signal.SIGHUP, signal.SIG_IGN)\nstopping.obey_signals()\nready()\ntime.sleep(60)"
    process = started(code)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=30)[1] == "ndcg-ab: stopped by SIGTERM\n"


def test_children_end_with_it_and_a_second_signal_ends_it_at_once() -> None:
    code = (
        "stopping.LONGEST = 60\nchild = subprocess.Popen(['sleep', '60'], stderr=subprocess.DEVNULL)\n"
        "stopping.CHILDREN.append(child)\nready()\nprint(child.pid, flush=True)\ntime.sleep(60)"
    )
    process = started(code)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=30)[1] == "ndcg-ab: stopped by SIGTERM\n"
    assert process.returncode == 143
    assert not subprocess.run(["ps", "-o", "pid=", "-p", str(child)], capture_output=True, check=False).stdout
    waiting = "stopping.LONGEST = 60\nwhile True:\n    try: ready(); time.sleep(9)\n    except BaseException: pass"
    process = started(waiting)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 143


def test_a_process_that_nobody_stops_ends_with_its_code() -> None:
    code = BEGIN + "stopping.Stopped.code = 7\natexit.register(ready)"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (7, "ready\n", "")
