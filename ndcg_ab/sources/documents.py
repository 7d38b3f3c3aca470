"""Titles and addresses of documents: read for those that a page shows alone, however large the file is.

They change no result.  Like other files these have two ways in: pyarrow's readers, batch by batch, of which only the
rows that are wanted are kept; where they give up, the careful one, which names the line of what is wrong.
"""

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import FileSource, InMemoryData
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.extensions import translate_foreign_errors
from ndcg_ab.sources.files.file import UNCLEAR, refuse_no_file, table_pieces
from ndcg_ab.sources.files.parts import list_parts, name_part_in_errors
from ndcg_ab.sources.files.records import open_parquet, placed_records
from ndcg_ab.sources.forms.form import Reading
from ndcg_ab.sources.forms.recognition import find_reading
from ndcg_ab.sources.tables.columns import cast_columns
from ndcg_ab.sources.tables.in_memory import arrow_table, placed_rows, python_number
from ndcg_ab.sources.tables.schema import DOCUMENT, read_value

Batches = Iterator[pa.Table]
Placed = Iterable[tuple[str, Mapping[str, Any]]]  # where a record stands, and the record


@dataclasses.dataclass(frozen=True)
class Documents:
    """A file of documents, or data in memory that are in its place."""

    described: FileSource
    directory: Path

    @property
    def origin(self) -> str:
        """Its place, for messages."""
        return self.described.given.name if self.described.given else str(self.path)

    @property
    def path(self) -> Path:
        return self.directory / Path(self.described.origin)

    @contextlib.contextmanager
    def at_hand(self) -> Iterator["Documents"]:
        """The same over a file of this machine: a copy of what is elsewhere."""
        if self.described.given is not None:
            with translate_foreign_errors(f"{self.origin}: cannot be read"):
                yield self
            return
        with list_parts(self.described, self.directory, {}) as parts:
            if len(parts) > 1:
                raise InputError(f"{self.described.origin}: holds {len(parts)} files: documents are one file: name it")
            with name_part_in_errors(parts[0]):
                yield Documents(self.described.model_copy(update={"file": parts[0].path}), self.directory)

    @property
    def reading(self) -> Reading:
        """How the rows of its file are read."""
        found = find_reading(self.path, DOCUMENT.kind, self.described.format, self.described.columns)
        return dataclasses.replace(found, columns=self.described.columns)

    def check(self) -> None:
        """Refuses what can be seen without reading the rows: no such file, another format, columns that lack."""
        with self.at_hand() as here:
            here.check_file()

    def check_file(self) -> None:
        DOCUMENT.refuse_unknown(self.origin, self.described.columns)
        given = self.described.given
        if given is not None:
            if not isinstance(given.data, Mapping):
                self.chosen(arrow_table(given).column_names)
            return
        refuse_no_file(self.path)
        with self.saying_why():
            if self.reading.format == "trec":
                raise InputError(
                    f"{self.path}: a file of documents must be csv, tsv, jsonl or parquet, by its name or its format"
                )
            if self.reading.format == "parquet":
                with open_parquet(self.path) as file:
                    self.chosen(file.schema_arrow.names)
            else:
                next(placed_records(self.path, DOCUMENT, self.reading), None)

    def of(self, doc_ids: pa.ChunkedArray) -> pa.Table:
        """The rows of these documents: doc_id, title, url (null where it is unknown), in the order of the ids.

        Raises InputError for a row that breaks a rule, and for a document that is there twice with different values.
        """
        with self.at_hand() as here:
            return here.of_file(doc_ids)

    def of_file(self, doc_ids: pa.ChunkedArray) -> pa.Table:
        self.check_file()
        wanted = pc.unique(doc_ids.cast(pa.string()))
        try:
            parts = [select_wanted(batch, wanted) for batch in self.batches()]
            found = pa.concat_tables([DOCUMENT.schema.empty_table(), *parts])
        except (*UNCLEAR, OSError):
            with self.saying_why():
                found = self.carefully(set(wanted.to_pylist()))
        return self.distinct(found.sort_by("doc_id"))

    def batches(self) -> Batches:
        """The columns that are known, a part of the rows at a time."""
        given = self.described.given
        if given is None:
            yield from table_pieces(self.path, DOCUMENT, self.reading, in_pieces=True)
            return
        if isinstance(given.data, Mapping):
            raise pa.ArrowInvalid("dictionaries are read one by one")
        table = arrow_table(given)
        chosen = self.chosen(table.column_names)
        yield self.typed(table.select(list(chosen.values())), chosen)

    def typed(self, table: pa.Table, chosen: dict[str, str]) -> pa.Table:
        """The columns as texts; one that holds nothing has no type of its own."""
        empty = {field.name for field in table.schema if pa.types.is_null(field.type)}
        empty = {field.name for field in table.schema if pa.types.is_null(field.type)}
        known = {name: column for name, column in chosen.items() if column not in empty}
        return cast_columns(table, DOCUMENT, known, self.origin)

    def carefully(self, wanted: set[str]) -> pa.Table:
        """The rows that are wanted, one by one."""
        values: dict[str, list[Any]] = {field.name: [] for field in DOCUMENT.fields}
        for where, record in self.placed():
            doc_id = read_value(DOCUMENT.fields[0], record.get("doc_id"), where)
            if doc_id in wanted:
                values["doc_id"].append(doc_id)
                for field in DOCUMENT.fields[1:]:
                    value = record.get(field.name)
                    values[field.name].append(None if value in (None, "", b"") else read_value(field, value, where))
        return pa.table(values, schema=DOCUMENT.schema)

    def placed(self) -> Placed:
        given = self.described.given
        if given is None:
            for place, record in placed_records(self.path, DOCUMENT, self.reading):
                yield f"{self.path}, {place}", record
        elif isinstance(given.data, Mapping):
            yield from records_by_key(given, given.data)
        else:
            table = arrow_table(given)
            yield from placed_rows(given.name, table, self.chosen(table.column_names))

    def chosen(self, found: list[str]) -> dict[str, str]:
        given = self.described.given
        columns = self.described.columns
        if given is None:
            return DOCUMENT.check_columns(self.origin, found, columns)
        argument = f"{given.name}_columns"
        return DOCUMENT.check_columns(self.origin, found, columns, lambda _, mapping: f"{argument}={dict(mapping)}")

    @contextlib.contextmanager
    def saying_why(self) -> Iterator[None]:
        """A file that the system does not give is refused in one sentence."""
        try:
            yield
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {' '.join(str(error).split())}") from None

    def distinct(self, rows: pa.Table) -> pa.Table:
        """One row for each document."""
        first: dict[str, dict[str, Any]] = {}
        for row in rows.to_pylist():
            known = first.setdefault(row["doc_id"], row)
            for name in ("title", "url"):
                if known[name] != row[name]:
                    raise InputError(
                        f"{self.origin}: document {format_value(row['doc_id'])} has two {name}s:"
                        f" {format_value(known[name])} and {format_value(row[name])}"
                    )
        return pa.Table.from_pylist(list(first.values()), schema=DOCUMENT.schema)


