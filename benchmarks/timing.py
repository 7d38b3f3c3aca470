"""What a process costs, by the operating system's own figures."""

import os
import subprocess
import sys
import time
from pathlib import Path

COMMAND = [str(Path(sys.executable).with_name("ndcg-ab"))]
"""The command that users call: a module started by Python would not limit the threads of BLAS first."""


def timed(command: list[str]) -> tuple[float, float, float, str]:
    """Seconds of wall time and of the cores, peak resident memory in MB, and what it printed."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"failed: {' '.join(command[:4])} …")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, printed
