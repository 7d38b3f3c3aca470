"""Nights that are killed or stopped at random moments, and two writers beside a reader: `make kills`, at any length.

Every night is a fork of this process, which opens nothing itself.  A tracker that keeps a file for each evaluation
stands in the place of MLflow, which would take most of the time.  What is counted at the end: evaluations lost,
doubled, folders and files left over, histories that do not open.
"""

import argparse
import functools
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ndcg_ab.trackers
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.history import database
from ndcg_ab.history import input_cache as known_inputs
from ndcg_ab.history.bundles import bundle as bundles
from ndcg_ab.history.bundles.published import PUBLISHED
from ndcg_ab.history.timeline.timeline import read_timeline
from ndcg_ab.report import bundle_files
from ndcg_ab.runs.run import perform_run
from ndcg_ab.sources.files.content import digest_of_file
from ndcg_ab.trackers.base import Published, Tracker
from tests.small_evaluation import changed_run, plain_page, small, state, tables_of
from tests.stops import TIMES, stops
from tests.stores import folder as stores_of_run

TRACKED, SAID = "tracked", "said"  # a folder of what the tracker has; a file of the bundles that were said to be safe
STAYING = {bundles.BUNDLE, bundles.TABLES, bundles.SCORES, PUBLISHED, bundle_files.PAGE}


class Shelf(Tracker):
    """A tracker that keeps a file for each bundle, and writes down every time that it took one for new."""

    def log(self, bundle: bundles.Bundle) -> Published:
        shelf = bundle.folder.resolve().parent.parent / TRACKED
        shelf.mkdir(exist_ok=True)
        path = shelf / bundle.folder.name
        is_new = not path.exists()
        path.touch()
        return Published(path.name, "", "", "", is_new)


