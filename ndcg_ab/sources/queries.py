"""Read queries with texts, slices, weights and clusters, and documents with titles and addresses."""

import dataclasses
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.http import HttpSource
from ndcg_ab.config.model.inputs.sources import FileSource, JudgeSource
from ndcg_ab.config.model.inputs.sources import Source as Described
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.base import Pulled, PullRequest, Source
from ndcg_ab.sources.files.parts import local_columns
from ndcg_ab.sources.registry import file_source, pull_source
from ndcg_ab.sources.tables.on_disk import TableWriter
from ndcg_ab.sources.tables.schema import DOCUMENT, NO_VALUE, NOT_DRAWN, OF_DRAWS, QUERY_ID, Layout, query_layout

PLAIN = query_layout()
TEXT_SCHEMA = PLAIN.schema
ID_NOUNS = {"query_id": "query", "doc_id": "document"}  # column -> what its ids name
LIGHTEST, HEAVIEST = 1e-100, 1e100  # weights whose products and squares are still numbers
LEAST_OTHERS = 1e-9  # of the heaviest query's weight: with less the variance of a mean would be a rounding error
ATTRIBUTE_SCHEMA = pa.schema([("query_id", pa.string()), ("attribute", pa.string()), ("value", pa.string())])
# Ids alone: a column of a table, or a text with one on each line. The SQL knows them by another name than that of the
# column whose texts engines number.
INTENDED = Layout("intended query", (QUERY_ID,))
UNSEEN = dataclasses.replace(INTENDED, kind="careful query")
INTENDED_SCHEMA = pa.schema([("intended_id", pa.string())])


class Queries:
    """The queries of an evaluation; empty if the configuration names none.

    Attributes
    ----------
    pulled : Pulled or None
        The table of queries; None if the configuration names none.
    texts : mapping of str to str
        query_id -> text; empty unless every query has a text.
    attributes : tuple of str
        The columns to slice by.
    digest : str or None
        The digest of the content; None without a table.
    intended : Pulled or None
        The ids of the queries that a change is meant to improve; None: all queries.
    """

    def __init__(
        self, pulled: Pulled | None = None, attributes: tuple[str, ...] = (), intended: Pulled | None = None
    ) -> None:
        self.pulled = pulled
        self.intended = intended
        self.attributes = attributes
        self.texts: dict[str, str] = {}
        if pulled is not None and pulled.table["text"].null_count == 0:
            self.texts = dict(zip(*(pulled.table[name].to_pylist() for name in ("query_id", "text")), strict=True))

    @property
    def records(self) -> dict[str, dict[str, str]]:
        """The mapping query_id -> {column: value} of the columns to slice by and of those that requests use."""
        if self.pulled is None:
            return {}
        names = [field.name for field in self.pulled.layout.fields if isinstance(field.blank, str)]
        rows = self.pulled.table.select(["query_id", *names]).to_pylist()
        return {row["query_id"]: {name: row[name] for name in names} for row in rows}

    @property
    def digest(self) -> str | None:
        return self.pulled.digest if self.pulled else None

    def without_draws(self) -> "Queries":
        """Return the queries without the columns that `ndcg-ab draw` writes: probability and disagreement."""
        if self.pulled is None:
            return self
        fields = tuple(field for field in self.pulled.layout.fields if field not in OF_DRAWS)
        layout = dataclasses.replace(self.pulled.layout, fields=fields)
        table = self.pulled.table.select(layout.schema.names)
        return Queries(Pulled(table, layout, self.pulled.source), self.attributes, self.intended)

    def text_table(self) -> pa.Table:
        """Return one row per query: id, text, weight, cluster, probability, disagreement; null if unknown."""
        if self.pulled is None:
            return TEXT_SCHEMA.empty_table()
        columns = {name: self.pulled.table[name] for name in self.pulled.table.column_names}
        for field in OF_DRAWS:  # null if it is empty, or if nothing was drawn
            column = columns.get(field.name, pa.nulls(self.pulled.table.num_rows, field.type))
            columns[field.name] = pc.if_else(pc.equal(column, NOT_DRAWN), None, column)
        return pa.table(columns).select(TEXT_SCHEMA.names).cast(TEXT_SCHEMA)

    def intended_table(self) -> pa.Table:
        """Return a table of the ids of the queries that a change is meant to improve; empty if none are configured."""
        if self.intended is None:
            return INTENDED_SCHEMA.empty_table()
        return pa.table([self.intended.table["query_id"]], schema=INTENDED_SCHEMA)

    def attribute_table(self) -> pa.Table:
        """Return one row per query and attribute to slice by: query_id, attribute, value."""
        if self.pulled is None or not self.attributes:
            return ATTRIBUTE_SCHEMA.empty_table()
        rows = self.pulled.table
        columns = ([rows["query_id"], pa.repeat(name, rows.num_rows), rows[name]] for name in self.attributes)
        return pa.concat_tables(pa.table(each, schema=ATTRIBUTE_SCHEMA) for each in columns)


