"""Whole runs whose output is on a disk with so much room, and the next run with enough: `python -m tests.full_disks`.

What must be so: one line on standard error, which says what, where, and that there is no room; exit code 2 and nothing
half-made left, or 75 and a bundle that is safe; after the next run every bundle and every run of MLflow holds the files
of one that nothing disturbed.  The disk is a tmpfs, which root may mount.
"""

import contextlib
import hashlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ndcg_ab.history import bundle as bundles
from ndcg_ab.history import input_cache as known_inputs
from tests.commands import sentences
from tests.forking import call_in_fork
from tests.repeated import read_options, require_work
from tests.slow.broken_servers import configuration
from tests.small_evaluation import runs, small

ROOMY = 64 << 20  # bytes: more than a run takes
ENOUGH = 16 << 20  # bytes that a small run takes, and a little more
SAME = "query_scores.parquet"  # to the last bit; pages have times


@contextlib.contextmanager
def disk(size: int) -> Iterator[Path | None]:
    """The folder of a new file system of so many bytes; None where none can be mounted."""
    folder = Path(tempfile.mkdtemp(prefix="disk-"))
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        is_mounted = not subprocess.run(words, check=False, capture_output=True).returncode
    except OSError:
        is_mounted = False
    try:
        yield folder if is_mounted else None
    finally:
        if is_mounted:
            subprocess.run(["umount", "-l", str(folder)], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def leave_room(folder: Path, room: int) -> Path:
    """Fills a disk but for so many bytes; the file that does, which may be removed."""
    filler = folder / "filler"
    free = os.statvfs(folder)
    filler.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - room)))
    return filler


def run(config: Path, errors: Path) -> tuple[int, list[str]]:
    """The command in a fork of this process, which has imported what it needs: its code, and what it complains of."""
    if (child := os.fork()) == 0:
        with errors.open("w") as file:
            os.dup2(file.fileno(), 2)
        sys.argv = ["ndcg-ab", "run", "--quiet", str(config)]
        sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
        from ndcg_ab.flows.cli.main import main

        try:
            main()
        except SystemExit as ended:
            os._exit(ended.code if isinstance(ended.code, int) else 99)
        finally:
            os._exit(98)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, sentences(errors.read_text())


def files_of(folder: Path) -> dict[str, str]:
    """The files of a bundle or a run of MLflow: name -> digest, of pages and the like their presence."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and name != "reused.json":
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest() if name == SAME else ""
    return found


def wrong_at(room: int, folder: Path, undisturbed: dict[str, Any] | None) -> tuple[list[str], dict[str, Any]]:
    """What is wrong with a run that has so many bytes, and with the next one; what that one made."""
    wrong: list[str] = []
    with disk(ROOMY) as place:
        assert place is not None
        shutil.rmtree(folder, ignore_errors=True)
        evaluation = small(folder, output=place / "out", mlflow={"tracking_uri": f"sqlite:///{place}/out/mlflow.db"})
        config = configuration(evaluation, folder)
        filler = leave_room(place, room)
        code, said = run(config, folder / "errors")
        made = bundles.finished_bundles(place / "out" / "small")
        if undisturbed is not None and (code, bool(made)) not in ((2, False), (75, True), (0, True), (2, True)):
            wrong.append(f"code {code} with {len(made)} bundles")
        if code and (len(said) != 1 or "no room" not in said[0] or str(place) not in said[0]):
            wrong.append(f"code {code}: {said}")
        if left := [str(path) for path in (place / "out").rglob("*.partial*")]:
            wrong.append(f"left: {left}")
        filler.unlink()
        code, said = run(config, folder / "errors")
        if code or said:
            wrong.append(f"the next run: code {code}: {said}")
        (bundle,) = bundles.finished_bundles(place / "out" / "small")
        if "<title>report</title><p>" in (bundle / "report.html").read_text()[:100]:
            wrong.append("the page says why there is none")
        ended: dict[str, Any] = {"bundle": files_of(bundle), "runs": []}
        for found in runs(evaluation):
            artifacts = place / "out" / "mlruns" / "small" / found["id"] / "artifacts"
            ended["runs"].append([found["kind"], found["complete"], found["status"], files_of(artifacts)])
        known = {"history.duckdb", ".publishing", known_inputs.INPUTS, bundle.name}
        ended["left"] = sorted({path.name for path in (place / "out" / "small").iterdir()} - known)
        ended["left"] += sorted(path.name for path in (place / "out").glob("*.partial*"))
        if undisturbed is not None:
            wrong += [f"{key}: {ended[key]}, not {undisturbed[key]}" for key in ended if ended[key] != undisturbed[key]]
    return [f"{room / 1e6:.2f} MB: {text}" for text in wrong], ended


def wrong_at_levels(levels: list[int], folder: Path) -> list[str]:
    """What is wrong at all of these numbers of bytes."""
    import mlflow.store.tracking.sqlalchemy_store  # noqa: F401  (imported once for all forks)

    folder.mkdir(parents=True, exist_ok=True)
    wrong, undisturbed = call_in_fork(lambda: wrong_at(ENOUGH * 3, folder / "run", None))
    for room in levels:
        found, _ = call_in_fork(lambda room=room: wrong_at(room, folder / "run", undisturbed))
        print(f"{room / 1e6:.2f} MB: {found or 'well'}", flush=True)
        wrong += found
    return wrong


def main(words: Sequence[str] | None = None) -> int | str:
    """levels: how many numbers of bytes, from nearly nothing to enough. room: this number of bytes instead."""
    options = read_options(__doc__, words, levels=20, room=0)
    levels = [int(ENOUGH * (number + random.random()) / options.levels) for number in range(options.levels)]
    levels = [options.room] if options.room else levels
    require_work("full_disks", levels=len(levels))
    with tempfile.TemporaryDirectory() as folder:
        return "\n".join(wrong_at_levels(levels, Path(folder) / "levels")) or 0


if __name__ == "__main__":
    sys.exit(main())
