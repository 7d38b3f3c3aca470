"""Recognise nested JSON: the documents of each query, or a number for each document or measure.

Documents are in lists, as hits, results, ratings or a search engine's response. Numbers are as ranx and pytrec_eval
write them, {query: {name: number}}; those of documents may also be in pairs: {query: [[document, number]]}.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, pairwise
from numbers import Real
from typing import Any, TypeGuard

from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.forms import plausible
from ndcg_ab.sources.forms.form import JUDGMENTS, RANKING, SCORES, Form, Reading, Records
from ndcg_ab.sources.forms.sample import Sample

FIELDS = {JUDGMENTS: ("doc_id", "grade"), RANKING: ("doc_id", "score", "rank")}
RATED = ("ratings", "judgments", "judgements", "qrels")
LISTS = ("hits", *plausible.NAMES["documents"], "candidates", "items", *RATED)
WRAPPERS = ("response", "answer", "body", "result")  # of the answer of an engine, within a query's object
MOST_DEPTH = 4
Object = Mapping[Any, Any]


def is_object(value: Any) -> TypeGuard[Object]:
    return isinstance(value, Mapping)


def is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def majority_fits(values: Iterable[Any], fits: Callable[[Any], Any]) -> bool:
    """Return whether `fits` is true for more than half of the values."""
    fitting = [bool(fits(value)) for value in values]
    return 2 * sum(fitting) > len(fitting)


def sample_value(sample: Sample) -> Any:
    """Return the first entries of a JSON document or of JSON Lines; None for other files or if columns are mapped."""
    return None if sample.columns else sample.value


def json_form(words: str, kind: str, example: str, fits: Callable[[Any], bool], read: Callable[[Any], Records]) -> Form:
    """Return the `Form` of JSON files whose value is accepted by `fits`.

    words: the name of the form. kind: the content, such as ``judgments``. example: a small file. fits: receives the
    first entries of the value. read: yields (location, {field: value}) from the whole value.
    """

    def sniff(sample: Sample) -> Reading | None:
        return Reading(kind, "json", records=read) if fits(sample_value(sample)) else None

    return Form(words, kind, example, sniff)


def ids_text(query_id: Any, doc_id: Any = None) -> str:
    """Return a location for messages such as ``query 'q1', document 'd1'``."""
    document = "" if doc_id is None else f", document {format_value(doc_id)}"
    return f"query {format_value(query_id)}{document}"


def require_object(value: Any, location: str, rule: str) -> Object:
    """Return the value if it is a JSON object; raise InputError with `location` and `rule` otherwise."""
    if not is_object(value):
        raise InputError(f"{location}: {format_value(value)}: {rule}")
    return value


def require_list(value: Any, location: str, rule: str) -> Sequence[Any]:
    """Return the value if it is a list; raise InputError with `location` and `rule` otherwise."""
    if not is_list(value):
        raise InputError(f"{location}: {format_value(value)}: {rule}")
    return value


def read_objects(value: Any, name: str) -> Iterator[tuple[str, Object]]:
    """Yield (location, object) for each object of a list; the locations are such as ``queries, entry 1``.

    name: the list, for messages. Raises InputError if the value is no list of objects.
    """
    for number, each in enumerate(require_list(value, name, "must be a list of objects"), 1):
        yield f"{name}, entry {number}", require_object(each, f"{name}, entry {number}", "must be an object")


def query_pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return the (query_id, value) pairs of a mapping; raise InputError for any other value."""
    return require_object(value, "the document", "must be an object").items()


# ---- the documents of a query


def find_query_id(row: Object) -> Any:
    """Return the id of a query object, or None if it has none.

    These are tried in order: a key with a known name of a query id; the id, else the text, of a nested object ``query``
    or ``topic``; the key ``id``; the key ``_id``.
    """
    ids = {name: value for name, value in row.items() if isinstance(name, str) and is_id(value)}
    column = plausible.field_column("query_id", [*ids])
    if column is not None:
        return ids[column]
    inner: Object = next((row[name] for name in ("query", "topic") if is_object(row.get(name))), {})
    query = find_query_id(inner) if inner else None
    return next((each for each in (query, inner.get("text"), ids.get("id"), ids.get("_id")) if each is not None), None)


