"""Recognise numbers of documents or measures by query, as ranx and pytrec_eval write them: {query: {name: number}}.

The numbers of documents may also be in pairs: {query: [[document, number]]}.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any

from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.forms.form import JUDGMENTS, RANKING, SCORES, Form, Reading, Records
from ndcg_ab.sources.forms.nested import (
    ids_text,
    is_id,
    is_list,
    is_object,
    majority_fits,
    query_pairs,
    require_object,
    sample_value,
)
from ndcg_ab.sources.forms.plausible import MOST_GRADE, MOST_GRADES, are_grades, numbers
from ndcg_ab.sources.forms.sample import Sample
from ndcg_ab.sources.forms.tables import are_measures

Queries = Sequence[Sequence[str]]  # the values of each query, as texts
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
    parsed = numbers(values)
    if kind == RANKING:
        are_plausible = parsed is not None
    else:
        are_plausible = are_grades(values) if parsed is None else max(map(abs, parsed)) <= MOST_GRADE
    if not are_plausible:
        return None
    has_fractions = any(not number.is_integer() for number in parsed or ())
    is_many, is_falling = len({*values}) > MOST_GRADES, numbers_fall(queries)  # more than grades usually have
    field, is_doubtful = "grade", is_many or (has_fractions and is_falling)
    if kind == RANKING:
        field, is_doubtful = "score", not (is_many or has_fractions or is_falling)
    return Reading(kind, "json", records=partial(read_numbers, field=field), is_doubtful=is_doubtful)


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
    if are_measures(chain.from_iterable(names)) and len(names) == 1:
        return []
    texts_by_query = [[str(each) for _, each in inner if each not in (None, "") and each == each] for inner in queries]
    if majority_fits(chain.from_iterable(texts_by_query), lambda text: numbers([text]) is not None):
        texts_by_query = [[text for text in texts if numbers([text]) is not None] for texts in texts_by_query]
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
    columns = [numbers(texts) or [] for texts in queries]
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
    return Reading(SCORES, "json", records=read_metric_values, is_doubtful=not are_measures(names))


def read_metric_values(value: Any) -> Records:
    """Yield (location, {field: value}) for each metric value in {query: {measure: value}}."""
    for query_id, measures in query_pairs(value):
        for name, number in require_object(measures, ids_text(query_id), "must map every measure to its value").items():
            yield f"{ids_text(query_id)}, {name}", {"query_id": query_id, "metric": name, "value": number}


SCORES_READING = Reading(SCORES, "json", records=read_metric_values)
FORMS = (
    Form(
        "judgments {query: {document: grade}}",
        JUDGMENTS,
        '{"q1": {"d1": 0, "d2": 2, "d3": 0}}\n',
        partial(sniff_numbers, kind=JUDGMENTS),
    ),
    Form(
        "ranking {query: {document: score}}",
        RANKING,
        '{"q1": {"d1": 2.5, "d2": 1.25}}\n',
        partial(sniff_numbers, kind=RANKING),
    ),
    Form("values {query: {measure: value}}", SCORES, '{"q1": {"ndcg_cut_10": 0.5, "map": 0.25}}\n', sniff_metrics),
)
