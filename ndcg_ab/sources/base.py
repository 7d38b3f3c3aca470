"""What a source is: a place that gives a table, and can say where in it something stands."""

import dataclasses
import functools
import json
from abc import ABC
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow as pa

from ndcg_ab.config.model.operation import Resources
from ndcg_ab.engines.remote_table import RemoteTable
from ndcg_ab.errors import InputError
from ndcg_ab.sources.tables.on_disk import IN_MEMORY, TableWriter, content_digest, count_nulls, distinct_texts
from ndcg_ab.sources.tables.schema import Layout
from ndcg_ab.sources.tables.top_places import ReducedRanking, WantedPlaces

REMARKS, FAILED, STAYING = b"ndcg_ab.remarks", b"ndcg_ab.failed", b"ndcg_ab.elsewhere"  # keys in a table's metadata


@dataclasses.dataclass(frozen=True)
class Remark:
    """What a source noticed and reads all the same: a code of docs/findings.md, how often, and up to five examples.

    An example is a place and what is there: ``run.txt, line 7: tag 'b'``.  told: the sentence, where the code and
    the count do not say all of it.  total: how many rows the source read, of a remark that says it.
    """

    code: str
    count: int
    examples: tuple[str, ...] = ()
    told: str | None = None
    total: int | None = None


def with_remarks(table: pa.Table, remarks: Sequence[Remark]) -> pa.Table:
    """The table with what its source noticed in its metadata, which Parquet keeps."""
    if not remarks:
        return table
    return table.replace_schema_metadata({**(table.schema.metadata or {}), **remarks_metadata(remarks)})


def remarks_metadata(remarks: Sequence[Remark]) -> dict[bytes, bytes]:
    text = json.dumps([dataclasses.asdict(remark) for remark in remarks])
    return {REMARKS: text.encode()} if remarks else {}


def read_remarks(table: pa.Table) -> tuple[Remark, ...]:
    """What a source noticed, of its table."""
    rows = json.loads((table.schema.metadata or {}).get(REMARKS, b"[]"))
    return tuple(Remark(**row | {"examples": tuple(row["examples"])}) for row in rows)


def with_failed_queries(table: pa.Table, query_ids: Sequence[str]) -> pa.Table:
    """The table with the queries that its place failed on in its metadata: they are missing, not empty."""
    return table.replace_schema_metadata({**(table.schema.metadata or {}), FAILED: json.dumps(query_ids).encode()})


def remote_place_table(table: pa.Table, place: RemoteTable) -> pa.Table:
    """A row for each query of what stays elsewhere, with the place in the metadata."""
    return table.replace_schema_metadata({**(table.schema.metadata or {}), STAYING: place.to_json().encode()})


@dataclasses.dataclass(frozen=True)
class CostsAsked:
    """What is recorded of every request.

    names: of costs. warm_up: requests before those that are counted. seed: of the order of asking.
    all_cold: whether none of a pull is counted, since everything is asked again.
    """

    names: tuple[str, ...]
    warm_up: int = 0
    seed: int = 0
    all_cold: bool = False


@dataclasses.dataclass(frozen=True)
class PullRequest:
    """What is asked of a source that needs the queries.

    texts: query_id -> text.  attributes: query_id -> {column: value}, of the columns that it names.
    folder: where it may keep answers while the run lasts, so that a second attempt need not ask again; None: nowhere.
    keep: where rows go.
    costs: what is recorded of every request; None: nothing, and the order of asking is that of the queries.
    resources: what a source may use that computes; None: everything.
    """

    texts: Mapping[str, str]
    attributes: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    folder: Path | None = None
    keep: TableWriter = IN_MEMORY
    costs: CostsAsked | None = None
    resources: Resources | None = None


@dataclasses.dataclass(frozen=True)
class PullResult:
    """What a source gave.

    table: the rows, in memory or `TableOnDisk`.  documents: titles and addresses of documents in the columns of
    `DOCUMENT`, where they came along; they change no result and no digest.  costs: of every request, in the columns of
    `ndcg_ab.sources.costs.COST`, where they are asked for and the source records them; they change no digest.
    """

    table: Any
    documents: pa.Table | None = None
    costs: pa.Table | None = None


# What one request cost, by name; whether no answer came: then its time is that until the request was given up
RequestCosts = tuple[Mapping[str, float], bool]
Ask = Callable[[str], RequestCosts]  # asks for a query by its id


