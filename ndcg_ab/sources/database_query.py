"""Query a database, and read the rows in batches, converting to Python objects only batches that break a rule.

Each batch is converted to the columns of the layout as it arrives, so that only one copy of the rows is in memory.
"""

import contextlib
import importlib
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.inputs.connections import safe_address
from ndcg_ab.config.model.inputs.sources import DatabaseSource
from ndcg_ab.config.secrets.lookup import redact, remember_secret, reveal_secrets
from ndcg_ab.errors import InputError, UnavailableError, format_value, on_one_line, refuse_unreadable, require_libraries
from ndcg_ab.memory import Memory
from ndcg_ab.sources.base import PullRequest, PullResult, RemarkCounter, Source, remarks_metadata
from ndcg_ab.sources.boundary import BOUNDS, LimitCounter, Pieces
from ndcg_ab.sources.files.file import ANY_TEXT
from ndcg_ab.sources.files.records import rated_rows, records_table, table_rows
from ndcg_ab.sources.files.unpacking import TABLE_RATIO, allowed_ratio
from ndcg_ab.sources.tables.columns import cast_columns, table_if_clean
from ndcg_ab.sources.tables.schema import JUDGMENT, Field, Layout, is_id_type, is_number_type, is_text_type
from ndcg_ab.temporary import temporary_folder

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
        rows, given, nulls = 0, 0, Counter[str]()
        for batch in answer:
            plain = pa.table({name: plain_column(batch, column) for name, column in chosen.items()})
            part = convert_batch(plain, layout, f"{location}, row", rows, unrated)
            rows += batch.num_rows
            given += part.num_rows
            nulls.update({name: part[name].null_count for name in part.column_names})
            yield part
        if not given:
            problem = "no row with a grade" if unrated.count else "no rows"
            raise InputError(f"{location}: the query gives {problem}: there is no {layout.kind} to read")
        for name in sorted(name for name, count in nulls.items() if 0 < count < given):
            raise InputError(f"{location}: {name} is missing in {nulls[name]:,} rows: every row needs one, or none has")


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
        type_name = "numeric" if name == MONEY else type_name  # there is no other cast
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


# ---- databases and drivers


SCHEMES = {  # of an address -> the ADBC driver
    **dict.fromkeys(("postgresql", "postgres"), "postgresql"),
    **{name: name for name in ("sqlite", "snowflake", "bigquery")},
    **dict.fromkeys(("grpc", "grpc+tcp", "grpc+tls", "grpc+unix"), "flightsql"),
}
FILES = ("sqlite", "duckdb")  # databases that are one file
SQLITE_START, DUCKDB_START = b"SQLite format 3\0", b"DUCK"
WRITE_AHEAD = b"\2\2"  # in the header of a SQLite file
READ_ONLY = {  # driver -> statements before the query; a limit that the server's administrator set stays
    "postgresql": (
        "set transaction read only",
        "select set_config('statement_timeout', '{milliseconds}', true)"
        " where current_setting('statement_timeout') = '0'",
    ),
    "sqlite": ("pragma trusted_schema = off", "pragma query_only = on"),
}
GIVING_UP = 5.0  # seconds after which a server ends a query that nobody waits for any more
PATIENCE = "10"  # seconds for a connection to PostgreSQL
STATEMENT = {  # driver -> options of its statements: few rows in memory; SQLite infers types from the first batch
    "postgresql": {"adbc.postgresql.batch_size_hint_bytes": str(1 << 20)},
    "sqlite": {"adbc.sqlite.query.batch_rows": str(1 << 16)},
}
AWAY = ("08", "53", "57P", "58", "40")  # SQLSTATE: connection, resources, shutdown, system, serialization
BUSY = re.compile(  # messages to connecting clients, without a SQLSTATE
    r"starting up|shutting down|in recovery|terminating connection|too many (clients|connections)|connection slots"
)
SAID = re.compile(r"(?:FATAL|ERROR):\s*(?P<said>[^\n]*)")
LocatedAnswer = tuple[str, Pieces]


