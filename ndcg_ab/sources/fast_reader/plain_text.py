"""Plain TREC text: slices of whole queries, each of which is reduced in one pass by the extension `ranking_reader`.

A slice is plain where its bytes below 33 are five delimiters and a line end for every line, no field is empty or
longer than 512 bytes, every line has the file's tag, it is UTF-8, no query begins with "#", scores are decimal numbers
that do not rise, ranks are written as digits and rise by 1, and no document comes twice in a query.

Without the extension there is no fast way.
"""

import os
import threading
from collections.abc import Iterator
from typing import BinaryIO

from ndcg_ab.sources.fast_reader.compiled_pass import WantedRows, reduce_text
from ndcg_ab.sources.files.streams import LONGEST_LINE
from ndcg_ab.sources.tables.top_places import NotPlainError, ReducedRanking

SLICE = 1 << 22  # bytes that are read at a time
LARGEST_QUERY = 1 << 26  # bytes of one query's rows
WINDOW = 1 << 16
LONGEST_TAG = 256  # bytes, with the delimiter before it and the end of the line


class LineForm:
    """What all lines of a file share: the delimiter, and the tag with what stands around it."""

    def __init__(self, first_line: bytes) -> None:
        self.delimiter = b"\t" if b"\t" in first_line and b" " not in first_line.strip() else b" "
        self.end = self.delimiter + first_line.rpartition(self.delimiter)[2]
        if not 3 <= len(self.end) <= LONGEST_TAG:
            raise NotPlainError


def query_spans(file: int, size: int = SLICE) -> Iterator[tuple[LineForm, int, int]]:
    """Where texts of whole queries begin and end in an open file, as long as each one's rows stand together.

    Those who work at them read them: here only what stands around a cut is looked at.
    """
    whole = os.fstat(file).st_size
    first = os.pread(file, LONGEST_LINE, 0)
    end_of_first = first.find(b"\n") + 1
    if not end_of_first and len(first) < whole:
        raise NotPlainError
    form = LineForm(first[:end_of_first] if end_of_first else first + b"\n")
    start = 0
    while start < whole:
        end = start + size
        while end < whole and (cut := last_query_start(file, start, end, form.delimiter)) == start:
            end += size
            if end - start > LARGEST_QUERY:
                raise NotPlainError
        yield form, start, cut if end < whole else whole
        start = cut if end < whole else whole


def last_query_start(file: int, start: int, end: int, delimiter: bytes) -> int:
    """Where the query begins of which the last whole line before `end` is; `start` where it goes back to that."""
    window = WINDOW
    while True:
        low = max(start, end - window)
        text = os.pread(file, end - low, low)
        line = 0 if low == start else text.find(b"\n") + 1
        if found := start_of_last_query(text[line:], len(text) - line, delimiter):
            return low + line + found
        if low == start:
            return start
        window *= 4


class SliceBuffer(threading.local):
    """Room that a thread reads each of its slices into: new memory costs more time than reading does."""

    room = bytearray()


HELD = SliceBuffer()


def reduce_span(file: int, form: LineForm, start: int, end: int, wanted: WantedRows) -> ReducedRanking:
    """What is kept of a slice of an open file."""
    length = end - start
    if len(HELD.room) <= length:
        HELD.room = bytearray(length + (length >> 2) + 1)
    text = HELD.room
    if os.preadv(file, [memoryview(text)[:length]], start) != length:
        raise NotPlainError
    if text[length - 1] != ord("\n"):
        text[length] = ord("\n")
        length += 1
    return reduce_slice(form, text, length, wanted)


def read_slices(file: BinaryIO, size: int = SLICE) -> Iterator[tuple[LineForm, bytes, int]]:
    """The file in texts of whole queries, as long as each one's rows stand together: (form, text, its length).

    Beyond its length a text goes on.
    """
    form: LineForm | None = None
    rest = b""
    while block := file.read(size):
        text = rest + block
        length = len(text)
        if form is None and (end := text.find(b"\n", 0, length)) >= 0:
            form = LineForm(text[: end + 1])
        cut = start_of_last_query(text, length, form.delimiter) if form else 0
        if form and cut:
            yield form, text, cut
        rest = text[cut:length]
        if len(rest) > (LARGEST_QUERY if form else LONGEST_LINE + size):
            raise NotPlainError
    if rest and not rest.endswith(b"\n"):
        rest += b"\n"
    if rest:
        yield form or LineForm(rest), rest, len(rest)


def start_of_last_query(text: bytes, length: int, delimiter: bytes) -> int:
    """Where the rows of the last whole line's query begin; 0 where they go back to the beginning."""
    end = text.rfind(b"\n", 0, length)
    start = text.rfind(b"\n", 0, max(end, 0)) + 1
    if end < 0 or not start:
        return 0
    head = b"\n" + text[start:end].partition(delimiter)[0] + delimiter
    window = WINDOW
    while True:
        low = max(start - window, 0)
        line = text.find(b"\n", low, start)  # the end of the first line that ends in the window
        found = text.find(head, line, length)
        if found < 0:
            raise NotPlainError
        if found > line:
            return found + 1
        if low == 0:
            return 0 if text.startswith(head[1:]) else found + 1
        window *= 4


def reduce_slice(form: LineForm, text: bytes | bytearray, length: int, wanted: WantedRows) -> ReducedRanking:
    """A slice's rows that are kept, and its answers; NotPlainError where it is not plain."""
    return reduce_text(text, length, form.end, wanted)
