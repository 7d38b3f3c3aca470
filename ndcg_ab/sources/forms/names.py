"""The names of columns: what other tools call a field."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

# Field -> the names of its column in other tools, in small letters and digits alone, the likeliest first.
NAMES = {
    "query_id": ("queryid", "qid", "topicid", "topic", "searchid", "query", "querytext", "q", "user", "userid"),
    "doc_id": (
        *("docno", "docid", "corpusid", "did", "documentid", "document", "doc", "pid", "passageid", "productid"),
        *("product", "itemid", "item", "movieid", "sku", "asin", "url", "id"),
    ),
    "grade": ("rating", "relevance", "grade", "label", "escilabel", "rel", "judgment", "judgement", "gain", "rated"),
    "score": ("score", "similarity", "relevancescore", "sim", "bm25", "value"),
    "rank": ("rank", "position", "pos", "place", "docposition"),
    "id": ("id",),  # of a query, in a file of queries
    "text": ("text", "querytext", "query", "question"),
    "system_id": ("systemid", "system", "systemname", "runid", "run", "runname", "runtag", "tag", "model", "engine"),
    "documents": ("predictions", "prediction", "documents", "docids", "docs", "results", "ranking"),
}


def bare_name(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def field_column(field: str, names: Sequence[str]) -> str | None:
    """Return the column of a field, by its own name or a name of other tools; None if no column has one."""
    if field in names:
        return field
    by_bare = {bare_name(name): name for name in reversed(names)}
    return next((by_bare[name] for name in NAMES.get(field, ()) if name in by_bare), None)


def query_column(names: Sequence[str]) -> str | None:
    """Return the column with the ids in a file that has one row for each query."""
    return field_column("query_id", names) or field_column("id", names)


def match_columns(fields: Iterable[str], names: Sequence[str]) -> dict[str, str]:
    """Return field -> column for the fields that have a column; no column serves two fields."""
    found: dict[str, str] = {}
    for field in fields:
        column = field_column(field, [name for name in names if name not in found.values()])
        if column is not None:
            found[field] = column
    return found


def guess_column(field: str, names: Iterable[str]) -> str | None:
    """Return the column that a message proposes for a field: a known name, or one that is nearly the field's."""
    given = list(names)
    by_bare = {bare_name(name): name for name in reversed(given)}
    near = get_close_matches(bare_name(field), by_bare, n=1, cutoff=0.7)
    return field_column(field, given) or (by_bare[near[0]] if near else None)
