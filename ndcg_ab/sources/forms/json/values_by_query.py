"""Values of metrics by query, as pytrec_eval gives them: {query: {measure: value}}."""

from typing import Any

from ndcg_ab.sources.forms.form import SCORES, Form, Reading, Records
from ndcg_ab.sources.forms.json.nested import is_object, most, place_of, read_object, read_queries, value_of
from ndcg_ab.sources.forms.json.numbers_by_query import is_query
from ndcg_ab.sources.forms.measure_names import are_measures
from ndcg_ab.sources.forms.sample import Sample


def sniff(sample: Sample) -> Reading | None:
    """Keys that are no measures are likelier documents."""
    value = value_of(sample)
    if not is_object(value) or not most(value.values(), is_query):
        return None
    names = {str(name) for inner in value.values() if is_object(inner) for name in inner}
    return Reading(SCORES, "json", records=read_values, is_doubtful=not are_measures(names))


def read_values(value: Any) -> Records:
    """Yield the record of each value."""
    for query_id, measures in read_queries(value):
        for measure, number in read_object(measures, place_of(query_id), "must map every measure to its value").items():
            yield (
                f"{place_of(query_id)}, {measure}",
                {"query_id": query_id, "metric": measure, "value": number},
            )


READING = Reading(SCORES, "json", records=read_values)
FORM = Form("values {query: {measure: value}}", SCORES, '{"q1": {"ndcg_cut_10": 0.5, "map": 0.25}}\n', sniff)