def make_documents(evaluation: Evaluation) -> Documents | None:
    """Where titles and addresses are; None where the evaluation names no such place."""
    documents = evaluation.documents
    return Documents(documents, evaluation.directory) if documents and documents.file is not None else None


def merge_documents(first: pa.Table, other: pa.Table | None) -> pa.Table:
    """The rows of both; where both have a document, what the first says of it."""
    rest = [] if other is None else [other.filter(pc.invert(pc.is_in(other["doc_id"], pc.unique(first["doc_id"]))))]
    return pa.concat_tables([first, *rest]).sort_by("doc_id")


def select_wanted(batch: pa.Table, wanted: pa.Array) -> pa.Table:
    """The rows that are wanted, empty values as null; raises ArrowInvalid where an id is missing."""
    ids = batch["doc_id"]
    if ids.null_count or pc.any(pc.equal(pc.binary_length(ids), 0)).as_py():
        raise pa.ArrowInvalid("a doc_id is missing")
    rows = batch.filter(pc.is_in(ids, value_set=wanted)).cast(DOCUMENT.schema)
    for place, name in enumerate(rows.column_names):
        empty = pc.equal(rows[name], "")
        rows = rows.set_column(place, name, pc.if_else(empty, pa.scalar(None, pa.string()), rows[name]))
    return rows


def records_by_key(given: InMemoryData, data: Mapping[Any, Any]) -> Placed:
    """``documents['d1']`` maps columns to their values, or is the title alone."""
    for doc_id, about in data.items():
        where = f"{given.name}[{format_value(doc_id)}]"
        record = {"title": about} if isinstance(about, str) else about
        if not isinstance(record, Mapping):
            raise InputError(
                f"{where} = {format_value(about)}: must be the document's title, or map title and url to theirs"
            )
        yield (
            where,
            {str(name): python_number(value) for name, value in record.items()} | {"doc_id": python_number(doc_id)},
        )
