"""The databases that run in the tests of `ndcg-ab sql`: two tables go in, a query's rows come out.

Of each the text columns are as unfriendly as they can be made there: in other orders than that of bytes, or so that
``A`` equals ``a``.
"""

import contextlib
import importlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests import servers

Run = Callable[[str], list[tuple[Any, ...]]]
JUDGMENTS = pa.schema([("query_id", pa.string()), ("doc_id", pa.string()), ("grade", pa.float64())])
RANKINGS = pa.schema(
    [("system_id", pa.string()), ("query_id", pa.string()), ("doc_id", pa.string())]
    + [("score", pa.float64()), ("rank", pa.int64())]
)
Tables = dict[str, pa.Table]


def library(name: str) -> Any:
    """The library, or a skipped test where it is not installed."""
    return pytest.importorskip(name, reason=f"{name} is not installed: pip install {name.partition('.')[0]}")


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextlib.contextmanager
def duckdb(tables: Tables, _: Path) -> Iterator[Run]:
    connection = library("duckdb").connect()
    connection.execute("set default_collation = 'nocase'")
    for name, table in tables.items():
        connection.register(f"given_{name}", table)
        connection.execute(f"create table {name} as select * from given_{name}")
    yield lambda query: connection.execute(query).fetchall()
    connection.close()


@contextlib.contextmanager
def sqlite(tables: Tables, _: Path) -> Iterator[Run]:
    connection = sqlite3.connect(":memory:")
    for name, table in tables.items():
        types = ["text collate nocase" if each.type == pa.string() else "real" for each in table.schema]
        kinds = [f"{quoted(each.name)} {kind}" for each, kind in zip(table.schema, types, strict=True)]
        connection.execute(f"create table {name} ({', '.join(kinds)})")
        connection.executemany(f"insert into {name} values ({', '.join('?' * len(kinds))})", rows_of(table))
    yield lambda query: connection.execute(query).fetchall()
    connection.close()


@contextlib.contextmanager
def datafusion(tables: Tables, _: Path) -> Iterator[Run]:
    context = library("datafusion").SessionContext()
    for name, table in tables.items():
        context.register_record_batches(name, [table.to_batches()])
    yield lambda query: [
        row for batch in context.sql(query).collect() for row in rows_of(pa.Table.from_batches([batch]))
    ]


@contextlib.contextmanager
def polars(tables: Tables, _: Path) -> Iterator[Run]:
    library_ = library("polars")
    context = library_.SQLContext({name: library_.from_arrow(table) for name, table in tables.items()})
    yield lambda query: context.execute(query, eager=True).rows()


@contextlib.contextmanager
def clickhouse(tables: Tables, folder: Path) -> Iterator[Run]:
    connection = library("chdb").connect(":memory:")
    for name, table in tables.items():
        file = folder / f"{name}.parquet"
        importlib.import_module("pyarrow.parquet").write_table(table, file)
        connection.query(f"drop table if exists {name}")  # of an earlier connection of this process
        connection.query(f"create table {name} engine = Memory as select * from file('{file}', Parquet)")

    def run(query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in json.loads(str(connection.query(query, "JSONCompact")))["data"]]

    yield run
    connection.close()


@contextlib.contextmanager
def postgres(tables: Tables, _: Path) -> Iterator[Run]:
    dbapi = library("adbc_driver_manager.dbapi")
    driver = library("adbc_driver_postgresql")
    with servers.postgresql() as socket:
        address = f"postgresql://postgres@/postgres?host={socket}"
        with dbapi.connect(driver=driver._driver_path(), db_kwargs={"uri": address}, autocommit=True) as connection:
            with connection.cursor() as cursor:
                cursor.execute(
                    "create collation anycase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
                )
                for name, table in tables.items():
                    cursor.adbc_ingest(name, table)
                    for field in table.schema:
                        if field.type == pa.string():
                            cursor.execute(f"alter table {name} alter {quoted(field.name)} type text collate anycase")

            def run(query: str) -> list[tuple[Any, ...]]:
                with connection.cursor() as cursor:
                    cursor.execute(query)
                    return [tuple(row) for row in cursor.fetchall()]

            yield run


WAREHOUSES: dict[str, Callable[[Tables, Path], contextlib.AbstractContextManager[Run]]] = {
    "duckdb": duckdb,
    "postgres": postgres,
    "sqlite": sqlite,
    "clickhouse": clickhouse,
    "datafusion": datafusion,
    "polars": polars,
}


def tables(judgments: Sequence[tuple[Any, ...]], rankings: Sequence[tuple[Any, ...]]) -> Tables:
    """`judgments` and `rankings`, from their rows."""
    return {
        name: pa.table(list(map(list, zip(*rows, strict=True))), schema=schema)
        for name, rows, schema in (("judgments", judgments, JUDGMENTS), ("rankings", rankings, RANKINGS))
    }


def renamed(table: pa.Table, names: dict[str, str]) -> pa.Table:
    """The table with other names of its columns, which stand in quotation marks where they need some."""
    plain = {field: name[1:-1].replace('""', '"') if name[0] == '"' else name for field, name in names.items()}
    return table.rename_columns([plain.get(name, name) for name in table.column_names])
