"""Standard output and error as people use them.

They may be closed early by `| head`, have an encoding that knows no box and no arrow, and show text that somebody else
wrote: nothing of it reaches the terminal as a command but colours.
"""

import codecs
import io
import os
import sys
import unicodedata
from collections.abc import Iterable
from typing import Any, TextIO, cast

from ndcg_ab.config.secrets.redaction import remove_known_secrets
from ndcg_ab.visible import visible_but_colours

PLAIN = {  # one character for one, so that columns stay where they are
    **dict(zip("━●│·▲▼✓✗…–—−→←×·δ", "=o|.^v+x~---><x.d", strict=True)),
    **dict(zip("─┃╭╮╰╯├┤┬┴┼", "-|+++++++++", strict=True)),
    **dict(zip("▁▂▃▄▅▆▇█", "_.,-~=+#", strict=True)),
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("‘’", "'"),
    "±": "+-",
    "≤": "<=",
    "≥": ">=",
}
HANDLER = "ndcg-ab-plain"


def replace_unencodable(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters that an encoding does not have: their likes in ASCII, else question marks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(ascii_likeness, error.object[error.start : error.end])), error.end


def ascii_likeness(character: str) -> str:
    """As many characters as the one takes columns: two for a wide one, none for one that is drawn over another."""
    if character in PLAIN:
        return PLAIN[character]
    if "\u2800" <= character <= "\u28ff":  # of the spinner
        return "."
    bare = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    width = character_width(character)
    return bare.ljust(width) if 0 < len(bare) <= width else "?" * width


def character_width(character: str) -> int:
    """The columns that a terminal gives a character."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


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
    codecs.register_error(HANDLER, replace_unencodable)
    for stream in (sys.stdout, sys.stderr):
        encoding = (getattr(stream, "encoding", None) or "").lower().replace("-", "")
        if hasattr(stream, "reconfigure") and not encoding.startswith("utf"):
            stream.reconfigure(errors=HANDLER)
    if not isinstance(sys.stdout, Guarded):
        sys.stdout = Guarded(sys.stdout)
    if not isinstance(sys.stderr, Guarded):
        sys.stderr = Guarded(sys.stderr)


def unwrap_stream(stream: TextIO) -> TextIO:
    """The stream itself, for a spinner, which moves the cursor."""
    return stream._stream if isinstance(stream, Guarded) else stream
