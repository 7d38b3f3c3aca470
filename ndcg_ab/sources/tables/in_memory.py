"""Read data in memory: Arrow tables of any library, and dictionaries and lists in the shapes of JSON files.

    {query_id: {doc_id: score}}     [{"query_id": …, "doc_id": …, "grade": …}]     {query_id: text, or {column: value}}

The rules are those of files. Clean data are converted at once; other data are read record by record, which accepts
what is only unusual and reports the row or key of an error.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from ndcg_ab.config.model.inputs.connections import InMemoryFile
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.extensions import translate_foreign_errors
from ndcg_ab.sources.base import Source, join_locations
from ndcg_ab.sources.boundary import BOUNDS, LimitCounter
from ndcg_ab.sources.files.file import ANY_TEXT
from ndcg_ab.sources.files.records import (
    gather_records,
    listed_objects,
    object_records,
    prefix_errors,
    records_table,
    table_rows,
)
from ndcg_ab.sources.files.streams import UnusualError
from ndcg_ab.sources.forms.form import Records
from ndcg_ab.sources.forms.nested import is_list
from ndcg_ab.sources.forms.recognition import choose_reading
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.tables.columns import cast_columns, select_columns, table_if_clean
from ndcg_ab.sources.tables.schema import Layout

IN_DICTIONARIES = {"judgment": "grade", "ranking": "score"}  # kind of table -> field of the number by document
DIRECT = (int, float, np.floating, np.integer)  # numbers that pyarrow takes as they are


def is_table(data: Any) -> bool:
    """Return whether data have the Arrow PyCapsule interface, as tables of pandas, polars and pyarrow do."""
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


def is_readable(data: Any) -> bool:
    """Return whether data are of a supported type: a table, dictionaries or a list."""
    return isinstance(data, Mapping) or is_list(data) or is_table(data)


def to_readable(name: str, data: Any) -> Any:
    """Convert data of other libraries to dictionaries and lists, and return other data unchanged.

    Objects of ranx become dictionaries; lists and iterators of records, such as those of ir_measures, become lists of
    mappings. name: the argument, for messages. Raises InputError if the conversion fails or an iterator has too many
    records.
    """
    if isinstance(data, Mapping) or is_table(data):
        return data
    with translate_foreign_errors(f"{name}: cannot be read"):
        if hasattr(data, "to_dict") and isinstance(content := data.to_dict(), Mapping):
            return dict(content)
        if isinstance(data, Iterator):
            limits, entries = LimitCounter(BOUNDS["extension"], name), []
            for entry in data:
                limits.count(rows=1)
                entries.append(as_mapping(entry))
            return entries
    return [*map(as_mapping, data)] if is_list(data) else data


def as_mapping(entry: Any) -> Any:
    """Return the fields of a named tuple or a dataclass as a mapping; anything else unchanged."""
    if hasattr(entry, "_asdict"):
        return entry._asdict()
    if dataclasses.is_dataclass(entry) and not isinstance(entry, type):
        return {field.name: getattr(entry, field.name) for field in dataclasses.fields(entry)}
    return entry


class InMemorySource(Source):
    """A source that reads a table, dictionaries or a list that was passed as an argument."""

    limits_key = "file"

    def __init__(self, data: InMemoryFile, columns: dict[str, str]) -> None:
        self.origin = data.argument
        self.given = data
        self.columns = columns

    def pull(self, layout: Layout, queries: Mapping[str, str]) -> pa.Table:
        layout.refuse_unknown(self.origin, self.columns)
        return read_in_memory(self.given, layout, self.columns)

    def locate(self, table: pa.Table, layout: Layout, query_id: str, doc_id: str) -> str:
        if not is_table(self.given.data):
            return self.origin
        pairs = zip(table["query_id"].to_pylist(), table["doc_id"].to_pylist(), strict=True)
        rows = [f"row {row}" for row, found in enumerate(pairs, 1) if found == (query_id, doc_id)]
        return f"{self.origin}, {join_locations(rows)}"


def read_in_memory(data: InMemoryFile, layout: Layout, columns: dict[str, str]) -> pa.Table:
    """Return data in memory as a table in the columns of `layout`, with nulls for absent optional columns.

    columns: field -> column name in the data. Raises InputError if the data are empty or break a rule.
    """
    with translate_foreign_errors(f"{data.argument}: cannot be read"):
        table = (read_table if is_table(data.data) else read_nested)(data, layout, columns)
    if table.num_rows == 0:
        raise InputError(f"{data.argument}: there is no {layout.kind} in it")
    return table


# ---- tables


def read_table(data: InMemoryFile, layout: Layout, columns: dict[str, str]) -> pa.Table:
    arrow = arrow_table(data)
    chosen = layout.check_columns(data.argument, arrow.column_names, columns, partial(columns_argument, data.argument))
    part = arrow.select(list(chosen.values()))
    if not part.num_rows:  # whose columns may have no type
        return layout.schema.empty_table()
    table = table_if_clean(lambda: cast_columns(part, layout, chosen, data.argument))
    return gather_records(table_rows(part, chosen, f"{data.argument}, row"), layout) if table is None else table


def columns_argument(argument: str, kind: str, mapping: Mapping[str, str]) -> str:
    """Return the Python argument that maps columns, such as ``columns={'doc_id': 'url'}``, for a message.

    argument: the name of the argument with the data. kind: the kind of table. mapping: field -> column.
    """
    return f"{'columns' if kind == 'ranking' else f'{argument}_columns'}={dict(mapping)}"


def column_names(data: InMemoryFile) -> Sequence[str]:
    """Return the column names of a table or of a list of objects; empty for other data."""
    if is_table(data.data):
        return list(arrow_table(data).schema.names)
    return Sample.of_value(data.argument, data.data).column_names


def arrow_table(data: InMemoryFile) -> pa.Table:
    try:
        if isinstance(data.data, pa.RecordBatchReader):  # which may be without end
            limits = LimitCounter(BOUNDS["extension"], data.argument)
            return pa.Table.from_batches(limits.count_pieces(data.data), data.data.schema)
        return pa.table(data.data)
    except Exception as error:  # whatever the library that made it raises
        reason = " ".join("; ".join(map(str, error.args)).split()) or type(error).__name__
        raise InputError(
            f"{data.argument}: its {type_name(data.data)} cannot be read as an Arrow table: {reason}"
        ) from error


def type_name(data: Any) -> str:
    """Return the name of the type of data for a message, such as ``pandas.DataFrame``."""
    return f"{type(data).__module__.partition('.')[0]}.{type(data).__name__}".removeprefix("builtins.")


# ---- dictionaries and lists


def read_nested(data: InMemoryFile, layout: Layout, columns: dict[str, str]) -> pa.Table:
    """Return dictionaries or lists as a table in the columns of `layout`; columns: field -> key in the data."""
    if not data.data:
        return layout.schema.empty_table()
    if isinstance(data.data, Mapping):
        if layout.kind not in IN_DICTIONARIES:
            return records_by_key(data, layout)
        refuse_duplicate_keys(data)
        table = table_if_clean(lambda: table_of_plain_dictionaries(data.data, layout))
        if table is not None:
            return table
    return gather_records(located_records(data, layout, columns), layout)


def located_records(data: InMemoryFile, layout: Layout, columns: dict[str, str]) -> Records:
    """Yield (location, {field: value}) for each record of dictionaries or lists.

    The location is such as ``judgments, query 'q1', document 'd1'``. columns: field -> key in the data. Raises
    InputError if the data have another kind of content.
    """
    reading = choose_reading(Sample.of_value(data.argument, data.data, columns), layout.kind)
    with prefix_errors(data.argument):
        if reading.records is not None:
            records = reading.records(data.data)
        else:
            objects, mapped = listed_objects(data.argument, data.data), {**reading.columns, **columns}
            records = object_records(data.argument, objects, layout, mapped, partial(columns_argument, data.argument))
        for location, record in records:
            yield f"{data.argument}, {location}", {name: python_number(value) for name, value in record.items()}


def table_of_plain_dictionaries(data: Mapping[Any, Any], layout: Layout) -> pa.Table:
    """Return the table of {query_id: {doc_id: number}}.

    Raises UnusualError if a key is no text or a value is no number; the data must then be read record by record.
    """
    if not all(isinstance(documents, Mapping) for documents in data.values()):
        raise UnusualError("a query without a dictionary")
    doc_ids = list(chain.from_iterable(data.values()))
    values = list(chain.from_iterable(documents.values() for documents in data.values()))
    kinds = set(map(type, values))
    if {*map(type, data), *map(type, doc_ids)} - {str}:
        raise UnusualError("an id that is no text")
    if bool in kinds or not all(issubclass(kind, DIRECT) for kind in kinds):
        raise UnusualError("a value that is no number")
    index = np.repeat(np.arange(len(data), dtype=np.int32), [len(documents) for documents in data.values()])
    columns_by_name = {
        "query_id": pa.DictionaryArray.from_arrays(index, pa.array(list(data), pa.string())).cast(ANY_TEXT),
        "doc_id": pa.array(doc_ids, pa.string()),
        IN_DICTIONARIES[layout.kind]: pa.array(values, pa.float64()),
    }
    if layout.kind == "judgment":
        columns_by_name["query_id"] = columns_by_name["query_id"].cast(pa.string())
    return select_columns(pa.table(columns_by_name), layout, {name: name for name in columns_by_name})


def records_by_key(data: InMemoryFile, layout: Layout) -> pa.Table:
    """Return a table with one row per key of a dictionary; the key is the id of the row.

    Each value is a mapping column -> value, or a text for the second column. Raises InputError for any other value.
    """
    refuse_duplicate_keys(data, layout.fields[0].name, layout.kind)
    key, text = (field.name for field in (layout.fields * 2)[:2])
    records: list[tuple[str, dict[str, Any]]] = []
    for each, about in data.data.items():
        where = f"{data.argument}[{format_value(each)}]"
        record = {text: about} if isinstance(about, str) else about
        if not isinstance(record, Mapping):
            rule = f"must be the {layout.kind}'s {text}, or map columns to their values"
            raise InputError(f"{where} = {format_value(about)}: {rule}")
        values = {str(name): python_number(value) for name, value in record.items()}
        records.append((where, values | {key: python_number(each)}))
    names = dict.fromkeys(chain.from_iterable(record for _, record in records))
    layout.check_columns(data.argument, list(names), {})
    return records_table(iter(records), layout)


def refuse_duplicate_keys(data: InMemoryFile, name: str = "query_id", kind: str = "query") -> None:
    """Raise InputError if two keys of a dictionary are equal as texts, such as 1 and '1'."""
    keys: dict[str, Any] = {}
    for key in data.data:
        if keys.setdefault(str(key), key) != key:
            raise InputError(
                f"{data.argument}: {name} {format_value(keys[str(key)])} and {format_value(key)} are the same text: a"
                f" {kind} is one"
            )


def python_number(value: Any) -> Any:
    """Return a numpy scalar as a Python number; anything else unchanged."""
    return value.item() if type(value).__module__ != "builtins" and hasattr(value, "item") else value
