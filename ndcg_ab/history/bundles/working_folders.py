"""The working folders of this process, and what becomes of them when it is stopped."""

import contextlib
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

KEEPING = threading.Lock()  # held while a bundle is entered and renamed, and for good where the process is to end
WORKING_FOLDERS: dict[Path, list[Path]] = {}  # the working folders, with those that were made for them
TRIES = 10  # to remove a folder in which another thread goes on making files


def remove_working_folder(folder: Path) -> None:
    """Removes a working folder, and with it those that were made for it."""
    for _ in range(TRIES):
        if folder.exists():
            shutil.rmtree(folder, ignore_errors=True)
    remove_empty(WORKING_FOLDERS.pop(folder, []))


def remove_empty(folders: Sequence[Path]) -> None:
    """Removes folders, the innermost first, as far as nothing is in them."""
    with contextlib.suppress(OSError):
        for path in folders:
            path.rmdir()


def abandon_working_folders(patience: float = 1.0) -> None:
    """Removes what other threads of this process are working on, which is to end: no bundle is kept from now on.

    One that is being entered in the history is waited for; what takes longer is left for the next run to clear away.
    """
    if KEEPING.acquire(timeout=patience):
        for folder in list(WORKING_FOLDERS):
            remove_working_folder(folder)
