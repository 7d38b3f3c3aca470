"""Take a sample from the beginning of a file, from which the form of the file is recognised."""

import csv
import functools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ndcg_ab.errors import refuse_unreadable
from ndcg_ab.sources.files.arrow_tables import FILE, STREAM
from ndcg_ab.sources.files.streams import split_fields, split_lines
from ndcg_ab.sources.files.unpacking import open_bytes, open_table
from ndcg_ab.sources.forms.plausible import is_plain_number

FIRST_LINES, FIRST_BYTES = 100, 1 << 18
LONGEST_START = 2_000  # characters of a first line, by which TREC is distinguished from JSON
MOST_DEPTH = 20  # of objects and lists within others
COMMENT = "#"
DELIMITER_LINE = re.compile(r"\Asep=.(?=\r?\n)")  # a first line for Excel, with the delimiter
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|$)|[{}\[\],]', re.DOTALL)  # of JSON: a text, which may be cut, or a sign
WIDTHS = range(3, 7)  # fields of the forms without a header
DELIMITERS = ("\t", ",", ";", "|")
csv.field_size_limit(1 << 30)


class Sample:
    """The beginning of a file, or of data in memory.

    Attributes
    ----------
    path : Path
        The file, or the name of data in memory.
    columns : mapping of str to str
        Field -> column, as an option or a configuration names them.
    start : bytes
        The first bytes of the file, decompressed; empty for data in memory.
    """

    def __init__(self, path: Path, start: bytes = b"", columns: Mapping[str, str] | None = None) -> None:
        self.path, self.start, self.columns = path, start, dict(columns or {})

    @classmethod
    def of_file(cls, path: Path, columns: Mapping[str, str] | None = None) -> "Sample":
        """Return the sample of a file; raise InputError if the file cannot be read.

        columns: field -> column, as an option or a configuration names them.
        """
        with refuse_unreadable(path):
            now = path.stat()
            state = (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns)
            return read_sample(path, state, tuple((columns or {}).items()))

    @classmethod
    def of_value(cls, name: str, value: Any, columns: Mapping[str, str] | None = None) -> "Sample":
        """Return the sample of data in memory, which are treated as the value of a JSON document.

        name: the name of the data in messages.
        """
        sample = cls(Path(name), columns=columns)
        sample.__dict__ |= {"document": value, "is_json": True}
        return sample

    @property
    def is_parquet(self) -> bool:
        """Whether the file is Parquet or Arrow."""
        return self.start.startswith((b"PAR1", FILE, STREAM))

    @functools.cached_property
    def text(self) -> str:
        """The beginning of the file as text; empty for binary files."""
        decoded = self.start.decode("utf-8-sig", errors="replace")
        return "" if self.is_parquet or "\0" in decoded else DELIMITER_LINE.sub("", decoded)

    @functools.cached_property
    def lines(self) -> list[str]:
        """The first complete lines that are not blank, at most `FIRST_LINES`."""
        complete = self.text if len(self.start) < FIRST_BYTES else self.text.rpartition("\n")[0]
        return [line for line in split_lines(complete)[: 2 * FIRST_LINES] if line.strip()][:FIRST_LINES]

    @functools.cached_property
    def is_json(self) -> bool:
        """Whether the text begins with { or [, and its first line is no line of TREC text."""
        text = self.text.lstrip()
        return text[:1] in ("{", "[") and not is_trec_line(split_lines(text[:LONGEST_START])[0])

    @functools.cached_property
    def objects(self) -> list[dict[str, Any]]:
        """The first objects of JSON Lines; empty for other files, and if any of the first lines is no object."""
        values = [parse(line) for line in self.lines if self.is_json]
        return values if all(isinstance(each, dict) for each in values) else []

    @functools.cached_property
    def document(self) -> Any:
        """The beginning of a JSON document as a Python value, or None for other files.

        Entries that do not end within the first bytes are left out.
        """
        if not self.is_json or len(self.objects) > 1:
            return None
        return self.objects[0] if self.objects else parse(self.text) or parse(complete_json_prefix(self.text))

    @functools.cached_property
    def value(self) -> Any:
        """The first entries, at every depth, of a JSON document or of JSON Lines; None for other files."""
        return first_entries(self.objects if len(self.objects) > 1 else self.document)

    @functools.cached_property
    def parquet_columns(self) -> Mapping[str, Sequence[str]]:
        """The mapping column -> first values, as texts, of a Parquet or Arrow file.

        It is empty if the file is broken, which the reader reports.
        """
        try:
            with open_table(self.path, groups=1) as file:
                names = file.schema_arrow.names
                rows = next(iter(file.iter_batches(FIRST_LINES, columns=names)), None)
                return {name: [] if rows is None else as_texts(rows[name].to_pylist()) for name in names}
        except Exception:  # a broken file makes the library raise nearly anything
            return {}

    @property
    def column_names(self) -> Sequence[str]:
        """The column names of a table, from the header line, the schema or the keys of the first objects."""
        if self.is_parquet:
            return list(self.parquet_columns)
        if self.is_json:
            rows = self.objects or (self.value if isinstance(self.value, list) else [])
            return list(dict.fromkeys(key for row in rows if isinstance(row, dict) for key in row))
        heads = [self.head(delimiter) for delimiter in DELIMITERS]
        return max(heads, key=len) if self.lines else ()

    # ---- text without JSON

    @functools.cached_property
    def rows(self) -> tuple[str, list[list[str]]]:
        """The delimiter of a text, and the fields of each line.

        A space as delimiter stands for any white space. A line that begins with # and has another number of fields is a
        comment, and left out. For JSON, and if lines have different numbers of fields, there are no rows.
        """
        if self.is_json:
            return "", []
        first = next((line for line in self.lines if not line.startswith(COMMENT)), "")
        ways = [sign for sign in DELIMITERS if sign in first]
        splits = [(sign, self.split(sign)) for sign in (["\t", " ", *ways] if "\t" in first else [" ", *ways])]
        fitting = [(sign, rows) for sign, rows in splits if rows and len(rows[0]) > 1]
        delimiter, rows = next((way for way in fitting if len(way[1][0]) in WIDTHS), (fitting or [("", [])])[0])
        is_plain = delimiter == "\t" and all(split_fields(cell) == [cell] for row in rows for cell in row)
        return (" " if is_plain else delimiter), rows

    def split(self, delimiter: str) -> list[list[str]]:
        """Return the fields of each line without comments; empty if lines have different numbers of fields."""
        parts = [split_fields(line) for line in self.lines] if delimiter == " " else list(self.cells(delimiter))
        rows = [part for part in parts if part and not part[0].startswith(COMMENT)] or parts
        width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
        fields = [part for part in parts if part in rows or (len(part) == width and part[0] != COMMENT)]
        return fields if all(len(part) == width for part in fields) else []

    def cells(self, delimiter: str) -> Iterator[list[str]]:
        """Yield the fields of each line, parsed as CSV, up to the first line that is no CSV."""
        try:
            yield from csv.reader(self.lines, delimiter=delimiter, strict=True)
        except csv.Error:
            return

    def head(self, delimiter: str) -> list[str]:
        """Return the fields of the first line, parsed as CSV; empty for a file without lines."""
        return next(self.cells(delimiter), [])


