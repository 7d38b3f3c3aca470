"""Read a file record by record, reporting the line of everything that breaks a rule.

Most functions yield `Records`: (location such as ``line 7``, record by field).
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from ndcg_ab.config.loading.hints import utf8_command
from ndcg_ab.errors import InputError, error_text, format_value, shorten
from ndcg_ab.files import name_path_in_errors
from ndcg_ab.sources.base import MOST_EXAMPLES, Remark, RemarkCounter, remarks_metadata
from ndcg_ab.sources.files.streams import DECODER, LONGEST_LINE, LongLineError, line_blocks, split_fields, split_lines
from ndcg_ab.sources.files.unpacking import is_packed, open_bytes, open_table, read_checked_batches
from ndcg_ab.sources.forms.form import Reading, Records
from ndcg_ab.sources.forms.plausible import NAMES, NO_GRADE, bare_name, is_plain_number
from ndcg_ab.sources.forms.sample import DELIMITER_LINE
from ndcg_ab.sources.tables.on_disk import IN_MEMORY, TableWriter, read_batches
from ndcg_ab.sources.tables.schema import (
    JUDGMENT,
    Layout,
    SayColumns,
    check_types,
    columns_option,
    names_text,
    read_value,
)

PIECE = 1 << 16  # rows
COMMENT = "#"  # begins a line of TREC that is none of its rows
TAB = "\t"
FORMAT = {"judgment": "--judgments-format", "ranking": "--format"}
KNOWN_NAMES = frozenset(chain.from_iterable(NAMES.values()))


def read_rows(path: Path, layout: Layout, reading: Reading, writer: TableWriter = IN_MEMORY) -> Any:
    """Read a file record by record and return its table; raise InputError with the first line that breaks a rule.

    The ranks of a TREC ranking are dropped if one of them is no number.
    """
    is_trec, tags = reading.format == "trec", dict[str, int]()
    unread, comments = RemarkCounter("unread_rank"), RemarkCounter("comment_line")

    def located() -> Records:
        for row, (location, record) in enumerate(read_records(path, layout, reading, comments.add), 1):
            if is_trec and "tag" in record:
                tags.setdefault(record.pop("tag"), row)
            if is_trec and "score" in record and not is_plain_number(record.get("rank", "0")):
                unread.add(f"{path}, {location}: rank {format_value(record['rank'])}")
                record["rank"] = "0"
            yield f"{path}, {location}", record

    def remarks() -> list[Remark]:
        return [*unread.remarks(), *comments.remarks(), *tag_remarks(path, tags)]

    table = gather_records(located(), layout, writer, remarks)
    if not unread.count:
        return table
    names, schema = layout.schema.names, layout.schema
    at = names.index("rank")
    pieces = (
        piece.set_column(at, "rank", pa.nulls(len(piece), schema.types[at])) for piece in read_batches(table, names)
    )
    return writer.rewrite(table, pieces, schema)


def gather_records(
    records: Records,
    layout: Layout,
    writer: TableWriter = IN_MEMORY,
    remarks: Callable[[], Sequence[Remark]] = tuple,
) -> Any:
    """Return the table of (location, {field: value}) pairs.

    Judgments without a grade are left out and counted in a remark. remarks: returns further remarks; it is called after
    the last record. Raises InputError for the first record that breaks a rule.
    """
    unrated = RemarkCounter("unrated_row")
    if layout.kind == JUDGMENT.kind:
        records = rated_rows(records, unrated, layout.words)
    pieces = record_pieces(records, layout)
    return writer.write(pieces, layout.schema, lambda: remarks_metadata([*remarks(), *unrated.remarks()]))


def records_table(records: Records, layout: Layout) -> pa.Table:
    """Return the table of (location, {field: value}) pairs.

    Raises InputError for the first record that breaks a rule.
    """
    return pa.concat_tables(record_pieces(records, layout))


def record_pieces(records: Records, layout: Layout) -> Iterator[pa.Table]:
    """Yield tables of `PIECE` records each, and at least one table.

    The tables are small because Python objects take far more memory than Arrow. Raises InputError for the first record
    that breaks a rule.
    """
    values: dict[str, list[Any]] = {field.name: [] for field in layout.fields}
    present: tuple[str, ...] | None = None
    unseen = {field.name for field in layout.fields if field.may_lack and not isinstance(field.blank, str)}

    def piece() -> pa.Table:
        """Return the collected values as a table; a numeric column is null if no record has had a value so far."""
        return pa.table({name: [None] * len(each) if name in unseen else each for name, each in values.items()}, schema)

    schema = layout.schema
    for row, (where, record) in enumerate(records, 1):
        unseen.difference_update(record)
        names = tuple(field.name for field in layout.fields if field.required or record.get(field.name) is not None)
        if present is None:
            if layout.kind == "ranking" and not {"score", "rank"} & set(names):
                raise InputError(f"{where}: score is missing: a ranking needs a score, a rank, or both in every row")
            present = names
        for field in layout.fields:
            if field.may_lack or field.name in present:
                values[field.name].append(read_value(field, record.get(field.name), where))
            elif field.name in names:
                raise InputError(f"{where}: {shorten(field.name)} appears here, but not in the rows before it")
            else:
                values[field.name].append(None)
        if row % PIECE == 0:
            yield piece()
            values = {field.name: [] for field in layout.fields}
    yield piece()


def read_records(
    path: Path, layout: Layout, reading: Reading, comment: Callable[[str], object] = lambda location: None
) -> Records:
    """Yield (location, {field: value}) for each record of a file; the location is such as ``line 7``.

    comment: receives the location of each comment line, which is left out.
    """
    if reading.records is not None:
        with prefix_errors(str(path)):
            yield from reading.records(text_lines(path) if reading.format == "lines" else load_document(path))
    elif reading.format == "trec":
        yield from trec_records(path, layout, reading.names, comment)
    elif reading.format == "jsonl":
        yield from object_records(str(path), json_objects(path), layout, reading.columns)
    elif reading.format == "parquet":
        before = 0
        with explain_broken_parquet(path):
            for batch, chosen in parquet_batches(path, layout, reading):
                yield from table_rows(pa.Table.from_batches([batch]), chosen, "row", before)
                before += batch.num_rows
    else:
        yield from delimited_records(path, layout, reading)


def text_lines(path: Path, longest: int | None = LONGEST_LINE) -> Iterator[tuple[int, str]]:
    """Yield (number, line with its end) of a text file, compressed or not.

    longest: the most bytes of a line; None: any number. Raises InputError for a line that is too long, is not UTF-8, or
    holds a zero byte.
    """
    number = 0
    try:
        with name_path_in_errors(path), open_bytes(path) as file:
            blocks = line_blocks(file, longest)
            for number, raw in enumerate(chain.from_iterable(block.splitlines(keepends=True) for block in blocks), 1):
                if longest is not None and len(raw) > longest:
                    raise LongLineError
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    bad = raw[error.start : error.start + 1]
                    raise InputError(
                        f"{path}, line {number}: byte {bad!r} is not UTF-8 text: {utf8_command(raw)}"
                    ) from None
                if "\0" in line:
                    hint = f" ({utf8_command(raw)})" if number == 1 else ""
                    raise InputError(f"{path}, line {number}: holds a zero byte: not a text file{hint}")
                yield number, DELIMITER_LINE.sub("", line) if number == 1 else line
    except LongLineError:
        raise InputError(
            f"{path}: the line after line {number} is longer than {LONGEST_LINE:,} bytes: lines must be shorter;"
            " are its line ends lost, or is it of another format?"
        ) from None


def trec_records(path: Path, layout: Layout, names: Sequence[str], comment: Callable[[str], object]) -> Records:
    width = len(names)
    fields = {field.name for field in layout.fields} | ({"tag"} if layout.kind == "ranking" else set())
    indices = {name: index for index, name in enumerate(names) if name in fields}
    shapes = {"judgment": "query_id 0 doc_id grade", "ranking": "query_id Q0 doc_id rank score tag"}
    shape = shapes.get(layout.kind, "query_id")
    first = True
    for number, line in text_lines(path):
        parts = split_fields(line)
        if not parts:
            continue
        if parts[0].startswith(COMMENT) and not is_row(parts, indices, width):
            comment(f"{path}, line {number}")
            continue
        if first and not is_row(parts, indices, width) and sum(bare_name(part) in KNOWN_NAMES for part in parts) > 1:
            rule = "a TREC file has none: take the line away"
            raise InputError(f"{path}, line {number}: {format_value(line.strip())} is a header, and {rule}")
        if len(parts) != width:
            is_cut = not first and not line.endswith(("\n", "\r"))
            option = f": {FORMAT[layout.kind]} FORMAT" if layout.kind in FORMAT else ""
            other = f"if the file is of another format, say which{option}"
            hint = "it has no line end: is the file cut short?" if is_cut else other
            raise InputError(
                f"{path}, line {number}: {len(parts)} field{'s' * (len(parts) != 1)} ({format_value(line.strip())}),"
                f" a TREC {layout.kind} has {width} ({shape}); {hint}"
            )
        first = False
        yield f"line {number}", {name: parts[index] for name, index in indices.items()}


def is_row(parts: Sequence[str], indices: Mapping[str, int], width: int) -> bool:
    """Return whether a line of TREC text is a row, and not a comment or a header.

    A row has `width` fields, and numbers as grade and score. It may begin with #, since a query id may. parts: the
    fields of the line. indices: name of a field -> index in `parts`.
    """
    numbers = [parts[index] for name, index in indices.items() if name in ("grade", "score") and index < len(parts)]
    return len(parts) == width and parts[0] != COMMENT and all(map(is_plain_number, numbers))


def delimited_records(path: Path, layout: Layout, reading: Reading) -> Records:
    lines = (line for _, line in text_lines(path))
    reader = csv.reader(lines, delimiter=reading.delimiter, strict=True)
    start = 1
    header = list(reading.names)
    chosen = layout.check_columns(str(path), header, dict(reading.columns)) if header else {}
    numbers = {field.name for field in layout.fields if field.type != pa.string()} if reading.decimal != "." else set()
    try:
        for parts in reader:
            number, start = start, reader.line_num + 1
            if len(parts) < 2 and not "".join(parts).strip():
                continue
            if not header:
                header = parts
                chosen = layout.check_columns(str(path), header, dict(reading.columns))
                continue
            if len(parts) != len(header):
                raise InputError(
                    f"{path}, line {number}: {len(parts)} field{'s' * (len(parts) != 1)},"
                    f" {'the first line has' if reading.names else 'the header names'} {len(header)}"
                    f" ({names_text(header)})"
                )
            row = dict(zip(header, parts, strict=True))
            record = {name: row[column] for name, column in chosen.items()}
            record |= {name: record[name].replace(reading.decimal, ".") for name in numbers & {*record}}
            yield f"line {number}", record
    except csv.Error as error:
        raise InputError(
            f"{path}, line {start}: cannot be read as {'TSV' if reading.delimiter == TAB else 'CSV'}: {error};"
            " put a field that contains a quote into quotes, and double its own quotes"
        ) from None


def object_records(
    name: str, objects: Records, layout: Layout, columns: Mapping[str, str], say: SayColumns = columns_option
) -> Records:
    """Yield (location, {field: value}) for each JSON object, with the object's keys mapped to fields.

    name: the file or argument, for messages. columns: field -> key. say: writes the hint on how to map columns. Raises
    InputError if an object lacks the key of a required field.
    """
    mapped, chosen = dict(columns), dict[str, str]()
    keys: tuple[str, ...] = ()
    for location, row in objects:
        if tuple(row) != keys:  # most rows have the keys of the row before
            is_first, keys = not keys, tuple(row)
            chosen = layout.check_columns(f"{name}, {location}", list(keys), mapped, say)
            if is_first:
                mapped |= {field: name for field, name in chosen.items() if field != name}
        yield location, {name: row[column] for name, column in chosen.items()}


def json_objects(path: Path) -> Records:
    """Yield (location, object) for each object in JSON Lines or in one JSON list.

    Raises InputError if the file holds anything else.
    """
    lines = ((number, line) for number, line in text_lines(path, None) if line.strip())
    first = next(lines, None)
    if first and first[1].lstrip().startswith("["):
        yield from listed_objects(str(path), load_document(path))
        return
    for number, line in chain([first] if first else [], lines):
        yield f"line {number}", json_row(path, number, line)


def listed_objects(name: str, entries: Iterable[Any]) -> Records:
    """Yield (location, object) for each object in a list; raise InputError for an entry that is no object.

    name: the file or argument, for messages.
    """
    for number, row in enumerate(entries, 1):
        if not isinstance(row, Mapping):
            raise InputError(f"{name}, entry {number}: {format_value(row)}: every entry of the list must be an object")
        yield f"entry {number}", dict(row)


@contextmanager
def prefix_errors(location: str) -> Iterator[None]:
    """Put a location in front of the message of each InputError raised in the block.

    A message that begins with the location already is not changed.
    """
    try:
        yield
    except InputError as error:
        raise error if str(error).startswith(location) else type(error)(f"{location}: {error}") from None


def load_document(path: Path) -> Any:
    """Return the value of a JSON document, or a list of the values if the file holds JSON Lines.

    Raises InputError if the file holds anything else.
    """
    text = "".join(line for _, line in text_lines(path, None))
    rows = split_lines(text) if text.lstrip().startswith("{") else []
    try:
        return parse_json(str(path), text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and error.lineno > 1 and rows:
            return [json_row(path, number, line) for number, line in enumerate(rows, 1) if line.strip()]
        raise InputError(f"{path}, line {error.lineno}: is not JSON ({error.msg} at character {error.colno})") from None


def parse_json(where: str, text: str) -> Any:
    """Return the value of a JSON text.

    Raises JSONDecodeError if the text is not JSON, and InputError if it is JSON with a repeated key, deep nesting or a
    number of thousands of digits. where: the location, for messages.
    """
    try:
        return DECODER.decode(text)
    except json.JSONDecodeError as error:  # "Unterminated string starting at": the character follows
        raise json.JSONDecodeError(error.msg.removesuffix(" at"), error.doc, error.pos) from None
    except (ValueError, RecursionError) as error:  # a whole number of thousands of digits, and similar
        raise InputError(f"{where}: cannot be read as JSON: {error}") from None


def json_row(path: Path, number: int, line: str) -> dict[str, Any]:
    where, rule = f"{path}, line {number}", "every line must be one JSON object"
    try:
        row = parse_json(where, line)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: is not JSON ({error.msg} at character {error.pos + 1}); {rule}") from None
    if not isinstance(row, dict):
        raise InputError(f"{where}: {format_value(line.strip())}: {rule}")
    return row


@contextmanager
def explain_broken_parquet(path: Path, problem: str = "the Parquet file is broken, write it again") -> Iterator[None]:
    """Raise the errors of the Parquet library in the block as an InputError that names the file.

    An InputError or PermissionError is passed on unchanged. problem: the clause of the message that states the problem.
    """
    try:
        yield
    except (InputError, PermissionError):
        raise
    except Exception as error:  # a broken file makes it raise nearly anything, down to a wish for petabytes of memory
        raise InputError(f"{path}: {problem}: {error_text(error)}") from None


def parquet_batches(
    path: Path, layout: Layout, reading: Reading, size: int = PIECE
) -> Iterator[tuple[pa.RecordBatch, dict[str, str]]]:
    """Yield the rows of a Parquet or Arrow file in batches of `size` rows, each with the mapping field -> column.

    Raises InputError if the file is broken, or if a column is missing or has a wrong type.
    """
    with explain_broken_parquet(path, "is not a Parquet file"):
        opened = open_table(path)
    with opened as file:
        own = file.schema_arrow
        added = [name for name in reading.values if name not in own.names]
        schema = pa.schema([*own, *(pa.field(name, pa.string()) for name in added)])
        chosen = layout.check_columns(str(path), schema.names, dict(reading.columns))
        check_types(schema, layout, chosen, str(path))
        names = [name for name in chosen.values() if name not in added]
        for batch in read_checked_batches(path, file, names or own.names[:1], size):
            for name in added:
                value = pa.scalar(reading.values[name], pa.string())
                batch = batch.append_column(name, pa.repeat(value, batch.num_rows))
            yield batch, chosen


def parquet_rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return the rows of a batch; if a text is not valid UTF-8, all texts are returned as bytes."""
    try:
        return cast(list[dict[str, Any]], batch.to_pylist())
    except UnicodeDecodeError:
        for index, field in enumerate(batch.schema):
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
                batch = batch.set_column(index, field.name, batch.column(index).cast(pa.binary()))
        return cast(list[dict[str, Any]], batch.to_pylist())


