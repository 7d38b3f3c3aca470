"""How a query reads: its comment, its lines, and that every database's parser takes it."""

import pytest
import sqlglot
from sqlglot import exp

import ndcg_ab
from ndcg_ab.warehouse import expressions
from ndcg_ab.warehouse.dialects import DIALECTS, RESERVED
from ndcg_ab.warehouse.expressions import DISCOUNTS, GAINS, is_expressible, number_literal
from ndcg_ab.warehouse.query import write_query
from ndcg_ab.warehouse.sums import FACTOR_SQL
from ndcg_core.measures import registry
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


def test_words_that_need_marks_are_words() -> None:
    names = {"given_judgment", "given_ranking", "judged", "returned", "answer", "ranking", "rank", "value", "best"}
    assert not names & RESERVED


def test_the_function_writes_what_the_command_writes() -> None:
    given = {"dialect": "trino", "rankings": "a.b", "columns": {"query_id": "qid"}, "mean": True}
    text = ndcg_ab.sql_query("ndcg@5", **given)
    assert "cast(returned.qid as varchar) as query_id" in text
    assert text == ndcg_ab.sql_query(
        parse("ndcg@5"), dialect="trino", rankings="a.b", columns={"query_id": "qid"}, mean=True
    )
