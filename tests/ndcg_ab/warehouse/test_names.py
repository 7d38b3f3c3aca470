"""What the names of tables, columns and systems become in a query, and which are refused."""

import re

import pytest

from ndcg_ab.errors import InputError
from ndcg_ab.warehouse.dialects import DIALECTS, Tables
from ndcg_ab.warehouse.query import write_query
from ndcg_core.measures.metric import Metric

NAMES = [  # dialect, as named, in the query
    ("duckdb", "judgments", "judgments"),
    ("duckdb", "a.b.c", "a.b.c"),
    ("postgres", "Search.judgments", '"Search".judgments'),
    ("postgres", "order", '"order"'),
    ("postgres", '"my ""own"" table"', '"my ""own"" table"'),
    ("snowflake", "DWH.judgments", "DWH.judgments"),
    ("snowflake", "order", '"ORDER"'),
    ("snowflake", "Mixed", '"Mixed"'),
    ("bigquery", "my-project.search.judgments", "`my-project`.search.judgments"),
    ("bigquery", '"a`b"', "`a``b`"),
    ("clickhouse", "Ergebnisse_größer", "`Ergebnisse_größer`"),
    ("spark", "2026_judgments", "`2026_judgments`"),
    ("trino", "{{ ref('judgments') }}", "{{ ref('judgments') }}"),
    ("trino", " {{ source('search', 'judgments') }} ", "{{ source('search', 'judgments') }}"),
]
REFUSED = [
    *("", ".", "a.", "a..b", "a b", "a;b", "a--b; drop table x", "judgments; drop table x", 'a"b', '"a', '""', "a'b"),
    *("(select 1)", "a/*", "a\nb", '"a\nb"', '"a\x00"', "{{ a }} b", "{{ a }}; {{ b }}", "{% a %}", "{{ {{ }}", "`a`"),
]


@pytest.mark.parametrize(("dialect", "named", "written"), NAMES)
def test_a_table(dialect: str, named: str, written: str) -> None:
    assert f"\n    from {written} as judged\n" in write_query(Metric(), dialect, Tables(judgments=named))
    assert f"\n    from {written} as returned\n" in write_query(Metric(), dialect, Tables(rankings=named))


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_is_refused(name: str) -> None:
    given = {
        "--judgments": Tables(judgments=name),
        "--rankings": Tables(rankings=name),
        "--system": Tables(systems={"a": name}),
        "--columns": Tables(columns={"score": name}),
        "--judgments-columns": Tables(judgments_columns={"grade": name}),
    }
    for option, tables in given.items():
        with pytest.raises(InputError, match=rf"^{option} .*must be the name of a (table|column), of letters"):
            write_query(Metric(), "duckdb", tables)


def test_a_column_is_no_expression_of_dbt() -> None:
    with pytest.raises(InputError, match="must be the name of a column"):
        write_query(Metric(), "duckdb", Tables(columns={"score": "{{ score }}"}))


@pytest.mark.parametrize("name", ["", "o'neil", "a\\", 'a"b', "a`b", "{{x}}", "a\nb", "a\x1b"])
def test_a_system_that_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"^--system .*a system's name in a query must be of printable characters"):
        write_query(Metric(), "duckdb", Tables(systems={name: "rankings"}))


def test_a_field_that_nothing_has() -> None:
    with pytest.raises(
        InputError, match=re.escape("--columns: 'grade' is no field there (system_id, query_id, doc_id,")
    ):
        write_query(Metric(), "duckdb", Tables(columns={"grade": "x"}))
    with pytest.raises(InputError, match=re.escape("; it is FIELD=COLUMN: say query_id=qid")):
        write_query(Metric(), "duckdb", Tables(judgments_columns={"qid": "query_id"}))


def test_every_database_marks_names() -> None:
    for dialect in DIALECTS.values():
        mark = dialect.quote
        assert dialect.quoted(f"a{mark}b") == f"{mark}a{mark}{mark}b{mark}"
