"""Runs of the command that are stopped at random moments by Ctrl-C, SIGTERM or SIGHUP: a trial of `tests.killing`.

What must be so: exit code 130, 143 or 129, one sentence as the last words on standard error, five seconds at most, no
process, no working folder and no temporary folder left, and the next run that nobody stops is whole.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from ndcg_ab.flows.stopping import SIGNALS
from ndcg_ab.history.bundle import REUSED
from tests.commands import sentences
from tests.paths import ROOT
from tests.slow.broken_servers import configuration
from tests.small_evaluation import changed_run, small
from tests.stores import with_prefect, with_store

LONGEST = 5.0  # seconds from the signal to the end
GROUP = 25  # stops of one output directory: its history, MLflow store and Prefect's home are begun again after these
FRESH = 4  # every so many groups begin without a store and a home, which are made while runs are stopped
TIMES = "milliseconds of the slowest"


def stops(folder: Path, count: int, chance: random.Random) -> Counter[str]:
    """So many runs, each stopped at a random moment; after every group one that nobody stops."""
    found = Counter[str]()
    for number, first in enumerate(range(0, count, GROUP)):
        stop_group(folder / str(number), min(GROUP, count - first), chance, number % FRESH == FRESH - 1, found)
    return found


def stop_group(folder: Path, count: int, chance: random.Random, fresh: bool, found: Counter[str]) -> None:
    """Runs of one output directory; what they were is added to `found`."""
    folder.mkdir(parents=True)
    if not fresh:
        with_store(folder)
        with_prefect(folder / "prefect")
    (folder / "temporary").mkdir()
    environment = os.environ | {"PREFECT_HOME": str(folder / "prefect"), "TMPDIR": str(folder / "temporary")}
    config = configuration(small(folder, prefect={"server": "temporary"}), folder)
    command = [sys.executable, "-m", "ndcg_ab.flows.cli.main", "run", str(config)]
    usual = 30.0 if count > 1 else 6.0
    for turn in (-1, 0) if not fresh and count > 1 else ():  # the first takes longer
        changed_run(folder, turn)
        usual = ended_by_itself(command, environment)
    for turn in range(count):
        changed_run(folder, turn + 1)
        number, after = chance.choice(SIGNALS), chance.uniform(0, usual)
        stop_run(command, environment, number, after, found)
        left = [path.name for path in (folder / "out" / "small").glob(".*.partial")]
        left += [path.name for path in (folder / "temporary").iterdir()]
        found["folders left"] += report(f"after {after:.2f} s left: {left}" if left else "")
    changed_run(folder, count + 1)
    ended_by_itself(command, environment)
    for bundle in (folder / "out" / "small").glob("2*"):
        found["bundles"] += 1
        files = sorted(path.name for path in bundle.rglob("*") if path.name != REUSED)
        found["bundles that are not whole"] += report("" if files == WHOLE else f"{bundle}: {files}")


WHOLE = ["bundle.json", "evaluation.duckdb", "published.json", "query_scores.parquet", "report.html"]


def stop_run(
    command: list[str], environment: Mapping[str, str], number: signal.Signals, after: float, found: Counter[str]
) -> None:
    """One run that gets a signal after so many seconds."""
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(after)
    if process.returncode is not None:
        process.communicate()
        found["ended before"] += 1
        return
    servers = children(process.pid)
    began = time.monotonic()
    process.send_signal(number)
    try:
        _, errors = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        _, errors = process.communicate()
    seconds = time.monotonic() - began
    lines = sentences(errors)
    about = f"{number.name} after {after:.2f} s, code {process.returncode}, {seconds:.1f} s: {lines}"
    found["stopped"] += 1
    found["other exit codes"] += report(about if process.returncode != 128 + number else "")
    found["other words"] += report(about if lines != [f"ndcg-ab: stopped by {number.name}"] else "")
    found["too slow"] += report(about if seconds > LONGEST else "")
    found[TIMES] = max(found[TIMES], int(seconds * 1000))
    end = time.monotonic() + 2
    while any(map(is_running, servers)) and time.monotonic() < end:
        time.sleep(0.05)
    found["processes left"] += report(f"{about}: {servers}" if any(map(is_running, servers)) else "")


def ended_by_itself(command: list[str], environment: Mapping[str, str]) -> float:
    """Return the seconds of a run that nobody stops; raise RuntimeError with its errors if it complains."""
    began = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    lines = sentences(done.stderr)
    if done.returncode or lines:
        raise RuntimeError(f"a run that nobody stopped ended with {done.returncode}:\n{done.stderr}")
    return time.monotonic() - began


def report(text: str) -> bool:
    """Shows what is wrong on standard error; whether anything is."""
    if text:
        print(text, file=sys.stderr, flush=True)
    return bool(text)


def children(pid: int) -> list[int]:
    """Return the processes that any thread of a process started; none if it has ended."""
    with contextlib.suppress(OSError):
        lists = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
        return [int(child) for text in lists for child in text.split()]
    return []


def is_running(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return "ndcg_ab" in Path(f"/proc/{pid}/cmdline").read_text()
    return False
