"""A disk that takes no more: how that is recognised, whoever says it, and the sentence that says where."""

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ndcg_ab.errors import InputError, in_short, words_of
from ndcg_ab.temporary import temporary_root

FULL = (errno.ENOSPC, errno.EDQUOT)
WORDS = ("No space left", "quota exceeded", "disk is full")  # of the system, of DuckDB, of SQLite
UNWRITABLE = (errno.EROFS, errno.EFBIG)
UNWRITABLE_WORDS = ("Read-only file system", "File too large", "ould not write")  # of the system, of DuckDB
LITTLE = 1 << 20  # bytes: with less left databases fail in ways that do not say why


class NoRoomError(InputError):
    """A disk takes no more; the message says which place. Exit code 2, or 75 where the results are safe."""


def is_full(error: BaseException) -> bool:
    """Return whether an error, or one that it came from, says that a disk takes no more."""
    return any(isinstance(each, NoRoomError) or says_full(each) for each in causes(error))


def is_unwritable(error: BaseException) -> bool:
    """Return whether an error, or one that it came from, says that a file system refuses what is written to it."""
    return any(says(each, UNWRITABLE, UNWRITABLE_WORDS) for each in causes(error))


def says_full(error: BaseException) -> bool:
    return says(error, FULL, WORDS)


def says(error: BaseException, codes: Sequence[int], phrases: Sequence[str]) -> bool:
    """Return whether an error has one of the codes of the system, or, without any code, one of the phrases."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in codes
    return not isinstance(error, InputError) and any(phrase in words_of(error) for phrase in phrases)


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from, the latest first."""
    following: BaseException | None = error
    for _ in range(20):
        if following is None:
            return
        yield following
        following = following.__cause__ or (None if following.__suppress_context__ else following.__context__)


def no_room(error: BaseException, *places: Path) -> NoRoomError:
    """The sentence: where, and what was said; places: where something is written, if the error names no file."""
    if isinstance(error, NoRoomError):
        return error
    said = next((each for each in causes(error) if says_full(each)), error)
    named, code = (said.filename, said.errno) if isinstance(said, OSError) else (None, None)
    full = full_place(*places, temporary_root(), Path())
    where = named or full or (places[0] if places else "a disk")
    words = os.strerror(code) if code else in_short(said)
    return NoRoomError(f"{where}: there is no room ({words}): make some, and run it again")


def full_place(*places: Path) -> Path | None:
    """The first of some places whose disk has next to nothing left; None where all have."""
    for place in places:
        existing = next((path for path in (place, *place.absolute().parents) if path.exists()), None)
        if existing is not None and (disk := os.statvfs(existing)).f_bavail * disk.f_frsize < LITTLE:
            return place
    return None
