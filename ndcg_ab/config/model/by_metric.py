"""Keys of a configuration that give metrics something: their names read, and what stands with each."""

import math
from typing import Any

from ndcg_ab.config.loading.hints import plain_number
from ndcg_ab.config.model.external_scores import other_metric
from ndcg_ab.config.model.sources import READING_SCORES
from ndcg_ab.other_measures import named
from ndcg_core.measures.notation import from_mapping


def read_metric(value: Any) -> str:
    if READING_SCORES.get():
        return other_metric(value)
    if isinstance(value, str):
        return named(value).name
    if isinstance(value, dict):
        return from_mapping(value).name
    raise ValueError(f"{value!r}: must be text like ndcg@10 or a mapping with measure and cutoff")


def margin(value: Any) -> float:
    """A difference that matters: a number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        meant = plain_number(str(value))
        raise ValueError(f"{value!r}: must be a number above 0{f'; write {meant}' if meant else ''}")
    return float(value)


def margins(value: dict[Any, Any]) -> dict[str, float]:
    """Canonical metric name -> difference."""
    found: dict[str, float] = {}
    for key, number in value.items():
        name = read_metric(key)
        if name in found:
            raise ValueError(f"{name} is named twice")
        try:
            found[name] = margin(number)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None
    return found


def ranges(value: dict[Any, Any]) -> dict[str, tuple[float, float]]:
    """Canonical metric name -> the lowest and the highest value that it can have."""
    found: dict[str, tuple[float, float]] = {}
    for key, pair in value.items():
        name = read_metric(key)
        if name in found:
            raise ValueError(f"{name} is named twice")
        given = list(pair) if isinstance(pair, list | tuple) else []
        numbers = [each for each in given if isinstance(each, int | float) and not isinstance(each, bool)]
        if not (len(numbers) == len(given) == 2 and -math.inf < numbers[0] < numbers[1] < math.inf):
            raise ValueError(f"{key}: {pair!r}: must be the lowest and the highest value, as [0, 1]")
        found[name] = (float(numbers[0]), float(numbers[1]))
    return found
