"""Nights that are killed or stopped at random moments, and two writers beside a reader: `make kills`, at any length.

Every night is a fork of this process, which opens nothing itself.  A tracker that keeps a file for each evaluation
stands in the place of MLflow, which would take most of the time.  What is counted at the end: evaluations lost,
doubled, folders and files left over, histories that do not open.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.history import bundle as bundles
from ndcg_ab.history import database
from ndcg_ab.history import input_cache as known_inputs
from ndcg_ab.history.bundle import PUBLISHED
from ndcg_ab.history.timeline import read_timeline
from ndcg_ab.pipeline.context import Context, Stage
from ndcg_ab.report import bundle_files
from ndcg_ab.runs import run as stages
from ndcg_ab.sources.files.parts import digest_of_file
from ndcg_ab.trackers.base import Published, Tracker
from tests.forking import call_in_fork
from tests.repeated import read_options
from tests.small_evaluation import changed_run, perform_run, plain_page, small, state, tables_of
from tests.stops import TIMES, stops
from tests.stores import folder as stores_of_run

TRACKED, SAID = "tracked", "said"  # a folder of what the tracker has; a file of the bundles that were said to be safe
STAYING = {bundles.BUNDLE, bundles.TABLES, bundles.SCORES, PUBLISHED, bundle_files.PAGE}


class Shelf(Tracker):
    """A tracker that keeps a file for each bundle."""

    def address(self, evaluation: Evaluation) -> str:
        return ""

    def log(self, bundle: bundles.Bundle) -> Published:
        shelf = bundle.folder.resolve().parent.parent / TRACKED
        shelf.mkdir(exist_ok=True)
        path = shelf / bundle.folder.name
        is_new = not path.exists()
        path.touch()
        return Published(path.name, "", "", "", is_new)


def night(evaluation: Evaluation) -> None:
    """Perform one whole night, and write down its bundle as soon as that is called safe."""

    def call(stage: Stage, context: Context, part: str) -> str | None:
        found = stage.perform(context, part)
        if stage is stages.keep:
            assert context.bundle is not None
            with (evaluation.output_directory / SAID).open("a") as file:
                file.write(f"{context.bundle.name}\n")
        return found

    if pending := perform_run(evaluation, call, force=True).pending:
        raise RuntimeError(f"the tracker has no bundle: {pending}")


def forked(work: Callable[[], Any], errors: Path) -> int:
    """Begins `work` in a process of its own, whose traceback is added to a file; its id."""
    if (child := os.fork()) == 0:
        try:
            work()
        except BaseException:
            with errors.open("a") as file:
                file.write(traceback.format_exc() + "\n")
            os._exit(1)
        os._exit(0)
    return child


def ended(child: int) -> int:
    """Wait for a process and return its exit code, below 0 for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def ended_well(child: int, errors: Path) -> int:
    """Wait for a process and return its exit code; raise RuntimeError with its traceback if it failed."""
    if (code := ended(child)) not in (0, -signal.SIGKILL):
        told = errors.read_text() if errors.exists() else "it left no traceback"
        raise RuntimeError(f"a process ended with {code}:\n{told}")
    return code


def kills(folder: Path, count: int, chance: random.Random) -> Counter[str]:
    """Kill nights at random moments, and end with one that nobody kills."""
    evaluation, errors, found = small(folder), folder / "errors", Counter[str]()
    for turn in range(2):  # the first takes longer
        changed_run(folder, -1 - turn)
        began = time.monotonic()
        ended_well(forked(lambda: night(evaluation), errors), errors)
        usual = time.monotonic() - began
    for turn in range(count):
        changed_run(folder, turn)
        child = forked(lambda: night(evaluation), errors)
        time.sleep(chance.uniform(0, 1.1 * usual))
        os.kill(child, signal.SIGKILL)
        found["killed" if ended_well(child, errors) else "ended before"] += 1
        if turn % 10 == 9:
            ended_well(forked(lambda: tables_of(evaluation), errors), errors)  # the history opens
    changed_run(folder, count)
    for left in (evaluation.output_directory / evaluation.name).glob(".*.partial"):
        os.utime(left, (0, 0))  # what was killed before it had a lock would have a minute to get one
    ended_well(forked(lambda: night(evaluation), errors), errors)
    return found + counted(evaluation)


def run_two_writers(folder: Path, seconds: float) -> Counter[str]:
    """Two writers of one history, and a reader, for so long."""
    end, errors, found = time.monotonic() + seconds, folder / "errors", Counter[str]()
    evaluations = [small(folder / name, output=folder / "out") for name in ("one", "other")]

    def write(place: int) -> None:
        turn = 0
        while turn == 0 or (time.monotonic() < end and not errors.exists()):
            changed_run(folder / ("one", "other")[place], turn := turn + 1)
            night(evaluations[place])

    def read() -> None:
        reads = 0
        while (reads == 0 or time.monotonic() < end) and not errors.exists():
            if database.history_path(evaluations[0]).exists() and bundles.finished_bundles(
                evaluations[0].output_directory / "small"
            ):
                reads += 1
                ordinals = [each.ordinal for each in read_timeline(evaluations[0], None, None).evaluations]
                assert sorted(ordinals) == list(range(1, len(ordinals) + 1)), ordinals
            time.sleep(0.05)
        (folder / "reads").write_text(str(reads))

    children = [forked(lambda: write(0), errors), forked(lambda: write(1), errors), forked(read, errors)]
    for child in children:
        ended_well(child, errors)
    found["reads"] = int((folder / "reads").read_text())
    return found + counted(evaluations[0])


