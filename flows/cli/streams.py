"""Standard output and error as people use them.

They may be closed early by `| head`, have an encoding that knows no box and no arrow, and show text that somebody else
wrote: nothing of it reaches the terminal as a command but colours.
"""

import io
import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO, cast

from ndcg_ab.config.secrets.redaction import remove_known_secrets
from ndcg_ab.visible import visible_but_colours


class Guarded:
    """A stream that says no secret, shows control characters instead of sending them, and whose reader may leave early.

    What comes after the reader left goes nowhere, and the program goes on to its end.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            self._stream.write(visible_but_colours(remove_known_secrets(text)))
        except BrokenPipeError:
            self._drop()
        except OSError as error:
            raise self._named(error) from None
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._drop()
        except OSError as error:
            raise self._named(error) from None

    def close(self) -> None:
        """Keep the stream open: code of others closes it, and what follows is still to be said."""
        self.flush()

    def _named(self, error: OSError) -> OSError:
        """The same error, which says where there was no place."""
        if error.errno is not None:
            error.filename = "standard error" if self._stream is sys.__stderr__ else "standard output"
        return error

    def _drop(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


class Closed(io.TextIOBase):
    """A standard output that was closed when the program began: what is written to it is an error, not lost."""

    def write(self, text: str) -> int:
        raise OSError("standard output is closed, and the result has no other place: say > /dev/null, or --quiet")


def prepare_streams() -> None:
    """Makes standard output and standard error so, and usable where they were closed; called before any writing."""
    while (made := os.open(os.devnull, os.O_RDWR)) <= 2:  # no file may get the number of one of them that is closed
        pass
    os.close(made)
    if sys.stdout is None:
        sys.stdout = cast(TextIO, Closed())
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        encoding = (getattr(stream, "encoding", None) or "").lower().replace("-", "")
        if hasattr(stream, "reconfigure") and not encoding.startswith("utf"):
            stream.reconfigure(errors="replace")
    if not isinstance(sys.stdout, Guarded):
        sys.stdout = Guarded(sys.stdout)
    if not isinstance(sys.stderr, Guarded):
        sys.stderr = Guarded(sys.stderr)


def unwrap_stream(stream: TextIO) -> TextIO:
    """The stream itself, for a spinner, which moves the cursor."""
    return stream._stream if isinstance(stream, Guarded) else stream
