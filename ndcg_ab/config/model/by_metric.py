"""Keys of a configuration that give metrics something: their names read, and what is with each."""

from typing import Any

from ndcg_ab.config.model.inputs.external_scores import other_metric
from ndcg_ab.config.model.inputs.sources import READING_SCORES, read_source
from ndcg_ab.config.model.margins import read_margin, read_number
from ndcg_ab.errors import format_value
from ndcg_ab.other_measures import named
from ndcg_core.measures.notation import from_mapping, leaves_own_out


def read_metric(value: Any) -> str:
    if READING_SCORES.get():
        return other_metric(value)
    if isinstance(value, str):
        return named(value).name
    if isinstance(value, dict):
        return from_mapping(value).name
    raise ValueError(f"{value!r}: must be text like ndcg@10 or a mapping with measure and cutoff")


def read_margins(value: dict[Any, Any]) -> dict[str, float]:
    """Canonical metric name -> difference."""
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


def read_ranges(value: dict[Any, Any]) -> dict[str, tuple[float, float]]:
    """Canonical metric name -> the lowest and the highest value that it can have."""
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


def drop_own(content: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration with own = drop, if a metric has a preset that leaves the query's own document out."""
    lists = [content.get(key) for key in ("metrics", "primary_metrics", "secondary_metrics", "guardrails")]
    metrics = [metric for each in lists if isinstance(each, list | dict) for metric in each]
    documents = read_source(content.get("documents")) or {}
    if not any(map(leaves_own_out, metrics)) or not isinstance(documents, dict):
        return content
    return {**content, "documents": {"own": "drop", **documents}}