def table_rows(table: pa.Table, chosen: Mapping[str, str], location: str, before: int = 0) -> Records:
    """Yield (location, {field: value}) for each row of a table; the location is such as ``row 7``.

    chosen: field -> column. location: the word for a row, such as ``row``. before: number of rows before the table.
    """
    rows = chain.from_iterable(map(parquet_rows, table.to_batches()))
    for number, row in enumerate(rows, before + 1):
        yield f"{location} {number}", {field: row[column] for field, column in chosen.items()}


# ---- remarks on rows


def tag_remarks(path: Path, first: Mapping[str, int]) -> list[Remark]:
    """Return remarks on several tags in one TREC ranking, which suggest joined rankings or a truncated last line.

    first: tag -> the number of the first row with that tag.
    """
    if len(first) < 2:
        return []
    tags = sorted(first, key=lambda tag: first[tag])
    *others, last = tags
    if ends_inside_a_line(path) and all(tag.startswith(last) for tag in others):
        location = f"{path}, row {first[last]}: tag {format_value(last)}, and no line end"
        remarks = [Remark("truncated_last_line", 1, (location,))]
        return remarks + tag_remarks(path, {tag: first[tag] for tag in others})
    examples = tuple(f"{path}, row {first[tag]}: tag {format_value(tag)}" for tag in tags[:MOST_EXAMPLES])
    return [Remark("several_tags", len(tags), examples)]


def ends_inside_a_line(path: Path) -> bool:
    """Return whether a file does not end with a line end; always False for compressed files."""
    if is_packed(path):
        return False
    with name_path_in_errors(path), path.open("rb") as file:
        file.seek(-1, 2)
        return file.read() not in (b"\n", b"\r")


def rated_rows(records: Records, unrated: RemarkCounter, words: Iterable[tuple[str, float]]) -> Records:
    """Yield (location, {field: value}) for each judgment that has a grade.

    unrated: counts the other judgments, whose grade is empty or a word for "no grade" such as NA. words: the (word,
    grade) pairs of the configuration; a word that has a grade there never means "no grade".
    """
    absent = {*NO_GRADE} - dict(words).keys()
    for where, record in records:
        grade = record.get("grade", 0)
        if grade in (None, b"") or not str(grade).strip() or (isinstance(grade, str) and grade.strip() in absent):
            unrated.add(where)
        else:
            yield where, record
