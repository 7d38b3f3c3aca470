"""Files: TREC, CSV, TSV, JSON Lines and Parquet, plain or gzipped.

Two ways through a file.  The fast one is pyarrow's own readers, which use every core; it must give a clean
table.  Where it gives up, or gives something that breaks a rule, `rows` reads the file again record by
record: it accepts what is only unusual, and names the line of what is wrong.
"""

import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.json as pajson

from ndcg_ab.config.hints import similar_file
from ndcg_ab.config.sources import FileSource
from ndcg_ab.errors import InputError
from ndcg_ab.sources.base import Source, in_words, remarks_of, with_remarks
from ndcg_ab.sources.hints import FORMAT, files_in, packed
from ndcg_ab.sources.parts import parts_of, spoken_of
from ndcg_ab.sources.records import find_lines, is_gzipped, open_bytes, open_parquet, read_rows
from ndcg_ab.sources.schema import Layout

FORMATS = ("trec", "csv", "tsv", "jsonl", "parquet")
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
BLOCK = 1 << 22  # bytes that one thread parses at a time
UNCLEAR = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, pa.ArrowKeyError, UnicodeDecodeError)
ANY_TEXT = pa.dictionary(pa.int32(), pa.string())  # each text is kept once, however many lines it stands on


class File(Source):
    """A file of judgments, queries or one system's rankings."""

    def __init__(self, described: FileSource, directory: Path) -> None:
        is_path = isinstance(described.file, Path)
        self.origin = str(directory / described.file) if is_path else described.origin
        self.described = described
        self.directory = directory

    def pull(self, layout: Layout, queries: Mapping[str, str]) -> pa.Table:
        described = self.described
        layout.refuse_unknown(str(described.file), described.columns)
        tables = []
        with parts_of(described, self.directory, self.wanted(layout)) as parts:
            for part in parts:
                with spoken_of(part):
                    tables.append(read_file(part.path, layout, described.format, described.columns))
        return tables[0] if len(tables) == 1 else joined(tables, layout, self.origin)

    def locate(self, table: pa.Table, layout: Layout, query_id: str, doc_id: str) -> str:
        if not isinstance(self.described.file, Path):
            return self.origin
        found = []
        with parts_of(self.described, self.directory, self.wanted(layout)) as parts:
            for part in parts:
                file_format = self.described.format or format_of(part.path)
                lines = find_lines(part.path, layout, file_format, self.described.columns, query_id, doc_id)
                if lines or len(parts) == 1:
                    found.append(f"{part.name}, {in_words(lines, 'row' if file_format == 'parquet' else 'line')}")
        return " and ".join(found[:3])

    def wanted(self, layout: Layout) -> dict[str, str]:
        return {field.name: self.described.columns.get(field.name, field.name) for field in layout.fields}


def joined(tables: list[pa.Table], layout: Layout, origin: str) -> pa.Table:
    """The parts of one table; InputError where some have a column that others lack."""
    for field in layout.fields:
        kinds = {is_null(table[field.name]) for table in tables}
        if len(kinds) > 1:
            raise InputError(
                f"{origin}: some parts have {field.name}, others have not: all parts need the same columns"
            )
    remarks = [remark for table in tables for remark in remarks_of(table)]
    plain = [table.replace_schema_metadata() for table in tables]
    return with_remarks(pa.concat_tables(plain, promote_options="permissive"), remarks)


def format_of(path: Path) -> str:
    """The format by the file's name; anything without a telling ending is TREC text."""
    name = path.name.lower().removesuffix(".gz").removesuffix(".zst")
    return SUFFIXES.get(Path(name).suffix, "trec")


def read_file(path: Path, layout: Layout, file_format: str | None, columns: dict[str, str]) -> pa.Table:
    """The file's table in the columns of `layout` (absent optional ones are null).

    columns maps a field to the file's name for it.  Raises InputError for anything that breaks a rule.
    """
    refuse_no_file(path)
    file_format = file_format or format_of(path)
    if file_format == "trec" and layout.trec is None:
        raise InputError(f"{path}: a file of queries must be csv, tsv, jsonl or parquet, by its name or its format")
    if file_format == "trec" and columns:
        raise InputError(f"{path}: columns cannot be mapped in a TREC file; say its format if it is another one")
    gzipped = False
    try:
        gzipped = is_gzipped(path)
        refuse_packed(path, layout, file_format)
        table = read_fast(path, layout, file_format, columns)
    except UNCLEAR:
        table = None
    except (OSError, EOFError, zlib.error) as error:
        what = "the gzip file is broken, write it again" if gzipped else "cannot be read"
        raise InputError(f"{path}: {what}: {' '.join(str(error).split())}") from None
    if table is None or breaks_a_rule(table, spaces=file_format == "trec"):
        table = read_rows(path, layout, file_format, columns)
    if table.num_rows == 0:
        raise InputError(f"{path}: there is no {layout.kind} in the file")
    return table


