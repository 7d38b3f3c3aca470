"""The interface of a source, which returns a table and the location of a row, and the data that a source returned."""

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
from ndcg_ab.deadlines import Say
from ndcg_ab.engines.remote_table import RemoteTable
from ndcg_ab.errors import InputError
from ndcg_ab.sources.tables.on_disk import IN_MEMORY, TableWriter, content_digest, count_nulls, distinct_texts
from ndcg_ab.sources.tables.reduced_ranking import NeededResults, ReducedRanking
from ndcg_ab.sources.tables.schema import Layout

REMARKS, FAILED, STAYING = b"ndcg_ab.remarks", b"ndcg_ab.failed", b"ndcg_ab.elsewhere"  # keys in a table's metadata
MOST_EXAMPLES = 5


@dataclasses.dataclass(frozen=True)
class Remark:
    """A finding of a source about the data that it read, with a count and examples.

    Attributes
    ----------
    code : str
        Code of the finding (docs/findings.md).
    count : int
        Number of rows, queries or documents that the remark is about.
    examples : tuple of str
        Up to five, each a location and its content: ``run.txt, line 7: tag 'b'``.
    message : str or None
        The sentence for the user; None if the sentence can be written from `code` and `count`.
    total : int or None
        Number of rows that the source read, if the remark is about a part of them; else None.
    """

    code: str
    count: int
    examples: tuple[str, ...] = ()
    message: str | None = None
    total: int | None = None


class RemarkCounter:
    """A counter of rows that deserve a remark; it stores the first five as examples."""

    def __init__(self, code: str) -> None:
        self.code, self.count = code, 0
        self.examples: list[str] = []

    def add(self, example: str) -> None:
        self.count += 1
        if len(self.examples) < MOST_EXAMPLES:
            self.examples.append(example)

    def add_rows(self, rows: pa.Table, describe: Callable[[dict[str, Any]], str]) -> None:
        self.count += rows.num_rows
        self.examples += map(describe, rows.slice(0, MOST_EXAMPLES - len(self.examples)).to_pylist())

    def remarks(self, message: str | None = None) -> list[Remark]:
        return [Remark(self.code, self.count, tuple(self.examples), message)] if self.count else []


def with_metadata(table: pa.Table, entries: Mapping[bytes, bytes]) -> pa.Table:
    """Return the table with further entries in the schema metadata, which Parquet files preserve."""
    return table.replace_schema_metadata({**(table.schema.metadata or {}), **entries}) if entries else table


def with_remarks(table: pa.Table, remarks: Sequence[Remark]) -> pa.Table:
    """Return the table with the remarks of its source in the schema metadata."""
    return with_metadata(table, remarks_metadata(remarks))


def remarks_metadata(remarks: Sequence[Remark]) -> dict[bytes, bytes]:
    text = json.dumps([dataclasses.asdict(remark) for remark in remarks])
    return {REMARKS: text.encode()} if remarks else {}


def read_remarks(table: pa.Table) -> tuple[Remark, ...]:
    """Return the remarks that `with_remarks` put into the metadata of a table."""
    rows = json.loads((table.schema.metadata or {}).get(REMARKS, b"[]"))
    return tuple(Remark(**row | {"examples": tuple(row["examples"])}) for row in rows)


def with_failed_queries(table: pa.Table, query_ids: Sequence[str]) -> pa.Table:
    """Return the table with the ids of failed queries in the metadata.

    query_ids: the queries on which the source failed. The results of such queries are missing; an empty result would be
    a valid answer.
    """
    return with_metadata(table, {FAILED: json.dumps(query_ids).encode()})


@dataclasses.dataclass(frozen=True)
class CostRequest:
    """Settings for recording the costs of the requests of a source.

    Attributes
    ----------
    names : tuple of str
        The costs to record, such as latency_ms.
    warm_up : int
        Number of requests that are sent first and are not counted.
    seed : int
        Seed of the random order of the requests.
    all_cold : bool
        Whether no request is counted, because all of them are repeated later.
    """

    names: tuple[str, ...]
    warm_up: int = 0
    seed: int = 0
    all_cold: bool = False

    @property
    def order_text(self) -> str:
        """The clause on the order of the requests: `` after 5 to warm up, queries in random order (seed 7)``."""
        warm = f" after {self.warm_up} to warm up" if self.warm_up else ""
        return f"{warm}, queries in random order (seed {self.seed})"


