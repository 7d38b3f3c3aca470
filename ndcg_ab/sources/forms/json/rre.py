"""Judgments as Rated Ranking Evaluator keeps them: topics, groups of queries, and their relevant documents."""

from collections.abc import Iterator
from typing import Any

from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.forms.form import JUDGMENTS, Form, Reading, Records
from ndcg_ab.sources.forms.json.nested import Object, is_list, is_object, place_of, read_object, read_objects, value_of
from ndcg_ab.sources.forms.sample import Sample

LEVELS = ("topics", "query_groups", "queries")  # any of them may be left out
RELEVANT = "relevant_documents"


def sniff(sample: Sample) -> Reading | None:
    value = value_of(sample)
    return Reading(JUDGMENTS, "json", records=read_ratings) if is_object(value) and is_rated(value) else None


def is_rated(value: Any) -> bool:
    inner = [entry for level in LEVELS if is_list(value.get(level)) for entry in value[level] if is_object(entry)]
    return is_object(value.get(RELEVANT)) or any(map(is_rated, inner))


def read_ratings(value: Any) -> Records:
    """Yield the record of each document of each query; all queries of a group have the same documents."""
    for query_id, documents in rated_queries(value, None, "the document"):
        for doc_id, grade in grades_of(documents, query_id):
            yield place_of(query_id, doc_id), {"query_id": query_id, "doc_id": doc_id, "grade": grade}


def rated_queries(value: Object, documents: Any, place: str) -> Iterator[tuple[Any, Any]]:
    """Yield (query, its relevant documents) of all levels within; documents: those of the group around."""
    documents = value.get(RELEVANT, documents)
    inner = [found for level in LEVELS if level in value for found in read_objects(value[level], level)]
    for place_within, each in inner:
        yield from rated_queries(each, documents, f"{place}, {place_within}")
    if not inner and documents is not None:
        yield name_query(value, place), documents


def name_query(value: Object, place: str) -> Any:
    """Return the text of a query, else its name."""
    placeholders = value.get("placeholders") or {}
    texts = [text for key, text in placeholders.items() if key == "$query"] or [*placeholders.values()]
    name = value.get("name")
    if len(texts) != 1 and name is None:
        raise InputError(f"{place}: {format_value(value)}: names no query: add the placeholder $query, or a name")
    return texts[0] if len(texts) == 1 else name


def grades_of(documents: Any, query_id: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (document, grade) of {grade: [documents]} or {document: {"gain": grade}}."""
    rule = 'must be {grade: [documents]} or {document: {"gain": grade}}'
    for key, value in read_object(documents, f"{place_of(query_id)}, {RELEVANT}", rule).items():
        if is_list(value):
            yield from ((doc_id, key) for doc_id in value)
        else:
            yield key, read_object(value, place_of(query_id, key), rule).get("gain")


FORM = Form(
    "ratings of Rated Ranking Evaluator (RRE)",
    JUDGMENTS,
    '{"topics": [{"query_groups": [{"name": "red shoes", "queries": [{"placeholders": {"$query": "red shoes"}}],'
    ' "relevant_documents": {"d1": {"gain": 1}}}]}]}\n',
    sniff,
)
