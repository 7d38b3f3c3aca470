"""The databases that a query is written for, and the few words in which they differ.

Everything else is one text that means the same in all of them: numbers have an exponent (without one they are decimals
in some), every column has a name and a table in front of it, what an outer join does not find is made 0 by coalesce.
"""

from dataclasses import dataclass

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
    """One database.

    title: its name. text, real: its types of texts and of 64-bit numbers; real32 that of 32-bit ones, empty without.
    bytewise: what follows a text so that it is compared as bytes, whatever its column says; empty where it always is.
    quote: the mark around names. folds_up: whether names without marks are stored in capitals.
    is_executed: whether the tests run what is written for it, or only parse it.
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
        """A name that the database takes as it is."""
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