def find_documents(row: Any, depth: int = MOST_DEPTH) -> Sequence[Any] | None:
    """Return the list of documents in a query object, or None if there is no list.

    The list may be inside a search engine's response. depth: how many levels of nested objects are searched.
    """
    if not is_object(row) or depth == 0:
        return None
    by_bare = {plausible.bare_name(name): value for name, value in row.items() if isinstance(name, str)}
    for name in (*LISTS, *WRAPPERS):
        value = by_bare.get(name)
        if name in LISTS and is_object(value) and value and all(isinstance(each, Real) for each in value.values()):
            value = [{"doc_id": key, "grade" if name in RATED else "score": number} for key, number in value.items()]
        documents = value if is_list(value) and name in LISTS else find_documents(value, depth - 1)
        if documents is not None:
            return documents
    return None


def keys_of(entry: Object, kind: str) -> Mapping[str, str]:
    """Return the mapping field -> key of the fields that a document object has."""
    return field_keys(FIELDS[kind], tuple(name for name in entry if isinstance(name, str)))


field_keys = lru_cache(maxsize=1000)(plausible.match_columns)


def is_document(entry: Any, kind: str) -> bool:
    """Return whether an entry is a document: an object that has a document id and is no query.

    A document of a ranking may also be an id alone. A document of judgments has a grade.
    """
    if not is_object(entry):
        return kind == RANKING and is_id(entry)
    names = [name for name in entry if isinstance(name, str)]
    if plausible.field_column("query_id", names) is not None or find_documents(entry) is not None:
        return False
    keys, is_graded = keys_of(entry, kind), plausible.field_column("grade", names) is not None
    fits = is_graded if kind == JUDGMENTS else len(keys) > 1 or not is_graded
    return "doc_id" in keys and fits


def are_documents(entries: Sequence[Any], kind: str) -> bool:
    """Return whether entries are plausible as the documents of a query.

    kind: ``ranking`` or ``judgments``; documents of judgments need plausible grades.
    """
    if not entries or not majority_fits(entries, lambda entry: is_document(entry, kind)):
        return False
    numbers = [entry for entry in entries if isinstance(entry, int)]
    grades = [entry.get(keys_of(entry, kind).get("grade")) for entry in entries if is_object(entry)]
    are_plausible = kind == RANKING or plausible.are_grades(["" if grade is None else str(grade) for grade in grades])
    return are_plausible and len(set(numbers)) == len(numbers)  # numbers that repeat are grades


def read_documents(query_id: Any, entries: Any, kind: str) -> Records:
    """Yield (location, {field: value}) for each document of a query.

    entries: a list of ids, or of objects with an id. kind: ``ranking`` or ``judgments``. Documents of a ranking without
    scores and ranks are ranked in the order of the list. Raises InputError for an entry without an id.
    """
    rule = "must be a list of documents: ids, or objects with doc_id and " + " or ".join(FIELDS[kind][1:])
    records = require_list(entries, ids_text(query_id), rule)
    is_ordered = kind == RANKING and not any(values_of(entry, kind).keys() & {"score", "rank"} for entry in records)
    for number, entry in enumerate(records, 1):
        location = f"{ids_text(query_id)}, document {number}"
        if not (is_object(entry) or (kind == RANKING and is_id(entry))):
            raise InputError(f"{location}: {format_value(entry)}: {rule}")
        record = {"query_id": query_id, "doc_id": None, **values_of(entry, kind)}
        if record["doc_id"] is None:
            raise InputError(f"{location}: {format_value(entry)}: names no document: every entry needs a doc_id")
        if kind == JUDGMENTS:
            record.setdefault("grade", None)
        yield ids_text(query_id, record["doc_id"]), record | ({"rank": number} if is_ordered else {})


def values_of(entry: Any, kind: str) -> dict[str, Any]:
    """Return the mapping field -> value of the fields that a document has.

    entry: an object, or an id alone, which is the only field. kind: ``ranking`` or ``judgments``.
    """
    if not is_object(entry):
        return {"doc_id": entry}
    return {field: entry[key] for field, key in keys_of(entry, kind).items() if entry[key] is not None}


# ---- queries with their documents


def have_documents(value: Any, kind: str) -> bool:
    """Return whether a JSON value holds queries with plausible lists of documents."""
    rows = [*query_objects(value)] if is_list(value) or (is_object(value) and not is_json_table(value)) else []
    if not majority_fits(rows, lambda row: find_documents(row) is not None and find_query_id(row) is not None):
        return False
    lists = [documents for row in rows if (documents := find_documents(row))]
    is_one_list = is_object(value) and len(rows) == 1 and rows[0] is not value  # may be of anything that has ids
    if not majority_fits(lists, lambda entries: are_documents(entries, kind)):
        return False
    return not is_one_list or majority_fits(lists[0], lambda each: len(values_of(each, kind)) > is_object(each))


