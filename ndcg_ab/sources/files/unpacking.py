"""Decompress files in pieces and within limits.

A few kilobytes can unpack to gigabytes. A compressed file is read in pieces, each of which may unpack to a fixed
multiple of its size, plus `GRACE` bytes for the whole file; nothing beyond is unpacked, into memory or to disk.

The ratios were measured. For the most compressible judgments and rankings (equal documents for every query, one score,
padded ids, long tags) gzip saves a factor of 3 to 24, zstd 4 to 129, lz4 up to 13, bzip2 up to 81, xz up to 179,
and Parquet up to 241 relative to eight bytes a value. Repeated lines reach 135 to 1030 with gzip,
214 with lz4, and thousands with the others and Parquet.
"""

import bz2
import functools
import io
import lzma
import os
import re
import shlex
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from ndcg_ab.errors import InputError, error_text, shorten
from ndcg_ab.files import new_name

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

    from ndcg_ab.sources.files.arrow_tables import ArrowTable

GzipFile: Any
isal_zlib: Any
try:
    from isal import isal_zlib
    from isal.igzip import IGzipFile as GzipFile
except ImportError:  # there is no wheel for this machine
    from gzip import GzipFile

    isal_zlib = None

SETTING = "NDCG_AB_UNPACK_RATIO"  # the variable of the environment with another ratio, for all
GRACE = 1 << 22  # bytes that may come in excess of that: small files compress as they like
TABLE_GRACE = 1 << 26  # bytes
TABLE_RATIO = 500
PACKED_AT_ONCE = 1 << 13  # bytes
UNPACKED_AT_ONCE = 1 << 20  # bytes
MOST_ZIPPED = 100  # times its size that a ZIP file may unpack to
BUFFER = 1 << 22  # bytes that readers of lines take from an open file at a time
BROKEN: tuple[type[Exception], ...] = (
    *(OSError, EOFError, ValueError, RuntimeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile),
    *((isal_zlib.error,) if isal_zlib else ()),
)


class ArchiveError(Exception):
    """Raised if a ZIP archive does not hold exactly one readable file.

    The text says why; it is empty if the archive would unpack to too many bytes.
    """


class Packing(NamedTuple):
    """A compression format.

    Attributes
    ----------
    starts : tuple of bytes
        The byte strings with which compressed files can begin.
    ratio : int
        The number of bytes that one compressed byte may unpack to.
    remedy : str
        The command that decompresses a file.
    open : callable
        Returns a stream of the decompressed content of a file.
    """

    name: str
    starts: tuple[bytes, ...]
    ratio: int
    remedy: str
    open: Callable[[BinaryIO], Any]


def open_by_arrow(codec: str, file: BinaryIO) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(file, "r"), codec)


def open_zip(file: BinaryIO) -> Any:
    """Return a stream of the only file in a ZIP archive.

    Folders, hidden files and __MACOSX entries do not count. Raises ArchiveError if there is not exactly one file, or if
    it is encrypted, compressed by a rare method, or too large when unpacked.
    """
    archive = zipfile.ZipFile(file)
    members = [member for member in archive.infolist() if not re.search(r"(^|/)([._]|$)", member.filename)]
    if len(members) != 1:
        names = ", ".join(shorten(member.filename) for member in members[:SHOWN])
        names += ", …" if len(members) > SHOWN else ""
        raise ArchiveError(f"holds {len(members)} files{f' ({names})' if names else ''}, and one is read")
    (member,) = members
    if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ArchiveError(f"holds {shorten(member.filename)}, encrypted or compressed in a rare way")
    if member.file_size > GRACE + allowed_ratio(MOST_ZIPPED) * member.compress_size:
        raise ArchiveError  # at once: more than it says is not unpacked, and what is read ahead would buy more
    return archive.open(member)


GZIP = Packing("gzip", (b"\x1f\x8b",), 100, "gunzip -c <", lambda file: GzipFile(fileobj=file, mode="rb"))
SKIPPED = tuple(bytes((0x50 + number, 0x2A, 0x4D, 0x18)) for number in range(16))  # frames that hold no content
PACKINGS = (
    GZIP,
    Packing("zstd", (b"\x28\xb5\x2f\xfd", *SKIPPED), 500, "unzstd -c <", functools.partial(open_by_arrow, "zstd")),
    Packing("lz4", (b"\x04\x22\x4d\x18",), 50, "unlz4 -c <", functools.partial(open_by_arrow, "lz4")),
    Packing("xz", (b"\xfd7zXZ\0",), 700, "unxz -c <", lzma.LZMAFile),
    Packing("bzip2", tuple(b"BZh%d1AY&SY" % level for level in range(1, 10)), 300, "bunzip2 -c <", bz2.BZ2File),
    Packing("ZIP", (b"PK\x03\x04",), MOST_ZIPPED, "unzip -p", open_zip),
)
LONGEST_START = max(len(start) for packing in PACKINGS for start in packing.starts)
SHOWN = 3  # files in a message


