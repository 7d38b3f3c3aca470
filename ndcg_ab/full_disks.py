"""Recognise errors of a full disk, whichever library raises them, and describe them in one sentence."""

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ndcg_ab.errors import InputError, error_text, message_of
from ndcg_ab.temporary import temporary_root

FULL = (errno.ENOSPC, errno.EDQUOT)
WORDS = ("No space left", "quota exceeded", "disk is full")  # of the system, of DuckDB, of SQLite
UNWRITABLE = (errno.EROFS, errno.EFBIG)
UNWRITABLE_WORDS = ("Read-only file system", "File too large", "ould not write")  # of the system, of DuckDB
LITTLE = 1 << 20  # bytes: with less left databases fail in ways that do not say why


class NoRoomError(InputError):
    """Raised if a disk is full; the message names the path. Exit code 2, or 75 if the results are safe."""


def is_full(error: BaseException) -> bool:
    """Return whether an error or one of its causes says that a disk is full."""
    return any(isinstance(each, NoRoomError) or says_full(each) for each in causes_of(error))


def is_unwritable(error: BaseException) -> bool:
    """Return whether an error or one of its causes says that a file cannot be written.

    Examples are a read-only file system, and a file that is too large.
    """
    return any(matches_error(each, UNWRITABLE, UNWRITABLE_WORDS) for each in causes_of(error))


def says_full(error: BaseException) -> bool:
    return matches_error(error, FULL, WORDS)


def matches_error(error: BaseException, codes: Sequence[int], phrases: Sequence[str]) -> bool:
    """Return whether an error has one of the given codes or phrases.

    An OSError with a code is compared with the codes. Any other error matches if its message contains one of the
    phrases; an InputError never matches.
    codes: values of errno.
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in codes
    return not isinstance(error, InputError) and any(phrase in message_of(error) for phrase in phrases)


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, and then the chain of errors that caused it, at most 20 errors in all."""
    following: BaseException | None = error
    for _ in range(20):
        if following is None:
            return
        yield following
        following = following.__cause__ or (None if following.__suppress_context__ else following.__context__)


def no_room(error: BaseException, *paths: Path) -> NoRoomError:
    """Return the error for users that says that a disk is full, with the path and the reason.

    error: an error of a full disk. A NoRoomError is returned unchanged.
    paths: paths that were being written. If the error names no file, the first of them whose disk is full is named.
    """
    if isinstance(error, NoRoomError):
        return error
    cause = next((each for each in causes_of(error) if says_full(each)), error)
    file_name, code = (cause.filename, cause.errno) if isinstance(cause, OSError) else (None, None)
    full = path_on_full_disk(*paths, temporary_root(), Path())
    where = file_name or full or (paths[0] if paths else "a disk")
    words = os.strerror(code) if code else error_text(cause)
    return NoRoomError(f"{where}: there is no room ({words}): make some, and run it again")


def path_on_full_disk(*paths: Path) -> Path | None:
    """Return the first of the paths whose disk has less than 1 MiB free, or None."""
    for path in paths:
        existing = next((folder for folder in (path, *path.absolute().parents) if folder.exists()), None)
        if existing is not None and (disk := os.statvfs(existing)).f_bavail * disk.f_frsize < LITTLE:
            return path
    return None
