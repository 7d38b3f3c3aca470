"""Judgments of Elasticsearch and OpenSearch: requests of _rank_eval, and lists of the search relevance workbench."""

from typing import Any

from ndcg_ab.sources.forms.form import JUDGMENTS, Form, Reading, Records
from ndcg_ab.sources.forms.json.nested import (
    Object,
    is_list,
    is_object,
    most,
    place_of,
    read_list,
    read_object,
    read_objects,
    read_queries,
    value_of,
)
from ndcg_ab.sources.forms.sample import Sample

KEYS = ("judgmentRatings", "judgmentScores")  # the second in OpenSearch 3.0


def sniff_requests(sample: Sample) -> Reading | None:
    requests = requests_of(value_of(sample))
    fits = is_list(requests) and most(requests, lambda each: is_object(each) and is_list(each.get("ratings")))
    is_rated = fits and most([rating for each in requests for rating in each.get("ratings") or []], is_rating)
    return Reading(JUDGMENTS, "json", records=read_requests) if is_rated else None


def is_rating(value: Any) -> bool:
    return is_object(value) and {"_id", "rating"} <= value.keys()


def requests_of(value: Any) -> Any:
    """Return the list of requests, which may be the whole document."""
    return value.get("requests") if is_object(value) else value


def read_requests(value: Any) -> Records:
    """Yield the record of each rating; the query is called as its request."""
    for place, request in read_objects(requests_of(value), "requests"):
        query_id = request.get("id")
        for _, rating in read_objects(request.get("ratings"), f"{place}, ratings"):
            doc_id = rating.get("_id")
            yield place_of(query_id, doc_id), {"query_id": query_id, "doc_id": doc_id, "grade": rating.get("rating")}


def sniff_workbench(sample: Sample) -> Reading | None:
    value = unwrap(value_of(sample))
    return Reading(JUDGMENTS, "json", records=read_ratings) if any(key in value for key in KEYS) else None


def unwrap(value: Any) -> Object:
    """Return the list of judgments within the answer of an engine; an empty object if there is not just one."""
    while is_object(value) and not any(key in value for key in KEYS):
        inner = value.get("_source") or value.get("hits")
        value = inner[0] if is_list(inner) and len(inner) == 1 else inner
    return value if is_object(value) else {}


def read_ratings(value: Any) -> Records:
    """Yield the record of each rating."""
    found = unwrap(value)
    ratings = found.get("judgmentRatings", found.get("judgmentScores"))
    if is_object(ratings):
        queries = [*read_queries(ratings)]
    else:
        queries = [(each.get("query"), each.get("ratings")) for _, each in read_objects(ratings, "judgmentRatings")]
    for query_id, entries in queries:
        for entry in read_list(entries, place_of(query_id), "must be a list of ratings"):
            rating = read_object(entry, place_of(query_id), "must be an object with docId and rating")
            doc_id, grade = rating.get("docId"), rating.get("rating", rating.get("score"))
            yield place_of(query_id, doc_id), {"query_id": query_id, "doc_id": doc_id, "grade": grade}


REQUESTS_FORM = Form(
    "requests of _rank_eval",
    JUDGMENTS,
    '{"requests": [{"id": "red shoes", "ratings": [{"_index": "shop", "_id": "d1", "rating": 1}]}]}\n',
    sniff_requests,
)
WORKBENCH_FORM = Form(
    "judgments of OpenSearch's search relevance workbench",
    JUDGMENTS,
    '{"name": "shop", "judgmentRatings": [{"query": "red shoes", "ratings": [{"docId": "d1", "rating": "1.0"}]}]}\n',
    sniff_workbench,
)
