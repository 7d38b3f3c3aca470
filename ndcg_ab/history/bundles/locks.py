"""Locks on folders: one process at a time works in one, publishes from one, and clears up what dead ones left."""

import contextlib
import fcntl
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ndcg_ab.errors import InputError
from ndcg_ab.files import resolved, try_lock, wait_for_lock

LOCK = ".lock"
PUBLISHING = ".publishing"
SETTLED = 60.0  # seconds after which a working folder without a lock belongs to nobody


def lock_folder(folder: Path) -> IO[str]:
    """Locks a folder, as long as the file stays open; no other process sees the lock before it is held."""
    unseen = folder / f"{LOCK}.new"
    lock = unseen.open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    unseen.rename(folder / LOCK)
    return lock


def clear_abandoned(parent: Path) -> None:
    """Removes what processes that died left: working folders, bundles half removed, histories half made."""
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


@contextlib.contextmanager
def publishing_alone(folder: Path, patience: float = 120.0) -> Iterator[None]:
    """Only one process at a time publishes an evaluation's bundles; waits for another, then raises InputError."""
    parent = resolved(folder).parent
    try:
        opened = (parent / PUBLISHING).open("w")
    except OSError as error:
        raise InputError(
            f"{parent}: cannot be written ({error.strerror}), and publishing is noted beside the bundle: make the"
            " folder writable, or publish a copy of it"
        ) from None
    with opened as lock:
        if not wait_for_lock(lock, patience):
            raise InputError(f"{parent}: another process has been publishing for {patience:.0f} s and more")
        yield