def pull_queries(evaluation: Evaluation) -> Queries:
    """Return the queries of an evaluation, read from the configured source.

    Raises InputError if rows of a query differ, and for invalid weights and probabilities.
    """
    intended = None
    if evaluation.intended is not None:
        intended = pull_source(evaluation.intended, INTENDED, evaluation.directory)
    if evaluation.queries is None:
        return Queries(intended=intended)
    layout = make_query_layout(evaluation)
    pulled = pull_source(evaluation.queries.source, layout, evaluation.directory)
    rows = distinct_rows(pulled.table, pulled.origin)
    queries = Queries(Pulled(rows, layout, pulled.source), tuple(evaluation.slices.by), intended)
    refuse_weights(rows, pulled.origin)
    if evaluation.statistics.weighted is False or not is_drawn(rows):
        return queries.without_draws()
    refuse_probabilities(rows, pulled.origin)
    return queries


def make_query_layout(evaluation: Evaluation) -> Layout:
    """Return the layout of the query columns that an evaluation needs."""
    sources: list[Described] = [] if evaluation.scores else [system.source for system in evaluation.systems]
    sources += [evaluation.judge] if evaluation.judge else []
    naming = [source for source in sources if isinstance(source, HttpSource | JudgeSource)]
    blanks = dict.fromkeys([*evaluation.slices.by, *(name for source in naming for name in source.attributes)], "")
    needs = {
        "text": any(source.needs_queries for source in sources) or None,
        "weight": evaluation.statistics.weighted,
        "cluster": evaluation.statistics.clustered and evaluation.statistics.cluster_prefix is None,
    }
    return query_layout(needs, blanks | dict.fromkeys(evaluation.slices.by, NO_VALUE))


def unread_columns(queries: Queries, described: Described, directory: Path) -> tuple[str, ...]:
    """Return the columns of a local file of queries that were not read; empty for other sources."""
    if queries.pulled is None or not isinstance(described, FileSource):
        return ()
    columns = local_columns(described, directory)
    read = {*queries.pulled.layout.choose_columns(columns, described.columns).values()}
    return tuple(name for name in columns if name not in read)


def pull_weights(source: FileSource) -> Queries:
    """Return queries with weights, or with sampling probabilities, read from a file.

    Raises InputError if the file has neither weights nor probabilities, or if they are invalid.
    """
    pulled = pull_source(source, PLAIN, Path())
    rows = distinct_rows(pulled.table, pulled.origin)
    if is_drawn(rows):
        refuse_probabilities(rows, pulled.origin)
    elif rows["weight"].null_count:
        pull_source(source, query_layout({"weight": True}), Path())
    refuse_weights(rows, pulled.origin)
    return Queries(Pulled(rows, PLAIN, pulled.source))


def pull_clusters(source: FileSource) -> dict[str, str]:
    """Return the mapping query_id -> cluster, read from a file; raise InputError if a query has no cluster."""
    pulled = pull_source(source, query_layout({"cluster": True}), Path())
    rows = distinct_rows(pulled.table, pulled.origin)
    return dict(zip(rows["query_id"].to_pylist(), rows["cluster"].to_pylist(), strict=True))


def is_drawn(rows: pa.Table) -> bool:
    """Return whether any row has a probability, as in files that `ndcg-ab draw` wrote."""
    return bool(pc.any(pc.greater_equal(rows["probability"], 0.0)).as_py())