def allowed_ratio(usual: int) -> int:
    """Return the number of bytes that one compressed byte may unpack to.

    It is the value of the environment variable `SETTING`, or `usual` if the variable is not set. Raises InputError if
    the variable is no positive integer.
    """
    written = os.environ.get(SETTING, "").strip()
    if not written:
        return usual
    if not (written.isascii() and written.isdecimal() and 1 <= len(written) <= 9 and int(written)):
        raise InputError(f"{SETTING} = {written[:40]!r}: must be a whole number from 1, such as {usual}")
    return int(written)


class MeteredFile(io.RawIOBase):
    """A stream that reads few bytes of a file at a time and counts them; closing the stream closes the file."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.count = file, 0

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        room = memoryview(buffer)[:PACKED_AT_ONCE]
        part = self.file.read(len(room))
        room[: len(part)] = part
        self.count += len(part)
        return len(part)

    def seekable(self) -> bool:
        return self.file.seekable()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self.file.seek(offset, whence)


class UnpackedFile(io.RawIOBase):
    """A stream that decompresses a file.

    Reading raises InputError if the file is broken or unpacks to too many bytes. Any stretch of the file may unpack to
    an allowed multiple of its compressed size, plus about `GRACE` bytes. A stretch that unpacks to less does not raise
    the limit for later ones.
    """

    def __init__(self, path: Path, packing: Packing) -> None:
        self.path, self.packing, self.ratio = path, packing, allowed_ratio(packing.ratio)
        self.packed = MeteredFile(path.open("rb"))
        self.taken, self.left = 0, GRACE
        self.unpacked: Any = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            if self.unpacked is None:
                self.unpacked = self.packing.open(cast(BinaryIO, self.packed))
            count: int = self.unpacked.readinto(memoryview(buffer)[:UNPACKED_AT_ONCE])
        except ArchiveError as error:
            if not error.args:
                raise self.density_error() from None
            remedy = f"unpack it, and name the file that is meant: unzip {shlex.quote(str(self.path))}"
            raise InputError(f"{self.path}: the ZIP file {error}: {remedy}") from None
        except BROKEN as error:
            if isinstance(error, OSError) and error.errno is not None:  # of the machine, not of what is packed
                raise
            name = self.packing.name
            raise InputError(f"{self.path}: the {name} file is broken, write it again: {error_text(error)}") from None
        new, self.taken = self.packed.count - self.taken, self.packed.count
        most = max(GRACE, self.ratio * PACKED_AT_ONCE)
        self.left = min(self.left, most) + self.ratio * new - count
        if self.left < 0:
            raise self.density_error()
        return count

    def density_error(self) -> InputError:
        """Return the error for a file that unpacks to more than is allowed."""
        return InputError(
            f"{self.path}: the {self.packing.name} file of {self.path.stat().st_size:,} bytes unpacks to more than"
            f" {self.ratio} bytes for each of its own, and no ranking does: where it is meant, unpack it yourself"
            f" ({filter_command(self.path)}), or set {SETTING} to more"
        )

    def close(self) -> None:
        if not self.closed:
            if self.unpacked is not None:
                self.unpacked.close()
            self.packed.close()
        super().close()


def packing_of(content: bytes) -> Packing | None:
    """Return the compression format that the first bytes of content show, or None if they show none."""
    return next((packing for packing in PACKINGS if content.startswith(packing.starts)), None)


def find_packing(path: Path) -> Packing | None:
    """Return the compression format that the first bytes of a file show, or None if they show none.

    The file name does not matter.
    """
    with path.open("rb") as file:
        return packing_of(file.read(LONGEST_START))


def is_packed(path: Path) -> bool:
    return find_packing(path) is not None


def open_bytes(path: Path) -> BinaryIO:
    """Open a file as a stream of decompressed bytes.

    Opening or reading raises InputError if the file is broken, unpacks to too many bytes, or holds a compressed file.
    """
    packing = find_packing(path)
    if packing is None:
        return path.open("rb")
    reader = io.BufferedReader(UnpackedFile(path, packing), BUFFER)
    if packing_of(reader.peek(LONGEST_START)) is not None:
        raise InputError(f"{path}: holds a packed file; unpack it: {filter_command(path)}")
    return cast(BinaryIO, reader)


# ---- tables that are compressed inside


def open_table(path: Path, groups: int | None = None) -> "ParquetFile | ArrowTable":
    """Open a Parquet or Arrow file; raise InputError if it would unpack to too many bytes for its size.

    The unpacked size is the largest of these three sizes:

    - the size that the file declares
    - eight bytes for each cell, since a few bytes can declare a billion repetitions
    - the length of the longest text that a dictionary holds, times the number of rows, since every row may use this
      text (for an Arrow file, this is checked while the file is read)

    Checksums of the pages of a Parquet file, if there are any, are verified while the file is read. Exceptions of the
    library for broken bytes are passed on.

    groups: the number of row groups of a Parquet file, from the first, in which the longest text is looked up; None for
    all.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    from ndcg_ab.sources.files import arrow_tables

    packed = is_packed(path)
    with open_bytes(path) as stream:
        content = stream.read() if packed else stream.read(len(arrow_tables.FILE))
    if content.startswith((arrow_tables.FILE, arrow_tables.STREAM)):
        source: Any = functools.partial(pa.BufferReader, content) if packed else functools.partial(pa.OSFile, str(path))
        return arrow_tables.ArrowTable(path, source, functools.partial(refuse_dense_table, path, "Arrow"))
    readable: Any = pa.BufferReader(content) if packed else path
    file = ParquetFile(readable, page_checksum_verification=True)
    about = file.metadata
    # What a group says of a column ends the process if it is broken, unless pages of the column have been read before.
    pages = sum(about.row_group(index).total_byte_size for index in range(about.num_row_groups))
    try:
        refuse_dense_table(path, "Parquet", about.num_rows, about.num_columns, pages)
        kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)  # rows may share a text
        texts = [field.name for field in file.schema_arrow if any(is_kind(field.type) for is_kind in kinds)]
        with ParquetFile(readable, read_dictionary=texts) as look:
            shared = arrow_tables.longest_shared_text(look, texts, groups)
        refuse_dense_table(path, "Parquet", about.num_rows, about.num_columns, about.num_rows * shared)
    except InputError:
        file.close()
        raise
    return file


