"""Guard standard output and standard error against closed pipes, odd encodings, control characters and secrets.

`| head` may close them early, and their encoding may lack boxes and arrows. They print text of other people: no control
sequence in it reaches the terminal, except colours.
"""

import io
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO, cast

from ndcg_ab.config.secrets.redaction import remove_known_secrets
from ndcg_ab.visible import visible_but_colours


class GuardedStream:
    """A wrapper of a text stream that hides secrets, escapes control characters and survives a closed pipe.

    After the reader of the pipe has left, text is discarded, and the program continues to its end.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        self._attempt(lambda: self._stream.write(visible_but_colours(remove_known_secrets(text))))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self._attempt(self._stream.flush)

    def close(self) -> None:
        """Flush the stream without closing it, because text is written after a library closed it."""
        self.flush()

    def _attempt(self, action: Callable[[], object]) -> None:
        """Call a method of the stream; drop the stream if nobody reads it, and name the stream in other errors."""
        try:
            action()
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
        except OSError as error:
            if error.errno is not None:
                error.filename = "standard error" if self._stream is sys.__stderr__ else "standard output"
            raise error from None


class ClosedStream(io.TextIOBase):
    """The replacement of a standard output that was closed from the start: writing to it raises OSError."""

    def write(self, text: str) -> int:
        raise OSError("standard output is closed, and the result has no other place: say > /dev/null, or --quiet")


def prepare_streams() -> None:
    """Wrap standard output and standard error in `GuardedStream`s; call this before anything is written.

    A `GuardedStream` hides secrets, escapes control characters and survives a closed pipe. Characters that the encoding
    lacks are replaced, unless it is a form of UTF. A standard output that was closed from the start is replaced by a
    `ClosedStream` first, and a closed standard error by the null device.
    """
    while (made := os.open(os.devnull, os.O_RDWR)) <= 2:  # no file may get the number of one of them that is closed
        pass
    os.close(made)
    if sys.stdout is None:
        sys.stdout = cast(TextIO, ClosedStream())
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        encoding = (getattr(stream, "encoding", None) or "").lower().replace("-", "")
        if hasattr(stream, "reconfigure") and not encoding.startswith("utf"):
            stream.reconfigure(errors="replace")
        if not isinstance(stream, GuardedStream):
            setattr(sys, name, GuardedStream(stream))


def unwrap_stream(stream: TextIO) -> TextIO:
    """Return the stream inside a GuardedStream; return any other stream unchanged.

    A spinner needs the inner stream, which does not escape the control characters that move the cursor.
    """
    return stream._stream if isinstance(stream, GuardedStream) else stream
