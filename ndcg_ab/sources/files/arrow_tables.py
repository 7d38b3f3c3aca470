"""Read Arrow IPC (Feather) files and streams through the interface that is used for Parquet files."""

import contextlib
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from ndcg_ab.errors import InputError, error_text

FILE, STREAM = b"ARROW1", b"\xff\xff\xff\xff"  # how they begin
HEAD = 8  # bytes of a file before the stream that is in it
END = STREAM + bytes(4)  # of a stream that is whole
LONGEST_SHARED = 1 << 14  # bytes: no id is longer, and few titles
RefuseDense = Callable[[int, int, int], None]  # of rows, columns, bytes


class ArrowTable(contextlib.AbstractContextManager["ArrowTable"]):
    """An Arrow file or stream with the methods of ``pyarrow.parquet.ParquetFile`` that are used in this package.

    A new instance reads the stream, not the footer of an Arrow file. It sums the sizes that message headers declare,
    before anything is unpacked. refuse_dense: receives the numbers of rows, columns and bytes, and raises InputError if
    they are too large. Raises InputError if the file is broken.
    """

    metadata: Any = None

    def __init__(self, path: Path, source: Callable[[], pa.NativeFile], refuse_dense: RefuseDense) -> None:
        self.path, self.source, self.refuse_dense = path, source, refuse_dense
        with self.open_file() as file:
            self.schema_arrow = ipc.open_stream(file).schema
        with self.open_file() as file:
            messages = [(message.type, *declared_size(message)) for message in ipc.MessageReader.open_stream(file)]
            file.seek(file.size() - HEAD)
            if not file.read().endswith((FILE, END)):
                raise pa.ArrowInvalid("it is cut short")
        self.rows = sum(rows for kind, rows, _ in messages if kind == "record batch")
        refuse_dense(self.rows, len(self.schema_arrow), sum(size for _, _, size in messages))

    @contextlib.contextmanager
    def open_file(self) -> Iterator[pa.NativeFile]:
        """Open the file at the beginning of its Arrow stream and yield it.

        Errors of the Arrow library and of the operating system are raised as InputError.
        """
        try:
            with self.source() as file:
                file.seek(HEAD if file.read(len(FILE)) == FILE else 0)
                yield file
        except (pa.ArrowException, struct.error, OSError) as error:
            raise InputError(f"{self.path}: the Arrow file is broken, write it again: {error_text(error)}") from None

    def iter_batches(self, size: int = 1 << 16, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        names = self.schema_arrow.names if columns is None else list(columns)
        fields = [self.schema_arrow.get_field_index(name) for name in names]
        spread = 0
        with self.open_file() as file:
            for batch in ipc.open_stream(file, options=ipc.IpcReadOptions(included_fields=fields)):
                batch.validate(full=True)
                spread += sum(batch.num_rows * longest_shared_bytes(column) for column in batch.columns)
                self.refuse_dense(self.rows, len(names), spread)
                for start in range(0, batch.num_rows, size):
                    rows = np.arange(start, min(start + size, batch.num_rows))
                    yield (batch if len(rows) == batch.num_rows else batch.take(pa.array(rows))).select(names)

    def __exit__(self, *_: object) -> None:
        """Do nothing: no file is open between batches."""


def longest_shared_bytes(column: pa.Array) -> int:
    """Return the length in bytes of the longest text of a column that is stored once and used by several rows.

    Only dictionary-encoded and view arrays can store a text once for several rows; for other arrays the result is 0.
    """
    kind = column.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return int(np.frombuffer(column.buffers()[1], dtype="<i4")[::4].max(initial=0))
    if not pa.types.is_dictionary(kind):
        return 0
    texts = column.dictionary
    is_text = any(
        is_kind(texts.type)
        for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    )
    return (pc.max(pc.binary_length(texts)).as_py() or 0) if is_text else longest_shared_bytes(texts)


def longest_shared_text(file: Any, names: Sequence[str], most: int | None = None) -> int:
    """Return the length in bytes of the longest text in the dictionaries of a Parquet file, which rows refer to.

    The result is 0 if that text is not longer than `LONGEST_SHARED`.

    names: the columns with texts. most: the number of row groups to look at, from the first; None for all. The first
    row of each group is read, which loads the whole dictionary of the group.
    """
    groups = range(file.metadata.num_row_groups)[:most] if names else ()
    firsts = (next(file.iter_batches(1, row_groups=[index], columns=names), None) for index in groups)
    longest = max((longest_shared_bytes(column) for first in firsts if first for column in first.columns), default=0)
    return longest if longest > LONGEST_SHARED else 0


def declared_size(message: Any) -> tuple[int, int]:
    """Return the numbers of rows and of unpacked bytes that the header of an Arrow message declares.

    The header is a FlatBuffer (Message.fbs of Arrow), in which the offset of a field is found through a vtable. Both
    numbers are 0 for a message that is neither a record batch nor a dictionary.
    """
    head, body = message.metadata, message.body

    def number(form: str, offset: int, data: Any = head) -> int:
        return int(struct.unpack_from(form, data, offset)[0])

    def field(table: int, slot: int) -> int:
        vtable, entry = table - number("<i", table), 4 + 2 * slot
        offset = number("<H", vtable + entry) if entry < number("<H", vtable) else 0
        return table + offset if offset else 0

    def target(offset: int) -> int:
        return offset + number("<I", offset)

    if message.type not in ("record batch", "dictionary"):
        return 0, 0
    batch = target(field(target(0), 2))
    if message.type == "dictionary":
        batch = target(field(batch, 1))
    rows = number("<q", offset) if (offset := field(batch, 0)) else 0
    if not field(batch, 3) or not (offset := field(batch, 2)):  # not packed, or without buffers
        return rows, body.size
    buffers = target(offset)
    offsets = (buffers + 4 + 16 * index for index in range(number("<I", buffers)))
    packed = [number("<q", offset) for offset in offsets if number("<q", offset + 8)]
    return rows, body.size + sum(max(number("<q", offset, body), 0) for offset in packed)
