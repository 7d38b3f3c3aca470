"""Read JSON exports of judging tools: Quepid, Elasticsearch and OpenSearch, Rated Ranking Evaluator (RRE)."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.forms.form import JUDGMENTS, RANKING, Form, Records
from ndcg_ab.sources.forms.nested import (
    Object,
    ids_text,
    is_list,
    is_object,
    json_form,
    majority_fits,
    query_pairs,
    read_objects,
    require_list,
    require_object,
)

LEVELS = ("topics", "query_groups", "queries")  # of RRE; any of them may be left out
RELEVANT = "relevant_documents"


def judgment_record(query_id: Any, doc_id: Any, grade: Any, judge: Any = None) -> tuple[str, dict[str, Any]]:
    """Return (location, {field: value}) of a judgment; judge: the person who gave the grade, or None."""
    record = {"query_id": query_id, "doc_id": doc_id, "grade": grade}
    return ids_text(query_id, doc_id), record | ({"judge": judge} if judge else {})


# ---- queries with the ratings of each: Quepid, Elasticsearch, OpenSearch


class RatedQueries(NamedTuple):
    """The keys of a JSON export that holds queries, each with its ratings.

    Attributes
    ----------
    queries : tuple of str
        Alternative keys of the list of queries, or of {query: ratings}. An empty text means that the document may be
        the list.
    query_id, ratings : str
        Keys of the id and the ratings in a query.
    doc_id : str
        Key of the document id, in a rating or in its query.
    grades : tuple of str
        Alternative keys of the grade in a rating; the first that is present counts.
    judge : str
        Key of the person who gave a rating; empty if the export has none. If it has judges, ratings without a grade are
        left out.
    """

    queries: tuple[str, ...]
    query_id: str
    ratings: str
    doc_id: str
    grades: tuple[str, ...] = ("rating",)
    judge: str = ""

    def find(self, value: Any) -> tuple[str, Any]:
        """Return (key, list of queries) of a document; the list is None if no queries are found.

        key: the key of the list, for messages. The document may be inside a search engine's response.
        """
        while is_object(value):
            if key := next((key for key in self.queries if key in value), None):
                rows = value[key]
                if is_object(rows) and all(map(is_list, rows.values())):
                    rows = [{self.query_id: query_id, self.ratings: each} for query_id, each in rows.items()]
                return key, rows
            inner = value.get("_source") or value.get("hits")
            value = inner[0] if is_list(inner) and len(inner) == 1 else inner
        return self.queries[0], value if "" in self.queries else None

    def ratings_of(self, query: Object) -> Any:
        """Return the ratings of a query as a list of objects, also if the query maps documents to grades."""
        ratings = query.get(self.ratings) if is_object(query) else None
        if not is_object(ratings):
            return ratings or []
        return [{self.doc_id: doc_id, self.grades[0]: grade} for doc_id, grade in ratings.items()]

    def fits(self, value: Any) -> bool:
        """Return whether most queries and most ratings of a document have the keys of this export."""
        _, queries = self.find(value)
        keys = {self.query_id, self.ratings}
        if not is_list(queries) or not majority_fits(queries, lambda each: is_object(each) and keys <= each.keys()):
            return False
        ratings = [{**query, **each} for query in queries for each in self.ratings_of(query) if is_object(each)]
        return not ratings or majority_fits(ratings, lambda each: self.doc_id in each)

    def read(self, value: Any) -> Records:
        """Yield (location, {field: value}) for each rating in a document, without ratings marked as ``unrateable``.

        Raises InputError if a query has no id, or if the document has another structure.
        """
        for location, query in read_objects(*reversed(self.find(value))):
            query_id = query.get(self.query_id)
            if query_id is None:
                raise InputError(f"{location}: {format_value(query)}: has no {self.query_id}: every query needs one")
            for _, rating in read_objects(self.ratings_of(query), f"{ids_text(query_id)}, {self.ratings}"):
                grade = next((rating[key] for key in self.grades if key in rating), None)
                if not rating.get("unrateable") and not (self.judge and grade in (None, "")):
                    doc_id = rating.get(self.doc_id, query.get(self.doc_id))
                    yield judgment_record(query_id, doc_id, grade, rating.get(self.judge))

    def form(self, words: str, example: str) -> Form:
        """Return the form of such exports; words: the name of the form. example: a small file."""
        return json_form(words, JUDGMENTS, example, self.fits, self.read)


# ---- the snapshot of Quepid


def is_snapshot(value: Any) -> bool:
    """Return whether a document is a Quepid snapshot; the key `queries` may be cut off in a sample of a large file."""
    docs = value.get("docs") if is_object(value) else None
    if not is_object(docs) or not {"queries", "has_snapshot_file", "time"} & value.keys():
        return False
    entries = [entry for found in docs.values() if is_list(found) for entry in found]
    return majority_fits(entries, lambda entry: is_object(entry) and "id" in entry)


def read_snapshot(value: Any) -> Records:
    """Yield (location, {field: value}) for each document that a search returned according to a Quepid snapshot.

    Entries marked `rated_only` were rated and not returned; they are left out. Raises InputError if the text of a query
    is missing.
    """
    queries = [query for _, query in read_objects(value.get("queries") or [], "queries")]
    texts = {str(query.get("query_id", query.get("id"))): query.get("query_text") for query in queries}
    for number, entries in query_pairs(value["docs"]):
        text = texts.get(str(number))
        if text is None:
            raise InputError(f"docs, {ids_text(number)}: queries has no query_text of it: export the whole snapshot")
        rank = 0
        for entry in require_list(entries, ids_text(text), "must be a list of documents"):
            if not require_object(entry, ids_text(text), "must be an object with an id").get("rated_only"):
                rank += 1
                yield ids_text(text, entry.get("id")), {"query_id": text, "doc_id": entry.get("id"), "rank": rank}


# ---- Rated Ranking Evaluator


def is_rre_document(value: Any) -> bool:
    """Return whether an RRE document lists relevant documents at any level of topics, groups and queries."""
    if not is_object(value):
        return False
    inner = [entry for level in LEVELS if is_list(value.get(level)) for entry in value[level]]
    return is_object(value.get(RELEVANT)) or any(map(is_rre_document, inner))


def read_rre_judgments(value: Any) -> Records:
    """Yield (location, {field: value}) for each relevant document of each query of an RRE document.

    All queries of a group share the documents of the group.
    """
    rule = 'must be {grade: [documents]} or {document: {"gain": grade}}'
    for query_id, documents in rre_queries(value, None, "the document"):
        for key, rated in require_object(documents, f"{ids_text(query_id)}, {RELEVANT}", rule).items():
            if is_list(rated):
                yield from (judgment_record(query_id, doc_id, key) for doc_id in rated)
            else:
                yield judgment_record(query_id, key, require_object(rated, ids_text(query_id, key), rule).get("gain"))


def rre_queries(value: Object, documents: Any, location: str) -> Iterator[tuple[Any, Any]]:
    """Yield (query, relevant documents) for each query at any level of an RRE document.

    A query without documents of its own has the documents of its group; without these, it is left out. value: the
    document or a value in it. documents: the relevant documents of the enclosing group. location: the place of `value`,
    for messages.
    """
    documents = value.get(RELEVANT, documents)
    inner = [found for level in LEVELS if level in value for found in read_objects(value[level], level)]
    for location_within, each in inner:
        yield from rre_queries(each, documents, f"{location}, {location_within}")
    if not inner and documents is not None:
        yield name_query(value, location), documents


def name_query(value: Object, location: str) -> Any:
    """Return the text of an RRE query, or its name if it has no single text.

    Raises InputError if the query has neither. location: the place of the query, for messages.
    """
    placeholders = value.get("placeholders") or {}
    texts = [text for key, text in placeholders.items() if key == "$query"] or [*placeholders.values()]
    name = value.get("name")
    if len(texts) != 1 and name is None:
        raise InputError(f"{location}: {format_value(value)}: names no query: add the placeholder $query, or a name")
    return texts[0] if len(texts) == 1 else name


FORMS = (
    RatedQueries(("queries",), "query_text", "ratings", "doc_id", judge="user_email").form(
        "Quepid case",
        '{"case_name": "shop", "queries": [{"query_text": "red shoes", "ratings": [{"doc_id": "d1", "rating": 1,'
        ' "user_email": "ann@example.org"}]}]}\n',
    ),
    RatedQueries(("query_doc_pairs",), "query_text", "judgements", "doc_id", judge="user_email").form(
        "Quepid book",
        '{"name": "shop", "query_doc_pairs": [{"query_text": "red shoes", "doc_id": "d1", "judgements": ['
        '{"rating": 1.0, "unrateable": false, "user_email": "ann@example.org"}]}]}\n',
    ),
    json_form(
        "Quepid snapshot",
        RANKING,
        '{"id": 7, "name": "a", "time": "2026-01-05T14:26:14.000Z", "docs": {"1": [{"id": "d1", "rated_only": false},'
        ' {"id": "d2", "rated_only": false}]}, "queries": [{"query_id": 1, "query_text": "red shoes"}]}\n',
        is_snapshot,
        read_snapshot,
    ),
    RatedQueries(("judgmentRatings", "judgmentScores"), "query", "ratings", "docId", ("rating", "score")).form(
        "judgments of OpenSearch's search relevance workbench",
        '{"name": "shop", "judgmentRatings": [{"query": "red shoes", "ratings": ['
        '{"docId": "d1", "rating": "1.0"}]}]}\n',
    ),
    RatedQueries(("requests", ""), "id", "ratings", "_id").form(
        "requests of _rank_eval",
        '{"requests": [{"id": "red shoes", "ratings": [{"_index": "shop", "_id": "d1", "rating": 1}]}]}\n',
    ),
    json_form(
        "ratings of Rated Ranking Evaluator (RRE)",
        JUDGMENTS,
        '{"topics": [{"query_groups": [{"name": "red shoes", "queries": [{"placeholders": {"$query": "red shoes"}}],'
        ' "relevant_documents": {"d1": {"gain": 1}}}]}]}\n',
        is_rre_document,
        read_rre_judgments,
    ),
)
