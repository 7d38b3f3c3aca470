"""A run that is stopped or killed: it ends at once, and leaves nothing behind, its Prefect server least of all."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

from ndcg_ab.history.bundle import PUBLISHING
from tests.paths import ROOT
from tests.repeated import mostly_soaked
from tests.slow.broken_servers import configuration, hanging
from tests.small_evaluation import small
from tests.stops import children
from tests.stores import with_prefect

T = TypeVar("T")

ENGINE = """import os, subprocess, time
from pathlib import Path

def search(queries):
    children = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True).stdout
    (Path(__file__).parent / "asked").write_text(children)
    time.sleep(60)
"""
TEMPORARY = {"server": "temporary"}
SIGNALS = mostly_soaked([signal.SIGINT, signal.SIGTERM, signal.SIGKILL], kept=[signal.SIGTERM])


class Run(NamedTuple):
    """A run that waits for an engine: its process, its results, Prefect's home, and the server that it started."""

    process: "subprocess.Popen[str]"
    folder: Path
    home: Path
    servers: list[int]


@pytest.fixture(scope="module")
def runs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[signal.Signals, Run]]:
    """Yield a run in the midst of a pull for each signal that this file's tests send; all are started together."""
    begun = {}
    cases = [item for item in request.session.items if item.path == request.path and hasattr(item, "callspec")]
    for number in [item.callspec.params["number"] for item in cases if "number" in item.callspec.params]:
        folder = tmp_path_factory.mktemp(number.name)
        systems = [{"name": "old", "file": "old.run"}, {"name": "new", "python": "waiting_engine:search"}]
        evaluation = small(folder, systems=systems, queries={"file": "queries.tsv"}, prefect=TEMPORARY)
        (folder / "inputs" / "waiting_engine.py").write_text(ENGINE)
        command = [sys.executable, "-m", "ndcg_ab.flows.cli.main", "run", str(configuration(evaluation, folder))]
        (folder / "temporary").mkdir()
        environment = os.environ | {"PREFECT_HOME": str(with_prefect(folder / "prefect"))}
        environment |= {"TMPDIR": str(folder / "temporary"), "PYTHONPATH": str(ROOT)}
        (folder / "prefect.toml").write_text("no settings")  # a server that followed it would not begin
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
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
    assert list((run.home.parent / "temporary").iterdir()) == []
    assert flow_states(run) == ["CANCELLED"]


def logging_to(port: int) -> dict[str, object]:
    return {"mlflow": {"tracking_uri": f"http://127.0.0.1:{port}"}}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
@pytest.mark.soak
@pytest.mark.parametrize("when", ["the server starts", "MLflow is told"])
def test_a_run_is_stopped_while(when: str, tmp_path: Path) -> None:
    """Prefect's server has a new home, which it makes first; MLflow takes connections and never answers."""
    with hanging() as port:
        evaluation = small(tmp_path, prefect=TEMPORARY, **logging_to(port))
        command = [sys.executable, "-m", "ndcg_ab.flows.cli.main", "run", str(configuration(evaluation, tmp_path))]
        environment = os.environ | {"PREFECT_HOME": str(tmp_path / "prefect")}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
        servers = wait_for_result(process, lambda: [pid for pid in children(process.pid) if is_server(pid)])
        if when == "MLflow is told":
            published = evaluation.output_directory / "small" / PUBLISHING
            wait_for_result(process, published.exists)
        time.sleep(0.5)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=20)
    assert time.monotonic() - began < 5
    assert (process.returncode, said.splitlines()[-1]) == (143, "ndcg-ab: stopped by SIGTERM")
    assert not any(map(is_server, servers))
    bundles = [path.name for path in (tmp_path / "out").glob("small/2*")]
    assert len(bundles) == (when == "MLflow is told"), "what is kept stays, and is pending"
    assert not list((tmp_path / "out").glob("small/.*.partial"))


def wait_for_result(process: "subprocess.Popen[str]", found: "Callable[[], T]") -> "T":
    """What there is as soon as there is something."""
    end = time.monotonic() + 240
    while not (there := found()):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.1)
    return there


def flow_states(run: Run) -> list[str]:
    with contextlib.closing(sqlite3.connect(run.home / "prefect.db")) as database:
        return [state for (state,) in database.execute("select state_type from flow_run")]
