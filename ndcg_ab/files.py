"""Write files that appear completely or not at all, and lock files between processes."""

import contextlib
import fcntl
import itertools
import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

CONFIGURATIONS = (".yaml", ".yml")  # what the names of configurations end with
PARTIAL = ".ndcg-ab.partial"  # in the name of a file that is being written
_numbers = itertools.count()


def resolve_path(path: Path) -> Path:
    """Return the absolute path with symbolic links followed.

    Links that form a circle raise no error here; opening the returned path does.
    """
    return Path(os.path.realpath(path))


def path_fault(path: str) -> str | None:
    """Return the reason why no file can have this path, or None if a file can have it.

    A path that is not valid UTF-8 counts as a fault, too, since libraries cannot read it.
    """
    if "\0" in path:
        return "holds a zero byte, which no name of a file can"
    if any("\ud800" <= letter <= "\udfff" for letter in path):
        return "is no UTF-8 text: rename it, or give it another name with a link (ln -s)"
    return None


def new_name(name: str) -> str:
    """Return a path that does not exist yet: `name`, or `name` with a number before its suffix (``NEW-2.csv``)."""
    path = Path(name)
    names = (f"{path.stem}{f'-{at}' if at > 1 else ''}{path.suffix}" for at in itertools.count(1))
    return next(each for each in names if not Path(each).exists())


@contextlib.contextmanager
def name_path_in_errors(path: Path) -> Iterator[None]:
    """Add `path` to every OSError within the context that names no file.

    An OSError that names the temporary file of `replace_atomically` is raised again with `path` instead.
    """
    try:
        yield
    except OSError as error:
        if error.filename is not None and PARTIAL in str(error.filename):
            raise OSError(error.errno, error.strerror, str(path)) from error
        if error.errno is not None:  # else its words stand for themselves
            error.filename = error.filename or str(path)
        raise


@contextlib.contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces `path` if the context ends without an error.

    After an error, `path` is as it was before. If `path` is a link, the file that it points to is replaced. A device or
    a pipe is written to directly. An OSError names `path`. Temporary files that a killed process left in the folder are
    removed.
    """
    with name_path_in_errors(path):
        if path.exists() and not path.is_file():
            yield path
            return
        target = resolve_path(path)
        clear_partial(target.parent)
        partial, lock = make_locked_partial(target)
        with lock:
            try:
                yield partial
                partial.replace(target)
            finally:
                partial.unlink(missing_ok=True)


def make_locked_partial(target: Path) -> tuple[Path, IO[bytes]]:
    """Create and lock a temporary file beside the target; return its path, and the open file that holds the lock."""
    while True:
        partial = target.with_name(f".{os.getpid()}-{next(_numbers)}{PARTIAL}{target.suffix}")
        lock = partial.open("wb")
        if try_lock(lock, otherwise=True) and partial.exists():  # else another process took it for one that was left
            return partial, lock
        lock.close()


def try_lock(file: IO[Any] | int, *, otherwise: bool = False) -> bool:
    """Lock an open file for this process without waiting, and return whether that succeeded.

    The result is False if another process holds the lock.
    otherwise: the result if the file system does not support locks.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return otherwise
    return True


def wait_for_lock(file: IO[Any], patience: float) -> bool:
    """Lock an open file for this process, waiting up to `patience` seconds, and return whether that succeeded.

    The result is False, too, if the file system does not support locks.
    """
    deadline = time.monotonic() + patience
    while not try_lock(file):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def clear_partial(folder: Path) -> None:
    """Remove the temporary files in a folder that no process is writing any more."""
    for remains in folder.glob(f".*{PARTIAL}*"):
        with contextlib.suppress(OSError), remains.open("rb") as lock:
            if try_lock(lock):
                remains.unlink()


def write_text(path: Path, text: str) -> None:
    """Write a text file completely or not at all; an OSError names the file."""
    with replace_atomically(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_table(table: Any, path: Path) -> None:
    """Write an Arrow table completely or not at all, as Parquet, TSV or CSV.

    The suffix of the path chooses the format: .parquet or .pq, .tsv, and CSV for all others.
    """
    import pyarrow.csv as pacsv
    import pyarrow.parquet as papq

    ending = path.suffix.lower()
    with replace_atomically(path) as partial:
        if ending in (".parquet", ".pq"):
            papq.write_table(table, partial)
        else:
            pacsv.write_csv(table, partial, pacsv.WriteOptions(delimiter="\t" if ending == ".tsv" else ","))


def command_to_paste(name: str) -> str:
    """Return the name or path with which a shell calls a command of this Python environment.

    It is the path if the shell would not find the name.
    """
    beside = Path(sys.executable).parent / name
    if shutil.which(name) or not beside.exists():
        return name
    folder = Path.cwd()
    return shlex.quote(str(beside.relative_to(folder) if beside.is_relative_to(folder) else beside))
