"""How a query reads: its comment, its lines, and that every database's parser takes it."""

import re

import pytest
import sqlglot
from sqlglot import exp

import ndcg_ab
from ndcg_ab.errors import InputError
from ndcg_ab.warehouse import expressions
from ndcg_ab.warehouse.dialects import DIALECTS, Tables
from ndcg_ab.warehouse.expressions import DISCOUNTS, GAINS, is_expressible, number_literal
from ndcg_ab.warehouse.query import write_query
from ndcg_ab.warehouse.sums import FACTOR_SQL
from ndcg_core.measures import registry
from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import parse
from tests.warehouses import WAREHOUSES

METRICS = [
    "ndcg@10",
    "ndcg(ideal=max, ideal_cut=returned, gain={1:1, 2:3}, no_relevant=one)",
    "ndcg(ties=average, ideal=recall, unjudged=condense, gain=exponential)@3",
    "rr(duplicates=first, unanswered=exclude)",
]
PARSED_AS = {"datafusion": "postgres", "polars": "postgres"}  # which sqlglot has no parser for


def test_every_measure_gain_and_discount_can_be_said() -> None:
    assert all(is_expressible(parse(name)) for name in registry.MEASURES)
    assert FACTOR_SQL.keys() == {each.factors for each in registry.MEASURES.values() if each.factors}
    assert GAINS.keys() == registry.GAINS.keys()
    assert DISCOUNTS.keys() == registry.DISCOUNTS.keys()


def test_the_comment_states_the_definition() -> None:
    metric = parse("ndcg(gain={1:1, 2:3}, ideal_cut=returned)@10")
    text = write_query(metric, "snowflake")
    comment = text.partition("\nwith ")[0].splitlines()
    assert all(line.startswith("-- ") for line in comment)
    assert comment[:4] == [
        f"-- {metric.name}, one row per (system_id, query_id).",
        f"-- Made by: ndcg-ab sql --metric '{metric.name}' --dialect snowflake",
        "-- For Snowflake: parsed, but not executed by the tests of ndcg-ab.",
        f"-- Definition {metric.hash} (docs/definitions.md):",
    ]
    assert "--   ideal_cut = returned: at k, or where the results end if that is sooner" in comment
    refused = [write_query(parse(name), "duckdb").count("a document twice") for name in ("rr", "rr(duplicates=first)")]
    assert refused == [1, 0]
    chosen = {line.split()[1] for line in comment if " = " in line and line.startswith("--   ")}
    assert chosen == {name for name, value in metric.definition.items() if value is not None}
    for name, dialect in DIALECTS.items():
        said = "not executed" not in write_query(metric, name)
        assert said == dialect.is_executed == (name in (*WAREHOUSES, "spark"))


@pytest.mark.slow
def test_every_parser_takes_it() -> None:
    for name in DIALECTS:
        for metric in METRICS:
            for mean in (False, True):
                text = write_query(parse(metric), name, mean=mean)
                assert max(map(len, text.splitlines())) <= 120
                assert text == text.rstrip() + "\n"
                found = sqlglot.parse_one(text, read=PARSED_AS.get(name, name))
                assert isinstance(found, exp.Select)
                wanted = ["system_id", "value", "queries"] if mean else ["system_id", "query_id", "value"]
                assert found.named_selects == wanted


def test_every_number_has_an_exponent() -> None:
    assert [number_literal(number) for number in (1.0, 0.25, -3.0, 1e22, 1e-7)] == [
        "1e0",
        "0.25e0",
        "-3e0",
        "1e22",
        "1e-07",
    ]
    assert all(float(number_literal(number)) == number for number in (0.1, 1 / 3, 5e-324, expressions.LARGEST))


def test_the_function_writes_what_the_command_writes() -> None:
    given = {"dialect": "trino", "rankings": "a.b", "columns": {"query_id": "qid"}, "mean": True}
    text = ndcg_ab.sql_query("ndcg@5", **given)
    assert "cast(returned.qid as varchar) as query_id" in text
    assert text == ndcg_ab.sql_query(
        parse("ndcg@5"), dialect="trino", rankings="a.b", columns={"query_id": "qid"}, mean=True
    )


# ---- names of tables, columns and systems: what they become in a query, and which are refused


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


@pytest.mark.parametrize("name", ["", "o'neil", "a\\", 'a"b', "a`b", "{{x}}", "a\nb", "a\x1b"])
def test_a_system_that_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"^--system .*a system's name in a query must be of printable characters"):
        write_query(Metric(), "duckdb", Tables(systems={name: "rankings"}))


def test_a_field_that_nothing_has_and_a_column_that_is_an_expression_of_dbt() -> None:
    with pytest.raises(InputError, match="must be the name of a column"):
        write_query(Metric(), "duckdb", Tables(columns={"score": "{{ score }}"}))
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
