"""The first selects of a query: the tables as they were named, with our names and types for their columns."""

from collections.abc import Iterator

from ndcg_ab.warehouse import names
from ndcg_ab.warehouse.dialects import Dialect
from ndcg_ab.warehouse.names import Tables
from ndcg_ab.warehouse.step import Step, select_columns
from ndcg_core.measures.metric import Metric


def input_steps(metric: Metric, dialect: Dialect, tables: Tables) -> Iterator[Step]:
    """The two tables with our names and types."""

    def text(alias: str, option: str, field: str) -> str:
        columns = tables.judgments_columns if alias == "judged" else tables.columns
        column = names.quote_column(option, columns, field, dialect)
        return f"    cast({alias}.{column} as {dialect.text}){dialect.bytewise} as {field}"

    option = "--judgments-columns"
    grade = names.quote_column(option, tables.judgments_columns, "grade", dialect)
    lines = [text("judged", option, "query_id"), text("judged", option, "doc_id")]
    lines.append(f"    cast(judged.{grade} as {dialect.real}) as grade")
    place = names.quote_table("--judgments", tables.judgments, dialect)
    rows = f"from {place} as judged\nwhere judged.{grade} is not null"
    yield Step("given_judgment", "your judgments; a row without a grade is none", select_columns(lines, rows))

    def ranking(place: str, system: str) -> str:
        lines = [system, text("returned", "--columns", "query_id"), text("returned", "--columns", "doc_id")]
        lines.append(order_column(metric, dialect, tables))
        return select_columns(lines, f"from {place} as returned")

    if not tables.systems:
        place = names.quote_table("--rankings", tables.rankings, dialect)
        selects = [ranking(place, text("returned", "--columns", "system_id"))]
    else:
        selects = []
        for name, path in tables.systems.items():
            system = f"    cast({names.quote_system('--system', name)} as {dialect.text}) as system_id"
            selects.append(ranking(names.quote_table("--system", path, dialect), system))
    yield Step("given_ranking", "your rankings", "\nunion all\n".join(selects))


def order_column(metric: Metric, dialect: Dialect, tables: Tables) -> str:
    """What orders results, higher first; adding 0 makes -0.0 and 0.0 equal scores."""
    if metric.ties == "given":
        rank = names.quote_column("--columns", tables.columns, "rank", dialect)
        return f"    -cast(returned.{rank} as {dialect.real}) as order_score"
    column = names.quote_column("--columns", tables.columns, "score", dialect)
    return f"    cast(returned.{column} as {dialect.real}) + 0e0 as order_score"
