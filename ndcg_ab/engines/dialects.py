"""One text for every engine: what DuckDB's SQL is in the words of another."""

import functools

import sqlglot
from sqlglot import exp


@functools.lru_cache(maxsize=1000)
def for_spark(text: str) -> str:
    """The text for Spark, parameters as ``:name``; raises ValueError for what Spark cannot say.

    Beyond the grammar: 1.0 is a double in what DuckDB computes and a decimal in Spark, and a list there has neither
    nulls nor an order.
    """
    tree = sqlglot.parse_one(text, read="duckdb").transform(said_otherwise)
    try:
        return tree.sql(dialect="spark", unsupported_level=sqlglot.ErrorLevel.RAISE, comments=False)
    except sqlglot.UnsupportedError as error:
        raise ValueError(str(error)) from None


def said_otherwise(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Literal) and not node.is_string and "." in node.this and "e" not in node.this.lower():
        return exp.Literal.number(f"{node.this}e0")
    if isinstance(node, exp.ArrayAgg) and isinstance(node.this, exp.Order):
        return ordered_list(node.this)
    return node


def ordered_list(order: exp.Order) -> exp.Expr:
    """A list in the order of one column, in which nulls stand."""
    (place,) = order.expressions
    if place.args.get("desc"):
        raise ValueError(f"{order.sql()}: a list in falling order is not translated")
    key, value = (each.sql(dialect="duckdb") for each in (place.this, order.this))
    pairs = f"collect_list(named_struct('place', {key}, 'value', {value}))"
    return sqlglot.parse_one(f"transform(array_sort({pairs}), each -> each.value)", read="spark")