@contextlib.contextmanager
def query_database(described: DatabaseSource, directory: Path, memory: Memory | None = None) -> Iterator[LocatedAnswer]:
    """Yield the name of a database for messages, and an iterator over the result of the query.

    The first item of the iterator is the schema; the others are record batches. memory: the memory limit for a database
    file; None for no limit. Raise InputError if the source is invalid or its answer exceeds the limits, and
    UnavailableError if the database did not answer and a retry may succeed.
    """
    database = described.database
    uri = reveal_secrets(database.uri, "database", directory)
    options = {
        key: str(reveal_secrets(value, f"database.options.{key}", directory)) for key, value in database.options.items()
    }
    file = None if uri is None else database_file(uri, database.driver, directory)
    if file is None:
        location = safe_address(uri) if uri and "://" in uri else database.driver or "database"
        query, bounds = require_reading_query(described.query, location), BOUNDS["database"]
        require_libraries(f"database: {location}", "adbc_driver_manager")
        driver = database.driver or driver_for(uri, location)
        parameters = driver_parameters(driver, uri, options)
        answer = query_by_adbc(driver, location, parameters, query, database.timeout, directory)
    else:
        location, kind, bounds = str(file), database_file_kind(file), BOUNDS["database file"]
        query = require_reading_query(described.query, location)
        # a view of some bytes can give rows without end
        bounds = bounds._replace(bytes=bounds.bytes + allowed_ratio(TABLE_RATIO) * file.stat().st_size)
        if kind == "duckdb":
            from ndcg_ab.engines.duckdb.files import query_database_file

            answer = query_database_file(file, query, memory)
        else:
            require_libraries(f"database: {location}", "adbc_driver_manager", "adbc_driver_sqlite")
            answer = query_by_sqlite(file, options, query, database.timeout)
    limits = LimitCounter(bounds._replace(seconds=database.timeout), location)
    with contextlib.closing(limits.await_pieces(answer)) as pieces:
        yield location, pieces


def database_file(uri: str, driver: str | None, directory: Path) -> Path | None:
    """Return the path of a database file such as `sqlite:///lists.db` or `warehouse.duckdb`, or None for a server."""
    scheme, mark, rest = uri.partition("://")
    if mark and scheme not in FILES:
        return None
    if not mark and driver not in (None, *FILES):
        return None
    path = Path(rest.removeprefix("/") if mark else uri).expanduser()
    return path if path.is_absolute() else directory / path


def database_file_kind(file: Path) -> str:
    """Return the kind of a database file, "duckdb" or "sqlite", by its first bytes.

    Raise InputError for other files.
    """
    if not file.is_file():
        raise InputError(
            f"{file}: there is no such database file; a server's address is like postgresql://host/database"
        )
    with refuse_unreadable(file), file.open("rb") as opened:
        start = opened.read(100)
    if start[8:12] == DUCKDB_START:
        return "duckdb"
    if start.startswith(SQLITE_START):
        refuse_cut_sqlite(file, start)
        return "sqlite"
    raise InputError(f"{file}: is no database of SQLite or DuckDB: name a file of rows with `file`")


def refuse_cut_sqlite(file: Path, header: bytes) -> None:
    """Raise InputError if a SQLite file is shorter than its header says; header: the first 100 bytes.

    The header counts pages if its two change counters are equal (https://www.sqlite.org/fileformat.html, 1.3.7). Pages
    that are only in a write-ahead log are not counted.
    """
    page = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    size, promised = file.stat().st_size, (65536 if page == 1 else page) * pages
    if header[24:28] == header[92:96] and size < promised:
        raise InputError(
            f"{file}: the database is cut short, copy it again: it promises {promised:,} bytes and has {size:,}"
        )


def driver_for(uri: str | None, location: str) -> str:
    """Return the name of the ADBC driver for an address; raise InputError for an unknown scheme."""
    scheme = (uri or "").partition("://")[0].partition("+psycopg")[0]
    if scheme not in SCHEMES:
        schemes = ", ".join(f"{name}://" for name in SCHEMES)
        raise InputError(
            f"database: {location}: names no driver that is known ({schemes}): say it with driver: NAME or PATH"
        )
    return SCHEMES[scheme]


