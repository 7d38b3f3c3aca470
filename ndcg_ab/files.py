"""Files that appear whole or not at all."""

import contextlib
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to that becomes `path` when all went well: the file is whole or not there at all.

    A link is followed; what is no file (a device, a pipe) is written to as it is.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    target = path.resolve()
    partial = target.with_name(f".{target.stem}.partial{target.suffix}")
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a file whole or not at all; an OSError names it."""
    with replacing(path) as partial:
        try:
            partial.write_text(text, encoding="utf-8")
        except OSError as error:
            error.filename = error.filename or str(path)
            raise
