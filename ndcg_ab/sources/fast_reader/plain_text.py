"""Plain TREC text: slices of whole queries, and what a fast reader does not see in them.

A slice is plain where its bytes below 33 are five delimiters and a line end for every line, no field is empty, every
line has the file's tag, it is UTF-8, and no query begins with "#".
"""

import os
import threading
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pacsv

from ndcg_ab.sources.files.streams import LONGEST_LINE
from ndcg_ab.sources.tables.top_places import NotPlainError, ReducedRanking, WantedPlaces, reduce_rows

SLICE = 1 << 22  # bytes that are read at a time
LARGEST_QUERY = 1 << 26  # bytes of one query's rows
WINDOW = 1 << 16
FIELDS = 6
FIRST_SIGN = 33  # bytes below it are white space or control characters
LONGEST_TAG = 256  # bytes, with the delimiter before it and the end of the line
NAMES = ["query_id", "unused", "doc_id", "rank", "score", "tag"]
TYPES = {"query_id": pa.string(), "doc_id": pa.string(), "score": pa.float64(), "rank": pa.float64()}


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


def reduce_span(file: int, form: LineForm, start: int, end: int, wanted: WantedPlaces) -> ReducedRanking:
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


def reduce_slice(form: LineForm, text: bytes | bytearray, length: int, wanted: WantedPlaces) -> ReducedRanking:
    """A slice's rows that are kept, and its answers; NotPlainError where it is not plain."""
    table = parse_columns(form, text, length)
    refuse_other_bytes(form, text, length, table["query_id"].chunk(0))
    return reduce_rows(table, wanted)


def parse_columns(form: LineForm, text: bytes | bytearray, length: int) -> pa.Table:
    """The columns of a ranking, by the reader and in the types of the careful path.

    The reader would take a byte order mark off every slice.
    """
    if text.startswith(BOM_UTF8):
        raise NotPlainError
    try:
        return pacsv.read_csv(
            pa.BufferReader(pa.py_buffer(text).slice(0, length)),
            pacsv.ReadOptions(use_threads=False, block_size=length + 1, column_names=NAMES),
            pacsv.ParseOptions(delimiter=form.delimiter.decode(), quote_char=False, ignore_empty_lines=False),
            pacsv.ConvertOptions(
                column_types=TYPES, include_columns=list(TYPES), null_values=[], strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        raise NotPlainError from None


def refuse_other_bytes(form: LineForm, text: bytes | bytearray, length: int, query_ids: pa.Array) -> None:
    """What the reader does not see: other tags, empty fields, white space in fields, other ends of lines, comments.

    The reader found five delimiters in each line, so that one further byte below 33 for each of them is its end: each
    a line feed, and before it the tag.
    """
    count = len(query_ids)
    signs = np.frombuffer(text, dtype=np.uint8, count=length)
    is_end = signs < FIRST_SIGN
    if np.count_nonzero(is_end) != FIELDS * count or is_end[0] or (is_end[1:] & is_end[:-1]).any():
        raise NotPlainError
    ends = np.flatnonzero(signs == ord("\n"))
    if len(ends) != count or not all_end_with(form.end, signs, ends):
        raise NotPlainError
    if (first_signs(query_ids) == ord("#")).any():
        raise NotPlainError
    if not text.isascii():
        try:
            str(memoryview(text)[:length], "utf-8")
        except UnicodeDecodeError:
            raise NotPlainError from None


def all_end_with(end: bytes, signs: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> bool:
    """Whether the same bytes lead to each of the places, eight looked at together."""
    eights: npt.NDArray[np.uint64] = np.ndarray((len(signs) - 7,), dtype="<u8", buffer=signs, strides=(1,))
    if ends[0] < max(len(end), 8) - 1:
        return False
    if len(end) < 8:
        unread = np.uint64(8 * (8 - len(end)))
        return bool((eights[ends - 7] >> unread == np.uint64(int.from_bytes(end, "little"))).all())
    for at in {*range(0, len(end) - 7, 8), len(end) - 8}:
        wanted = np.uint64(int.from_bytes(end[at : at + 8], "little"))
        if not (eights[ends - (len(end) - 1) + at] == wanted).all():
            return False
    return True


def first_signs(texts: pa.Array) -> npt.NDArray[np.uint8]:
    """The first byte of each text; none of them is empty."""
    _, places, content = texts.buffers()
    return np.frombuffer(content, dtype=np.uint8)[np.frombuffer(places, dtype=np.int32)[: len(texts)]]
