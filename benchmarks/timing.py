"""Measure the costs of a process by the figures of the operating system."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

COMMAND = [str(Path(sys.executable).with_name("ndcg-ab"))]
"""The command that users call: a module started by Python would not limit the threads of BLAS first."""


class Cost(NamedTuple):
    """The costs of a process.

    wall, cores: seconds of wall time, and of all cores. memory: peak resident memory in MB. printed: its output.
    """

    wall: float
    cores: float
    memory: float
    printed: str


def timed(command: list[str], folder: Path | None = None, room: float = 64.0, seconds: float = 1e6) -> Cost:
    """Run a command in a folder and return its costs.

    A process is ended if it takes more than `room` GB of memory or more than `seconds`; its costs are then infinite.
    Exits with a message if the command fails.
    """
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as printed:
        process = subprocess.Popen(command, stdout=printed, stderr=subprocess.DEVNULL, cwd=folder)
        ended, is_stopped = 0, False
        while not ended:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            if not ended:
                took = time.perf_counter() - start
                if not is_stopped and (took > seconds or resident(process.pid) > room * 1e9):
                    is_stopped = True
                    process.kill()
                time.sleep(0.01)
        wall, process.returncode = time.perf_counter() - start, os.waitstatus_to_exitcode(status)
        printed.seek(0)
        text = printed.read()
    if is_stopped:
        return Cost(float("inf"), float("inf"), float("inf"), "")
    if process.returncode:
        sys.exit(f"failed with exit code {process.returncode}: {' '.join(command)[:400]} …")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text)


def resident(process: int) -> int:
    """Return the bytes of memory that a process holds, 0 if it has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0
