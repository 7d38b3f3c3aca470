"""Convert table columns to the types of a layout, and check their values."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.sources.files.streams import UnusualError
from ndcg_ab.sources.forms.plausible import NO_GRADE
from ndcg_ab.sources.tables.schema import IDS, LONGEST_ID, MOST_RANK, Layout, check_types

UNCLEAR = (pa.ArrowException, UnusualError, UnicodeError, OverflowError)  # raised if the careful way has to decide
OF_QUERIES = ("text", "weight", "cluster", "probability", "disagreement")
OPTIONAL = ("score", "rank", "metric_hash", "judge", "source", *OF_QUERIES)  # columns that a table may lack
FREE = ("title", "url")  # texts that no result depends on


def select_columns(table: pa.Table, layout: Layout, chosen: dict[str, str]) -> pa.Table:
    """Return a table with the columns of the layout.

    chosen: field -> column of `table`; other fields become columns of nulls.
    """
    arrays = {}
    for field in layout.fields:
        if field.name in chosen:
            column = table[chosen[field.name]]
            arrays[field.name] = column.cast(field.type) if pa.types.is_integer(field.type) else column
        else:
            arrays[field.name] = pa.chunked_array([pa.nulls(table.num_rows, field.type)])
    return pa.table(arrays)


def cast_columns(
    table: pa.Table, layout: Layout, chosen: dict[str, str], where: str, *, validate: bool = True
) -> pa.Table:
    """Return the chosen columns of a table in the types of the layout, with integer ids as text.

    chosen: field -> column of `table`. where: the file or argument, for messages. validate: whether texts are checked
    for valid UTF-8.
    Raises InputError for a column of an impossible type, and errors of pyarrow for a value.
    """
    check_types(table.schema, layout, chosen, where)
    for field in layout.fields:
        if field.name in chosen:
            index = table.schema.get_field_index(chosen[field.name])
            column = table[index]
            if pa.types.is_integer(field.type) and not pa.types.is_integer(column.type):
                column = cast_values(column, pa.float64())  # as text, 0x1F would be a whole number
            table = table.set_column(index, chosen[field.name], cast_values(column, field.type))
    if validate:
        table.validate(full=True)
    return select_columns(table, layout, chosen)


def cast_values(column: pa.ChunkedArray | pa.Array, kind: pa.DataType) -> pa.ChunkedArray | pa.Array:
    """Return a column in another type; raise UnusualError if an integer may be too large for a double."""
    cast = pc.cast(column, kind)
    if pa.types.is_floating(kind) and not pa.types.is_floating(column.type) and may_be_inexact(cast):
        raise UnusualError("a number beyond 2^53")
    return cast


def may_be_inexact(column: pa.ChunkedArray | pa.Array) -> bool:
    """Return whether any double of a column is 2^53 or more in size, so that it may be a rounded integer."""
    return bool(pc.any(pc.greater_equal(pc.abs(column), float(MOST_RANK))).as_py())


def holds_byte_below(limit: int, chunk: pa.Array) -> bool:
    """Return whether any text in an Arrow array contains a byte below the limit."""
    text = chunk.buffers()[2]
    return text is not None and bool((np.frombuffer(text, dtype=np.uint8) < limit).any())


def breaks_text_rule(column: pa.ChunkedArray, *, spaces: bool) -> bool:
    """Return whether any text of a column is empty or has a control character or, if `spaces`, white space."""
    return any(
        pc.any(pc.equal(pc.binary_length(chunk), 0)).as_py() or holds_byte_below(33 if spaces else 32, chunk)
        for chunk in text_chunks(column)
    )


def holds_long_text(column: pa.ChunkedArray) -> bool:
    """Return whether any text of a column has more than `LONGEST_ID` bytes."""
    return any(pc.any(pc.greater(pc.binary_length(chunk), LONGEST_ID)).as_py() for chunk in text_chunks(column))


def text_chunks(column: pa.ChunkedArray) -> list[pa.Array]:
    """Return the chunks of a text column; for a dictionary-encoded column, the dictionaries of its chunks."""
    is_dictionary = pa.types.is_dictionary(column.type)
    return [chunk.dictionary if is_dictionary else chunk for chunk in column.chunks]


def check_pieces(pieces: Iterable[pa.Table], *, spaces: bool, from_text: bool = False) -> Iterator[pa.Table]:
    """Yield the pieces of a table that was read fast; raise UnusualError if it must be read record by record.

    This is so for missing values, words such as ``NA`` for "no grade", empty texts, texts with control characters, ids
    that are too long, and numbers that are not finite or too large. Reading record by record accepts such a value, or
    reports where it is. An optional column may be null in all rows, but a ranking needs a score or a rank. spaces: True
    if texts with white space must be read record by record, too. from_text: True if numbers were written as text, so
    that a large integer may have been rounded.
    """
    rows, nulls = 0, Counter[str]()
    for piece in pieces:
        rows += piece.num_rows
        for name in piece.column_names:
            column = piece[name]
            if name in OPTIONAL:
                nulls[name] += column.null_count
            may_be_null = name in OPTIONAL and column.null_count == len(column)
            if name not in FREE and not may_be_null and breaks_rule(name, column, spaces, from_text):
                raise UnusualError(f"a value of {name} breaks a rule, or may be no grade")
        yield piece
    absent = {name for name in nulls if nulls[name] == rows}
    if {"score", "rank"} <= absent or any(0 < count < rows for count in nulls.values()):
        raise UnusualError("a column is not everywhere")


def breaks_rule(name: str, column: pa.ChunkedArray, spaces: bool, from_text: bool) -> bool:
    """Return whether a value of a column breaks one of the rules of `check_pieces`, or is a word for "no grade"."""
    if column.null_count or (name in IDS and holds_long_text(column)):
        return True
    if pa.types.is_floating(column.type):
        return not pc.all(pc.is_finite(column)).as_py() or (from_text and may_be_inexact(column))
    if pa.types.is_integer(column.type):
        bounds = pc.min_max(column).as_py()
        return not -MOST_RANK < (bounds["min"] or 0) <= (bounds["max"] or 0) < MOST_RANK
    if name == "grade" and pc.any(pc.is_in(pc.utf8_trim_whitespace(column), pa.array(NO_GRADE))).as_py():
        return True
    return breaks_text_rule(column, spaces=spaces)


def table_if_clean(make: Callable[[], pa.Table]) -> pa.Table | None:
    """Return the table that `make` creates, or None if the file must be read record by record.

    The file must be read record by record if `make` raises one of the exceptions in UNCLEAR, or if a value breaks one
    of `check_pieces`. Other exceptions are passed on.
    """
    try:
        (table,) = check_pieces([make()], spaces=False)
        return table
    except UNCLEAR:
        return None
