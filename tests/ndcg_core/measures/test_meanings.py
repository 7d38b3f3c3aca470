"""Every measure, choice and value has its words, and nothing that is gone has any."""

from dataclasses import fields

from ndcg_core.measures.meanings import CHOICE_MEANINGS, MEASURE_MEANINGS, VALUE_MEANINGS
from ndcg_core.measures.metric import VALUES, Metric
from ndcg_core.measures.registry import MEASURES


def test_they_are_complete_and_in_order() -> None:
    assert list(MEASURE_MEANINGS) == list(MEASURES)
    assert set(CHOICE_MEANINGS) == {field.name for field in fields(Metric)} - {"measure"}
    assert {choice: tuple(values) for choice, values in VALUE_MEANINGS.items()} == VALUES
