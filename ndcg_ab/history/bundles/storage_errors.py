"""What keeps results from being written, in a sentence that says what to do: who holds the history, a full disk."""

import contextlib
import errno
import re
from collections.abc import Iterator
from pathlib import Path

from ndcg_ab.engines.duckdb import is_duckdbs
from ndcg_ab.errors import InputError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
FULL_WORDS = ("No space left", "quota exceeded", "File too large")  # words of an error that is no damage
LOCKED_UP_WORDS = ("Read-only file system", "Permission denied", "Operation not permitted")


def is_full(error: Exception) -> bool:
    """Whether the output directory takes no more: Python's word for it or DuckDB's."""
    if isinstance(error, OSError):
        return error.errno in FULL
    if isinstance(error.__cause__, Exception) and is_full(error.__cause__):
        return True
    return is_duckdbs(error) and ("ould not write" in str(error) or "No space left" in str(error))


def storage_error_text(path: Path, patience: float, said: str) -> str:
    """In one sentence who holds the history, or what is wrong with it and what to do."""
    if holder := re.search(r"PID (\d+)", said):
        return f"{path}: process {holder[1]} has had it open for {patience:.0f} s and more; end it or wait for it"
    reason = " ".join(said.removeprefix(f"{path}: cannot be opened: ").split())
    if any(words in reason for words in FULL_WORDS):
        return f"{path}: there is no room ({reason}): make some, and run again; what it holds is unharmed"
    if any(words in reason for words in LOCKED_UP_WORDS):
        return f"{path}: cannot be written ({reason}): make its folder writable, or name another `output`"
    return (
        f"{path}: cannot be read or written ({reason}); if it is damaged, move it away with {path.name}.wal:"
        " the next run enters the bundles again"
    )


@contextlib.contextmanager
def name_bundle_in_errors(final: Path) -> Iterator[None]:
    """InputError where the history does not take a bundle that is in its place: it is whole, and `adopt` enters it."""
    try:
        yield
    except Exception as error:
        if not final.exists():
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"{final}: is whole, but cannot be entered in the history now ({reason}): the next run enters it"
        ) from error