class Source(ABC):
    """A place that judgments, queries or rankings come from; every kind has a module and a line in `registry`.

    origin: the place in messages: a path, module:function, an argument's name.
    door: the row of `BOUNDS` that bounds it.
    What describes it in a configuration (`ndcg_ab.config.model.evaluation`) says whether it needs the queries.
    """

    origin: str
    door: str

    def pull(self, layout: Layout, queries: Mapping[str, str]) -> pa.Table:
        """Return everything that the place has, in the columns of `layout`; queries: query_id -> text.

        Raises InputError, which says what breaks a rule and where; SilentError where the place did not answer, and may
        later.
        """
        return self.answer(layout, PullRequest(queries)).table

    def answer(self, layout: Layout, asked: PullRequest) -> PullResult:
        """Pull for a request; a source has a method of its own for this one, or for `pull` if it needs only texts."""
        return PullResult(self.pull(layout, asked.texts))

    def check(self, layout: Layout) -> None:
        """Raise InputError for what is wrong with the place; a file is looked at without reading its rows."""
        self.pull(layout, {})

    def reduce(
        self, layout: Layout, wanted: WantedPlaces, threads: int | None, keep: TableWriter = IN_MEMORY
    ) -> ReducedRanking | None:
        """Return the ranking as far as a comparison looks at it; None if it must be read whole."""
        return None

    def asking(self, asked: PullRequest) -> AbstractContextManager[Ask]:
        """Asks for single queries when it is told to, of a source that is asked.

        Raises InputError or SilentError at the first query too many that fails.
        """
        raise InputError(f"{self.origin}: cannot be asked again, as costs.by_turns needs: take by_turns out")

    def locate(self, table: pa.Table, layout: Layout, query_id: str, doc_id: str) -> str:
        """Where a document of a query stands, for a message: ``run.txt, lines 7 and 9``."""
        return self.origin


@dataclasses.dataclass(frozen=True)
class Pulled:
    """What a source gave: the rows, in the columns of `layout`, and titles and addresses that came along.

    given: the rows, in memory or `TableOnDisk`; of rows that stay on a cluster (`elsewhere`) one for each query, with
    its lowest document; of a ranking that was reduced the function that reads all of them.
    singles: of judgments by several judges, or of several files, each of them (`SINGLE_JUDGMENT`).
    costs: what requests cost (`ndcg_ab.sources.costs.COST`).
    reduced: what was read instead of all rows; what the source noticed is in the metadata of its rows.
    """

    given: Any
    layout: Layout
    source: Source
    documents: pa.Table | None = None
    singles: pa.Table | None = None
    costs: pa.Table | None = None
    reduced: ReducedRanking | None = None

    @functools.cached_property
    def table(self) -> Any:
        """All rows, which are read now if the ranking was reduced."""
        return self.given() if self.reduced else self.given

    @property
    def origin(self) -> str:
        """The source's place, for messages."""
        return self.source.origin

    @property
    def at_hand(self) -> Any:
        """The rows as far as they were read: of a reduced ranking those that are kept."""
        return self.reduced.rows if self.reduced else self.table

    def whole(self) -> "Pulled":
        """Return it with every row."""
        return dataclasses.replace(self, given=self.table, reduced=None) if self.reduced else self

    @property
    def elsewhere(self) -> RemoteTable | None:
        """Where the rows stay; None where they are all here."""
        told = (self.at_hand.schema.metadata or {}).get(STAYING)
        return RemoteTable.from_json(told) if told else None

    @property
    def count(self) -> int:
        """The number of rows, here or elsewhere."""
        if self.reduced:
            return self.reduced.count
        return self.elsewhere.rows if self.elsewhere else int(self.table.num_rows)

    @property
    def query_ids(self) -> list[str]:
        """Every query once, in the order of the rows."""
        return distinct_texts(self.reduced.answers if self.reduced else self.table, "query_id")

    def lacks(self, column: str) -> bool:
        """Whether the rows have no score, or no rank."""
        return count_nulls(self.at_hand, column) > 0

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What the source noticed while it read."""
        return read_remarks(self.at_hand)

    @property
    def failed(self) -> tuple[str, ...]:
        """The queries that the source failed on: they are missing, not empty."""
        return tuple(json.loads((self.at_hand.schema.metadata or {}).get(FAILED, b"[]")))

    @property
    def digest(self) -> str:
        """SHA-256 of the content, 32 hex digits: the same for any order of rows and any file format.

        Queries that failed are a part of it: without them a query that found nothing would be the same.
        Of rows that stay elsewhere it is another one, made there.
        """
        if self.elsewhere:
            return self.elsewhere.digest
        counted = content_digest(self.table, self.layout.schema, self.layout.order)
        if self.failed:
            counted.update(json.dumps(["failed", *sorted(self.failed)]).encode())
        return counted.hexdigest()[:32]

    def place_of(self, query_id: str, doc_id: str) -> str:
        """Where a document of a query stands, for a message."""
        return self.source.locate(self.table, self.layout, query_id, doc_id)


def places_text(places: Iterable[str]) -> str:
    """Return ``line 7``, ``rows 7 and 9``; the first of places that are no lines or rows, nothing if there is none."""
    found = list(dict.fromkeys(places))
    words = {place.partition(" ")[0] for place in found}
    if len(found) < 2 or not words <= {"line", "row"}:
        return found[0] if found else ""
    return f"{words.pop()}s {' and '.join(place.partition(' ')[2] for place in found[:3])}"
