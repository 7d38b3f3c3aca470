"""Store large tables in Parquet files instead of memory, and compute digests of the content of tables.

The digest of a table does not depend on the order of the rows, nor on whether the table is in memory or in a file.
"""

import functools
import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab import thresholds
from ndcg_ab.memory import Memory

GROUP = 1 << 17  # rows that are compressed, and read again, together
AT_ONCE = 1 << 16  # rows that are looked at together
HASHED = 1 << 14  # rows that are hashed together: what they need stays in the processor's cache
ODD = np.uint64(0x9E3779B97F4A7C15)  # an odd number has an inverse modulo 2**64
INVERSE = np.uint64(pow(int(ODD), -1, 2**64))

Hashes = npt.NDArray[np.uint64]


class TableOnDisk:
    """A table in a Parquet file that is read by a few columns or rows at a time, with an interface like `pa.Table`.

    schema: the columns, with the remarks of the source in the metadata. memory: the limits for reading the file. about:
    the metadata in the file's footer.
    """

    def __init__(self, path: Path, memory: Memory) -> None:
        import pyarrow.parquet as papq

        self.path, self.memory, self.library = path, memory, papq
        self.about = papq.read_metadata(path)
        self.schema = self.about.schema.to_arrow_schema().with_metadata(self.about.metadata)
        self.num_rows: int = self.about.num_rows
        self.column_names: list[str] = self.schema.names
        self.repeated = [name for name in self.column_names if name == "query_id"]  # a text of many rows

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        return self.select([name])[name]

    def select(self, names: Sequence[str]) -> pa.Table:
        """Return some columns as a table in memory, with dictionary-encoded query ids."""
        return self.library.read_table(self.path, columns=list(names), read_dictionary=self.repeated)

    def batches(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the rows of some columns in batches, in the order of the file."""
        with self.library.ParquetFile(self.path, read_dictionary=self.repeated) as file:
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


def content_digest(table: Any, schema: pa.Schema) -> "hashlib._Hash":
    """Return a SHA-256 hash object of the rows of a table, whose value does not depend on the order of the rows.

    It has hashed the names of the columns, the number of rows, and the sum and the exclusive or of `hash_rows`.
    """
    total, mixed = 0, 0
    for batch in read_batches(table, schema.names):
        rows = batch.unify_dictionaries()
        for start in range(0, len(rows), HASHED):
            hashes = hash_rows(rows.slice(start, HASHED), schema)
            total = (total + int(hashes.sum())) % 2**64
            mixed ^= int(np.bitwise_xor.reduce(hashes))
    return hashlib.sha256(repr([schema.names, table.num_rows, total, mixed]).encode())


def hash_rows(rows: pa.Table, schema: pa.Schema) -> Hashes:
    """Return a 64-bit hash of each row, from the columns of the schema."""
    hashes = np.zeros(len(rows), np.uint64)
    for field in schema:
        hashes = mix_bits(hashes + hash_values(rows[field.name].combine_chunks(), field.type))
    return hashes


def mix_bits(values: Hashes) -> Hashes:
    """Return a 64-bit number for each number, of which about half of the bits change with any bit of the given number.

    Source: SplitMix64 (Steele, Lea and Flood 2014, Fast splittable pseudorandom number generators).
    """
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def hash_values(column: pa.Array, kind: pa.DataType) -> Hashes:
    """Return a 64-bit hash of each value of a column after its conversion to a type; all nulls have the same hash."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(kind):
        hashes = hash_texts(column.cast(pa.large_string()))
    elif pa.types.is_floating(kind):
        hashes = (column.cast(kind).fill_null(0).to_numpy(zero_copy_only=False) + 0.0).view(np.uint64)  # -0.0 is 0.0
    else:
        hashes = column.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64)
    return np.where(column.is_valid().to_numpy(zero_copy_only=False), hashes, ODD) if column.null_count else hashes


def hash_texts(texts: pa.Array) -> Hashes:
    """Return for each text its length plus the sum of byte * ODD**index over its bytes, modulo 2**64.

    texts: of type ``large_string``. The sums are differences of one running sum over the bytes of all texts.
    """
    _, all_offsets, content = texts.buffers()
    offsets = np.frombuffer(all_offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    text_bytes = np.frombuffer(content or b"", np.uint8)[offsets[0] : offsets[-1]]
    offsets = offsets - offsets[0]
    size = 1 << len(text_bytes).bit_length()
    running = np.zeros(len(text_bytes) + 1, np.uint64)
    np.cumsum(text_bytes * powers(ODD, size)[: len(text_bytes)], out=running[1:])
    sums = (running[offsets[1:]] - running[offsets[:-1]]) * powers(INVERSE, size)[offsets[:-1]]
    hashes: Hashes = sums + np.diff(offsets).astype(np.uint64)
    return hashes


@functools.lru_cache(maxsize=8)
def powers(base: np.uint64, count: int) -> Hashes:
    """Return base**0, base**1, … modulo 2**64, `count` of them."""
    factors = np.full(count, base, np.uint64)
    factors[0] = 1
    products: Hashes = np.cumprod(factors, dtype=np.uint64)
    return products