def is_json_table(value: Any) -> bool:
    """Return whether a JSON object is a table: ``{column: values}``, or ``{"columns": names, "data": rows}``."""
    names = [str(name) for name in value]
    return len(plausible.match_columns(("query_id", "doc_id"), names)) > 1 or {"columns", "data"} <= {*names}


def query_objects(value: Any) -> Iterator[Any]:
    """Yield one object for each query in a JSON value.

    The value is a list of queries, a single query, {query: answer} or {query: documents}. Raises InputError for any
    other value.
    """
    if is_list(value):
        yield from value
    elif find_query_id(value) is not None and find_documents(value) is not None:
        yield value
    else:
        for query_id, answer in query_pairs(value):
            yield {"query_id": query_id, "hits" if is_list(answer) else "answer": answer}


def read_hits(value: Any, kind: str) -> Records:
    """Yield (location, {field: value}) for each document of each query in a JSON value.

    kind: ``ranking`` or ``judgments``. Raises InputError if a query is repeated, or has no id or no list of documents.
    """
    answers: dict[str, int] = {}
    for number, row in enumerate(query_objects(value), 1):
        query_id = find_query_id(row) if is_object(row) else None
        entries = find_documents(row)
        if query_id is None or entries is None:
            missing = "query_id" if query_id is None else "list of documents"
            raise InputError(f"entry {number}: {format_value(row)}: has no {missing}: every query needs both")
        if (first := answers.setdefault(str(query_id), number)) != number:
            rule = "give a query once, or another id (qid) to each"
            raise InputError(f"entries {first} and {number}: query {format_value(query_id)} comes twice: {rule}")
        yield from read_documents(query_id, entries, kind)


Queries = Sequence[Sequence[str]]  # the values of each query, as texts


def documents_form(words: str, kind: str, example: str) -> Form:
    return json_form(words, kind, example, partial(have_documents, kind=kind), partial(read_hits, kind=kind))


# ---- queries with the number of each document or measure


KINDS = {"qrels": JUDGMENTS, "run": RANKING}  # one key around all queries, which says what they hold


def sniff_numbers(sample: Sample, kind: str) -> Reading | None:
    """Recognise {query: {document: number}}, and return how it is read.

    kind: what the numbers are taken for: grades of judgments or scores of a ranking. Return None for another form, for
    numbers that are no plausible grades, and for scores that are no numbers. Scores are likelier than grades if there
    are many distinct numbers, or fractions, or if the numbers fall from document to document; the less likely reading
    is marked as doubtful.
    """
    queries = values_by_query(sample, kind)
    values = list(chain.from_iterable(queries))
    parsed = plausible.numbers(values)
    if kind == RANKING:
        are_plausible = parsed is not None
    else:
        are_plausible = (
            plausible.are_grades(values) if parsed is None else max(map(abs, parsed)) <= plausible.MOST_GRADE
        )
    if not are_plausible:
        return None
    has_fractions = any(not number.is_integer() for number in parsed or ())
    is_many, is_falling = len({*values}) > plausible.MOST_GRADES, numbers_fall(queries)  # more than grades usually have
    field, is_doubtful = "grade", is_many or (has_fractions and is_falling)
    if kind == RANKING:
        field, is_doubtful = "score", not (is_many or has_fractions or is_falling)
    return Reading(kind, "json", records=partial(read_numbers, field=field), is_doubtful=is_doubtful)


def numbers_form(words: str, kind: str, example: str) -> Form:
    return Form(words, kind, example, partial(sniff_numbers, kind=kind))


def unwrap(value: Any) -> tuple[Any, str | None]:
    """Return (queries, kind) of a JSON value, without a wrapper such as {"qrels": queries} or {"run": queries}.

    kind: the content that the wrapper names, ``judgments`` or ``ranking``; None without a wrapper. Queries on several
    JSON Lines are merged into one mapping.
    """
    if is_list(value) and all(is_object(each) and all(map(is_query, each.values())) for each in value):
        merged = dict(chain.from_iterable(each.items() for each in value))
        return (merged if 2 * len(merged) > len(value) else value), None
    name, inner = next(iter(value.items())) if is_object(value) and len(value) == 1 else ("", None)
    is_wrapper = name in KINDS and is_object(inner) and majority_fits(inner.values(), is_query)
    return (inner, KINDS[name]) if is_wrapper else (value, None)


