"""Titles and addresses of documents, which change no result: read for those that a page shows alone."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.base import PullRequest
from ndcg_ab.sources.registry import file_source
from ndcg_ab.sources.tables.on_disk import TableWriter
from ndcg_ab.sources.tables.schema import DOCUMENT


class WantedRows(TableWriter):
    """The writer that keeps the rows of some documents in memory, and no others."""

    is_partial = True

    def __init__(self, doc_ids: pa.ChunkedArray) -> None:
        super().__init__()
        self.doc_ids = pc.unique(doc_ids.cast(pa.string()))

    def part(self, at: int) -> "WantedRows":
        return self

    def write(
        self,
        pieces: Iterable[pa.Table],
        schema: pa.Schema,
        metadata: Callable[[], dict[bytes, bytes]] = dict,
        names: Sequence[str] = (),
    ) -> Any:
        rows = (piece.filter(pc.is_in(piece["doc_id"], value_set=self.doc_ids)).cast(schema) for piece in pieces)
        return pa.concat_tables([schema.empty_table(), *rows])


@dataclasses.dataclass(frozen=True)
class Documents:
    """A file of documents, or data in memory that are in its place."""

    described: FileSource
    directory: Path

    def check(self) -> None:
        """Raise InputError for what can be seen without reading the rows: no such file, missing columns."""
        file_source(self.described, self.directory).check(DOCUMENT)

    def of(self, doc_ids: pa.ChunkedArray) -> pa.Table:
        """Return the rows of documents: doc_id, title, url (null if it is unknown), in the order of the ids.

        Raises InputError for a row that breaks a rule, and for a document that is there twice with different values.
        """
        source, wanted = file_source(self.described, self.directory), WantedRows(doc_ids)
        table = source.answer(DOCUMENT, PullRequest({}, keep=wanted)).table
        first: dict[str, dict[str, str | None]] = {}
        for row in wanted.write([table], DOCUMENT.schema).sort_by("doc_id").to_pylist():
            row = {name: text or None for name, text in row.items()}
            known = first.setdefault(row["doc_id"], row)
            for name in ("title", "url"):
                if known[name] != row[name]:
                    raise InputError(
                        f"{source.origin}: document {format_value(row['doc_id'])} has two {name}s:"
                        f" {format_value(known[name])} and {format_value(row[name])}"
                    )
        return pa.Table.from_pylist(list(first.values()), schema=DOCUMENT.schema)


def make_documents(evaluation: Evaluation) -> Documents | None:
    """Return where titles and addresses are; None if the evaluation names no such place."""
    documents = evaluation.documents
    return Documents(documents, evaluation.directory) if documents and documents.file is not None else None


def merge_documents(first: pa.Table, other: pa.Table | None) -> pa.Table:
    """Return the rows of two tables; of a document that is in both the row of the first."""
    rest = [] if other is None else [other.filter(pc.invert(pc.is_in(other["doc_id"], pc.unique(first["doc_id"]))))]
    return pa.concat_tables([first, *rest]).sort_by("doc_id")