def driver_parameters(driver: str, uri: str | None, options: dict[str, str]) -> dict[str, str]:
    """Return the parameters with which a driver connects, by the driver's names of the parameters.

    uri: the address; None if all parameters are in `options`.
    """
    if uri is None:
        return options
    if driver == "snowflake":
        uri = uri.removeprefix("snowflake://")
    if driver == "bigquery" and uri.startswith("bigquery://"):
        project, _, dataset = uri.removeprefix("bigquery://").partition("/")
        names = {"adbc.bigquery.sql.project_id": project, "adbc.bigquery.sql.dataset_id": dataset}
        return {name: value for name, value in names.items() if value} | options
    has_timeout = "connect_timeout" in uri or "PGCONNECT_TIMEOUT" in os.environ
    if driver == "postgresql" and "://" in uri and not has_timeout:
        uri += f"{'&' if '?' in uri else '?'}connect_timeout={PATIENCE}"
    return {"uri": uri, **options}


def query_by_sqlite(file: Path, options: dict[str, str], query: str, seconds: float) -> Pieces:
    """Yield the schema and then the batches of a query of a SQLite file.

    If SQLite would write files beside the database, a copy is queried. options: further parameters of the driver.
    seconds: has no effect for SQLite. Raise InputError if the query fails, and
    UnavailableError if the database is locked.

    Notes
    -----
    SQLite writes `-wal` and `-shm`, even with `mode=ro`, if a database has a write-ahead log and nobody has it open.
    """
    log, index = (file.with_name(file.name + ending) for ending in ("-wal", "-shm"))
    with contextlib.ExitStack() as stack:
        with file.open("rb") as opened:
            is_alone = opened.read(20)[18:] == WRITE_AHEAD and not index.exists()
        folder = stack.enter_context(temporary_folder()) if is_alone else file.parent
        for each in (file, log) if is_alone else ():
            if each.exists():
                shutil.copyfile(each, folder / each.name)
        parameters = {"uri": f"file:{quote(str(folder / file.name))}?mode=ro", **options}
        yield from query_by_adbc("sqlite", str(file), parameters, query, seconds)


def query_by_adbc(
    driver: str, location: str, parameters: dict[str, str], query: str, seconds: float, directory: Path = Path()
) -> Pieces:
    """Yield the schema and then the batches of a query through the ADBC driver manager.

    location: the database, for messages. seconds: the time after which a server ends the query. directory: the folder
    from which the path of a driver starts. Raise InputError if the query fails, and UnavailableError if the database
    did not answer and a retry may succeed.

    Notes
    -----
    The PEP 249 interface is avoided because it imports pandas and polars.
    """
    import adbc_driver_manager as adbc
    from adbc_driver_manager._reader import AdbcRecordBatchReader  # its errors have a SQLSTATE, pyarrow's have none

    for secret in secret_texts(parameters):
        remember_secret(secret)
    with contextlib.ExitStack() as stack:
        with translate_driver_errors(location, driver, parameters, "cannot be opened"):
            library = driver  # whose name the driver manager may know
            if "/" in driver:
                library = str(directory / Path(driver).expanduser())
            elif find_spec(f"adbc_driver_{driver}") is not None:
                library = str(importlib.import_module(f"adbc_driver_{driver}")._driver_path())
            opened = stack.enter_context(adbc.AdbcDatabase(driver=library, **parameters))
            connection = stack.enter_context(adbc.AdbcConnection(opened))
            with contextlib.suppress(adbc.NotSupportedError):
                connection.set_autocommit(False)  # nothing is committed, whatever the query does
            for text in READ_ONLY.get(driver, ()):
                with adbc.AdbcStatement(connection) as statement:
                    statement.set_sql_query(text.format(milliseconds=round(1000 * (seconds + GIVING_UP))))
                    statement.execute_update()
        with translate_driver_errors(location, driver, parameters, "the query fails"):
            statement = stack.enter_context(adbc.AdbcStatement(connection))
            statement.set_options(**STATEMENT.get(driver, {}))
            statement.set_sql_query(query)
            stream, _ = statement.execute_query()
            reader = stack.enter_context(contextlib.closing(AdbcRecordBatchReader._import_from_c(stream.address)))
            if not reader.schema.names:
                raise InputError(f"{location}: the query gives no table: it must be a SELECT")
            yield reader.schema
            yield from reader


