"""A run that is stopped or killed: it ends at once, and leaves nothing behind, its Prefect server least of all."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.places import ROOT
from tests.slow.broken_servers import configuration
from tests.small_evaluation import small
from tests.stores import with_prefect

ENGINE = """import os, subprocess, time
from pathlib import Path

def search(queries):
    children = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True).stdout
    (Path(__file__).parent / "asked").write_text(children)
    time.sleep(60)
"""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


class Run(NamedTuple):
    """A run that waits for an engine: its process, its results, Prefect's home, and the server that it started."""

    process: "subprocess.Popen[str]"
    folder: Path
    home: Path
    servers: list[int]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[signal.Signals, Run]]:
    """One for each signal, started together, each in the midst of a pull."""
    begun = {}
    for number in SIGNALS:
        folder = tmp_path_factory.mktemp(number.name)
        systems = [{"name": "old", "file": "old.run"}, {"name": "new", "python": "waiting_engine:search"}]
        evaluation = small(folder, systems=systems, queries={"file": "queries.tsv"})
        (folder / "inputs" / "waiting_engine.py").write_text(ENGINE)
        command = [sys.executable, "-m", "ndcg_ab.flows.cli.app", "run", str(configuration(evaluation, folder))]
        environment = os.environ | {"PREFECT_HOME": str(with_prefect(folder / "prefect"))}
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        begun[number] = (process, folder)
    try:
        yield {number: waiting(process, folder) for number, (process, folder) in begun.items()}
    finally:
        for process, _ in begun.values():
            process.kill()
            process.communicate()


def waiting(process: "subprocess.Popen[str]", folder: Path) -> Run:
    asked = folder / "inputs" / "asked"
    end = time.monotonic() + 120
    while not (asked.exists() and asked.read_text()):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.1)
    servers = [pid for pid in map(int, asked.read_text().split()) if is_server(pid)]
    assert servers
    return Run(process, folder / "out", folder / "prefect", servers)


def is_server(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return "temporary_server" in Path(f"/proc/{pid}/cmdline").read_text()
    return False


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_run_that_is_stopped_leaves_nothing(number: signal.Signals, runs: dict[signal.Signals, Run]) -> None:
    run = runs[number]
    began = time.monotonic()
    run.process.send_signal(number)
    said, _ = run.process.communicate(timeout=10)  # whoever holds its output keeps it waiting
    assert time.monotonic() - began < 5
    end = time.monotonic() + 5
    while any(map(is_server, run.servers)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_server, run.servers))
    if number is signal.SIGKILL:
        assert run.process.returncode == -number
        return
    assert run.process.returncode == 128 + number
    assert said.splitlines()[-1] == f"ndcg-ab: stopped by {number.name}"
    assert not run.folder.exists()
    assert flow_states(run) == ["CANCELLED"]


def flow_states(run: Run) -> list[str]:
    with contextlib.closing(sqlite3.connect(run.home / "prefect.db")) as database:
        return [state for (state,) in database.execute("select state_type from flow_run")]
