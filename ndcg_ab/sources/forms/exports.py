"""Read JSON exports of judging tools: Quepid, Elasticsearch and OpenSearch, Rated Ranking Evaluator (RRE)."""

from collections.abc import Iterator
from typing import Any

from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.forms.form import JUDGMENTS, RANKING, Records
from ndcg_ab.sources.forms.nested import (
    Object,
    is_list,
    is_object,
    json_form,
    most,
    place_of,
    read_list,
    read_object,
    read_objects,
    read_queries,
)

LEVELS = ("topics", "query_groups", "queries")  # of RRE; any of them may be left out
RELEVANT = "relevant_documents"
KEYS = ("judgmentRatings", "judgmentScores")  # of the search relevance workbench, the second in OpenSearch 3.0


def has_objects(value: Any, name: str, fields: set[str]) -> bool:
    """Return whether an object has a list under a name, most entries of which have the fields."""
    entries = value.get(name) if is_object(value) else None
    return is_list(entries) and most(entries, lambda entry: is_object(entry) and fields <= entry.keys())


def judged(query_id: Any, doc_id: Any, grade: Any, judge: Any = None) -> tuple[str, dict[str, Any]]:
    """Return the place and the record of a judgment; judge: who gave the grade, if known."""
    record = {"query_id": query_id, "doc_id": doc_id, "grade": grade}
    return place_of(query_id, doc_id), record | ({"judge": judge} if judge else {})


def is_empty(rating: Object) -> bool:
    return rating.get("rating") in (None, "")


# ---- Quepid


def read_case(value: Any) -> Records:
    """Yield the record of each rating of a Quepid case, without empty ratings."""
    for place, query in read_objects(value["queries"], "queries"):
        text = query.get("query_text")
        if text is None:
            raise InputError(f"{place}: {format_value(query)}: has no query_text: every query needs one")
        ratings = query.get("ratings") or []
        if is_object(ratings):
            ratings = [{"doc_id": doc_id, "rating": rating} for doc_id, rating in ratings.items()]
        for _, rating in read_objects(ratings, f"{place_of(text)}, ratings"):
            if not is_empty(rating):
                yield judged(text, rating.get("doc_id"), rating["rating"], rating.get("user_email"))


def read_book(value: Any) -> Records:
    """Yield the record of each rating of a Quepid book, without empty and unrateable ones."""
    for _, pair in read_objects(value["query_doc_pairs"], "query_doc_pairs"):
        query_id, doc_id = pair.get("query_text"), pair.get("doc_id")
        for _, rating in read_objects(pair.get("judgements") or [], f"{place_of(query_id, doc_id)}, judgements"):
            if not rating.get("unrateable") and not is_empty(rating):
                yield judged(query_id, doc_id, rating["rating"], rating.get("user_email"))


def is_snapshot(value: Any) -> bool:
    """Return whether a document is a Quepid snapshot; in the beginning of a large file its queries may be missing."""
    docs = value.get("docs") if is_object(value) else None
    if not is_object(docs) or not {"queries", "has_snapshot_file", "time"} & value.keys():
        return False
    entries = [entry for found in docs.values() if is_list(found) for entry in found]
    return most(entries, lambda entry: is_object(entry) and "id" in entry)


def read_snapshot(value: Any) -> Records:
    """Yield the record of each document that a search returned, without documents that are only rated."""
    queries = [query for _, query in read_objects(value.get("queries") or [], "queries")]
    texts = {str(query.get("query_id", query.get("id"))): query.get("query_text") for query in queries}
    for number, entries in read_queries(value["docs"]):
        text = texts.get(str(number))
        if text is None:
            raise InputError(f"docs, {place_of(number)}: queries has no query_text of it: export the whole snapshot")
        rank = 0
        for entry in read_list(entries, place_of(text), "must be a list of documents"):
            if not read_object(entry, place_of(text), "must be an object with an id").get("rated_only"):
                rank += 1
                yield place_of(text, entry.get("id")), {"query_id": text, "doc_id": entry.get("id"), "rank": rank}


# ---- Elasticsearch and OpenSearch


def requests_of(value: Any) -> Any:
    """Return the list of requests in a _rank_eval document, or the document itself if it is the list."""
    return value.get("requests") if is_object(value) else value


def are_requests(value: Any) -> bool:
    """Return whether a document holds requests of _rank_eval with ratings."""
    requests = requests_of(value)
    if not is_list(requests) or not most(requests, lambda each: is_object(each) and is_list(each.get("ratings"))):
        return False
    ratings = [rating for each in requests for rating in each.get("ratings") or []]
    return most(ratings, lambda rating: is_object(rating) and {"_id", "rating"} <= rating.keys())


def read_requests(value: Any) -> Records:
    """Yield the record of each rating of a _rank_eval document; the query id is the id of the request."""
    for place, request in read_objects(requests_of(value), "requests"):
        for _, rating in read_objects(request.get("ratings"), f"{place}, ratings"):
            yield judged(request.get("id"), rating.get("_id"), rating.get("rating"))


