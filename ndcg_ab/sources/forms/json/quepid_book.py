"""Judgments as Quepid exports a book: pairs of query and document, each with the ratings of its judges."""

from typing import Any

from ndcg_ab.sources.forms.form import JUDGMENTS, Form, Reading, Records
from ndcg_ab.sources.forms.json.nested import is_list, is_object, most, place_of, read_objects, value_of
from ndcg_ab.sources.forms.json.quepid_case import named_judge
from ndcg_ab.sources.forms.sample import Sample


def sniff(sample: Sample) -> Reading | None:
    value = value_of(sample)
    pairs = value.get("query_doc_pairs") if is_object(value) else None
    fits = is_list(pairs) and most(pairs, lambda pair: is_object(pair) and {"query_text", "doc_id"} <= pair.keys())
    return Reading(JUDGMENTS, "json", records=read_book) if fits else None


def read_book(value: Any) -> Records:
    """Yield the record of each rating; one that is empty, or called unrateable, is no judgment."""
    for _, pair in read_objects(value["query_doc_pairs"], "query_doc_pairs"):
        query_id, doc_id = pair.get("query_text"), pair.get("doc_id")
        for _, rating in read_objects(pair.get("judgements") or [], f"{place_of(query_id, doc_id)}, judgements"):
            if not rating.get("unrateable") and rating.get("rating") not in (None, ""):
                record = {"query_id": query_id, "doc_id": doc_id, "grade": rating["rating"]}
                yield place_of(query_id, doc_id), record | named_judge(rating)


FORM = Form(
    "Quepid book",
    JUDGMENTS,
    '{"name": "shop", "query_doc_pairs": [{"query_text": "red shoes", "doc_id": "d1", "judgements": [{"rating": 1.0,'
    ' "unrateable": false, "user_email": "ann@example.org"}]}]}\n',
    sniff,
)