def secret_texts(parameters: dict[str, str]) -> Iterator[str]:
    """Yield the secret parts of an address and of connection parameters, as written and percent-decoded."""
    uri = parameters.get("uri", "")
    with contextlib.suppress(ValueError):
        if password := urlsplit(uri).password:
            yield from {password, unquote(password)}
    yield from re.findall(r"password=([^&\s]+)", uri)
    yield from (value for name, value in parameters.items() if re.search(r"password|token|secret|private_key", name))


@contextlib.contextmanager
def translate_driver_errors(location: str, driver: str, parameters: dict[str, str], action: str) -> Iterator[None]:
    """Raise errors of a database driver as InputError without secrets, or as UnavailableError if a retry may succeed.

    action: a clause such as ``the query fails``.
    """
    from adbc_driver_manager import Error

    try:
        yield
    except (Error, OSError, pa.ArrowException) as error:
        if isinstance(error, Error) and error.status_code is not None and "Could not load" in str(error):
            package = f"pip install adbc-driver-{driver}, or give" if "/" not in driver else "give"
            raise InputError(
                f"database: {location}: there is no ADBC driver {driver!r}: {package} the path of its library with"
                " driver"
            ) from None
        message = driver_error_text(error, parameters, location)
        if driver == "sqlite" and (match := re.search(r"Type mismatch in column (\d+): expected (\w+)", message)):
            column = int(match[1]) + 1
            message = (
                f"column {column} holds values of several types, its first ones {match[2].lower()}:"
                " cast it in the query, as in cast(doc_id as text)"
            )
            raise InputError(f"{location}: {action}: {message}") from None
        if is_unavailable_error(error, driver):
            advice = "see that the server runs and that its address is right"
            raise UnavailableError(f"{location}: the database does not answer: {message}; {advice}") from None
        raise InputError(f"{location}: {action}: {message}") from None


def is_unavailable_error(error: Exception, driver: str) -> bool:
    """Return whether an error means that the database is temporarily unreachable or locked."""
    text = str(error)
    if driver in FILES:
        return "locked" in text
    if BUSY.search(text) or (state := getattr(error, "sqlstate", None) or "").startswith(AWAY):
        return True
    if state or SAID.search(text) or "invalid" in text or "URI" in text:
        return False
    kinds = ("IO", "TIMEOUT", "CANCELLED")
    return isinstance(error, OSError) or getattr(getattr(error, "status_code", None), "name", "") in kinds


def driver_error_text(error: Exception, parameters: dict[str, str], location: str) -> str:
    """Return the message of a driver, or the server's part of it, on one line and without secrets."""
    text = str(error)
    match = SAID.search(text)
    text = match["said"] if match else re.sub(r"^[A-Z_]+: ", "", text)
    if uri := parameters.get("uri"):
        text = text.replace(uri, location)
    return on_one_line(re.sub(r"^\[\w[\w ]*\] ", "", redact(text).strip()), 500).rstrip(".")


HIDDEN = re.compile(  # texts, quoted names and comments: what is in them is no SQL
    r"""\b[eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*" | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$
    | --[^\n]* | /\*.*?\*/""",
    re.DOTALL | re.VERBOSE,
)
READING = ("select", "with", "values", "table")
WRITING = re.compile(r"\binto\b|[()]\s*\b(?P<verb>insert|update|delete|merge)\b", re.IGNORECASE)
RULE = "it must be one statement that reads: SELECT, WITH, VALUES or TABLE"


def require_reading_query(query: str, location: str) -> str:
    """Return a query without the final semicolon; raise InputError if the query is not a single reading statement.

    Notes
    -----
    A line end is added: drivers put a query between parentheses, and a final comment would swallow the closing one.
    """
    code = HIDDEN.sub(lambda match: " " * len(match[0]), query)
    statement, _, rest = code.partition(";")
    if rest.strip("; \t\r\n"):
        raise InputError(f"{location}: the query holds several statements, divided by a semicolon: {RULE}")
    words = statement.lstrip("( \t\r\n").split(None, 1)
    word = re.split(r"\W", words[0], maxsplit=1)[0] if words else ""
    if word.lower() not in READING:
        raise InputError(f"{location}: the query begins with {format_value(word or query.strip())}: {RULE}")
    if writing := WRITING.search(statement):
        verb = writing["verb"] or writing[0]
        raise InputError(f"{location}: the query holds {verb.upper()}, which writes: {RULE}; put a name into quotes")
    return query[: len(statement)] + "\n"
