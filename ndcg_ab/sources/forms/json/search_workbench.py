"""Judgments as OpenSearch's search relevance workbench lists them, alone or in the answer of a request for them."""

from typing import Any

from ndcg_ab.sources.forms.form import JUDGMENTS, Form, Reading, Records
from ndcg_ab.sources.forms.json.nested import (
    Object,
    is_list,
    is_object,
    place_of,
    read_list,
    read_object,
    read_objects,
    read_queries,
    value_of,
)
from ndcg_ab.sources.forms.sample import Sample

KEYS = ("judgmentRatings", "judgmentScores")  # the second in OpenSearch 3.0


def sniff(sample: Sample) -> Reading | None:
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


FORM = Form(
    "judgments of OpenSearch's search relevance workbench",
    JUDGMENTS,
    '{"name": "shop", "judgmentRatings": [{"query": "red shoes", "ratings": [{"docId": "d1", "rating": "1.0"}]}]}\n',
    sniff,
)
