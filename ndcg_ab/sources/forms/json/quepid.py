"""What Quepid exports: cases and books, which hold judgments, and snapshots, which hold rankings."""

from collections.abc import Callable
from typing import Any

from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.forms.form import JUDGMENTS, RANKING, Form, Reading, Records
from ndcg_ab.sources.forms.json.nested import (
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


def sniff_list(sample: Sample, name: str, fields: set[str], read: Callable[[Any], Records]) -> Reading | None:
    """Return how an object is read that has a list under a name, most entries of which have the fields."""
    value = value_of(sample)
    entries = value.get(name) if is_object(value) else None
    fits = is_list(entries) and most(entries, lambda entry: is_object(entry) and fields <= entry.keys())
    return Reading(JUDGMENTS, "json", records=read) if fits else None


def sniff_case(sample: Sample) -> Reading | None:
    return sniff_list(sample, "queries", {"query_text", "ratings"}, read_case)


def read_case(value: Any) -> Records:
    """Yield the record of each rating; one that is empty is no judgment."""
    for place, query in read_objects(value["queries"], "queries"):
        text = query.get("query_text")
        if text is None:
            raise InputError(f"{place}: {format_value(query)}: has no query_text: every query needs one")
        ratings = query.get("ratings") or []
        if is_object(ratings):
            ratings = [{"doc_id": doc_id, "rating": rating} for doc_id, rating in ratings.items()]
        for _, rating in read_objects(ratings, f"{place_of(text)}, ratings"):
            if rating.get("rating") not in (None, ""):
                record = {"query_id": text, "doc_id": rating.get("doc_id"), "grade": rating["rating"]}
                yield place_of(text, rating.get("doc_id")), record | named_judge(rating)


def sniff_book(sample: Sample) -> Reading | None:
    return sniff_list(sample, "query_doc_pairs", {"query_text", "doc_id"}, read_book)


def read_book(value: Any) -> Records:
    """Yield the record of each rating; one that is empty, or called unrateable, is no judgment."""
    for _, pair in read_objects(value["query_doc_pairs"], "query_doc_pairs"):
        query_id, doc_id = pair.get("query_text"), pair.get("doc_id")
        for _, rating in read_objects(pair.get("judgements") or [], f"{place_of(query_id, doc_id)}, judgements"):
            if not rating.get("unrateable") and rating.get("rating") not in (None, ""):
                record = {"query_id": query_id, "doc_id": doc_id, "grade": rating["rating"]}
                yield place_of(query_id, doc_id), record | named_judge(rating)


def named_judge(rating: Any) -> dict[str, Any]:
    """Return the judge of a rating, if it is named."""
    return {"judge": rating["user_email"]} if rating.get("user_email") else {}


def sniff_snapshot(sample: Sample) -> Reading | None:
    """The queries come after the documents: the beginning of a large file has none."""
    value = value_of(sample)
    docs = value.get("docs") if is_object(value) else None
    if not is_object(docs) or not {"queries", "has_snapshot_file", "time"} & value.keys():
        return None
    entries = [entry for found in docs.values() if is_list(found) for entry in found]
    fits = most(entries, lambda entry: is_object(entry) and "id" in entry)
    return Reading(RANKING, "json", records=read_snapshot) if fits else None


def read_snapshot(value: Any) -> Records:
    """Yield the record of each document that a search returned; those that are only rated it did not."""
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


CASE_FORM = Form(
    "Quepid case",
    JUDGMENTS,
    '{"case_name": "shop", "queries": [{"query_text": "red shoes", "ratings": [{"doc_id": "d1", "rating": 1,'
    ' "user_email": "ann@example.org"}]}]}\n',
    sniff_case,
)
BOOK_FORM = Form(
    "Quepid book",
    JUDGMENTS,
    '{"name": "shop", "query_doc_pairs": [{"query_text": "red shoes", "doc_id": "d1", "judgements": [{"rating": 1.0,'
    ' "unrateable": false, "user_email": "ann@example.org"}]}]}\n',
    sniff_book,
)
SNAPSHOT_FORM = Form(
    "Quepid snapshot",
    RANKING,
    '{"id": 7, "name": "a", "time": "2026-01-05T14:26:14.000Z", "docs": {"1": [{"id": "d1", "rated_only": false},'
    ' {"id": "d2", "rated_only": false}]}, "queries": [{"query_id": 1, "query_text": "red shoes"}]}\n',
    sniff_snapshot,
)
