"""What a table holds, as a hash: the same for any order of rows, in memory and in files alike."""

import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from ndcg_ab.sources.tables.on_disk import AT_ONCE, TableOnDisk


def content_digest(table: Any, schema: pa.Schema, order: Sequence[str]) -> "hashlib._Hash":
    """SHA-256 of a table's rows as CSV, put in order by some columns."""
    counted = DigestingFile()
    with pacsv.CSVWriter(pa.PythonFile(counted, mode="w"), schema) as writer:
        for rows in ordered_batches(table, schema, order):
            writer.write_table(rows)
    return counted.hash


def ordered_batches(table: Any, schema: pa.Schema, order: Sequence[str]) -> Iterator[pa.Table]:
    """The rows of a table in this order, some at a time: no second copy of a large table is made."""
    if isinstance(table, TableOnDisk):
        by = [name for name in order if name in schema.names and table.null_count(name) < table.num_rows]
        yield from (pa.Table.from_batches([rows]).cast(schema) for rows in sort_by_duckdb(table, schema.names, by))
        return
    whole = {name: whole_column(table[name]) for name in schema.names}
    places = sorted_places({name: whole[name] for name in order if whole.get(name) is not None})
    for start in range(0, len(places), AT_ONCE):
        these = places.slice(start, AT_ONCE)
        columns = {
            field.name: pa.nulls(len(these), field.type)
            if (column := whole[field.name]) is None
            else column.take(these).cast(field.type)
            for field in schema
        }
        yield pa.table(columns, schema=schema)


def sort_by_duckdb(table: TableOnDisk, columns: Sequence[str], by: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """By DuckDB, which is loaded for tables alone that do not fit into memory."""
    from ndcg_ab.engines.duckdb.files import sorted_rows

    return sorted_rows(table.path, columns, by, table.memory)


class DigestingFile(io.RawIOBase):
    """A file whose content is digested, and not kept."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self.hash.update(content)
        return len(content)


def whole_column(column: pa.ChunkedArray) -> pa.Array | None:
    """A column in one piece; None where it holds nothing."""
    if column.null_count == len(column) and len(column):
        return None
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def sorted_places(columns: Mapping[str, pa.Array]) -> pa.Array:
    """The places of the rows in the order of these columns."""
    keys = {name: sort_keys(column) for name, column in columns.items()}
    return pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])


def sort_keys(column: pa.Array) -> pa.Array:
    """A column to sort by: the texts, or where each is kept once, numbers in the order of the texts."""
    if not pa.types.is_dictionary(column.type):
        return column
    order = pc.rank(column.dictionary, tiebreaker="dense").cast(pa.int32())
    return order.take(column.indices)
