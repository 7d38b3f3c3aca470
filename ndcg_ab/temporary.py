"""Create temporary folders that only the current user can read, and remove those of processes that ended.

The folders are created in the user's folder among the temporary files (`user_folder`), or in a folder that the user
names. Each is locked by its process. A folder that a killed process left is removed by the next process.
"""

import atexit
import contextlib
import errno
import fcntl
import functools
import os
import re
import shutil
import stat
import tempfile
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

from ndcg_ab.errors import InputError
from ndcg_ab.files import try_lock

USUAL = "ndcg-ab-spill"  # in the folder of temporary files, with the number of the user
LOCKS = re.compile(r"\d+-[0-9a-f]{8}\.(lock|new)")  # the folder may hold other files, as uv.lock
ATTEMPTS = 5
ALONE = 0o700
PATIENCE = 1.0  # seconds for a folder that another thread begins when the process ends
MOST_KEPT = 10  # files of a kind that stay until somebody removes them
BEGINNING = threading.Lock()  # held while a folder begins
_open: list["Folder"] = []
_is_ending = False  # from then on no thread begins a folder


def temporary_root() -> Path:
    """Return the folder of temporary files that all users share."""
    return Path(tempfile.gettempdir())


def user_folder() -> Path:
    """Return the path of the current user's own folder among the temporary files; it may not exist yet."""
    return temporary_root() / f"{USUAL}-{os.geteuid()}"


class Folder:
    """A new temporary folder of this process; its context gives the path, and removes it at the end.

    path: the path of the folder. above: the folder in which it is created; None for `user_folder`. Raises OSError if it
    cannot be created, and InputError if `user_folder` belongs to another user.
    """

    def __init__(self, above: Path | None = None) -> None:
        self._lock = -1
        self.above = above or user_folder()
        self.was_there = above is not None and above.exists()
        for attempt in range(ATTEMPTS):  # the last process that ends removes the folder above, perhaps meanwhile
            try:
                with BEGINNING:
                    self._begin()
            except FileNotFoundError:
                if attempt == ATTEMPTS - 1:
                    raise
            else:
                break

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder with its content; also remove the folder above if it was created here and is empty."""
        if self._lock < 0:
            return
        for _ in range(ATTEMPTS):  # another thread may go on making files
            if self.path.exists():
                shutil.rmtree(self.path, ignore_errors=True)
        for ending in (".lock", ".new"):
            self.path.with_suffix(ending).unlink(missing_ok=True)
        os.close(self._lock)
        self._lock = -1
        _open.remove(self)
        if not self.was_there:
            with contextlib.suppress(OSError):
                self.above.rmdir()

    def _begin(self) -> None:
        if _is_ending:
            raise InterruptedError(errno.EINTR, "the process ends")
        clear_abandoned()
        if self.above == user_folder():
            with contextlib.suppress(FileExistsError):
                self.above.mkdir(mode=ALONE)
            make_private(self.above)
        else:
            self.above.mkdir(mode=ALONE, parents=True, exist_ok=True)
            clear_abandoned(self.above)
        self.path = self.above / f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        unseen = self.path.with_suffix(".new")
        self._lock = os.open(unseen, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        _open.append(self)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX)  # before others see it under its name
            unseen.rename(self.path.with_suffix(".lock"))
            self.path.mkdir(mode=ALONE)
        except BaseException:
            self.close()
            raise


def make_private(folder: Path) -> None:
    """Give the current user alone access to a folder; raise InputError if it is a link or belongs to another user."""
    about = os.lstat(folder)
    problem = ""
    if not stat.S_ISDIR(about.st_mode):
        problem = "is a link" if stat.S_ISLNK(about.st_mode) else "is no folder"
    elif about.st_uid != os.geteuid():
        problem = f"belongs to user {about.st_uid}, who could read and change what is put there"
    if problem:
        raise InputError(
            f"{folder}: {problem}, and temporary files go there: remove it, or set TMPDIR to a folder of yours"
        )
    if stat.S_IMODE(about.st_mode) != ALONE:
        folder.chmod(ALONE)


def clear_abandoned(above: Path | None = None) -> None:
    """Remove the temporary folders of processes that ended.

    above: the folder to clear; None for `user_folder`, which is removed, too, if it becomes empty. Folders that a
    running process locks, folders of other users and files with other names stay.
    """
    folder = above or user_folder()
    try:
        about = os.lstat(folder)
        names = sorted(each.name for each in folder.iterdir()) if stat.S_ISDIR(about.st_mode) else []
    except OSError:
        return
    if above is None and about.st_uid != os.geteuid():
        return
    for name in names:
        with contextlib.suppress(OSError):
            if LOCKS.fullmatch(name):
                with hold_lock(folder / name) as is_free:
                    if is_free:
                        shutil.rmtree(folder / name.partition(".")[0], ignore_errors=True)
                        (folder / name).unlink(missing_ok=True)
    if above is None:
        with contextlib.suppress(OSError):
            folder.rmdir()


@contextlib.contextmanager
def hold_lock(path: Path) -> Iterator[bool]:
    """Lock a file during the block, and yield whether this process holds the lock.

    The result is False if another process holds it, if the file belongs to another user, or if it is no regular file.
    Raises OSError if the file cannot be opened.
    """
    lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        about = os.fstat(lock)
        yield try_lock(lock) and stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid()
    finally:
        os.close(lock)


def temporary_folder() -> Folder:
    """Return a new temporary folder, the context of which gives the path; raise InputError if none can be created."""
    try:
        return Folder()
    except OSError as error:
        raise InputError(
            f"{user_folder()}: no temporary folder can be made there ({error.strerror}): make room, or set TMPDIR to"
            " another folder"
        ) from None


@functools.cache
def folder_of_process() -> Path:
    """Return a temporary folder that exists until this process ends; the folder is the same in every call.

    Raises InputError if none can be created.
    """
    atexit.register(remove_open_folders)
    return temporary_folder().path


def remove_open_folders() -> None:
    """Remove every temporary folder of this process, because the process ends.

    Folders that another thread is using are removed, too, and no thread can make a new one.
    """
    global _is_ending
    _is_ending = True
    if BEGINNING.acquire(timeout=PATIENCE):  # by then what another thread began is open, and is removed
        BEGINNING.release()
    folder_of_process.cache_clear()
    for folder in list(_open):
        with contextlib.suppress(OSError, ValueError):  # the other thread may remove it, too
            folder.close()


def write_temporary_file(text: str, prefix: str, suffix: str) -> Path:
    """Write a text to a new private file among the temporary files, and return its path.

    prefix, suffix: the beginning and end of the file name, which define a kind of file. Of each kind, only the
    `MOST_KEPT` newest files stay.
    """
    with tempfile.NamedTemporaryFile(
        "w", prefix=prefix, suffix=suffix, delete=False, encoding="utf-8", errors="backslashreplace"
    ) as file:
        file.write(text)
    with contextlib.suppress(OSError):  # another process may remove them, too
        paths = [path for path in temporary_root().glob(f"{prefix}*{suffix}") if path.lstat().st_uid == os.geteuid()]
        for path in sorted(paths, key=lambda path: path.lstat().st_mtime_ns)[:-MOST_KEPT]:
            path.unlink()
    return Path(file.name)