def values_by_query(sample: Sample, kind: str) -> Queries:
    """Return the numbers of each query as texts, one sequence per query.

    The result is empty if the document has another shape, its wrapper names another kind of content than `kind`, or its
    keys are measures.
    """
    value, named = unwrap(sample_value(sample))
    if named not in (None, kind) or not is_object(value) or not majority_fits(value.values(), is_query_or_pairs):
        return []
    queries = [[*pairs_of(inner)] for inner in value.values() if is_query_or_pairs(inner)]
    names = {tuple(str(name) for name, _ in inner) for inner in queries}
    if plausible.are_measures(chain.from_iterable(names)) and len(names) == 1:
        return []
    texts_by_query = [[str(each) for _, each in inner if each not in (None, "") and each == each] for inner in queries]
    if majority_fits(chain.from_iterable(texts_by_query), lambda text: plausible.numbers([text]) is not None):
        texts_by_query = [[text for text in texts if plausible.numbers([text]) is not None] for texts in texts_by_query]
    return texts_by_query


def is_query(value: Any) -> bool:
    return is_object(value) and not any(is_object(each) or is_list(each) for each in value.values())


def is_query_or_pairs(value: Any) -> bool:
    """Return whether a value maps documents to numbers, or lists (document, number) pairs."""
    if not is_list(value):
        return is_query(value)
    are_pairs = all(is_list(each) and len(each) == 2 and is_id(each[0]) for each in value)
    return are_pairs and not any(is_object(number) or is_list(number) for _, number in value)


def pairs_of(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return the (document, number) pairs in the value of a query."""
    return value.items() if is_object(value) else value


def numbers_fall(queries: Queries) -> bool:
    """Return whether the numbers of every query strictly decrease, and some query has several."""
    columns = [plausible.numbers(texts) or [] for texts in queries]
    is_falling = all(after < before for texts in columns for before, after in pairwise(texts))
    return is_falling and max(map(len, columns)) > 1


def read_numbers(value: Any, field: str) -> Records:
    """Yield (location, {field: value}) for each document of each query.

    field: the field of the numbers, ``grade`` or ``score``. Raises InputError if a query is repeated, or does not map
    documents to numbers.
    """
    names = Counter(chain.from_iterable(value)) if is_list(value) else {}
    for query_id, documents in query_pairs(unwrap(value)[0]):
        if names.get(query_id, 1) > 1:
            raise InputError(f"{ids_text(query_id)}: is on {names[query_id]} lines: give a query once")
        if not is_object(documents) and not is_query_or_pairs(documents):
            rule = f"must map every doc_id to its {field}, as in {{'q1': {{'d1': 1.0}}}}"
            raise InputError(f"{ids_text(query_id)}: {format_value(documents)}: {rule}")
        for doc_id, number in pairs_of(documents):
            yield ids_text(query_id, doc_id), {"query_id": query_id, "doc_id": doc_id, field: number}


def sniff_metrics(sample: Sample) -> Reading | None:
    """Recognise metric values {query: {measure: value}}, and return how they are read.

    Return None for another form. If a key is no known measure, the result is marked as doubtful.
    """
    value = sample_value(sample)
    if not is_object(value) or not majority_fits(value.values(), is_query):
        return None
    names = {str(name) for inner in value.values() if is_object(inner) for name in inner}
    return Reading(SCORES, "json", records=read_metric_values, is_doubtful=not plausible.are_measures(names))


def read_metric_values(value: Any) -> Records:
    """Yield (location, {field: value}) for each metric value in {query: {measure: value}}."""
    for query_id, measures in query_pairs(value):
        for name, number in require_object(measures, ids_text(query_id), "must map every measure to its value").items():
            yield f"{ids_text(query_id)}, {name}", {"query_id": query_id, "metric": name, "value": number}


SCORES_READING = Reading(SCORES, "json", records=read_metric_values)
FORMS = (
    documents_form(
        "ranking with the hits of each query, or {query: [documents]}",
        RANKING,
        '[{"qid": "q1", "query": "red shoes", "hits": [{"docid": "d1", "score": 2.5},'
        ' {"docid": "d2", "score": 1.5}]}]\n',
    ),
    documents_form(
        "judgments with the ratings of each query, or {query: [documents with grades]}",
        JUDGMENTS,
        '[{"qid": "q1", "query": "red shoes", "ratings": [{"docid": "d1", "rating": 1},'
        ' {"docid": "d2", "rating": 0}]}]\n',
    ),
    numbers_form("judgments {query: {document: grade}}", JUDGMENTS, '{"q1": {"d1": 0, "d2": 2, "d3": 0}}\n'),
    numbers_form("ranking {query: {document: score}}", RANKING, '{"q1": {"d1": 2.5, "d2": 1.25}}\n'),
    Form("values {query: {measure: value}}", SCORES, '{"q1": {"ndcg_cut_10": 0.5, "map": 0.25}}\n', sniff_metrics),
)