def night(evaluation: Evaluation) -> None:
    """One whole night; as soon as its bundle is called safe, that is written down."""

    def say(bundle: Path, _: bool) -> None:
        with (evaluation.output_directory / SAID).open("a") as file:
            file.write(f"{bundle.name}\n")

    perform_run(evaluation, force=True, when_kept=say)


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
    """How a process ended; below 0: by which signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kills(folder: Path, count: int, chance: random.Random) -> Counter[str]:
    """So many nights, each killed at a random moment or just ended, and a last one that nobody kills."""
    evaluation, errors, found = small(folder), folder / "errors", Counter[str]()
    for _ in range(2):  # the first takes longer
        began = time.monotonic()
        ended(forked(lambda: night(evaluation), errors))
        usual = time.monotonic() - began
    for turn in range(count):
        changed_run(folder, turn)
        child = forked(lambda: night(evaluation), errors)
        time.sleep(chance.uniform(0, 1.1 * usual))
        os.kill(child, signal.SIGKILL)
        found["killed" if ended(child) == -signal.SIGKILL else "ended before"] += 1
        if turn % 10 == 9:
            found["histories that do not open"] += ended(forked(lambda: tables_of(evaluation), errors)) != 0
    changed_run(folder, count)
    found["nights that failed"] += ended(forked(lambda: night(evaluation), errors)) != 0
    return found + counted(evaluation, errors)


def together(folder: Path, seconds: float) -> Counter[str]:
    """Two writers of one history, and a reader, for so long."""
    end, errors, found = time.monotonic() + seconds, folder / "errors", Counter[str]()
    evaluations = [small(folder / name, output=folder / "out") for name in ("one", "other")]

    def write(place: int) -> None:
        turn = 0
        while time.monotonic() < end:
            changed_run(folder / ("one", "other")[place], turn := turn + 1)
            night(evaluations[place])

    def read() -> None:
        reads = 0
        while time.monotonic() < end:
            if database.history_path(evaluations[0]).exists() and bundles.finished_bundles(
                evaluations[0].output_directory / "small"
            ):
                reads += 1
                ordinals = [each.ordinal for each in read_timeline(evaluations[0], None, None).evaluations]
                assert sorted(ordinals) == list(range(1, len(ordinals) + 1)), ordinals
            time.sleep(0.05)
        (folder / "reads").write_text(str(reads))

    children = [forked(lambda: write(0), errors), forked(lambda: write(1), errors), forked(read, errors)]
    found["processes that failed"] = sum(ended(child) != 0 for child in children)
    found["reads"] = int((folder / "reads").read_text()) if (folder / "reads").exists() else 0
    return found + counted(evaluations[0], errors)


def counted(evaluation: Evaluation, errors: Path) -> Counter[str]:
    """What is there after all that, and what should not be; errors are shown on standard error."""
    found = Counter[str]()
    parent, output = evaluation.output_directory / evaluation.name, evaluation.output_directory
    whole = state(evaluation)
    keys = [key.rpartition("/")[2] for _, key, _ in whole["evaluations"]]
    folders = {name for name in whole["bundles"] if not name.startswith(".")}
    rows = {name: Counter(row[0] for row in table) for name, table in whole["tables"].items()}
    found["evaluations"] = len(keys)
    found["lost"] += len(set((output / SAID).read_text().split()) - set(keys)) + len(folders ^ set(keys))
    found["doubled"] += len(keys) - len(set(keys))
    found["ordinals with gaps"] += [row[0] for row in whole["evaluations"]] != list(range(1, len(keys) + 1))
    found["not whole in the history"] += sum(
        rows[name][ordinal] != rows[name][1]
        for name in ("comparison", "query_score", "input")
        for ordinal in rows[name]
    )
    found["not whole on disk"] += sum(set(whole["bundles"][name]) != STAYING for name in folders)
    found["ordinals that differ"] += sum(
        f"{evaluation.name}/{keys[ordinal - 1]}" != key for key, ordinal, _ in whole["ordinals"]
    )
    found["not in the tracker"] += len(set(keys) ^ {path.name for path in (output / TRACKED).iterdir()})
    known = {database.HISTORY, ".publishing", known_inputs.INPUTS}
    for entry in (parent / known_inputs.INPUTS).iterdir():
        about = json.loads((entry / known_inputs.ENTRY).read_text())["known"]
        tables = about.get("tables") or {Path(known_inputs.TABLE).stem: about["table"]}
        found["known inputs that are not whole"] += any(
            digest_of_file(entry / f"{name}.parquet") != digest for name, digest in tables.items()
        )
    found["left over"] += sum(path.name not in folders | known for path in parent.iterdir())
    found["left over"] += sum(path.name not in (evaluation.name, TRACKED, SAID) for path in output.iterdir())
    if errors.exists():
        print(errors.read_text(), file=sys.stderr)
    return found


GOOD = ("killed", "stopped", "ended before", "evaluations", "reads", TIMES)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--stops", type=int, default=0, help="whole runs of the command, stopped by a signal")
    parser.add_argument("--seconds", type=float, default=60, help="how long two writers and a reader go on")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    options = parser.parse_args()
    ndcg_ab.trackers.make_tracker = Shelf
    bundle_files.write_report = plain_page
    stores_of_run()
    is_wrong = False
    trials: dict[str, Callable[[Path], Counter[str]]] = {
        f"{options.kills} kills, seed {options.seed}": lambda folder: kills(
            folder, options.kills, random.Random(options.seed)
        ),
        f"two writers and a reader, {options.seconds:g} s": lambda folder: together(folder, options.seconds),
        f"{options.stops} stops, seed {options.seed}": lambda folder: stops(
            folder, options.stops, random.Random(options.seed)
        ),
    }
    wanted = (options.kills, options.seconds, options.stops)
    trials = {name: trial for (name, trial), count in zip(trials.items(), wanted, strict=True) if count}
    for name, trial in trials.items():
        with tempfile.TemporaryDirectory() as directory:
            folder = Path(directory)
            child = forked(functools.partial(written, trial, folder), folder / "own errors")
            if ended(child) != 0:
                sys.exit((folder / "own errors").read_text())
            found = json.loads((folder / "found").read_text())
        print(f"{name}: {json.dumps(found)}", flush=True)
        is_wrong |= any(value for key, value in found.items() if key not in GOOD)
    sys.exit(is_wrong)


def written(trial: Callable[[Path], Counter[str]], folder: Path) -> None:
    (folder / "found").write_text(json.dumps(trial(folder)))


if __name__ == "__main__":
    main()
