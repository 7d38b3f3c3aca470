"""Translate DuckDB's SQL into the SQL of other engines."""

import functools

import sqlglot
from sqlglot import exp


@functools.lru_cache(maxsize=1000)
def translate_for_spark(text: str) -> str:
    """Return a DuckDB statement translated into the SQL of Spark, with parameters as ``:name``.

    Two differences are corrected in addition to the grammar: 1.0 is a double in DuckDB and a decimal in Spark, and a
    list in Spark has neither nulls nor an order. Raises ValueError if Spark has no equivalent.
    """
    tree = sqlglot.parse_one(text, read="duckdb").transform(translate_node)
    try:
        return tree.sql(dialect="spark", unsupported_level=sqlglot.ErrorLevel.RAISE, comments=False)
    except sqlglot.UnsupportedError as error:
        raise ValueError(str(error)) from None


def translate_node(node: exp.Expr) -> exp.Expr:
    """Return one node of a parsed statement, translated if it is a decimal number or an ordered list.

    Other nodes are returned unchanged.
    """
    if isinstance(node, exp.Literal) and not node.is_string and "." in node.this and "e" not in node.this.lower():
        return exp.Literal.number(f"{node.this}e0")
    if isinstance(node, exp.ArrayAgg) and isinstance(node.this, exp.Order):
        return ordered_list(node.this)
    return node


def ordered_list(order: exp.Order) -> exp.Expr:
    """Return the Spark expression for a list ordered by one column, such as ``list(grade order by rank)``.

    Nulls stay in the list. Raises ValueError for a descending order.
    """
    (ordered,) = order.expressions
    if ordered.args.get("desc"):
        raise ValueError(f"{order.sql()}: a list in falling order is not translated")
    key, value = (each.sql(dialect="duckdb") for each in (ordered.this, order.this))
    pairs = f"collect_list(named_struct('key', {key}, 'value', {value}))"
    return sqlglot.parse_one(f"transform(array_sort({pairs}), each -> each.value)", read="spark")
