"""Plain TREC text: slices of whole queries, and what a fast reader does not see in them.

A slice is plain where its bytes below 33 are five delimiters and a line end for every line, no field is empty, every
line has the file's tag, it is UTF-8, and no query begins with "#".
"""

from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pacsv

from ndcg_ab.sources.reduced import NotPlainError, Reduced, Wanted, reduce_rows
from ndcg_ab.sources.streams import LONGEST_LINE

SLICE = 1 << 22  # bytes that are read at a time
LARGEST_QUERY = 1 << 26  # bytes of one query's rows
WINDOW = 1 << 16
FIELDS = 6
FIRST_SIGN = 33  # bytes below it are white space or control characters
NAMES = ["query_id", "unused", "doc_id", "rank", "score", "tag"]
TYPES = {"query_id": pa.string(), "doc_id": pa.string(), "score": pa.float64(), "rank": pa.float64()}


class Form:
    """What all lines of a file share: the delimiter, and the tag with what stands around it."""

    def __init__(self, first_line: bytes) -> None:
        self.delimiter = b"\t" if b"\t" in first_line and b" " not in first_line.strip() else b" "
        self.end = self.delimiter + first_line.rpartition(self.delimiter)[2]
        if len(self.end) < 3:
            raise NotPlainError


def slices(file: BinaryIO, size: int = SLICE) -> Iterator[tuple[Form, bytes, int]]:
    """The file in texts of whole queries, as long as each one's rows stand together: (form, text, its length).

    Beyond its length a text goes on.
    """
    form: Form | None = None
    rest = b""
    while block := file.read(size):
        text = rest + block
        length = len(text)
        if form is None and (end := text.find(b"\n", 0, length)) >= 0:
            form = Form(text[: end + 1])
        cut = last_query(text, length, form.delimiter) if form else 0
        if form and cut:
            yield form, text, cut
        rest = text[cut:length]
        if len(rest) > (LARGEST_QUERY if form else LONGEST_LINE + size):
            raise NotPlainError
    if rest and not rest.endswith(b"\n"):
        rest += b"\n"
    if rest:
        yield form or Form(rest), rest, len(rest)


def last_query(text: bytes, length: int, delimiter: bytes) -> int:
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


def reduce_slice(form: Form, text: bytes, length: int, wanted: Wanted) -> Reduced:
    """A slice's rows that are kept, and its answers; NotPlainError where it is not plain."""
    table = parsed(form, text, length)
    refuse_other_bytes(form, text, length, table["query_id"].chunk(0))
    return reduce_rows(table, wanted)


def parsed(form: Form, text: bytes, length: int) -> pa.Table:
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


def refuse_other_bytes(form: Form, text: bytes, length: int, query_ids: pa.Array) -> None:
    """What the reader does not see: other tags, empty fields, white space in fields, other ends of lines, comments.

    The reader found five delimiters in each line, so that one further byte below 33 for each of them is its end.
    """
    count = len(query_ids)
    signs = np.frombuffer(text, dtype=np.uint8, count=length)
    is_end = signs < FIRST_SIGN
    if np.count_nonzero(is_end) != FIELDS * count or is_end[0] or (is_end[1:] & is_end[:-1]).any():
        raise NotPlainError
    if text.count(form.end, 0, length) != count:
        raise NotPlainError
    if (first_signs(query_ids) == ord("#")).any():
        raise NotPlainError
    if not text.isascii():
        try:
            str(memoryview(text)[:length], "utf-8")
        except UnicodeDecodeError:
            raise NotPlainError from None


def first_signs(texts: pa.Array) -> npt.NDArray[np.uint8]:
    """The first byte of each text; none of them is empty."""
    _, places, content = texts.buffers()
    return np.frombuffer(content, dtype=np.uint8)[np.frombuffer(places, dtype=np.int32)[: len(texts)]]
