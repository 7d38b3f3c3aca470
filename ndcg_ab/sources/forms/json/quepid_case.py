"""Judgments as Quepid exports a case: queries with their ratings."""

from typing import Any

from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.forms.form import JUDGMENTS, Form, Reading, Records
from ndcg_ab.sources.forms.json.nested import is_list, is_object, most, place_of, read_objects, value_of
from ndcg_ab.sources.forms.sample import Sample


def sniff(sample: Sample) -> Reading | None:
    value = value_of(sample)
    queries = value.get("queries") if is_object(value) else None
    fits = is_list(queries) and most(queries, lambda each: is_object(each) and {"query_text", "ratings"} <= each.keys())
    return Reading(JUDGMENTS, "json", records=read_case) if fits else None


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


def named_judge(rating: Any) -> dict[str, Any]:
    """Return the judge of a rating, if it is named."""
    return {"judge": rating["user_email"]} if rating.get("user_email") else {}


FORM = Form(
    "Quepid case",
    JUDGMENTS,
    '{"case_name": "shop", "queries": [{"query_text": "red shoes", "ratings": [{"doc_id": "d1", "rating": 1,'
    ' "user_email": "ann@example.org"}]}]}\n',
    sniff,
)
