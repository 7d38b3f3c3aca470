"""Read UBI events from JSON Lines, with the pyarrow reader if all lines are regular, else line by line.

Lines of bulk files of search engines, and lines of queries, which have the texts, are read as well.

A field is found at a path of keys with dots between, under one key with dots in its name, or under the last key of the
path alone (a flattened event).
"""

import math
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson

from ndcg_ab.errors import InputError, format_value, refuse_unreadable
from ndcg_ab.sources.files.file import refuse_unreadable_file
from ndcg_ab.sources.files.records import PIECE, json_objects
from ndcg_ab.sources.files.streams import BLOCK, UnusualError, count_objects, line_blocks
from ndcg_ab.sources.files.unpacking import open_bytes
from ndcg_ab.sources.forms.plausible import is_plain_number
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.user_events import is_bulk_action, is_mixed, is_query, query_texts
from ndcg_ab.sources.tables.columns import UNCLEAR, holds_byte_below, holds_long_text
from ndcg_ab.sources.tables.schema import MOST_RANK, Field, read_value

DEFAULTS = {  # field -> where UBI has it
    "action_name": "action_name",
    "user_query": "user_query",
    "object_id": "event_attributes.object.object_id",
    "ordinal": "event_attributes.position.ordinal",
    "search_id": "query_id",
    "client_id": "client_id",
    "session_id": "session_id",
}
SCHEMA = pa.schema([(name, pa.int64() if name == "ordinal" else pa.string()) for name in DEFAULTS])
NO_ORDINAL = -1  # the ordinal of an event without one


def json_event_pieces(path: Path, columns: Mapping[str, str]) -> Iterator[pa.Table]:
    """Yield the events of a file in tables, in the columns of `SCHEMA`.

    A missing text is empty, and a missing ordinal is -1. columns: field -> its path of keys in an event, with dots
    between. Raise InputError with the line that breaks a rule, and if the file has no event.
    """
    refuse_unreadable_file(path)
    rows = 0
    with refuse_unreadable(path):
        if is_mixed(Sample.of_file(path)):
            yield from read_events_by_line(path, columns, query_texts(located_objects(path)))
            return
        try:
            for piece in read_regular_events(path, columns):
                rows += piece.num_rows
                yield piece
        except UNCLEAR:
            for piece in read_events_by_line(path, columns):  # both ways make one row of each line
                yield (rest := piece.slice(rows))
                rows -= piece.num_rows - rest.num_rows


# ---- by pyarrow


