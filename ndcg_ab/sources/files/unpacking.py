"""The one way of unpacking: gzip and zstd, of files and of answers over HTTP, within bounds, a piece at a time.

A few kilobytes can unpack to gigabytes.  What is packed is read in pieces, each of which may unpack to so many times
its size, and all of it to `GRACE` bytes more: what does not fit is not unpacked, into memory or to disk.

The ratios were measured.  As dense as they come (the same documents for every query, one score, padded ids, long tags)
judgments and rankings are by gzip 3 to 24 times smaller, by zstd 4 to 129 times, as Parquet up to 241 times of eight
bytes a value.  Repeated lines come to 135 to 1030 by gzip, to thousands by zstd and as Parquet.
"""

import contextlib
import gzip
import io
import os
import zlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from ndcg_ab.errors import InputError, in_short

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

igzip: Any
isal_zlib: Any
try:
    from isal import igzip, isal_zlib
except ImportError:  # there is no wheel for this machine
    igzip = isal_zlib = None

SETTING = "NDCG_AB_UNPACK_RATIO"  # the variable of the environment with another ratio, for all
GRACE = 1 << 22  # bytes that may come in excess of that: small files compress as they like
TABLE_GRACE = 1 << 26  # bytes
TABLE_RATIO = 500
PACKED_AT_ONCE = 1 << 13  # bytes
UNPACKED_AT_ONCE = 1 << 20  # bytes
BUFFER = 1 << 22  # bytes that readers of lines take from an open file at a time
BROKEN: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, *((isal_zlib.error,) if isal_zlib else ()))


class TooDenseError(Exception):
    """Something unpacks to more than it may. Its text says to how much."""


class TooLargeError(Exception):
    """Something is larger than whoever asked for it takes."""


class BrokenError(Exception):
    """Bytes that cannot be unpacked. Its text says why."""


class Packing(NamedTuple):
    """A way of packing.

    start: the first bytes of what is packed.  ratio: bytes that a packed one may unpack to.  remedy: the command that
    unpacks it.  open: gives what is in a file.
    """

    name: str
    start: bytes
    ratio: int
    remedy: str
    open: Callable[[BinaryIO], Any]


def open_gzip(file: BinaryIO) -> Any:
    """A gzip file over a file; by a reader that takes a third of the time, where it is installed."""
    kind = gzip.GzipFile if igzip is None else igzip.IGzipFile
    return kind(fileobj=file, mode="rb")


def open_zstd(file: BinaryIO) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")


GZIP = Packing("gzip", b"\x1f\x8b", 100, "gunzip", open_gzip)
ZSTD = Packing("zstd", b"\x28\xb5\x2f\xfd", 500, "unzstd", open_zstd)
PACKINGS = (GZIP, ZSTD)


def allowed_ratio(usual: int) -> int:
    """How many times its size something may unpack to; InputError where the environment says it wrongly."""
    written = os.environ.get(SETTING, "").strip()
    if not written:
        return usual
    if not (written.isascii() and written.isdecimal() and 1 <= len(written) <= 9 and int(written)):
        raise InputError(f"{SETTING} = {written[:40]!r}: must be a whole number from 1, such as {usual}")
    return int(written)