def refuse_dense_table(path: Path, kind: str, rows: int, columns: int, unpacked: int) -> None:
    """Raise InputError if a table unpacks to too many bytes for the size of its file.

    kind: the format, for the message. unpacked: the number of unpacked bytes; at least eight bytes for each cell count.
    """
    size, ratio = path.stat().st_size, allowed_ratio(TABLE_RATIO)
    if max(unpacked, 8 * rows * columns) > TABLE_GRACE + ratio * size:
        raise InputError(
            f"{path}: the {kind} file of {size:,} bytes holds {rows:,} rows of {columns} columns,"
            f" {unpacked:,} bytes unpacked: more than {ratio} for each of its own, and no ranking does: where it is"
            f" meant, set {SETTING} to more"
        )


def read_checked_batches(
    path: Path, file: "ParquetFile | ArrowTable", columns: Sequence[str] | None = None, size: int = 1 << 16
) -> Iterator[Any]:
    """Yield the rows of a table in batches of `size` rows, and check the number of rows after the last batch.

    The footer of a Parquet file declares the number of rows three times: for the file, per row group, and as the number
    of values of each column. InputError is raised if one of these differs from the rows that were read. Of the columns,
    only those that were read and have no lists are checked: a broken footer can crash the process if it is asked about
    another column. Arrow files are not checked.
    columns: the columns to read; None for all.
    """
    rows = 0
    for batch in file.iter_batches(size, columns=columns):
        rows += batch.num_rows
        yield batch
    about = file.metadata
    if about is None:
        return
    groups = [about.row_group(index) for index in range(about.num_row_groups)]
    promised = {about.num_rows, sum(group.num_rows for group in groups)}
    for leaf in range(about.num_columns):
        column = about.schema.column(leaf)
        if (columns is None or column.path in columns) and not column.max_repetition_level:
            promised.add(sum(group.column(leaf).num_values for group in groups))
    if promised != {rows}:
        other = max(promised - {rows})
        raise InputError(
            f"{path}: the Parquet file is broken, write it again: it promises {other:,} rows and holds {rows:,}"
        )


# ---- what is not read


PACKED = {  # how a file begins -> what it is, what to do
    b"\xd0\xcf\x11\xe0": ("an Excel file", "export its sheet as CSV"),
    b"SQLite format 3": ("a SQLite database", "export its table as CSV"),
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", "unpack it: 7z x {}"),
    b"Rar!\x1a\x07": ("a RAR archive", "unpack it: unrar x {}"),
    b"FEA1": ("a Feather file of version 1", "write it again, with pyarrow.feather.write_feather"),
}


def filter_command(path: Path, program: str = "", number: str = "") -> str:
    """Return the shell command that decompresses a file, pipes it through a program, and writes a new file.

    program: the command of the program; empty: the file is only decompressed. number: the number in the name of the new
    file, if several files are written.
    """
    packing = find_packing(path)
    command = f"{packing.remedy if packing else program} {shlex.quote(str(path))}"
    end = next((end for end in path.suffixes if end.lower() in (".csv", ".tsv")), "")
    new = new_name(f"NEW{number}{end}")
    return f"{command} | {program} > {new}" if packing and program else f"{command} > {new}"


def binary_format_hint(path: Path, start: bytes) -> str | None:
    """Return the problem and a remedy for a file of an unsupported binary format; None for other files.

    start: the first bytes of the file.
    """
    if path.suffix.lower() in (".xlsx", ".xlsm", ".ods") and start.startswith(b"PK"):
        return "is a spreadsheet, which is not read here; export its sheet as CSV"
    for magic, (format_name, remedy) in PACKED.items():
        if start.startswith(magic):
            return f"is {format_name}, which is not read here; {remedy.format(shlex.quote(str(path)))}"
    return None


def folder_hint(path: Path) -> str:
    """Return the advice ``; name one of its files, such as runs/old.run``, or "" without a file.

    Files in subfolders and hidden files do not count.
    """
    names = sorted(each.name for each in path.iterdir() if each.is_file() and not each.name.startswith("."))
    return f"; name one of its files, such as {path / names[0]}" if names else ""