def refuse_probabilities(rows: pa.Table, origin: str) -> None:
    """Raise InputError for probabilities and disagreements that `ndcg-ab draw` cannot have written."""
    numbers = [pc.fill_null(rows[field.name], NOT_DRAWN) for field in OF_DRAWS]
    columns = (each.to_pylist() for each in (rows["query_id"], *numbers))
    filled = [each for each in numbers if pc.any(pc.not_equal(each, NOT_DRAWN)).as_py()]
    if not pc.any(pc.greater(rows["probability"], 0.0)).as_py():
        raise InputError(f"{Path(origin)}: no query has a probability above 0: none was drawn")
    probabilities = pc.unique(rows["probability"]).to_pylist()
    if NOT_DRAWN not in probabilities and any(0 < each < 1 for each in probabilities):
        raise InputError(
            f"{Path(origin)}: no query has an empty probability, so those that were not drawn are missing: give the"
            " whole file that ndcg-ab draw wrote, which says what the drawn ones stand for"
        )
    for query_id, probability, disagreement in zip(*columns, strict=True):
        where = f"{Path(origin)}: query {format_value(query_id)}"
        if probability != NOT_DRAWN and not 0 <= probability <= 1:
            raise InputError(f"{where}: probability = {probability:g}: must be from 0 to 1, or empty")
        if len(filled) == len(OF_DRAWS) and (disagreement > 0) != (probability != 0):
            value_text = "empty" if disagreement == NOT_DRAWN else f"{disagreement:g}"
            rule = "0 where the probability is 0" if probability == 0 else "above 0 where the probability is not 0"
            raise InputError(f"{where}: disagreement = {value_text}: must be {rule}")


def refuse_weights(rows: pa.Table, origin: str) -> None:
    """Raise InputError for weights that are not positive, too extreme, or concentrated on one query."""
    weighed = rows.filter(pc.is_valid(rows["weight"]))
    weights = dict(zip(weighed["query_id"].to_pylist(), weighed["weight"].to_pylist(), strict=True))
    for query_id, weight in weights.items():
        if not LIGHTEST <= weight <= HEAVIEST:
            rule = f"must be above 0, from {LIGHTEST:g} to {HEAVIEST:g}"
            raise InputError(f"{Path(origin)}: query {format_value(query_id)}: weight = {weight:g}: {rule}")
    if len(weights) > 1:
        heaviest = max(weights, key=lambda query_id: weights[query_id])
        others = sum(weight / weights[heaviest] for query_id, weight in weights.items() if query_id != heaviest)
        if others < LEAST_OTHERS:
            where = f"{Path(origin)}: query {format_value(heaviest)}: weight = {weights[heaviest]:g}"
            rule = f"must weigh {LEAST_OTHERS:g} at least, else one query decides alone"
            raise InputError(f"{where}: all others together weigh {others:.1g} of it, and {rule}")


def distinct_rows(table: pa.Table, origin: str) -> pa.Table:
    """Return the first row of each id; raise InputError if rows of an id differ.

    table: queries or documents, whose first column has the ids. origin: the source, for messages.
    """
    first: dict[str, tuple[int, list[object]]] = {}
    key, *names = table.column_names
    for row, (each, *values) in enumerate(zip(*(column.to_pylist() for column in table.columns), strict=True)):
        _, earlier = first.setdefault(each, (row, values))
        for name, before, now in zip(names, earlier, values, strict=True):
            if before != now:
                is_ours = name in (*TEXT_SCHEMA.names, *DOCUMENT.schema.names)
                nouns = f"{name}s" if is_ours else f"values of {format_value(name)}"
                both = f"{format_value(before)} and {format_value(now)}"
                raise InputError(f"{origin}: {ID_NOUNS[key]} {format_value(each)} has two {nouns}: {both}")
    return table.take([row for row, _ in first.values()])


def documents_source(evaluation: Evaluation) -> Source | None:
    """Return the source of titles and addresses of documents, or None if the evaluation names none."""
    documents = evaluation.documents
    return file_source(documents, evaluation.directory) if documents and documents.file is not None else None


def read_documents(source: Source, doc_ids: pa.ChunkedArray) -> pa.Table:
    """Return the rows of the given documents: doc_id, title, url (null if unknown), sorted by id.

    Raises InputError for a row that breaks a rule, and for a document with two different titles or addresses.
    """
    writer = TableWriter(only=pc.unique(doc_ids.cast(pa.string())))
    table = source.answer(DOCUMENT, PullRequest({}, writer=writer)).table
    rows = writer.write([table], DOCUMENT.schema).sort_by("doc_id")
    columns = [pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column) for column in rows.columns]
    return distinct_rows(pa.table(columns, schema=DOCUMENT.schema), source.origin)


def merge_documents(first: pa.Table, other: pa.Table | None) -> pa.Table:
    """Return the rows of two tables of documents, sorted by id; the first table has precedence."""
    rest = [] if other is None else [other.filter(pc.invert(pc.is_in(other["doc_id"], pc.unique(first["doc_id"]))))]
    return pa.concat_tables([first, *rest]).sort_by("doc_id")
