"""Examples of a finding: up to five places, each with what is there."""

from collections.abc import Iterable

from ndcg_ab.sources import Pulled
from ndcg_ab.sources.tables.on_disk import select_queries

MOST = 5
LOCATED = 5_000  # rows of a table up to which looking for the line of an example takes no time


def examples_of(pulled: Pulled, places: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Of (query_id, doc_id) each: ``run.txt, line 7: query 'q1', document 'd3'``; without the line in large tables.

    An empty doc_id stands for the query, whose first line is reported.
    """
    return tuple(example_of(pulled, query_id, doc_id) for query_id, doc_id in list(dict.fromkeys(places))[:MOST])


def example_of(pulled: Pulled, query_id: str, doc_id: str) -> str:
    told = f"query {query_id!r}" + (f", document {doc_id!r}" if doc_id else "")
    if pulled.count > LOCATED or pulled.elsewhere:
        return told
    first = doc_id or first_document(pulled, query_id)
    return f"{pulled.place_of(query_id, first)}: {told}" if first else told


def first_document(pulled: Pulled, query_id: str) -> str | None:
    """The document on the first line of a query; None where there is none."""
    rows = select_queries(pulled.table, [query_id])
    found: str | None = rows["doc_id"][0].as_py() if rows.num_rows else None
    return found