def unwrap(value: Any) -> Object:
    """Return the object with ratings inside a search engine's response; an empty object unless there is exactly one."""
    while is_object(value) and not any(key in value for key in KEYS):
        inner = value.get("_source") or value.get("hits")
        value = inner[0] if is_list(inner) and len(inner) == 1 else inner
    return value if is_object(value) else {}


def read_workbench(value: Any) -> Records:
    """Yield the record of each rating of the search relevance workbench."""
    found = unwrap(value)
    ratings = found.get(KEYS[0], found.get(KEYS[1]))
    if is_object(ratings):
        queries = [*read_queries(ratings)]
    else:
        queries = [(each.get("query"), each.get("ratings")) for _, each in read_objects(ratings, KEYS[0])]
    for query_id, entries in queries:
        for entry in read_list(entries, place_of(query_id), "must be a list of ratings"):
            rating = read_object(entry, place_of(query_id), "must be an object with docId and rating")
            yield judged(query_id, rating.get("docId"), rating.get("rating", rating.get("score")))


# ---- Rated Ranking Evaluator


def is_rated(value: Any) -> bool:
    """Return whether an RRE document has relevant documents at any level of topics, groups and queries."""
    if not is_object(value):
        return False
    inner = [entry for level in LEVELS if is_list(value.get(level)) for entry in value[level]]
    return is_object(value.get(RELEVANT)) or any(map(is_rated, inner))


def read_rated(value: Any) -> Records:
    """Yield the record of each document of each query; all queries of an RRE group share the group's documents."""
    rule = 'must be {grade: [documents]} or {document: {"gain": grade}}'
    for query_id, documents in rated_queries(value, None, "the document"):
        for key, rated in read_object(documents, f"{place_of(query_id)}, {RELEVANT}", rule).items():
            if is_list(rated):
                yield from (judged(query_id, doc_id, key) for doc_id in rated)
            else:
                yield judged(query_id, key, read_object(rated, place_of(query_id, key), rule).get("gain"))


def rated_queries(value: Object, documents: Any, place: str) -> Iterator[tuple[Any, Any]]:
    """Yield each query at any level with its relevant documents; documents: those of the enclosing group."""
    documents = value.get(RELEVANT, documents)
    inner = [found for level in LEVELS if level in value for found in read_objects(value[level], level)]
    for place_within, each in inner:
        yield from rated_queries(each, documents, f"{place}, {place_within}")
    if not inner and documents is not None:
        yield name_query(value, place), documents


def name_query(value: Object, place: str) -> Any:
    """Return the text of an RRE query, or else its name."""
    placeholders = value.get("placeholders") or {}
    texts = [text for key, text in placeholders.items() if key == "$query"] or [*placeholders.values()]
    name = value.get("name")
    if len(texts) != 1 and name is None:
        raise InputError(f"{place}: {format_value(value)}: names no query: add the placeholder $query, or a name")
    return texts[0] if len(texts) == 1 else name


FORMS = (
    json_form(
        "Quepid case",
        JUDGMENTS,
        '{"case_name": "shop", "queries": [{"query_text": "red shoes", "ratings": [{"doc_id": "d1", "rating": 1,'
        ' "user_email": "ann@example.org"}]}]}\n',
        lambda value: has_objects(value, "queries", {"query_text", "ratings"}),
        read_case,
    ),
    json_form(
        "Quepid book",
        JUDGMENTS,
        '{"name": "shop", "query_doc_pairs": [{"query_text": "red shoes", "doc_id": "d1", "judgements": ['
        '{"rating": 1.0, "unrateable": false, "user_email": "ann@example.org"}]}]}\n',
        lambda value: has_objects(value, "query_doc_pairs", {"query_text", "doc_id"}),
        read_book,
    ),
    json_form(
        "Quepid snapshot",
        RANKING,
        '{"id": 7, "name": "a", "time": "2026-01-05T14:26:14.000Z", "docs": {"1": [{"id": "d1", "rated_only": false},'
        ' {"id": "d2", "rated_only": false}]}, "queries": [{"query_id": 1, "query_text": "red shoes"}]}\n',
        is_snapshot,
        read_snapshot,
    ),
    json_form(
        "judgments of OpenSearch's search relevance workbench",
        JUDGMENTS,
        '{"name": "shop", "judgmentRatings": [{"query": "red shoes", "ratings": ['
        '{"docId": "d1", "rating": "1.0"}]}]}\n',
        lambda value: any(key in unwrap(value) for key in KEYS),
        read_workbench,
    ),
    json_form(
        "requests of _rank_eval",
        JUDGMENTS,
        '{"requests": [{"id": "red shoes", "ratings": [{"_index": "shop", "_id": "d1", "rating": 1}]}]}\n',
        are_requests,
        read_requests,
    ),
    json_form(
        "ratings of Rated Ranking Evaluator (RRE)",
        JUDGMENTS,
        '{"topics": [{"query_groups": [{"name": "red shoes", "queries": [{"placeholders": {"$query": "red shoes"}}],'
        ' "relevant_documents": {"d1": {"gain": 1}}}]}]}\n',
        is_rated,
        read_rated,
    ),
)
