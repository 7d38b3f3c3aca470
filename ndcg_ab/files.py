"""Files that appear whole or not at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


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
    """An OSError inside names the file, as those of opening do and those of reading do not."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to that becomes `path` when all went well: the file is whole or not there at all.

    A link is followed; what is no file (a device, a pipe) is written to as it is.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    target = resolved(path)
    partial = target.with_name(f".{target.stem}.partial{target.suffix}")
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a file whole or not at all; an OSError names it."""
    with replacing(path) as partial, named(path):
        partial.write_text(text, encoding="utf-8")
