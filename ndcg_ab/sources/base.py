"""What a source is: a place that gives a table, and can say where in it something stands."""

import dataclasses
import hashlib
import io
from abc import ABC, abstractmethod
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.csv as pacsv

from ndcg_ab.sources.schema import Layout


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

    def locate(self, table: pa.Table, layout: Layout, query_id: str, doc_id: str) -> str:
        """Where a document of a query stands, for a message: ``run.txt, lines 7 and 9``."""
        return self.origin


@dataclasses.dataclass(frozen=True)
class Pulled:
    """What a source gave: the rows, in the columns of `layout`."""

    table: pa.Table
    layout: Layout
    source: Source

    @property
    def origin(self) -> str:
        """The source's place, for messages."""
        return self.source.origin

    @property
    def digest(self) -> str:
        """SHA-256 of the content, 32 hex digits: the same for any order of rows and any file format."""
        keys = [(name, "ascending") for name in ("query_id", "doc_id") if name in self.table.column_names]
        plain = self.table.cast(self.layout.schema).sort_by(keys)
        text = io.BytesIO()
        pacsv.write_csv(plain, text, pacsv.WriteOptions(include_header=True))
        return hashlib.sha256(text.getbuffer()).hexdigest()[:32]

    def place_of(self, query_id: str, doc_id: str) -> str:
        """Where a document of a query stands, for a message."""
        return self.source.locate(self.table, self.layout, query_id, doc_id)


def in_words(places: list[int], word: str) -> str:
    """``line 7``, ``rows 7 and 9``."""
    return f"{word}{'s' * (len(places) > 1)} {' and '.join(map(str, places[:3]))}"
