"""A ranking or judgments as the list of each query's documents: {query: [documents]}."""

from functools import partial
from itertools import chain
from typing import Any

from ndcg_ab.sources.forms.form import JUDGMENTS, RANKING, Form, Reading, Records
from ndcg_ab.sources.forms.json.nested import (
    are_documents,
    is_list,
    is_object,
    most,
    read_documents,
    read_queries,
    value_of,
    values_of,
)
from ndcg_ab.sources.forms.names import match_columns
from ndcg_ab.sources.forms.sample import Sample


def sniff(sample: Sample, kind: str) -> Reading | None:
    value = value_of(sample)
    if not is_object(value) or not most(value.values(), is_list) or is_columns(value):
        return None
    lists = [entries for entries in value.values() if is_list(entries)]
    if not most((each for each in lists if each), lambda entries: are_documents(entries, kind)):
        return None
    entries = [*chain.from_iterable(lists)]
    if len(lists) == 1 and not most(entries, lambda entry: not is_object(entry) or len(values_of(entry, kind)) > 1):
        return None  # a list of anything that has ids
    return Reading(kind, "json", records=partial(read_lists, kind=kind))


def is_columns(value: Any) -> bool:
    """Return whether lists are the columns of a table, or its columns and rows."""
    names = [str(name) for name in value]
    return len(match_columns(("query_id", "doc_id"), names)) > 1 or {"columns", "data"} <= {*names}


def read_lists(value: Any, kind: str) -> Records:
    """Yield the record of each document of each query."""
    for query_id, entries in read_queries(value):
        yield from read_documents(query_id, entries, kind)


RANKING_FORM = Form(
    "ranking {query: [documents]}", RANKING, '{"q1": ["d1", "d2"], "q2": ["d3"]}\n', partial(sniff, kind=RANKING)
)
JUDGMENTS_FORM = Form(
    "judgments {query: [documents with grades]}",
    JUDGMENTS,
    '{"q1": [{"doc_id": "d1", "grade": 1}, {"doc_id": "d2", "grade": 0}]}\n',
    partial(sniff, kind=JUDGMENTS),
)