def counted(evaluation: Evaluation) -> Counter[str]:
    """Count the evaluations that are there, and everything that should not be."""
    found = Counter[str]()
    parent, output = evaluation.output_directory / evaluation.name, evaluation.output_directory
    whole = state(evaluation)
    keys = [key.rpartition("/")[2] for _, key, _ in whole["evaluations"]]
    folders = {name for name in whole["bundles"] if not name.startswith(".")}
    whole["tables"]["comparison"] = [row for row in whole["tables"]["comparison"] if row[1] != row[2]]  # since last
    rows = {name: Counter(row[0] for row in table) for name, table in whole["tables"].items()}
    found["evaluations"] = len(keys)
    found["lost"] += len(set((output / SAID).read_text().split()) - set(keys)) + len(folders ^ set(keys))
    found["doubled"] += len(keys) - len(set(keys))
    found["ordinals with gaps"] += [row[0] for row in whole["evaluations"]] != list(range(1, len(keys) + 1))
    found["not whole in the history"] += sum(
        rows[name][number] != rows[name][1] or not rows[name][1]
        for name in ("comparison", "query_score", "input")
        for number in range(1, len(keys) + 1)
    )
    found["not whole on disk"] += sum(set(whole["bundles"][name]) != STAYING for name in folders)
    found["ordinals that differ"] += sum(
        f"{evaluation.name}/{keys[ordinal - 1]}" != key for key, ordinal in whole["ordinals"]
    )
    found["not in the tracker"] += len(set(keys) ^ {path.name for path in (output / TRACKED).iterdir()})
    known = {database.HISTORY, ".publishing", known_inputs.INPUTS}
    for entry in (parent / known_inputs.INPUTS).iterdir():
        about = json.loads((entry / known_inputs.ENTRY).read_text())["known"]
        found["known inputs that are not whole"] += any(
            digest_of_file(entry / f"{name}.parquet") != digest for name, digest in about["tables"].items()
        )
    found.update(f"left over: {path.name}" for path in parent.iterdir() if path.name not in folders | known)
    staying = (evaluation.name, TRACKED, SAID)
    found.update(f"left over: {path.name}" for path in output.iterdir() if path.name not in staying)
    return found


GOOD = ("killed", "stopped", "ended before", "evaluations", "reads", "bundles", TIMES)


class Trial(NamedTuple):
    """A trial with its name, and the counts of which at least one must be above 0, each group by itself."""

    name: str
    work: tuple[tuple[str, ...], ...]
    run: Callable[[Path], Counter[str]]


def perform(trial: Trial) -> Counter[str]:
    """Run a trial in a process of its own; raise RuntimeError if it fails, or did no work."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        found = Counter[str](call_in_fork(lambda: trial.run(folder)))
    if idle := [names for names in trial.work if not any(found[name] for name in names)]:
        raise RuntimeError(f"{trial.name}: nothing was done: {idle} in {dict(found)}")
    return found


def trials(options: argparse.Namespace) -> Iterator[Trial]:
    """Yield the trials that the options name."""
    if options.kills:
        name = f"{options.kills} kills, seed {options.seed}"
        work = (("killed", "ended before"), ("evaluations",))
        yield Trial(name, work, lambda folder: kills(folder, options.kills, random.Random(options.seed)))
    if options.seconds:
        name = f"two writers and a reader, {options.seconds:g} s"
        yield Trial(name, (("evaluations",), ("reads",)), lambda folder: run_two_writers(folder, options.seconds))
    if options.stops:
        name = f"{options.stops} stops, seed {options.seed}"
        work = (("stopped", "ended before"), ("bundles",))
        yield Trial(name, work, lambda folder: stops(folder, options.stops, random.Random(options.seed)))


def main(words: Sequence[str] | None = None) -> int:
    """Run the trials and return 1 if one of them found something wrong; words: in the place of the command line's.

    stops: whole runs of the command, stopped by a signal. seconds: how long two writers and a reader go on.
    """
    options = read_options(__doc__, words, kills=500, stops=0, seconds=60.0)
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell in the background has it ignored, also for children
    stages.make_tracker = Shelf
    bundle_files.write_report = plain_page
    stores_of_run()
    is_wrong = False
    for trial in trials(options):
        found = perform(trial)
        print(f"{trial.name}: {json.dumps(found)}", flush=True)
        is_wrong |= any(value for key, value in found.items() if key not in GOOD)
    return is_wrong


if __name__ == "__main__":
    sys.exit(main())
