"""Queries with the list of their documents: hits, results, or the answer of an engine; ratings for judgments."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.forms.form import JUDGMENTS, RANKING, Form, Reading, Records
from ndcg_ab.sources.forms.json.nested import (
    are_documents,
    find_documents,
    is_list,
    is_object,
    most,
    query_of,
    read_documents,
    read_queries,
    value_of,
    values_of,
)
from ndcg_ab.sources.forms.names import match_columns
from ndcg_ab.sources.forms.sample import Sample


def sniff(sample: Sample, kind: str) -> Reading | None:
    value = value_of(sample)
    rows = [*rows_of(value)] if is_list(value) or (is_object(value) and not is_columns(value)) else []
    if not most(rows, lambda row: find_documents(row) is not None and query_of(row) is not None):
        return None
    lists = [found for row in rows if (found := find_documents(row))]
    is_one_list = is_object(value) and len(rows) == 1 and rows[0] is not value  # may be of anything that has ids
    fits = most(lists, lambda entries: are_documents(entries, kind))
    if not fits or (is_one_list and not most(lists[0], lambda each: len(values_of(each, kind)) > is_object(each))):
        return None
    return Reading(kind, "json", records=partial(read_hits, kind=kind))


def is_columns(value: Any) -> bool:
    """Return whether lists are the columns of a table, or its columns and rows."""
    names = [str(name) for name in value]
    return len(match_columns(("query_id", "doc_id"), names)) > 1 or {"columns", "data"} <= {*names}


def rows_of(value: Any) -> Iterator[Any]:
    """Yield the object of each query: of a list, of one query alone, of {query: answer} or {query: documents}."""
    if is_list(value):
        yield from value
    elif query_of(value) is not None and find_documents(value) is not None:
        yield value
    else:
        for query_id, answer in read_queries(value):
            yield {"query_id": query_id, "hits" if is_list(answer) else "answer": answer}


def read_hits(value: Any, kind: str) -> Records:
    """Yield the record of each document of each query."""
    known: dict[str, int] = {}
    for number, row in enumerate(rows_of(value), 1):
        query_id = query_of(row) if is_object(row) else None
        entries = find_documents(row)
        if query_id is None or entries is None:
            missing = "query_id" if query_id is None else "list of documents"
            raise InputError(f"entry {number}: {format_value(row)}: has no {missing}: every query needs both")
        if (first := known.setdefault(str(query_id), number)) != number:
            rule = "give a query once, or another id (qid) to each"
            raise InputError(f"entries {first} and {number}: query {format_value(query_id)} comes twice: {rule}")
        yield from read_documents(query_id, entries, kind)


RANKING_FORM = Form(
    "ranking with the hits of each query, or {query: [documents]}",
    RANKING,
    '[{"qid": "q1", "query": "red shoes", "hits": [{"docid": "d1", "score": 2.5}, {"docid": "d2", "score": 1.5}]}]\n',
    partial(sniff, kind=RANKING),
)
JUDGMENTS_FORM = Form(
    "judgments with the ratings of each query, or {query: [documents with grades]}",
    JUDGMENTS,
    '[{"qid": "q1", "query": "red shoes", "ratings": [{"docid": "d1", "rating": 1}, {"docid": "d2", "rating": 0}]}]\n',
    partial(sniff, kind=JUDGMENTS),
)
