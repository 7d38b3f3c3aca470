"""What a source is: a place that gives a table, and can say where in it something stands."""

import dataclasses
import hashlib
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from ndcg_ab.sources.schema import Layout

REMARKS, FAILED = b"ndcg_ab.remarks", b"ndcg_ab.failed"  # keys in a table's metadata


@dataclasses.dataclass(frozen=True)
class Remark:
    """What a source noticed and reads all the same: a code of docs/findings.md, how often, and up to five examples.

    An example is a place and what stands there: ``run.txt, line 7: tag 'b'``.
    """

    code: str
    count: int
    examples: tuple[str, ...] = ()


def with_remarks(table: pa.Table, remarks: Sequence[Remark]) -> pa.Table:
    """The table with what its source noticed in its metadata, which Parquet keeps."""
    if not remarks:
        return table
    text = json.dumps([dataclasses.asdict(remark) for remark in remarks])
    return table.replace_schema_metadata({**(table.schema.metadata or {}), REMARKS: text.encode()})


def remarks_of(table: pa.Table) -> tuple[Remark, ...]:
    """What a source noticed, of its table."""
    rows = json.loads((table.schema.metadata or {}).get(REMARKS, b"[]"))
    return tuple(Remark(row["code"], row["count"], tuple(row["examples"])) for row in rows)


def with_failed(table: pa.Table, query_ids: Sequence[str]) -> pa.Table:
    """The table with the queries that its place failed on in its metadata: they are missing, not empty."""
    return table.replace_schema_metadata({**(table.schema.metadata or {}), FAILED: json.dumps(query_ids).encode()})


@dataclasses.dataclass(frozen=True)
class Asked:
    """What is asked of a source that needs the queries.

    texts: query_id -> text.  attributes: query_id -> {column: value}, of the columns that it names.
    folder: where it may keep answers while the run lasts, so that a second attempt need not ask again; None: nowhere.
    """

    texts: Mapping[str, str]
    attributes: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    folder: Path | None = None


@dataclasses.dataclass(frozen=True)
class Found:
    """What a source gave.

    documents: titles and addresses of documents in the columns of `DOCUMENT`, where they came along; they change no
    result and no digest.
    """

    table: pa.Table
    documents: pa.Table | None = None


class Source(ABC):
    """A place that judgments, queries or rankings come from; every kind has a module and a line in `registry`.

    origin: the place in messages: a path, module:function, an argument's name.
    What describes it in a configuration (`ndcg_ab.config.model`) says whether it needs the queries.
    """

    origin: str

    @abstractmethod
    def pull(self, layout: Layout, queries: Mapping[str, str]) -> pa.Table:
        """Everything that the place has, in the columns of `layout`; queries: query_id -> text.

        Raises InputError, which says what breaks a rule and where; SilentError where the place did not answer, and may
        later.
        """

    def answer(self, layout: Layout, asked: Asked) -> Found:
        """The same for a source that uses more than the texts of queries, or gives more than a table."""
        return Found(self.pull(layout, asked.texts))

    def locate(self, table: pa.Table, layout: Layout, query_id: str, doc_id: str) -> str:
        """Where a document of a query stands, for a message: ``run.txt, lines 7 and 9``."""
        return self.origin


@dataclasses.dataclass(frozen=True)
class Pulled:
    """What a source gave: the rows, in the columns of `layout`, and titles and addresses that came along.

    count: of all rows, where the table holds the first ones of every query alone; whole: gives all of them then.
    """

    table: pa.Table
    layout: Layout
    source: Source
    documents: pa.Table | None = None
    count: int | None = None
    whole: Callable[[], pa.Table] | None = None

    @property
    def num_rows(self) -> int:
        return self.table.num_rows if self.count is None else self.count

    @property
    def all_rows(self) -> pa.Table:
        """Every row, which may have to be read first."""
        return self.table if self.whole is None else self.whole()

    @property
    def origin(self) -> str:
        """The source's place, for messages."""
        return self.source.origin

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What the source noticed while it read."""
        return remarks_of(self.table)

    @property
    def failed(self) -> tuple[str, ...]:
        """The queries that the source failed on: they are missing, not empty."""
        return tuple(json.loads((self.table.schema.metadata or {}).get(FAILED, b"[]")))

    @property
    def digest(self) -> str:
        """SHA-256 of the content, 32 hex digits: the same for any order of rows and any file format.

        Queries that failed are a part of it: without them a query that found nothing would be the same.
        """
        counted = Counted()
        whole = {name: whole_column(self.table[name]) for name in self.table.column_names}
        schema = self.layout.schema
        with pacsv.CSVWriter(pa.PythonFile(counted, mode="w"), schema) as writer:
            order = order_of({name: whole[name] for name in self.layout.order if whole.get(name) is not None})
            for start in range(0, len(order), AT_ONCE):
                places = order.slice(start, AT_ONCE)
                rows = {
                    field.name: pa.nulls(len(places), field.type)
                    if (column := whole[field.name]) is None
                    else column.take(places).cast(field.type)
                    for field in schema
                }
                writer.write_table(pa.table(rows, schema=schema))
        if self.failed:
            counted.hash.update(json.dumps(["failed", *sorted(self.failed)]).encode())
        return counted.hash.hexdigest()[:32]

    def place_of(self, query_id: str, doc_id: str) -> str:
        """Where a document of a query stands, for a message."""
        return self.source.locate(self.table, self.layout, query_id, doc_id)


def in_words(places: list[int], word: str) -> str:
    """``line 7``, ``rows 7 and 9``."""
    return f"{word}{'s' * (len(places) > 1)} {' and '.join(map(str, places[:3]))}"


AT_ONCE = 1 << 16  # rows that are digested at once: no second copy of a large table is made


class Counted(io.RawIOBase):
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


def order_of(columns: Mapping[str, pa.Array]) -> pa.Array:
    """The places of the rows in the order of these columns."""
    keys = {name: places_of(column) for name, column in columns.items()}
    return pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])


def places_of(column: pa.Array) -> pa.Array:
    """A column to sort by: the texts, or where each is kept once, numbers in the order of the texts."""
    if not pa.types.is_dictionary(column.type):
        return column
    order = pc.rank(column.dictionary, tiebreaker="dense").cast(pa.int32())
    return order.take(column.indices)