@dataclasses.dataclass(frozen=True)
class PullRequest:
    """The queries that are sent to a source, and the settings for reading the source.

    Attributes
    ----------
    texts : mapping of str to str
        Query id -> text.
    attributes : mapping
        Query id -> {column: value}, for the columns that the source names.
    folder : Path or None
        Folder in which the source may store answers during the run, so that a retry does not repeat requests; None if
        it must not store any.
    writer : TableWriter
        Receives the rows and returns them as a table, in memory or on disk.
    costs : CostRequest or None
        The costs to record; queries are then sent in random order. None to record none and keep the order of the
        queries.
    resources : Resources or None
        The threads and memory that the source may use; None for no limit.
    say : callable
        Is called with progress messages.
    """

    texts: Mapping[str, str]
    attributes: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    folder: Path | None = None
    writer: TableWriter = IN_MEMORY
    costs: CostRequest | None = None
    resources: Resources | None = None
    say: Say = lambda text: None


@dataclasses.dataclass(frozen=True)
class PullResult:
    """The rows that a source returned, with titles and costs if the source has them.

    Attributes
    ----------
    table : pyarrow.Table or TableOnDisk
        The rows.
    documents : pyarrow.Table or None
        Titles and addresses of documents in the columns of `DOCUMENT`, which change no result and no digest; None
        without titles.
    costs : pyarrow.Table or None
        One row per request and cost in the columns of `ndcg_ab.sources.costs.COST`, which change no digest; None if no
        costs were requested or recorded.
    """

    table: Any
    documents: pa.Table | None = None
    costs: pa.Table | None = None


# The costs of one request, by name; whether it failed, in which case its latency is the time until it was given up
RequestCosts = tuple[Mapping[str, float], bool]
Ask = Callable[[str], RequestCosts]  # sends a query, given its id


class Source(ABC):
    """A source of judgments, queries or rankings; the base class of all kinds of sources.

    Parameters
    ----------
    described : SourceModel
        The description of the source in a configuration.
    directory : Path
        The folder from which relative paths start.

    Attributes
    ----------
    origin : str
        The name of the source in messages: a path, ``module:function``, or the name of an argument.
    limits_key : str
        The key in `BOUNDS` of the limits for this source.

    Notes
    -----
    Every kind of source has a module and a line in `registry`. The model that describes the source in a configuration
    (`ndcg_ab.config.model.evaluation`) says whether the source needs the queries.
    """

    origin: str
    limits_key: str

    def __init__(self, described: Any, directory: Path) -> None:
        self.described, self.directory, self.origin = described, directory, described.origin

    def pull(self, layout: Layout, queries: Mapping[str, str]) -> pa.Table:
        """Return all rows of the source in the columns of a layout.

        Parameters
        ----------
        layout : Layout
            The columns to return.
        queries : mapping of str to str
            Query id -> text.

        Returns
        -------
        pyarrow.Table
            The rows.

        Raises
        ------
        InputError
            If the data break a rule; the message says which rule and where.
        UnavailableError
            If the source did not answer, and a retry may succeed.
        """
        return self.answer(layout, PullRequest(queries)).table

    def answer(self, layout: Layout, pull: PullRequest) -> PullResult:
        """Return the rows that answer a request, with documents and costs if the source has them.

        A source overrides this method, or `pull` if it only needs the texts of queries.

        Parameters
        ----------
        layout : Layout
            The columns to return.
        pull : PullRequest
            The queries, and the settings for reading the source.

        Returns
        -------
        PullResult
            The rows.

        Raises
        ------
        InputError
            If the data break a rule.
        UnavailableError
            If the source did not answer, and a retry may succeed.
        """
        return PullResult(self.pull(layout, pull.texts))

    def check(self, layout: Layout) -> None:
        """Raise InputError if the source cannot be read.

        By default all rows are read. A source that is a file only reads its first record.
        """
        self.pull(layout, {})

    def reduce(self, layout: Layout, needed: NeededResults, pull: PullRequest) -> ReducedRanking | None:
        """Return the part of a ranking that the evaluation needs, or None if all rows must be read.

        By default None. needed: the part that is needed. pull: the request. Its writer receives the rows of the part,
        and writes them to another file than those of a complete ranking.
        """
        return None

    def query_singly(self, pull: PullRequest) -> AbstractContextManager[Ask]:
        """Return a context manager that yields a function for sending single queries.

        The function takes a query id, and returns the costs of the request by name and whether the request failed. It
        raises InputError or UnavailableError if more queries failed than allowed. By default this method raises
        InputError, because the source cannot be queried again.
        """
        raise InputError(f"{self.origin}: cannot be asked again, as costs.by_turns needs: take by_turns out")

    def locate(self, table: pa.Table, layout: Layout, query_id: str, doc_id: str) -> str:
        """Return the location of a document's rows for a message, such as ``run.txt, lines 7 and 9``.

        Parameters
        ----------
        table : pyarrow.Table
            The rows that the source returned.
        layout : Layout
            The columns of the table.
        query_id, doc_id : str
            Ids of the query and of the document.

        Returns
        -------
        str
            The location; by default `origin`.
        """
        return self.origin


