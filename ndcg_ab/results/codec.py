"""Convert records to JSON and table rows and back, by one rule for all dataclasses.

Unknown keys are ignored when reading. `SCHEMA` is written beside the records (docs/json.md).
"""

import dataclasses
import enum
import json
import types
import typing
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

import pyarrow as pa
from pydantic import BaseModel

from ndcg_ab.results.ledger import LedgerRow
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import ELSEWHERE, ExternalMetric, parse
from ndcg_core.statistics.verdicts.comparison import Comparison

SCHEMA = 1
# What is written beside the fields, for readers, and made again from the fields when it is read: field -> it follows.
COMPUTED: dict[type, dict[str, str]] = {Comparison: {"verdict": "mde"}, LedgerRow: {"reasons": "left_out"}}
FLAT = frozenset(["descriptive"])  # fields whose record's columns go by their own names
COLUMN_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
PLAIN = frozenset([str, int, float, bool])  # of which JSON has its own: most of what is in a record


@cache
def field_types(record: type) -> dict[str, Any]:
    return typing.get_type_hints(record)


def encode(value: Any) -> Any:
    """Convert a record, or a value of a record, to content for JSON: dictionaries, lists, texts and numbers."""
    if value is None or type(value) in PLAIN:
        return value
    if isinstance(value, Metric):
        return {"name": value.name, "hash": value.hash, "definition": value.definition}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        following = {before: name for name, before in COMPUTED.get(type(value), {}).items()}
        content: dict[str, Any] = {}
        for field in dataclasses.fields(value):
            content[field.name] = encode(getattr(value, field.name))
            if field.name in following:
                content[following[field.name]] = encode(getattr(value, following[field.name]))
        return content
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, tuple | list):
        return [encode(each) for each in value]
    if isinstance(value, dict):
        return {key: encode(each) for key, each in value.items()}
    return value


def decode(kind: Any, value: Any) -> Any:
    """Restore a value from the content that `encode` made of it.

    kind: the type of the value. Raises KeyError, TypeError or ValueError for content that does not fit.
    """
    if value is None or kind is Any:
        return value
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return decode(next(each for each in inner if each is not type(None)), value)
    if origin is tuple:
        return tuple(decode(inner[0], each) for each in value)
    if not isinstance(kind, type):
        return value
    if kind is Metric:
        tool = value.get("definition", {}).get("computed")
        if tool is None:
            return parse(value["name"])
        return ExternalMetric(external_name=value["name"], tool="" if tool == ELSEWHERE else tool)
    if issubclass(kind, BaseModel):
        return kind(**value)
    if hasattr(kind, "from_dict"):
        return kind.from_dict(value)
    if dataclasses.is_dataclass(kind):
        fields = [field for field in dataclasses.fields(kind) if field.name in value or is_required(field)]
        return kind(**{field.name: decode(field_types(kind)[field.name], value[field.name]) for field in fields})
    if issubclass(kind, enum.Enum):
        return kind(value)
    return datetime.fromisoformat(value) if kind is datetime else value


def json_text(content: Mapping[str, Any]) -> str:
    """Return content as JSON text that begins with the version `SCHEMA`; raise ValueError for a number not finite."""
    return json.dumps({"schema": SCHEMA, **content}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def is_required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


# ---- rows of tables


@cache
def column_types(record: type) -> dict[str, pa.DataType]:
    """Return {column: Arrow type} for a table of records of one type.

    Each field is a column. A list of texts becomes one text; lists of records are left out. The fields of a nested
    record are columns whose names begin with the name of the field that holds it: ``clusters_count``.
    """
    found: dict[str, pa.DataType] = {}
    for field in dataclasses.fields(record):
        kind = field_types(record)[field.name]
        if typing.get_origin(kind) in (typing.Union, types.UnionType):
            kind = next(each for each in typing.get_args(kind) if each is not type(None))
        if typing.get_origin(kind) is tuple:
            if typing.get_args(kind)[0] is str:
                found[field.name] = pa.string()
        elif dataclasses.is_dataclass(kind):
            found |= {nested_name(field.name, name): of for name, of in column_types(typing.cast(type, kind)).items()}
        elif isinstance(kind, type):
            found[field.name] = pa.string() if issubclass(kind, enum.Enum) else COLUMN_TYPES.get(kind, pa.string())
        for name, before in COMPUTED.get(record, {}).items():
            if before == field.name:
                found[name] = pa.string()
    return found


def nested_name(field: str, name: str) -> str:
    """Return the column for the field `name` of a nested record, which is the field `field` of the outer record."""
    return name if field in FLAT else f"{field}_{name}"


def record_row(record: Any) -> dict[str, Any]:
    """Convert a record to a table row with the columns of `column_types`."""
    row: dict[str, Any] = {}
    kind: type = type(record)
    types = column_types(kind)
    for name, value in encode(record).items():
        if isinstance(value, dict):
            inside: type = type(getattr(record, name))
            inner_types = column_types(inside)
            row |= {nested_name(name, inner): each for inner, each in value.items() if inner in inner_types}
        elif name in types:
            row[name] = "; ".join(value) if isinstance(value, list) else value
    return row


def records_table(records: Iterable[Any], kind: type | Mapping[str, pa.DataType], **constants: Any) -> pa.Table:
    """Make a table of records of one type, or of rows as dictionaries.

    kind: the type of the records, or column -> Arrow type. constants: leading columns, with one value in all rows.
    """
    first = {name: pa.int64() if isinstance(value, int) else pa.string() for name, value in constants.items()}
    schema = pa.schema(first | (column_types(kind) if isinstance(kind, type) else dict(kind)))
    rows = (record if isinstance(record, dict) else record_row(record) for record in records)
    return pa.Table.from_pylist([constants | row for row in rows], schema=schema)
