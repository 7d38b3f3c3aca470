"""Files that appear whole or not at all."""

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

PARTIAL = ".ndcg-ab.partial"  # in the name of a file that is being written
_numbers = itertools.count()


def resolved(path: Path) -> Path:
    """The whole path with its links followed; where they lead in a circle, whoever opens it is told so."""
    return Path(os.path.realpath(path))


def unusable(path: str) -> str | None:
    """What is wrong with a name that no file can have, or that the libraries do not take; None where nothing is."""
    if "\0" in path:
        return "holds a zero byte, which no name of a file can"
    if any("\ud800" <= letter <= "\udfff" for letter in path):
        return "is no UTF-8 text: rename it, or give it another name with a link (ln -s)"
    return None


@contextlib.contextmanager
def named(path: Path) -> Iterator[None]:
    """An OSError inside names the file: not all errors do, and some name the one that is written in its place."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and PARTIAL in str(error.filename):
            raise OSError(error.errno, error.strerror, str(path)) from error
        if error.errno is not None:  # else its words stand for themselves
            error.filename = error.filename or str(path)
        raise


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to that becomes `path` when all went well: the file is whole or not there at all.

    A link is followed; what is no file (a device, a pipe) is written to as it is.  An OSError names `path`.  What a
    process that was killed left in the folder is removed.
    """
    with named(path):
        if path.exists() and not path.is_file():
            yield path
            return
        target = resolved(path)
        clear_partial(target.parent)
        partial, lock = locked_partial(target)
        with lock:
            try:
                yield partial
                partial.replace(target)
            finally:
                partial.unlink(missing_ok=True)


def locked_partial(target: Path) -> tuple[Path, IO[bytes]]:
    """A new file beside the target, and its lock, which lasts as long as the file is open."""
    while True:
        partial = target.with_name(f".{os.getpid()}-{next(_numbers)}{PARTIAL}{target.suffix}")
        lock = partial.open("wb")
        if try_lock(lock, otherwise=True) and partial.exists():  # else another process took it for one that was left
            return partial, lock
        lock.close()


def try_lock(file: IO[Any] | int, *, otherwise: bool = False) -> bool:
    """Locks an open file for this process; False where another has it locked, `otherwise` where there are no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return otherwise
    return True


def wait_for_lock(file: IO[Any], patience: float) -> bool:
    """The same, and waits so many seconds where another process has it."""
    deadline = time.monotonic() + patience
    while not try_lock(file):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def clear_partial(folder: Path) -> None:
    """Removes the half-written files in a folder that no process is writing any more."""
    for left in folder.glob(f".*{PARTIAL}*"):
        with contextlib.suppress(OSError), left.open("rb") as lock:
            if try_lock(lock):
                left.unlink()


def write_text(path: Path, text: str) -> None:
    """Writes a file whole or not at all; an OSError names it."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_table(table: Any, path: Path) -> None:
    """Writes an Arrow table whole or not at all, as Parquet or TSV by the name of the file, else as CSV."""
    import pyarrow.csv as pacsv
    import pyarrow.parquet as papq

    ending = path.suffix.lower()
    with replacing(path) as partial:
        if ending in (".parquet", ".pq"):
            papq.write_table(table, partial)
        else:
            pacsv.write_csv(table, partial, pacsv.WriteOptions(delimiter="\t" if ending == ".tsv" else ","))


def command_to_paste(name: str) -> str:
    """A command, or where it is when the shell would not find it: what is printed works as printed."""
    beside = Path(sys.executable).parent / name
    if shutil.which(name) or not beside.exists():
        return name
    here = Path.cwd()
    return shlex.quote(str(beside.relative_to(here) if beside.is_relative_to(here) else beside))
