"""UBI's events as JSON Lines: objects in objects.

The lines that an engine takes in bulk are read, too, and those of queries, which have the texts.

A field is at a path of keys with dots between, or under one key that has the dots in its name, or under its last key
alone: the same event, flattened.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.files.file import refuse_no_file
from ndcg_ab.sources.files.records import json_objects
from ndcg_ab.sources.forms.json.user_events import is_mixed, query_texts, select_events
from ndcg_ab.sources.forms.recognition import format_by_name
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.tables.schema import LONGEST_ID, MOST_RANK, Field, is_plain_number, read_value

PIECE = 1 << 14  # events that are objects of Python at a time
DEFAULTS = {  # field -> where UBI has it
    "action_name": "action_name",
    "user_query": "user_query",
    "object_id": "event_attributes.object.object_id",
    "ordinal": "event_attributes.position.ordinal",
    "search_id": "query_id",
    "client_id": "client_id",
    "session_id": "session_id",
}
PLACE = pa.int64()
SCHEMA = pa.schema([(name, PLACE if name == "ordinal" else pa.string()) for name in DEFAULTS])
NOWHERE = -1  # the ordinal of an event without a place


def is_json(described: FileSource) -> bool:
    return (described.format or format_by_name(Path(str(described.file)))) == "jsonl"


def json_event_pieces(path: Path, columns: Mapping[str, str]) -> Iterator[pa.Table]:
    """Yield the events of a file, some at a time, in the columns of `SCHEMA`: "" for a missing text, -1 for a place.

    columns: field -> the path of its keys. Raises InputError with the line of what breaks a rule.
    """
    refuse_no_file(path)
    placed = placed_objects(path)
    if is_mixed(Sample.of_file(path)):
        placed = select_events(placed, query_texts(placed_objects(path)))
    fields = [
        (
            Field(columns.get(name, at), PLACE if name == "ordinal" else pa.string(), required=name == "action_name"),
            ways(name, columns),
        )
        for name, at in DEFAULTS.items()
    ]
    has_events = False
    while rows := list(islice(placed, PIECE)):
        has_events = True
        yield pa.table(
            [
                [event_value(field, find_value(row, paths, where), where) for where, row in rows]
                for field, paths in fields
            ],
            schema=SCHEMA,
        )
    if not has_events:
        raise InputError(f"{path}: there is no event in the file")


def ways(field: str, columns: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return the paths at which a field may be; the first that has a value counts."""
    path = columns.get(field, DEFAULTS[field])
    return list(dict.fromkeys([tuple(path.split(".")), (path,), (path if field in columns else field,)]))


def placed_objects(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each object of a file with its place."""
    line, entry = f"{path}, line ", f"{path}, "
    try:
        for place, row in json_objects(path):
            yield f"{entry if isinstance(place, str) else line}{place}", row
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


def find_value(event: Mapping[str, Any], paths: list[tuple[str, ...]], where: str) -> Any:
    """Return the first value that is there; raise InputError if a key on the way leads to no object."""
    for path in paths:
        here: Any = event
        for key in path:
            if not isinstance(here, dict):
                name = ".".join(path[: path.index(key)])
                raise InputError(f"{where}: {name} = {format_value(here)}: must be an object with the key {key!r}")
            here = here.get(key)
            if here is None:
                break
        else:
            return here
    return None


def event_value(field: Field, value: Any, where: str) -> Any:
    """Return a value as its field's type; raise InputError if it breaks a rule."""
    if field.type is PLACE:
        if type(value) is int and 0 <= value < MOST_RANK:
            return value
        if value in (None, ""):
            return NOWHERE
        if is_plain_number(text := str(value).strip()) and MOST_RANK <= float(text) < math.inf:
            return MOST_RANK  # which is left out, however it is written
        if (found := cast(int, read_value(field, value, where))) < 0:
            raise InputError(
                f"{where}: {field.name} = {format_value(value)}: must be 0 or more: UBI counts places from 0"
            )
        return found
    if type(value) is str and 0 < len(value) <= LONGEST_ID and value.isprintable():
        return value  # as nearly all are: no rule needs a closer look
    return "" if value in (None, "") and not field.required else read_value(field, value, where)
