"""Split and check text as bytes before a fast reader parses it: over-long lines, control bytes, quotes and braces.

JSON is read strictly: a key that is repeated in an object is an error.
"""

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


def quoted_blocks(file: BinaryIO, delimiter: str) -> Iterator[bytes]:
    """Yield the bytes of a CSV file in blocks that end where records end.

    Raise UnusualError for a very long record, and unless every quote begins a field, ends a field, or is one of a pair.
    """
    rest = b""
    for block in line_blocks(file):
        rest += block
        if rest.count(b'"') % 2 == 0:  # else a line end inside quotes
            signs = bytes_between_ends(rest)
            quotes = np.flatnonzero(signs == QUOTE) if b'"' in rest else np.array([], dtype=int)
            beside = np.concatenate([signs[quotes[::2] - 1], signs[quotes[1::2] + 1]])
            if not np.isin(beside, [ord(delimiter), QUOTE, *ENDS]).all():
                raise UnusualError("a quote inside a field")
            yield rest
            rest = b""
        elif len(rest) > LONGEST_RECORD:
            raise UnusualError("a long record")
    if rest:
        raise UnusualError("a quote that never ends")


def bytes_between_ends(block: bytes) -> npt.NDArray[np.uint8]:
    """Return the bytes of a block of complete lines as an array, with a line end before and after them.

    Raise UnusualError for a zero byte and UnicodeDecodeError for bytes that are not UTF-8, also in unused columns.
    """
    if b"\0" in block:
        raise UnusualError("a zero byte")
    if not block.isascii():
        block.decode()
    return np.frombuffer(b"\n" + block + b"\n", dtype=np.uint8)


def count_objects(block: bytes) -> int:
    """Return the number of lines of a block of complete lines, without blank lines.

    Raise UnusualError unless every line looks like one JSON object, without very many brackets.
    """
    signs = bytes_between_ends(block)
    is_end = (signs == ENDS[0]) | (signs == ENDS[1])
    ends = np.flatnonzero(is_end)
    before, after = ends[1:] - 1, ends[:-1] + 1
    is_last, is_first = signs[before] == ord("}"), signs[after] == ord("{")
    if not (is_last | is_end[before]).all() or not (is_first | is_end[after]).all():
        raise UnusualError("a line that is no object")
    if block.count(b"{") + block.count(b"[") > len(ends) + DEEPEST:
        brackets = np.flatnonzero((signs == ord("{")) | (signs == ord("[")))
        if np.bincount(np.searchsorted(ends, brackets)).max() > DEEPEST:
            raise UnusualError("many brackets")
    return int(is_last.sum())


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


def make_strict_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of a JSON text from its pairs of key and value; raise RepeatedKeyError for a repeated key."""
    content = dict(pairs)
    if len(content) < len(pairs):
        raise RepeatedKeyError(Counter(key for key, _ in pairs).most_common(1)[0][0])
    return content


DECODER = json.JSONDecoder(object_pairs_hook=make_strict_object)
