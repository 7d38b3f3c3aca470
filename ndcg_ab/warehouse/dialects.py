"""Describe the SQL dialects for which queries are written, and quote names in them.

All other text is common to all databases: numbers have an exponent (without one they are decimals in some), every
column is qualified by a table, and coalesce replaces nulls of outer joins by 0.
Names of tables, columns and systems are checked, because they become part of a query, and quoted.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ndcg_ab.errors import InputError, Setting, format_value

# Words that a column or table cannot be called without quotation marks in at least one of the databases.
RESERVED = frozenset(
    """all analyse analyze and any array as asc at authorization between binary both by case cast check collate column
    constraint create cross cube current current_date current_time current_timestamp current_user default deferrable
    delete desc distinct do drop else end escape except exclude exists external extract false fetch final first for
    foreign format from full function global grant group groups having if ignore ilike in index inner insert intersect
    interval into is join key last lateral leading left like limit local natural new no not null nulls of off offset
    old on only open or order outer over overlaps partition percent prewhere primary qualify range references right
    row rows sample select semi session_user set settings similar some start symmetric system table tablesample tag then
    to top trailing treat trigger true unbounded union unique unnest update user using values view when where window
    with within""".split()  # noqa: SIM905  (words are easier to read than a list of texts)
)


@dataclass(frozen=True)
class Dialect:
    """The SQL dialect of a database.

    Attributes
    ----------
    title : str
        Name of the database.
    text, real, real32 : str
        SQL types of texts, 64-bit floats and 32-bit floats. `real32` is empty if the database has no 32-bit floats.
    bytewise : str
        Suffix that makes comparisons of a text bytewise, whatever the collation; empty if no suffix is needed.
    quote : str
        Quotation mark of names.
    folds_up : bool
        True if the database stores unquoted names in capitals.
    is_executed : bool
        True if the tests run the queries in the database; False if they only parse the queries.
    """

    title: str
    text: str = "varchar"
    real: str = "double"
    real32: str = "real"
    bytewise: str = ""
    quote: str = '"'
    folds_up: bool = False
    is_executed: bool = False

    def quoted(self, name: str) -> str:
        """Return a name in quotation marks.

        A reserved word in small letters is changed to capitals if the database stores unquoted names in capitals.
        """
        if self.folds_up and name.lower() in RESERVED and name.islower():
            name = name.upper()
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote


DIALECTS = {
    "duckdb": Dialect("DuckDB", bytewise=' collate "binary"', is_executed=True),
    "postgres": Dialect("PostgreSQL", "text", "double precision", bytewise=' collate "C"', is_executed=True),
    "spark": Dialect("Apache Spark", "string", real32="float", quote="`", is_executed=True),
    "sqlite": Dialect("SQLite", "text", "real", real32="", bytewise=" collate binary", is_executed=True),
    "clickhouse": Dialect(
        "ClickHouse", "Nullable(String)", "Nullable(Float64)", "Nullable(Float32)", quote="`", is_executed=True
    ),
    "datafusion": Dialect("Apache DataFusion", is_executed=True),
    "polars": Dialect("polars", is_executed=True),
    "snowflake": Dialect("Snowflake", real32="", folds_up=True),
    "bigquery": Dialect("BigQuery", "string", "float64", real32="", quote="`"),
    "trino": Dialect("Trino"),
    "databricks": Dialect("Databricks", "string", real32="float", quote="`"),
    "redshift": Dialect("Amazon Redshift", "varchar(65535)", "double precision"),
}


# ---- tables, columns and systems as they were named

JUDGMENT_FIELDS = ("query_id", "doc_id", "grade")
RANKING_FIELDS = ("system_id", "query_id", "doc_id", "score", "rank")
PART = re.compile(r'[\w$-]+|"(?:[^"\x00-\x1f\x7f]|"")+"')
TEMPLATE = re.compile(r"\{\{[^{}\n\r]*\}\}")  # a dbt expression: {{ ref('rankings') }}


@dataclass(frozen=True)
class Tables:
    """The user's tables of judgments and rankings, with the names of their columns.

    Attributes
    ----------
    judgments : str
        Name of the table of judgments, such as ``search.judgments``.
    rankings : str or None
        Name of a table with the rankings of all systems; None: "rankings", or the tables of `systems`. InputError is
        raised if both are given.
    systems : mapping of str to str
        Name of a system -> name of the table with its ranking.
    judgments_columns, columns : mapping of str to str
        Field -> name of its column, in the tables of judgments and of rankings. A field that is left out has a column
        of its own name.
    """

    judgments: str = "judgments"
    rankings: str | None = None
    systems: Mapping[str, str] = field(default_factory=dict)
    judgments_columns: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.rankings is not None and self.systems:
            rule = ": both are given; the rankings are in one table, or in one of each system"
            raise InputError(Setting("--rankings"), ", ", Setting("--system"), rule)

    @property
    def all_rankings(self) -> str:
        """The name of the table with the rankings of all systems."""
        return "rankings" if self.rankings is None else self.rankings


def quote_table(option: str, name: str, dialect: Dialect) -> str:
    """Return the path of a table, quoted for a query.

    A dbt expression such as ``{{ ref('rankings') }}`` is returned without quotes. Raise InputError if the path is
    malformed. option: the command-line option with the path, for the message of the error.
    """
    return name.strip() if TEMPLATE.fullmatch(name.strip()) else quote_path(option, "table", name, dialect)


def quote_column(option: str, columns: Mapping[str, str], field: str, dialect: Dialect) -> str:
    """Return the path of the column that holds a field, quoted for a query.

    columns: field -> path of its column; a field that is left out has a column of its own name.
    option: the command-line option with the columns, for the message of the error.
    Raise InputError if the path is malformed.
    """
    return quote_path(option, "column", columns.get(field, field), dialect)


def quote_path(option: str, kind: str, name: str, dialect: Dialect) -> str:
    parts = PART.findall(name)
    if not parts or ".".join(parts) != name:
        expression = ", or a dbt expression in {{ }}" if kind == "table" else ""
        raise InputError(
            Setting(option),
            f" {format_value(name)}: must be the name of a {kind}, of letters, digits, _, $, - and points; a"
            f' part with anything else must be in double quotation marks: "my {kind}"{expression}',
        )
    return ".".join(quote_identifier(part, dialect) for part in parts)


def quote_identifier(part: str, dialect: Dialect) -> str:
    """Return one part of the path of a table or column as SQL.

    The part is put in quotation marks if SQL requires them, or if the user wrote them.
    """
    if part.startswith('"'):
        return dialect.quoted(part[1:-1].replace('""', '"'))
    plain = r"[a-z_][a-z0-9_]*|[A-Z_][A-Z0-9_]*" if dialect.folds_up else r"[a-z_][a-z0-9_]*"
    return part if re.fullmatch(plain, part) and part.lower() not in RESERVED else dialect.quoted(part)


def quote_system(option: str, name: str) -> str:
    """Return the name of a system as an SQL string literal.

    Raise InputError if the name is empty or has unprintable characters, quotation marks, backslashes or braces.
    option: the command-line option with the name, for the message of the error.
    """
    if not name or not name.isprintable() or re.search(r"['\"\\`{}]", name):
        raise InputError(
            Setting(option),
            f" {format_value(name)}: a system's name in a query must be of printable characters without"
            " quotation marks, backslashes and braces",
        )
    return f"'{name}'"


def refuse_unknown_fields(option: str, columns: Mapping[str, str], fields: tuple[str, ...]) -> None:
    for name in columns:
        if name not in fields:
            hint = f"; it is FIELD=COLUMN: say {columns[name]}={name}" if columns[name] in fields else ""
            raise InputError(Setting(option), f": {format_value(name)} is no field there ({', '.join(fields)}){hint}")