@dataclasses.dataclass(frozen=True)
class Pulled:
    """The data of one source: rows in the columns of a layout, and optional titles, single judgments and costs.

    Attributes
    ----------
    content : pyarrow.Table, TableOnDisk or callable
        The rows. If the rows stay on a cluster, one row per query with the lowest document id. If a ranking was
        reduced, a function that reads all rows.
    layout : Layout
        The columns of the rows.
    source : Source
        The source of the rows.
    documents : pyarrow.Table or None
        Titles and addresses of documents; None without titles.
    singles : pyarrow.Table or None
        Each judgment before several judges or files are combined (`SINGLE_JUDGMENT`); None if nothing was combined.
    costs : pyarrow.Table or None
        The costs of requests (`ndcg_ab.sources.costs.COST`); None if they were not recorded.
    reduced : ReducedRanking or None
        The part of the ranking that was read; None if all rows were read.
    """

    content: Any
    layout: Layout
    source: Source
    documents: pa.Table | None = None
    singles: pa.Table | None = None
    costs: pa.Table | None = None
    reduced: ReducedRanking | None = None

    @functools.cached_property
    def table(self) -> Any:
        """All rows; if only a part of the ranking was read, accessing this reads the rest."""
        return self.content() if self.reduced else self.content

    @property
    def origin(self) -> str:
        """The name of the source in messages, such as a path."""
        return self.source.origin

    @property
    def loaded_rows(self) -> Any:
        """The rows read so far: all rows, or only the top results of each query if the ranking was reduced."""
        return self.reduced.rows if self.reduced else self.table

    def with_all_rows(self) -> "Pulled":
        """Return the data with every row; the rows of a reduced ranking that were left out are read."""
        return dataclasses.replace(self, content=self.table, reduced=None) if self.reduced else self

    @property
    def remote_table(self) -> RemoteTable | None:
        """The remote table that holds the rows, or None if the rows are on this machine."""
        remote_text = (self.loaded_rows.schema.metadata or {}).get(STAYING)
        return RemoteTable.from_json(remote_text) if remote_text else None

    @property
    def count(self) -> int:
        """The number of rows, on this machine or in the remote table."""
        if self.reduced:
            return self.reduced.count
        return self.remote_table.rows if self.remote_table else int(self.table.num_rows)

    @property
    def query_ids(self) -> list[str]:
        """The distinct query ids, in the order of the rows."""
        return distinct_texts(self.reduced.answers if self.reduced else self.table, "query_id")

    def lacks(self, column: str) -> bool:
        """Return whether a column, such as score or rank, is empty in some row."""
        return count_nulls(self.loaded_rows, column) > 0

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """The remarks that the source made while reading."""
        return read_remarks(self.loaded_rows)

    @property
    def failed(self) -> tuple[str, ...]:
        """The ids of the queries that the source failed on, whose results are missing."""
        return tuple(json.loads((self.loaded_rows.schema.metadata or {}).get(FAILED, b"[]")))

    @property
    def digest(self) -> str:
        """A digest of the content, 32 hex digits, which does not depend on row order or file format.

        The ids of failed queries are included, so that a failed query differs from one without results. The digest of a
        remote table is computed on the cluster.
        """
        if self.remote_table:
            return self.remote_table.digest
        digest = content_digest(self.table, self.layout.schema)
        if self.failed:
            digest.update(json.dumps(["failed", *sorted(self.failed)]).encode())
        return digest.hexdigest()[:32]

    def locate(self, query_id: str, doc_id: str) -> str:
        """Return the location of a document's rows for a message, such as ``run.txt, lines 7 and 9``."""
        return self.source.locate(self.table, self.layout, query_id, doc_id)


def join_locations(locations: Iterable[str]) -> str:
    """Return the locations of rows as one text: ``line 7``, ``rows 7 and 9``.

    Up to three distinct locations are joined. Without locations the text is empty.
    """
    distinct = list(dict.fromkeys(locations))[:3]
    words = {location.partition(" ")[0] for location in distinct}
    if len(distinct) < 2 or not words <= {"line", "row"}:
        return " and ".join(distinct)
    return f"{words.pop()}s {' and '.join(location.partition(' ')[2] for location in distinct)}"
