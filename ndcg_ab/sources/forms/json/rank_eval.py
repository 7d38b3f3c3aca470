"""Judgments in the requests of _rank_eval, of Elasticsearch and OpenSearch."""

from typing import Any

from ndcg_ab.sources.forms.form import JUDGMENTS, Form, Reading, Records
from ndcg_ab.sources.forms.json.nested import is_list, is_object, most, place_of, read_objects, value_of
from ndcg_ab.sources.forms.sample import Sample


def sniff(sample: Sample) -> Reading | None:
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


FORM = Form(
    "requests of _rank_eval",
    JUDGMENTS,
    '{"requests": [{"id": "red shoes", "ratings": [{"_index": "shop", "_id": "d1", "rating": 1}]}]}\n',
    sniff,
)