class MeteredFile(io.RawIOBase):
    """A file of which little is read at a time. count: how much was."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        room = memoryview(buffer)[:PACKED_AT_ONCE]
        part = self.file.read(len(room))
        room[: len(part)] = part
        self.count += len(part)
        return len(part)

    def close(self) -> None:
        self.file.close()
        super().close()


class UnpackingStream(io.RawIOBase):
    """What is packed in a file, unpacked as it is read; raises TooDenseError and BrokenError.

    A stretch may be denser than the ratio by `GRACE` bytes, wherever it stands: what was sparse before buys no more.
    """

    def __init__(self, file: BinaryIO, packing: Packing) -> None:
        self.ratio = allowed_ratio(packing.ratio)
        self.packed = MeteredFile(file)
        self.taken = 0
        self.left = GRACE
        self.unpacked = packing.open(cast(BinaryIO, self.packed))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            count: int = self.unpacked.readinto(memoryview(buffer)[:UNPACKED_AT_ONCE])
        except BROKEN as error:
            if isinstance(error, OSError) and error.errno is not None:  # of the machine, not of what is packed
                raise
            raise BrokenError(in_short(error)) from None
        new, self.taken = self.packed.count - self.taken, self.packed.count
        most = max(GRACE, self.ratio * PACKED_AT_ONCE)
        self.left = min(self.left, most) + self.ratio * new - count
        if self.left < 0:
            raise TooDenseError(f"unpacks to more than {self.ratio} bytes for each of its own")
        return count

    def close(self) -> None:
        if not self.closed:
            self.unpacked.close()
            self.packed.close()
        super().close()


# ---- files


class UnpackedFile(UnpackingStream):
    """The same of a file; both errors are an InputError that names it."""

    def __init__(self, path: Path, packing: Packing) -> None:
        self.path, self.packing = path, packing
        super().__init__(path.open("rb"), packing)

    def readinto(self, buffer: Any) -> int:
        with name_file_in_errors(self.path, self.packing):
            return super().readinto(buffer)


@contextlib.contextmanager
def name_file_in_errors(path: Path, packing: Packing) -> Iterator[None]:
    try:
        yield
    except BrokenError as error:
        raise InputError(f"{path}: the {packing.name} file is broken, write it again: {error}") from None
    except TooDenseError as error:
        raise InputError(
            f"{path}: the {packing.name} file of {path.stat().st_size:,} bytes {error}, and no ranking does: where it"
            f" is meant, unpack it yourself ({packing.remedy}), or set {SETTING} to more"
        ) from None


def find_packing(path: Path) -> Packing | None:
    """How a file is packed, by its first bytes, whatever its name says; None where it is not."""
    with path.open("rb") as file:
        start = file.read(4)
    return next((packing for packing in PACKINGS if start.startswith(packing.start)), None)


def is_packed(path: Path) -> bool:
    return find_packing(path) is not None


def open_bytes(path: Path) -> BinaryIO:
    """The file's bytes, unpacked; InputError where they are broken, or where few of them unpack to many."""
    packing = find_packing(path)
    return (
        path.open("rb") if packing is None else cast(BinaryIO, io.BufferedReader(UnpackedFile(path, packing), BUFFER))
    )


# ---- answers


def unpack(content: bytes, packing: Packing, most: int) -> bytes:
    """All of it; raises TooLargeError where it is more than `most` bytes, TooDenseError and BrokenError."""
    with UnpackingStream(io.BytesIO(content), packing) as stream:
        found = bytearray()
        while part := stream.read(UNPACKED_AT_ONCE):
            found += part
            if len(found) > most:
                raise TooLargeError
        return bytes(found)


# ---- tables that are compressed inside


def open_table(path: Path, **options: Any) -> "ParquetFile":
    """Open a Parquet file; raise InputError if its counts disagree, or promise more than it may unpack to.

    The checksums of its pages, if it has any, are held against the pages that are read.
    What it unpacks to are its pages, or its rows at eight bytes for every value: some bytes can say "a billion times".
    Raises whatever the library does over broken bytes.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    packing = find_packing(path)
    options["page_checksum_verification"] = True
    if packing is None:
        file = ParquetFile(path, **options)
    else:
        with open_bytes(path) as stream:
            file = ParquetFile(pa.BufferReader(stream.read()), **options)
    about = file.metadata
    size, ratio = path.stat().st_size, allowed_ratio(TABLE_RATIO)
    # What a group says of a column ends the process if it is broken, unless pages of the column have been read before.
    pages = sum(about.row_group(place).total_byte_size for place in range(about.num_row_groups))
    if max(pages, 8 * about.num_rows * about.num_columns) > TABLE_GRACE + ratio * size:
        file.close()
        raise InputError(
            f"{path}: the Parquet file of {size:,} bytes holds {about.num_rows:,} rows of {about.num_columns} columns,"
            f" {pages:,} bytes unpacked: more than {ratio} for each of its own, and no ranking does: where it is meant,"
            f" set {SETTING} to more"
        )
    return file


def refuse_other_counts(path: Path, file: "ParquetFile", rows: int, columns: Collection[str]) -> None:
    """Raise InputError, and close the Parquet file, if it promises another number of rows than were read.

    rows: that were read of the columns. Its footer promises rows for the file, for each group, and values for each flat
    column. What it says of a column that was not read is left alone: a broken footer can end the process there.
    """
    about = file.metadata
    groups = [about.row_group(place) for place in range(about.num_row_groups)]
    promised = {about.num_rows, sum(group.num_rows for group in groups)}
    for at in range(about.num_columns):
        column = about.schema.column(at)
        if column.path in columns and not column.max_repetition_level:
            promised.add(sum(group.column(at).num_values for group in groups))
    if promised != {rows}:
        other = max(promised - {rows})
        file.close()
        raise InputError(
            f"{path}: the Parquet file is broken, write it again: it promises {other:,} rows and holds {rows:,}"
        )
