"""Keys of a configuration that give metrics something: their names read, and what is with each."""

from typing import Annotated, Any

from pydantic import BeforeValidator

from ndcg_ab.config.model.inputs.external_scores import other_metric
from ndcg_ab.config.model.inputs.sources import READING_SCORES
from ndcg_ab.config.model.margins import read_margin, read_number
from ndcg_ab.errors import format_value
from ndcg_ab.other_measures import named
from ndcg_core.measures.notation import from_mapping


def read_metrics(value: Any) -> list[str]:
    """Canonical metric names, each once."""
    if not isinstance(value, list):
        raise ValueError("must be a list")
    return list(dict.fromkeys(map(read_metric, value)))


def read_metric(value: Any) -> str:
    if READING_SCORES.get():
        return other_metric(value)
    if isinstance(value, str):
        return named(value).name
    if isinstance(value, dict):
        return from_mapping(value).name
    raise ValueError(f"{value!r}: must be text like ndcg@10 or a mapping with measure and cutoff")


def read_margins(value: Any) -> Any:
    """Canonical metric name -> difference; what is no mapping as it is."""
    if not isinstance(value, dict):
        return value
    found: dict[str, float] = {}
    for key, number in value.items():
        name = read_metric(key)
        if name in found:
            raise ValueError(f"{name} is named twice")
        try:
            found[name] = read_margin(number)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None
    return found


def read_ranges(value: Any) -> Any:
    """Canonical metric name -> the lowest and the highest value that it can have; what is no mapping as it is."""
    if not isinstance(value, dict):
        return value
    found: dict[str, tuple[float, float]] = {}
    for key, pair in value.items():
        name = read_metric(key)
        if name in found:
            raise ValueError(f"{name} is named twice")
        given = list(pair) if isinstance(pair, list | tuple) else []
        numbers = [each for each in map(read_number, given) if each is not None]
        if not (len(numbers) == len(given) == 2 and numbers[0] < numbers[1]):
            raise ValueError(f"{key}: {format_value(pair)}: must be the lowest and the highest value, as [0, 1]")
        found[name] = (numbers[0], numbers[1])
    return found


Metrics = Annotated[list[str], BeforeValidator(read_metrics)]
Margins = Annotated[dict[str, float], BeforeValidator(read_margins)]