def refuse_no_file(path: Path) -> None:
    """What is not there, is no file, or holds nothing."""
    if not path.exists():
        raise InputError(f"{path}: there is no such file{similar_file(path)}")
    if not path.is_file():
        raise InputError(f"{path}: is not a file{files_in(path) if path.is_dir() else ''}")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty")


def refuse_packed(path: Path, layout: Layout, file_format: str) -> None:
    """Files that are no text (or no Parquet) by their first bytes."""
    with path.open("rb") as file:
        start = file.read(16)
    if problem := packed(path, start):
        raise InputError(f"{path}: {problem}")
    if start.startswith(b"PAR1") and file_format != "parquet" and layout.kind in FORMAT:
        raise InputError(f"{path}: is a Parquet file: say {FORMAT[layout.kind]} parquet, or name it .parquet")


def read_fast(path: Path, layout: Layout, file_format: str, columns: dict[str, str]) -> pa.Table:
    if file_format == "trec":
        return read_trec(path, layout)
    if file_format == "parquet":
        return read_parquet(path, layout, columns)
    if file_format == "jsonl":
        return read_jsonl(path, layout, columns)
    return read_delimited(path, layout, "," if file_format == "csv" else "\t", columns)


def open_stream(path: Path) -> pa.NativeFile:
    return pa.input_stream(str(path), compression="gzip" if is_gzipped(path) else None)


def first_line(path: Path) -> bytes:
    with open_bytes(path) as file:
        return file.readline(1 << 20)


def arrow_types(layout: Layout, chosen: dict[str, str]) -> dict[str, pa.DataType]:
    """Types for the reader; queries repeat on many lines and are kept once each."""
    types = {chosen[field.name]: field.type for field in layout.fields if field.name in chosen}
    if layout.kind == "ranking":
        types[chosen["query_id"]] = ANY_TEXT
    return types


def shaped(table: pa.Table, layout: Layout, chosen: dict[str, str]) -> pa.Table:
    """The table with this layout's columns by name, null where the file has none."""
    arrays = {}
    for field in layout.fields:
        if field.name in chosen:
            arrays[field.name] = table[chosen[field.name]]
        else:
            arrays[field.name] = pa.chunked_array([pa.nulls(table.num_rows, field.type)])
    return pa.table(arrays)


def read_trec(path: Path, layout: Layout) -> pa.Table:
    """Fields between single spaces or single tabs as they stand; any other white space made even first."""
    line = first_line(path)
    delimiter = "\t" if b"\t" in line and b" " not in line.strip() else " "
    try:
        table = parse_trec(open_stream(path), layout, delimiter)
    except pa.ArrowInvalid:
        table = None
    if table is None or breaks_a_rule(table, spaces=True):
        with open_bytes(path) as file:
            table = parse_trec(pa.BufferReader(evened(file.read())), layout, " ")
    return table


def evened(text: bytes) -> bytes:
    """The text with every run of white space inside a line as one space, and none at its ends."""
    text = text.replace(b"\r\n", b"\n").translate(bytes.maketrans(b"\r\t\v\f", b"\n   "))
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    return text.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def parse_trec(stream: pa.NativeFile, layout: Layout, delimiter: str) -> pa.Table:
    """Raises ArrowInvalid where a field that nobody needs is empty or holds white space: the others are shifted."""
    assert layout.trec is not None
    places, width = layout.trec
    chosen = {name: name for name in places}
    names = [f"unused_{place}" for place in range(width)]
    for name, place in places.items():
        names[place] = name
    unused = [name for name in names if name not in places]
    table = pacsv.read_csv(
        stream,
        pacsv.ReadOptions(column_names=names, block_size=BLOCK),
        pacsv.ParseOptions(delimiter=delimiter, quote_char=False, ignore_empty_lines=True),
        convert_options(arrow_types(layout, chosen) | dict.fromkeys(unused, ANY_TEXT)),
    )
    if any(breaks_text_rule(table[name], spaces=True) for name in unused):
        raise pa.ArrowInvalid("fields are missing, or there are too many")
    return shaped(table, layout, chosen)


def convert_options(types: dict[str, pa.DataType]) -> pacsv.ConvertOptions:
    return pacsv.ConvertOptions(
        column_types=types, include_columns=list(types), null_values=[], strings_can_be_null=False
    )


