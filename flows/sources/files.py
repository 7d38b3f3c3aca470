"""Files: TREC, CSV, TSV, JSON Lines and Parquet, plain or gzipped.

Two ways through a file.  The fast one is pyarrow's own readers, which use every core; it must give a clean
table.  Where it gives up, or gives something that breaks a rule, `rows` reads the file again record by
record: it accepts what is only unusual, and names the line of what is wrong.
"""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.json as pajson
import pyarrow.parquet as papq

from flows.errors import InputError
from flows.sources.layout import Layout
from flows.sources.rows import read_rows

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
GZIP_MAGIC = b"\x1f\x8b"
BLOCK = 1 << 22  # bytes that one thread parses at a time


def format_of(path: Path) -> str:
    """The format by the file's name; anything without a telling ending is TREC text."""
    name = path.name.lower().removesuffix(".gz")
    return SUFFIXES.get(Path(name).suffix, "trec")


def read_file(path: Path, layout: Layout, file_format: str | None, columns: dict[str, str]) -> pa.Table:
    """The file's table in the columns of `layout` (absent optional ones are null).

    columns maps a field to the file's name for it.  Raises InputError for anything that breaks a rule.
    """
    if not path.exists():
        raise InputError(f"{path}: there is no such file")
    if not path.is_file():
        raise InputError(f"{path}: is not a file")
    file_format = file_format or format_of(path)
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty")
    if file_format == "trec" and layout.trec is None:
        raise InputError(f"{path}: a file of queries must be csv, tsv, jsonl or parquet, by its name or its format")
    if file_format == "trec" and columns:
        raise InputError(f"{path}: columns cannot be mapped in a TREC file; say its format if it is another one")
    try:
        table = read_fast(path, layout, file_format, columns)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, pa.ArrowKeyError, gzip.BadGzipFile):
        table = None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    if table is None or breaks_a_rule(table, spaces=file_format == "trec"):
        table = read_rows(path, layout, file_format, columns)
    if table.num_rows == 0:
        raise InputError(f"{path}: there is no {layout.kind} in the file")
    return table


def read_fast(path: Path, layout: Layout, file_format: str, columns: dict[str, str]) -> pa.Table:
    if file_format == "trec":
        return read_trec(path, layout)
    if file_format == "parquet":
        return read_parquet(path, layout, columns)
    if file_format == "jsonl":
        return read_jsonl(path, layout, columns)
    return read_delimited(path, layout, "," if file_format == "csv" else "\t", columns)


def is_gzipped(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == GZIP_MAGIC


def open_stream(path: Path) -> pa.NativeFile:
    return pa.input_stream(str(path), compression="gzip" if is_gzipped(path) else None)


def first_line(path: Path) -> bytes:
    with gzip.open(path) if is_gzipped(path) else path.open("rb") as file:
        return file.readline(1 << 20)


def arrow_types(layout: Layout, chosen: dict[str, str]) -> dict[str, pa.DataType]:
    """Types for the reader; queries repeat on many lines and are kept once each."""
    types = {chosen[field.name]: field.type for field in layout.fields if field.name in chosen}
    if layout.kind == "ranking":
        types[chosen["query_id"]] = pa.dictionary(pa.int32(), pa.string())
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
        with gzip.open(path) if is_gzipped(path) else path.open("rb") as file:
            table = parse_trec(pa.BufferReader(evened(file.read())), layout, " ")
    return table


def evened(text: bytes) -> bytes:
    """The text with every run of white space inside a line as one space, and none at its ends."""
    text = text.translate(bytes.maketrans(b"\t\v\f\r", b"    "))
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    return text.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def parse_trec(stream: pa.NativeFile, layout: Layout, delimiter: str) -> pa.Table:
    assert layout.trec is not None
    places, width = layout.trec
    names = [f"unused_{place}" for place in range(width)]
    for name, place in places.items():
        names[place] = name
    chosen = {name: name for name in places}
    table = pacsv.read_csv(
        stream,
        pacsv.ReadOptions(column_names=names, block_size=BLOCK),
        pacsv.ParseOptions(delimiter=delimiter, quote_char=False, ignore_empty_lines=True),
        convert_options(layout, chosen),
    )
    return shaped(table, layout, chosen)


def convert_options(layout: Layout, chosen: dict[str, str]) -> pacsv.ConvertOptions:
    return pacsv.ConvertOptions(
        column_types=arrow_types(layout, chosen),
        include_columns=list(chosen.values()),
        null_values=[],
        strings_can_be_null=False,
    )


def read_delimited(path: Path, layout: Layout, delimiter: str, columns: dict[str, str]) -> pa.Table:
    parse = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=True)
    with pacsv.open_csv(open_stream(path), pacsv.ReadOptions(block_size=BLOCK), parse) as reader:
        found = list(reader.schema.names)
    chosen = layout.check_columns(str(path), found, columns)
    options = convert_options(layout, chosen)
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
    optional = [field.name for field in layout.fields if not field.required and field.name not in columns]
    absent = [name for name in optional if table[names[name]].null_count == table.num_rows]
    chosen = {name: column for name, column in names.items() if name not in absent}
    if len(optional) > 0 and len(absent) == len(optional):
        layout.check_columns(str(path), list(chosen.values()), columns)
    return shaped(table, layout, chosen)


def read_parquet(path: Path, layout: Layout, columns: dict[str, str]) -> pa.Table:
    try:
        found = papq.read_schema(path).names
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}: is not a Parquet file: {error}") from None
    chosen = layout.check_columns(str(path), found, columns)
    table = papq.read_table(path, columns=list(chosen.values()))
    for field in layout.fields:
        if field.name in chosen:
            place = table.schema.get_field_index(chosen[field.name])
            given = table.schema.field(place).type
            if field.type == pa.string() and not is_id_type(given):
                raise InputError(
                    f"{path}: column {chosen[field.name]!r} is of type {given}:"
                    f" {field.name} must be text or a whole number"
                )
            table = table.set_column(place, chosen[field.name], pc.cast(table[place], field.type))
    return shaped(table, layout, chosen)


def is_id_type(given: pa.DataType) -> bool:
    if pa.types.is_dictionary(given):
        given = given.value_type
    return bool(pa.types.is_string(given) or pa.types.is_large_string(given) or pa.types.is_integer(given))


def holds_blank(chunk: pa.Array) -> bool:
    """Whether any text in it has a byte up to 32 (white space): one look at the bytes of all of them."""
    text = chunk.buffers()[2]
    return text is not None and bool((np.frombuffer(text, dtype=np.uint8) <= 32).any())


def breaks_a_rule(table: pa.Table, *, spaces: bool) -> bool:
    """Whether a value is missing, empty, not finite or (in TREC text) holds white space."""
    for name in table.column_names:
        column = table[name]
        if column.null_count == len(column) and name in ("score", "rank"):
            continue
        if column.null_count:
            return True
        if pa.types.is_floating(column.type):
            if not pc.all(pc.is_finite(column)).as_py():
                return True
        elif not pa.types.is_integer(column.type):
            values = column
            if pa.types.is_dictionary(column.type):
                values = pa.chunked_array([chunk.dictionary for chunk in column.chunks] or [pa.array([], pa.string())])
            if pc.any(pc.equal(pc.binary_length(values), 0)).as_py():
                return True
            if spaces and any(holds_blank(chunk) for chunk in values.chunks):
                return True
    return False
