"""Store large tables in Parquet files instead of memory, and compute digests of the content of tables.

The digest of a table does not depend on the order of the rows, nor on whether the table is in memory or in a file.
"""

import hashlib
import io
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from ndcg_ab import thresholds
from ndcg_ab.memory import Memory

GROUP = 1 << 17  # rows that are compressed, and read again, together
AT_ONCE = 1 << 16  # rows that are looked at together


class TableOnDisk:
    """A table in a Parquet file that is read by a few columns or rows at a time, with an interface like `pa.Table`.

    schema: the columns, with the remarks of the source in the metadata. memory: the limits for reading the file. about:
    the metadata in the file's footer.
    """

    def __init__(self, path: Path, memory: Memory) -> None:
        import pyarrow.parquet as papq

        self.path = path
        self.memory = memory
        self.about = papq.read_metadata(path)
        self.schema = self.about.schema.to_arrow_schema().with_metadata(self.about.metadata)
        self.num_rows: int = self.about.num_rows
        self.column_names: list[str] = self.schema.names
        self.repeated = [name for name in self.column_names if name == "query_id"]  # a text of many rows

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        return self.select([name])[name]

    def select(self, names: Sequence[str]) -> pa.Table:
        """Return some columns as a table in memory, with dictionary-encoded query ids."""
        import pyarrow.parquet as papq

        return papq.read_table(self.path, columns=list(names), read_dictionary=self.repeated)

    def batches(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the rows of some columns in batches, in the order of the file."""
        import pyarrow.parquet as papq

        with papq.ParquetFile(self.path, read_dictionary=self.repeated) as file:
            for batch in file.iter_batches(AT_ONCE, columns=list(names)):
                yield pa.Table.from_batches([batch])

    def null_count(self, name: str) -> int:
        """Return the number of nulls in a column, from the metadata of the file."""
        index = self.column_names.index(name)
        groups = map(self.about.row_group, range(self.about.num_row_groups))
        return sum(group.column(index).statistics.null_count for group in groups)


class TableWriter:
    """A writer that stores a table in memory, or in a file if there are many rows.

    path: the file; None: rows stay in memory. memory: the limits for reading the file again. only: the doc_ids whose
    rows are written; None: all.
    """

    def __init__(self, path: Path | None = None, memory: Memory | None = None, only: pa.Array | None = None) -> None:
        self.path, self.memory, self.only = path, memory, only

    def sibling(self, name: str) -> "TableWriter":
        """Return a writer for another table, in a file beside the file of this writer.

        If rows stay in memory, this writer itself is returned. name: the suffix of the other file's name.
        """
        return self if self.path is None else TableWriter(self.path.with_name(f"{self.path.name}.{name}"), self.memory)

    def write(
        self,
        pieces: Iterable[pa.Table],
        schema: pa.Schema,
        metadata: Callable[[], dict[bytes, bytes]] = dict,
        names: Sequence[str] = ("query_id",),
    ) -> Any:
        """Write the pieces and return them as one table: a `TableOnDisk`, or a `pa.Table` if there are few rows.

        Without a file or memory limits, the result is always a `pa.Table`. metadata: returns the metadata of the table;
        it is called after the last piece. names: the columns that the file encodes by dictionaries, because their texts
        repeat. Raises InputError if the disk is full.
        """
        if self.only is not None:
            pieces = (piece.filter(pc.is_in(piece["doc_id"], value_set=self.only)) for piece in pieces)
        rest = iter(pieces)
        most = math.inf if self.path is None else thresholds.FILE_ROWS
        first = next(group_pieces(rest, most + 1), schema.empty_table())
        if self.path is None or self.memory is None or len(first) <= most:
            return first.replace_schema_metadata(metadata() or None)
        import pyarrow.parquet as papq  # not for what stays in memory: it takes 10 ms

        try:
            with papq.ParquetWriter(self.path, schema, compression="lz4", use_dictionary=list(names)) as writer:
                for group in group_pieces(itertools.chain([first], rest), GROUP):
                    writer.write_table(group.cast(schema), row_group_size=GROUP)
                writer.add_key_value_metadata(metadata())
        except OSError as error:
            if error.errno is not None and self.memory.folder is not None:
                raise self.memory.no_room(error.strerror or error) from None
            raise
        return TableOnDisk(self.path, self.memory)

    def rewrite(
        self,
        table: Any,
        pieces: Iterable[pa.Table],
        schema: pa.Schema,
        metadata: Callable[[], dict[bytes, bytes]] = dict,
    ) -> Any:
        """Write pieces that replace a table of this writer, and return the new table.

        The new table keeps the metadata of `table` whose keys begin with ``ndcg_ab.``. table: the table that this
        writer wrote. metadata: returns further metadata; it is called after the last piece.
        """
        entries = {name: value for name, value in (table.schema.metadata or {}).items() if name.startswith(b"ndcg_ab.")}
        rewritten = self.sibling("rewritten").write(pieces, schema, lambda: {**entries, **metadata()})
        if self.path is not None and isinstance(rewritten, TableOnDisk):
            rewritten.path = rewritten.path.replace(self.path)
        return rewritten


IN_MEMORY = TableWriter()


def group_pieces(pieces: Iterable[pa.Table], least_rows: float) -> Iterator[pa.Table]:
    """Yield the rows of the pieces in tables of at least `least_rows` rows; the last table has the rest."""
    waiting: list[pa.Table] = []
    count = 0
    for piece in pieces:
        waiting.append(piece)
        count += piece.num_rows
        if count >= least_rows:
            yield pa.concat_tables(waiting, promote_options="permissive")
            waiting, count = [], 0
    if waiting:
        yield pa.concat_tables(waiting, promote_options="permissive")


# ---- functions for tables in memory and on disk


def table_or_file(table: Any) -> Any:
    """Return the path of a table on disk, or the table itself if it is in memory."""
    return table.path if isinstance(table, TableOnDisk) else table


def read_batches(table: Any, names: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the rows of some columns of a table in batches, in the order of the table."""
    return table.batches(names) if isinstance(table, TableOnDisk) else iter([table.select(list(names))])


def count_nulls(table: Any, name: str) -> int:
    count: int = table.null_count(name) if isinstance(table, TableOnDisk) else table[name].null_count
    return count


def distinct_texts(table: Any, name: str) -> list[str]:
    """Return the distinct texts of a column in the order of first occurrence."""
    texts: dict[str, None] = {}
    for batch in read_batches(table, [name]):
        texts |= dict.fromkeys(pc.unique(batch[name]).cast(pa.string()).to_pylist())
    return list(texts)


def select_queries(table: Any, query_ids: Iterable[str]) -> pa.Table:
    """Return the rows of some queries as a table in memory, in the order of the table."""
    ids = pa.array(list(query_ids), pa.string())
    batches = [
        batch.filter(pc.is_in(batch["query_id"], value_set=ids)) for batch in read_batches(table, table.column_names)
    ]
    return pa.concat_tables(batches)


def content_digest(table: Any, schema: pa.Schema, order: Sequence[str]) -> "hashlib._Hash":
    """Return the SHA-256 hash object of the rows of a table, written as CSV and sorted by the columns `order`."""
    file = DigestingFile()
    with pacsv.CSVWriter(pa.PythonFile(file, mode="w"), schema) as writer:
        for rows in ordered_batches(table, schema, order):
            writer.write_table(rows)
    return file.hash


def ordered_batches(table: Any, schema: pa.Schema, order: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the rows of a table in batches, sorted by the columns `order`, without a second copy of a large table."""
    if isinstance(table, TableOnDisk):
        from ndcg_ab.engines.duckdb.files import read_sorted_rows  # DuckDB is loaded only for tables beyond memory

        by = [name for name in order if name in schema.names and table.null_count(name) < table.num_rows]
        rows = read_sorted_rows(table.path, schema.names, by, table.memory)
        yield from (pa.Table.from_batches([batch]).cast(schema) for batch in rows)
        return
    whole = {name: whole_column(table[name]) for name in schema.names}
    keys = {name: sort_keys(column) for name in order if (column := whole.get(name)) is not None}
    indices = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
    for start in range(0, len(indices), AT_ONCE):
        these = indices.slice(start, AT_ONCE)
        columns = {
            field.name: pa.nulls(len(these), field.type)
            if (column := whole[field.name]) is None
            else column.take(these).cast(field.type)
            for field in schema
        }
        yield pa.table(columns, schema=schema)


class DigestingFile(io.RawIOBase):
    """A file object that hashes what is written to it and stores nothing."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self.hash.update(content)
        return len(content)


def whole_column(column: pa.ChunkedArray) -> pa.Array | None:
    """Return a column as one array, or None if all values are null."""
    if column.null_count == len(column) and len(column):
        return None
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def sort_keys(column: pa.Array) -> pa.Array:
    """Return keys that sort like a text column: its texts or, if it is dictionary-encoded, the ranks of its texts."""
    if not pa.types.is_dictionary(column.type):
        return column
    order = pc.rank(column.dictionary, tiebreaker="dense").cast(pa.int32())
    return order.take(column.indices)