def field_paths(field: str, columns: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return the paths of keys at which a field may be, in the order in which they are tried."""
    path = columns.get(field, DEFAULTS[field])
    return list(dict.fromkeys([tuple(path.split(".")), (path,), (path if field in columns else field,)]))


def nested_type(paths: Mapping[tuple[str, ...], pa.DataType]) -> list[pa.Field]:
    """Return the fields of an Arrow struct that contains every path; paths: path of keys -> type."""
    inner: dict[str, dict[tuple[str, ...], pa.DataType]] = {}
    for path, kind in paths.items():
        inner.setdefault(path[0], {})[path[1:]] = kind
    return [pa.field(key, rest[()] if () in rest else pa.struct(nested_type(rest))) for key, rest in inner.items()]


def read_regular_events(path: Path, columns: Mapping[str, str]) -> Iterator[pa.Table]:
    """Yield the events of a file that has one JSON object on each line; this is the fast way.

    Raise one of the exceptions in `UNCLEAR` if the file must be read line by line, such as for several objects on a
    line or an event that breaks a rule. columns: field -> its path of keys in an event, with dots between.
    """
    identifiers = [pa.string(), pa.int64()]  # the types that ids of documents may have, the one of the last block first
    with open_bytes(path) as file:
        for block in line_blocks(file):
            objects = count_objects(block)
            try:
                piece = parse_block(block, columns, identifiers[0])
            except UNCLEAR:
                identifiers.reverse()
                piece = parse_block(block, columns, identifiers[0])
            if not objects or piece.num_rows != objects:
                raise UnusualError("several objects on a line, or none")
            yield piece


def parse_block(block: bytes, columns: Mapping[str, str], identifiers: pa.DataType) -> pa.Table:
    """Return the events of a block of complete lines, in the columns of `SCHEMA`.

    identifiers: the Arrow type of document ids in the block. Raise one of the exceptions in `UNCLEAR` if the block must
    be read line by line.
    """
    kinds = {"ordinal": pa.int64(), "object_id": identifiers}
    paths = {way: kinds.get(field, pa.string()) for field in DEFAULTS for way in field_paths(field, columns)}
    options = pajson.ParseOptions(pa.schema(nested_type(paths)), False, "ignore")
    rows = pajson.read_json(pa.BufferReader(block), pajson.ReadOptions(block_size=BLOCK // 4), options)
    values = {path: pc.struct_field(rows[path[0]], list(path[1:])) if path[1:] else rows[path[0]] for path in paths}
    table = pa.table({field: pc.coalesce(*map(values.get, field_paths(field, columns))) for field in DEFAULTS})
    table = table.set_column(2, "object_id", table["object_id"].cast(pa.string()))
    if is_irregular(table):
        raise UnusualError("a missing action, a place below 0, or a control character")
    filled = {name: pc.fill_null(table[name], NO_ORDINAL if name == "ordinal" else "") for name in SCHEMA.names}
    return pa.table(filled).cast(SCHEMA)


def is_irregular(table: pa.Table) -> bool:
    """Return whether a row lacks an action, or has a negative ordinal, a very long id or a control character."""
    texts = [chunk for name in table.column_names if name != "ordinal" for chunk in table[name].chunks]
    return (
        table["action_name"].null_count > 0
        or bool(pc.any(pc.equal(table["action_name"], "")).as_py())
        or bool(pc.any(pc.less(table["ordinal"], 0)).as_py())
        or any(holds_byte_below(32, chunk) for chunk in texts)
        or holds_long_text(table["object_id"])
    )


# ---- line by line


def located_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (location, object) for each JSON object of a file, with the file in the location."""
    for location, row in json_objects(path):
        yield f"{path}, {location}", row


def read_events_by_line(
    path: Path, columns: Mapping[str, str], texts: Mapping[str, str] | None = None
) -> Iterator[pa.Table]:
    """Yield the events of a file in tables, read line by line.

    columns: field -> its path of keys in an event, with dots between.
    texts: query_id -> text if the file also has other lines than events: queries, and actions of a search engine's bulk
        format. These lines are skipped, and an event without a text gets the text of its query. None if all lines are
        events.
    Raise InputError with the line that breaks a rule, and if the file has no event.
    """
    fields = {
        name: Field(columns.get(name, index), SCHEMA.field(name).type, required=name == "action_name")
        for name, index in DEFAULTS.items()
    }

    def event_rows() -> Iterator[dict[str, Any]]:
        for where, event in located_objects(path):
            if texts is None or not (is_bulk_action(event) or is_query(event)):
                values = {name: find_value(event, field_paths(name, columns), where) for name in fields}
                row = {name: event_value(field, values[name], where) for name, field in fields.items()}
                row["user_query"] = row["user_query"] or (texts or {}).get(row["search_id"], "")
                yield row

    rows = event_rows()
    pieces = iter(lambda: list(islice(rows, PIECE)), [])
    if not (first := next(pieces, [])):
        raise InputError(f"{path}: there is no event in the file")
    yield from (pa.Table.from_pylist(piece, SCHEMA) for piece in chain([first], pieces))


def find_value(event: Mapping[str, Any], paths: list[tuple[str, ...]], where: str) -> Any:
    """Return the first value at one of the paths of keys, or None.

    Raises InputError if a value inside a path is not an object.
    """
    for path in paths:
        here: Any = event
        for depth, key in enumerate(path):
            if here is None:
                break
            if not isinstance(here, dict):
                name = ".".join(path[:depth])
                raise InputError(f"{where}: {name} = {format_value(here)}: must be an object with the key {key!r}")
            here = here.get(key)
        if here is not None:
            return here
    return None


def event_value(field: Field, value: Any, where: str) -> Any:
    is_number = field.type == pa.int64()
    if value in (None, "") and not field.required:
        return NO_ORDINAL if is_number else ""
    if is_number and is_plain_number(text := str(value).strip()) and MOST_RANK <= float(text) < math.inf:
        return MOST_RANK  # which is left out, however it is written
    read = read_value(field, cast(object, value), where)
    if is_number and cast(int, read) < 0:
        raise InputError(f"{where}: {field.name} = {format_value(value)}: must be 0 or more: UBI counts places from 0")
    return read
