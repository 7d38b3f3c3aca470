"""Split and check text as bytes before a fast reader parses it: over-long lines, control bytes, quotes and braces.

JSON is read strictly: a key that is repeated in an object is an error.
"""

import codecs
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ndcg_ab.errors import format_value

BLOCK = 1 << 22  # bytes that are read, and that one thread parses, at a time
LONGEST_LINE = 1 << 20  # bytes
LONGEST_RECORD = 1 << 24  # bytes of CSV between two line ends that are outside of quotes
BLANKS = " \t\v\f\r"  # white space in TREC text is that of ASCII, as for trec_eval
DEEPEST = 100  # brackets that a line of JSON may open on the fast way
QUOTE, ENDS = ord('"'), (ord("\n"), ord("\r"))


def split_lines(text: str) -> list[str]:
    """Return the lines of a text, split at CR and LF only, not at other Unicode line separators."""
    return re.split("\r\n|\n|\r", text)


def split_fields(line: str) -> list[str]:
    """Return the fields of a line of TREC text, split at ASCII white space; empty for a blank line."""
    inner = line.strip(f"{BLANKS}\n")
    return re.split(f"[{BLANKS}]+", inner) if inner else []


class UnusualError(Exception):
    """Raised if a fast reader might misread a text, so that it must be read record by record."""


class LongLineError(UnusualError):
    """Raised if a line is longer than `LONGEST_LINE`."""


def line_blocks(file: BinaryIO, longest: int | None = LONGEST_LINE) -> Iterator[bytes]:
    """Yield the bytes of a file in blocks that end at line ends.

    longest: the largest number of bytes that may follow the last line end of a block; LongLineError is raised if there
    are more. None: any number. Not every longer line is noticed, because only the end of each block is checked.
    """
    rest = b""
    while block := file.read(BLOCK):
        if block.endswith(b"\r"):
            block += file.read(1)
        block = rest + block if rest else block
        cut = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        rest = block[cut:]
        if cut:
            yield block[:cut]
        if longest is not None and len(rest) > longest:
            raise LongLineError
    if rest:
        yield rest


def quoted_blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of a CSV file in blocks that end where records end; raise UnusualError for a very long record."""
    rest = b""
    for block in line_blocks(file):
        rest += block
        if rest.count(b'"') % 2 == 0:  # else a line end inside quotes
            yield rest
            rest = b""
        elif len(rest) > LONGEST_RECORD:
            raise UnusualError("a long record")
    if rest:
        yield rest


class FileStream(io.RawIOBase):
    """A stream that reads another stream, and closes that stream when it is closed."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.file.close()
        super().close()


class ValidatingStream(FileStream):
    """A stream that raises UnusualError or UnicodeDecodeError for text that a fast reader might misread.

    Zero bytes and bytes that are not UTF-8 are refused, also in unused columns; subclasses check more.
    """

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.known = b"\n"  # the last two bytes of what was looked at: a line ended before the first

    def read(self, size: int = -1) -> bytes:
        block = self.file.read(size)
        if b"\0" in block:
            raise UnusualError("a zero byte")
        pending, _ = self.decoder.getstate()
        if pending or not block.isascii() or not block:
            self.decoder.decode(block, final=not block)
        text = self.known + (block or b"\n\n")
        self.check_text(text)
        self.known = text[-2:]
        if not block:
            self.check_end()
        return block

    def check_text(self, text: bytes) -> None:
        """Raise UnusualError for a problem in a piece of text.

        The first and the last byte of the piece belong to its neighbours and are only context.
        """

    def check_end(self) -> None:
        """Raise UnusualError if the text cannot end at this point."""


class QuotedTextStream(ValidatingStream):
    """A stream of CSV in which every quote must begin a field, end a field, or be one of a pair."""

    def __init__(self, file: BinaryIO, delimiter: str) -> None:
        super().__init__(file)
        self.beside = np.zeros(256, dtype=bool)
        self.beside[[ord(delimiter), QUOTE, *ENDS]] = True
        self.is_open = False

    def check_text(self, text: bytes) -> None:
        if text.startswith((b"\nsep=", b"\n\xef\xbb\xbfsep=")):
            raise UnusualError("the first line tells the delimiter")
        if b'"' not in text:
            return
        signs = np.frombuffer(text, dtype=np.uint8)
        indices = np.flatnonzero(signs[1:-1] == QUOTE) + 1
        opening = (np.arange(len(indices)) % 2 == 0) != self.is_open
        beside = np.where(opening, signs[indices - 1], signs[indices + 1])
        if not self.beside[beside].all():
            raise UnusualError("a quote inside a field")
        self.is_open ^= bool(len(indices) % 2)

    def check_end(self) -> None:
        if self.is_open:
            raise UnusualError("a quote that never ends")


class JsonObjectStream(ValidatingStream):
    """A stream of JSON Lines in which every line must look like one object, without very many brackets.

    lines: the number of lines read so far, without blank ones.
    """

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self.lines = 0

    def check_text(self, text: bytes) -> None:
        signs = np.frombuffer(text, dtype=np.uint8)
        ends = np.flatnonzero(is_end(signs[1:-1])) + 1
        before, after = signs[ends - 1], signs[ends + 1]
        last, first = before == ord("}"), after == ord("{")
        if not (last | is_end(before)).all() or not (first | is_end(after)).all():
            raise UnusualError("a line that is no object")
        if len(self.known) == 1 and signs[1] not in (ord("{"), *ENDS):
            raise UnusualError("a line that is no object")
        self.lines += int(last.sum())
        if text.count(b"{") + text.count(b"[") > len(ends) + DEEPEST:
            brackets = np.flatnonzero((signs == ord("{")) | (signs == ord("[")))
            if np.bincount(np.searchsorted(ends, brackets)).max() > DEEPEST:
                raise UnusualError("many brackets")


def is_end(signs: npt.NDArray[np.uint8]) -> Any:
    """Return a boolean array that is true for the bytes that are line ends."""
    return (signs == ENDS[0]) | (signs == ENDS[1])


def collapse_spaces(text: bytes) -> bytes:
    """Return a text in which each run of white space within a line is one space.

    Spaces at the beginning and end of lines are removed, and every line end becomes LF.
    """
    text = text.replace(b"\r\n", b"\n").translate(bytes.maketrans(b"\r\t\v\f", b"\n   "))
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    return text.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


class RepeatedKeyError(ValueError):
    """Raised if a key is repeated in one JSON object."""

    def __init__(self, key: object) -> None:
        super().__init__(f"key {format_value(key)} comes twice in one object: a key must come once")


def load_strictly(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises RepeatedKeyError if a key is repeated in one of its objects, and JSONDecodeError if the text is not JSON.
    """
    return json.loads(text, object_pairs_hook=make_strict_object)


def make_strict_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise RepeatedKeyError(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return content


DECODER = json.JSONDecoder(object_pairs_hook=make_strict_object)