def read_delimited(path: Path, layout: Layout, delimiter: str, columns: dict[str, str]) -> pa.Table:
    parse = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=True)
    with pacsv.open_csv(open_stream(path), pacsv.ReadOptions(block_size=BLOCK), parse) as reader:
        found = list(reader.schema.names)
    chosen = layout.check_columns(str(path), found, columns)
    options = convert_options(arrow_types(layout, chosen))
    table = pacsv.read_csv(open_stream(path), pacsv.ReadOptions(block_size=BLOCK), parse, options)
    return shaped(table, layout, chosen)


def read_jsonl(path: Path, layout: Layout, columns: dict[str, str]) -> pa.Table:
    names = {field.name: columns.get(field.name, field.name) for field in layout.fields}
    schema = pa.schema([(names[field.name], field.type) for field in layout.fields])
    table = pajson.read_json(
        open_stream(path),
        pajson.ReadOptions(block_size=BLOCK),
        pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
    )
    table.validate(full=True)  # the reader takes bytes that are not UTF-8
    if any(table[names[name]].null_count for name in columns):
        raise pa.ArrowInvalid("a column that is named is not everywhere")
    return shaped(table, layout, names)


def read_parquet(path: Path, layout: Layout, columns: dict[str, str]) -> pa.Table:
    with open_parquet(path) as file:
        chosen = layout.check_columns(str(path), file.schema_arrow.names, columns)
        table = file.read(columns=list(chosen.values()))
    return typed(table, layout, chosen, str(path))


def typed(table: pa.Table, layout: Layout, chosen: dict[str, str], where: str) -> pa.Table:
    """A table's chosen columns in the types of the layout, whole numbers as texts where ids are.

    Raises InputError for a column of a type that cannot be meant, and what pyarrow raises for a value.
    """
    for field in layout.fields:
        if field.name in chosen:
            place = table.schema.get_field_index(chosen[field.name])
            given = table.schema.field(place).type
            if field.type == pa.string() and not is_id_type(given):
                name = chosen[field.name]
                hint = f'; in pandas: [{name!r}].astype("Int64").astype(str)' if pa.types.is_floating(given) else ""
                raise InputError(
                    f"{where}: column {name!r} is of type {given}: {field.name} must be text or a whole number{hint}"
                )
            if pa.types.is_boolean(given):
                raise InputError(
                    f"{where}: column {chosen[field.name]!r} is of type bool: {field.name} must be a number"
                )
            table = table.set_column(place, chosen[field.name], pc.cast(table[place], field.type))
    table.validate(full=True)  # a writer may have put bytes there that are not UTF-8
    return shaped(table, layout, chosen)


def is_id_type(given: pa.DataType) -> bool:
    if pa.types.is_dictionary(given):
        given = given.value_type
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary)
    return pa.types.is_integer(given) or any(is_kind(given) for is_kind in kinds)


def holds_byte_below(limit: int, chunk: pa.Array) -> bool:
    """Whether any text in it has such a byte: one look at the bytes of all of them."""
    text = chunk.buffers()[2]
    return text is not None and bool((np.frombuffer(text, dtype=np.uint8) < limit).any())


def breaks_text_rule(column: pa.ChunkedArray, *, spaces: bool) -> bool:
    """Whether a text is empty or holds a control character, which tells of lost quotes (or of white space)."""
    chunks = column.chunks
    if pa.types.is_dictionary(column.type):
        chunks = [chunk.dictionary for chunk in chunks]
    return any(
        pc.any(pc.equal(pc.binary_length(chunk), 0)).as_py() or holds_byte_below(33 if spaces else 32, chunk)
        for chunk in chunks
    )


def breaks_a_rule(table: pa.Table, *, spaces: bool) -> bool:
    """Whether a value is missing, empty, not finite or suspicious; a column that may be absent is not.

    spaces: that white space in a text is suspicious too.
    """
    optional = ("score", "rank", "text", "weight", "metric_hash")
    absent = [name for name in optional if name in table.column_names and is_null(table[name])]
    if {"score", "rank"} <= set(absent):
        return True
    for name in table.column_names:
        column = table[name]
        if name in absent:
            continue
        if column.null_count:
            return True
        if pa.types.is_floating(column.type):
            if not pc.all(pc.is_finite(column)).as_py():
                return True
        elif not pa.types.is_integer(column.type) and breaks_text_rule(column, spaces=spaces):
            return True
    return False


def is_null(column: pa.ChunkedArray) -> bool:
    return bool(column.null_count == len(column))
