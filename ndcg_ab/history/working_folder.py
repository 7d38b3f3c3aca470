"""Manage the working folders of runs: locked while in use, renamed at the end, removed if the process died.

A process that is stopped removes its own folders (`abandon_working_folders`).
"""

import contextlib
import fcntl
import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError
from ndcg_ab.files import try_lock
from ndcg_ab.full_disks import is_full, is_unwritable, no_room

LOCK = ".lock"
SETTLED = 60.0  # seconds after which a working folder without a lock belongs to nobody
KEEPING = threading.Lock()  # held while a bundle is entered and renamed, and for good where the process is to end
WORKING_FOLDERS: dict[Path, list[Path]] = {}  # the working folders, with those that were made for them
TRIES = 10  # to remove a folder in which another thread goes on making files
STAMP = "%Y%m%dT%H%M%SZ"
LONGEST_NAME = 255  # bytes of a folder's name


def lock_folder(folder: Path) -> IO[str]:
    """Lock a folder and return the open lock file; closing the file releases the lock.

    The lock file gets its name after it is locked, so that no other process finds it unlocked.
    """
    unseen = folder / f"{LOCK}.new"
    lock = unseen.open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    unseen.rename(folder / LOCK)
    return lock


def clear_abandoned(parent: Path) -> None:
    """Remove what dead processes left in `parent`: working folders, half-removed bundles, half-made histories."""
    for folder in parent.glob(".*.partial"):
        with contextlib.suppress(OSError):
            if not (folder / LOCK).exists():
                abandoned = time.time() - folder.stat().st_mtime > SETTLED
            else:
                with (folder / LOCK).open() as lock:
                    abandoned = try_lock(lock)
            if abandoned and folder.is_dir():
                shutil.rmtree(folder, ignore_errors=True)
            elif abandoned:
                folder.unlink()
    for folder in parent.glob(".*.removed"):
        shutil.rmtree(folder, ignore_errors=True)


def remove_at_once(folder: Path, parent: Path) -> None:
    """Remove a folder so that no half-removed folder keeps its name.

    The folder is first renamed into `parent`, under a hidden name. An OSError is ignored.
    """
    going = parent / f".{folder.name}.removed"
    with contextlib.suppress(OSError):
        folder.rename(going)
        shutil.rmtree(going, ignore_errors=True)


def remove_working_folder(folder: Path) -> None:
    """Remove a working folder, and the empty folders above it that were created for it."""
    for _ in range(TRIES):
        if folder.exists():
            shutil.rmtree(folder, ignore_errors=True)
    remove_empty(WORKING_FOLDERS.pop(folder, []))


def remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders one after another, until one is not empty. The innermost folder must come first."""
    with contextlib.suppress(OSError):
        for path in folders:
            path.rmdir()


def abandon_working_folders(patience: float = 1.0) -> None:
    """Remove the working folders of this process before it ends.

    From then on no thread can store another bundle.
    patience: seconds to wait for a bundle that is being stored. If that takes longer, nothing is removed.
    """
    if KEEPING.acquire(timeout=patience):
        for folder in list(WORKING_FOLDERS):
            remove_working_folder(folder)


@contextlib.contextmanager
def working_folder(evaluation: Evaluation, at: datetime | None = None) -> Iterator[Path]:
    """Yield a new, locked working folder, which readers of bundles ignore.

    The folder is removed at the end of the context, unless `finish_bundle` has renamed it. Working folders of dead
    processes are removed first.
    at: the nominal time of the evaluation; None for now.
    Raises InputError if the output directory cannot be written, or its disk is full.
    """
    parent = evaluation.output_directory / evaluation.name
    clear_abandoned(parent)
    ours = [path for path in (parent, parent.parent) if not path.exists()]
    try:
        folder, lock = make_working_folder(parent, (at or datetime.now(UTC)).astimezone(UTC), str(evaluation.output))
    except InputError:
        remove_empty(ours)
        raise
    with lock:
        WORKING_FOLDERS[folder] = ours
        try:
            yield folder
        except Exception as error:
            if isinstance(error, InputError):
                raise
            if is_full(error):
                raise no_room(error, evaluation.output_directory) from error
            if is_unwritable(error):
                raise InputError(f"output = {str(evaluation.output)!r}: cannot be written: {error}") from error
            raise
        finally:
            remove_working_folder(folder)


def make_working_folder(parent: Path, start: datetime, output: str) -> tuple[Path, IO[str]]:
    """Return a new working folder inside `parent`, and the open lock file, which holds the lock until it is closed.

    start: the nominal time of the evaluation.
    output: the configured output directory, for messages.
    Raises InputError if the folder cannot be made.
    """
    refuse_unusable_output(parent, output)
    stamp = start.strftime(STAMP)
    for attempt in range(1, 1000):
        name = stamp if attempt == 1 else f"{stamp}-{attempt}"
        folder = parent / f".{name}.partial"
        try:
            if (parent / name).exists():
                continue
            folder.mkdir(parents=True)
            if (parent / name).exists():  # another process has just finished under this name
                folder.rmdir()
                continue
            return folder, lock_folder(folder)
        except FileExistsError:
            continue
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise InputError(f"output = {output!r}: cannot be written: {error}") from None
    raise InputError(f"{parent}: too many evaluations began in one second")


def refuse_unusable_output(parent: Path, output: str) -> None:
    """Raise InputError if evaluations cannot be stored below `parent`.

    Nothing is written, and `parent` need not exist.
    output: the configured output directory, for the message.
    """
    if "\\" in str(parent):
        raise InputError(f"output = {output!r}: holds a backslash, which DuckDB takes for '/': name another folder")
    if long := [part for part in parent.parts if len(os.fsencode(part)) > LONGEST_NAME]:
        raise InputError(f"output = {output!r}: {long[0][:20]!r}… is longer than the name of a folder can be")
    try:
        nearest = next(folder for folder in (parent, *parent.parents) if folder.is_symlink() or folder.exists())
    except OSError as error:
        raise InputError(f"output = {output!r}: cannot be written: {error}") from None
    if not nearest.is_dir():
        raise InputError(f"output = {output!r}: {nearest} is no folder: name another one")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(f"output = {output!r}: cannot be written: {nearest} takes no files: name another folder")


def time_in_name(name: str) -> datetime:
    """Return the nominal time in the name of a working folder, or of a bundle's folder.

    This is the time that the evaluation is about, even if it runs later.
    """
    stamp = name.removeprefix(".").partition("Z")[0]
    return datetime.strptime(f"{stamp}Z", STAMP).replace(tzinfo=UTC)