@functools.lru_cache(64)
def read_sample(path: Path, state: tuple[int, ...], columns: tuple[tuple[str, str], ...]) -> Sample:
    """Return the sample of a file, from a cache of the last 64 samples, since a command needs a sample several times.

    state: device, inode, size and time of change of the file; a changed file has another state and is read again.
    columns: pairs of field and column.
    """
    with open_bytes(path) as file:
        return Sample(path, file.read(FIRST_BYTES), dict(columns))


def as_texts(values: Iterable[Any]) -> list[str]:
    """Return the values as texts, with an empty text for None."""
    return ["" if value is None else str(value) for value in values]


def parse(text: str) -> Any:
    """Return the value of a JSON text, or None if the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def is_trec_line(line: str) -> bool:
    """Return whether a line is TREC text: 4 to 6 fields with a number in the fourth or fifth, and no JSON value."""
    fields = split_fields(line)
    if not 4 <= len(fields) <= 6 or not any(map(is_plain_number, fields[3:5])):
        return False
    try:
        end = json.JSONDecoder().raw_decode(line)[1]
    except json.JSONDecodeError as error:
        end = error.pos
    return bool(line[end:].strip())


def first_entries(value: Any, depth: int = MOST_DEPTH) -> Any:
    """Return a JSON value with only the first entries of each object and list.

    depth: number of levels that are kept; objects and lists below them become empty.
    """
    most = FIRST_LINES if depth else 0
    if isinstance(value, Mapping):
        return {key: first_entries(value[key], depth - 1) for key in islice(value, most)}
    return [first_entries(each, depth - 1) for each in value[:most]] if isinstance(value, list | tuple) else value


def complete_json_prefix(text: str) -> str:
    """Return the beginning of a truncated JSON text up to the last complete value, with all brackets closed."""
    closing: list[str] = []
    brackets, end = "", 0
    for token in TOKEN.finditer(text):
        sign = token[0]
        if sign in ("{", "["):
            closing.append("}" if sign == "{" else "]")
        elif sign in ("}", "]") and closing:
            closing.pop()
            end, brackets = token.end(), "".join(reversed(closing))
        elif sign == ",":
            end, brackets = token.start(), "".join(reversed(closing))
    return text[:end] + brackets
