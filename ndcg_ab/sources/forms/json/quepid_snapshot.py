"""A ranking as Quepid keeps it in a snapshot: documents by the number of the query, and the texts of the queries."""

from typing import Any

from ndcg_ab.errors import InputError
from ndcg_ab.sources.forms.form import RANKING, Form, Reading, Records
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


def sniff(sample: Sample) -> Reading | None:
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


FORM = Form(
    "Quepid snapshot",
    RANKING,
    '{"id": 7, "name": "a", "time": "2026-01-05T14:26:14.000Z", "docs": {"1": [{"id": "d1", "rated_only": false},'
    ' {"id": "d2", "rated_only": false}]}, "queries": [{"query_id": 1, "query_text": "red shoes"}]}\n',
    sniff,
)
