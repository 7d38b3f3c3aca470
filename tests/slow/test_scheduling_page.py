"""What docs/scheduling.md prints, run as it is printed: with a free port, and in a folder of its own.

That every command and setting on the page exists: `tests/test_scheduling_page.py`.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.paths import DATA, ROOT
from tests.slow.broken_servers import closed
from tests.stores import with_prefect

pytestmark = [pytest.mark.slow, pytest.mark.soak]  # tests/slow/end_to_end.py deploys and serves in `make test`
TEXT = (ROOT / "docs" / "scheduling.md").read_text(encoding="utf-8")
PATIENCE = 90.0  # seconds that anything may take
CONFIG = """
judgments: {data}/judgments.qrels
systems: [{{name: old, file: {data}/old.run}}, {{name: new, file: {data}/new.run}}]
metrics: [ndcg@5]
tracker: json_lines
"""
PORT = "4200"  # of the page


def blocks(heading: str, language: str) -> list[str]:
    """The blocks of one section of the page."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)^##", TEXT, flags=re.DOTALL | re.MULTILINE)
    return re.findall(rf"^```{language}\n(.*?)^```", section, flags=re.DOTALL | re.MULTILINE)


class Place:
    """A folder with the configurations that the page names, and a terminal in it."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, str(port)
        (schedule,) = blocks("A laptop", "yaml")
        for name in ("nightly", "weekly"):
            (folder / f"{name}.yaml").write_text(f"name: {name}\n{CONFIG.format(data=DATA)}{schedule}")
        home = with_prefect(folder / "prefect")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MLFLOW_"))}
        self.environment = clean | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PREFECT_HOME": str(home),
            "PREFECT_SERVER_API_PORT": self.port,  # where the page takes the usual one
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_SERVER_UI_ENABLED": "false",
            "PREFECT_RUNNER_POLL_FREQUENCY": "1",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "DO_NOT_TRACK": "true",
        }

    def terminal(self, lines: str) -> "subprocess.Popen[bytes]":
        """The lines in a shell that stops at the first that fails; what they print goes to `printed`."""
        with (self.folder / "printed").open("ab") as printed:
            return subprocess.Popen(
                ["bash", "-e", "-c", lines.replace(PORT, self.port)],
                cwd=self.folder,
                env=self.environment,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def printed(self) -> str:
        return (self.folder / "printed").read_text(encoding="utf-8")

    def wait(self, until: Callable[[], object], shell: "subprocess.Popen[bytes]") -> None:
        end = time.monotonic() + PATIENCE
        while not until():
            assert shell.poll() is None and time.monotonic() < end, self.printed()
            time.sleep(0.2)

    def bundles(self) -> list[Path]:
        return list((self.folder / "ndcg-ab-results" / "nightly").glob("2*/bundle.json"))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    if not shutil.which("curl"):
        pytest.skip("the page asks with curl whether the server is there, and it is not installed")
    with closed() as port:
        made = Place(tmp_path, port)
    try:
        yield made
    finally:
        made.terminal("prefect server stop").wait(PATIENCE)


@contextlib.contextmanager
def ended(shell: "subprocess.Popen[bytes]") -> Iterator[None]:
    """With everything that it started."""
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


def test_the_set_up_of_a_server_works_as_printed(place: Place) -> None:
    lines, *_ = blocks("A server", "sh")
    closing = re.findall(r"`(kill %1)` ends the worker,\n`(prefect server stop)` the server", TEXT)
    shell = place.terminal("\n".join((lines, *closing[0])))
    with ended(shell):
        assert shell.wait(PATIENCE) == 0, place.printed()
    assert len(place.bundles()) == 1, place.printed()


def test_the_set_up_of_a_laptop_works_as_printed(place: Place) -> None:
    (lines,) = blocks("A laptop", "sh")
    (asked,) = re.findall(r"use another terminal, with `PREFECT_API_URL` set: `(prefect .*?)`", TEXT)
    (address,) = [line for line in lines.splitlines() if line.startswith("export ")]
    serving = place.terminal(lines)
    with ended(serving):
        place.wait(lambda: "Ctrl-C ends it" in place.printed(), serving)
        other = place.terminal(f"{address}\n{asked}")
        with ended(other):
            assert other.wait(PATIENCE) == 0, place.printed()
        place.wait(place.bundles, serving)
