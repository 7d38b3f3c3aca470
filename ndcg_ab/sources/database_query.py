"""Read the rows of a database query in batches, converting to Python objects only batches that break a rule.

Each batch is converted to the columns of the layout as it arrives, so that only one copy of the rows is in memory.
"""

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.errors import InputError
from ndcg_ab.sources.base import PullRequest, PullResult, Source, remarks_metadata
from ndcg_ab.sources.boundary import Pieces
from ndcg_ab.sources.database_drivers import query_database
from ndcg_ab.sources.files.file import ANY_TEXT
from ndcg_ab.sources.files.records import records_table, table_rows
from ndcg_ab.sources.tables.columns import cast_columns, table_if_clean
from ndcg_ab.sources.tables.format_warnings import RemarkCounter, rated_rows
from ndcg_ab.sources.tables.schema import JUDGMENT, Field, Layout, is_id_type, is_number_type, is_text_type

POSTGRESQL_TYPE = b"POSTGRESQL:type"  # what its driver says of a column: PostgreSQL's name of the type
PADDED = b"bpchar"  # char(n): spaces are added up to n letters
NUMERIC = b"numeric"  # comes as text, with as many zeros as it was written with
MONEY = b"money"  # comes as a whole number of the currency's smallest unit
ID_TYPES = {b"text", b"varchar", PADDED, b"name", b"char", b"uuid", b"int2", b"int4", b"int8"}


class DatabaseQuery(Source):
    """A source that reads the rows of a database query."""

    limits_key = "database"

    def answer(self, layout: Layout, pull: PullRequest) -> PullResult:
        layout.refuse_unknown(self.origin, self.described.columns)
        unrated = RemarkCounter("unrated_row")
        with query_database(self.described, self.directory, pull.writer.memory) as (location, answer):
            parts = self.read_batches(answer, location, layout, unrated)
            return PullResult(pull.writer.write(parts, layout.schema, lambda: remarks_metadata(unrated.remarks())))

    def read_batches(self, answer: Pieces, location: str, layout: Layout, unrated: RemarkCounter) -> Iterator[pa.Table]:
        """Yield the rows of a query in batches, in the columns of `layout`.

        answer: the schema, then the record batches. location: the database, for messages. unrated: counts the judgments
        without a grade, which are left out. Raise InputError if data break a rule, or if there are no rows.
        """

        def say(_kind: str, mapping: Mapping[str, str]) -> str:
            return "in the query: select " + ", ".join(f"{column} as {field}" for field, column in mapping.items())

        schema = next(answer)
        chosen = layout.check_columns(location, schema.names, self.described.columns, say)
        for field in layout.fields:
            if field.name in chosen:
                refuse_type(schema.field(chosen[field.name]), field, location)
        empty: set[str] | None = None
        rows = 0
        for batch in answer:
            plain = pa.table({name: plain_column(batch, column) for name, column in chosen.items()})
            part = convert_batch(plain, layout, f"{location}, row", rows, unrated)
            if part.num_rows:
                empty = empty_columns(part) if empty is None else empty
                if odd := empty ^ (here := empty_columns(part)):
                    where, name = f"{location}, row {rows + 1}", min(odd)
                    if name in here:
                        raise InputError(f"{where}: {name} is missing: every row needs one, as the rows before it have")
                    raise InputError(f"{where}: {name} appears here, but not in the rows before it")
                yield part
            rows += batch.num_rows
        if empty is None:
            problem = "no row with a grade" if unrated.count else "no rows"
            raise InputError(f"{location}: the query gives {problem}: there is no {layout.kind} to read")


def refuse_type(column: pa.Field, field: Field, location: str) -> None:
    """Raise InputError if the database type of a column cannot hold the values of a field."""
    kind, name = column.type, (column.metadata or {}).get(POSTGRESQL_TYPE)
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if field.type == pa.string():
        is_uuid = isinstance(column.type, pa.UuidType)
        is_known = name in ID_TYPES if name else is_uuid or not isinstance(column.type, pa.BaseExtensionType)
        if is_known and (is_id_type(kind) or is_uuid or pa.types.is_null(kind)):
            return
        rule, type_name = "must be text or a whole number", "bigint" if name == NUMERIC else "text"
    else:
        if name != MONEY and (is_number_type(kind) or is_text_type(kind)):
            return
        rule, type_name = "must be a number", "integer" if pa.types.is_boolean(kind) else "double precision"
    type_name = "numeric" if (name, type_name) == (MONEY, "double precision") else type_name  # there is no other cast
    raise InputError(
        f"{location}: column {column.name!r} is of type {name.decode() if name else kind}: {field.name} {rule}; cast it"
        f" in the query: cast({column.name} as {type_name}) as {field.name}"
    )


def convert_batch(plain: pa.Table, layout: Layout, location: str, before: int, unrated: RemarkCounter) -> pa.Table:
    """Return a batch as a table in the columns of the layout.

    If a value breaks a rule, the batch is converted row by row, which raises InputError for a value that cannot be
    read. plain: the batch, by field. location: the database and the word for a row, for messages. before: number of
    rows before the batch. unrated: counts the judgments without a grade, which are left out.
    """
    fields = {name: name for name in plain.column_names}
    part = table_if_clean(lambda: cast_columns(plain, layout, fields, location))
    if part is None:
        rows = table_rows(plain, fields, location, before)
        is_judged = layout.kind == JUDGMENT.kind
        part = records_table(rated_rows(rows, unrated, layout.words) if is_judged else rows, layout)
    if layout.kind == "ranking":  # whose queries repeat, and are kept once each
        part = part.set_column(0, "query_id", pc.cast(pc.dictionary_encode(part["query_id"]), ANY_TEXT))
    return pa.concat_tables([part, part[:0]]).combine_chunks()  # the driver's buffers are larger than what is in them


def plain_column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """Return a column of a batch as texts or numbers.

    UUIDs become texts, values of an extension type become its storage type, and the padding of char(n) is removed.
    """
    index = batch.schema.get_field_index(name)
    column, described = batch.column(index), batch.schema.field(index)
    if isinstance(described.type, pa.UuidType):
        return pa.array([None if each is None else str(each) for each in column.to_pylist()], pa.string())
    if isinstance(described.type, pa.BaseExtensionType):
        column = column.storage
    if (described.metadata or {}).get(POSTGRESQL_TYPE) == PADDED:
        return pc.utf8_rtrim(column, " ")
    return column


def empty_columns(part: pa.Table) -> set[str]:
    """Return the names of the columns that contain only nulls."""
    return {name for name in part.column_names if part[name].null_count == part.num_rows}
