"""Keys of a configuration that give metrics something: their names read, and what is with each."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator

from ndcg_ab.config.model.inputs.sources import READING_SCORES, DocumentsSource, other_metric
from ndcg_ab.config.model.keys import Trait
from ndcg_ab.config.model.units import read_margin, read_number
from ndcg_ab.errors import format_value
from ndcg_ab.other_measures import named
from ndcg_core.measures.notation import from_mapping, leaves_own_out


def read_metrics(value: Any) -> list[str]:
    """Canonical metric names, each once."""
    if not isinstance(value, list):
        raise ValueError(f"must be a list{f'; write [{value}]' if isinstance(value, str) else ''}")
    return list(dict.fromkeys(map(read_metric, value)))


def read_metric(value: Any) -> str:
    if READING_SCORES.get():
        return other_metric(value)
    if isinstance(value, str):
        return named(value).name
    if isinstance(value, dict):
        return from_mapping(value).name
    raise ValueError(f"{value!r}: must be text like ndcg@10 or a mapping with measure and cutoff")


def read_by_metric(value: Any, read: Callable[[Any], Any]) -> Any:
    """Canonical metric name -> what is read of the value with it; what is no mapping as it is."""
    if not isinstance(value, dict):
        return value
    found = {}
    for key, each in value.items():
        name = read_metric(key)
        if name in found:
            raise ValueError(f"{name} is named twice")
        try:
            found[name] = read(each)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None
    return found


def read_margins(value: Any) -> Any:
    """Canonical metric name -> difference."""
    return read_by_metric(value, read_margin)


def read_range(pair: Any) -> tuple[float, float]:
    """The lowest and the highest value that a metric can have."""
    given = list(pair) if isinstance(pair, list | tuple) else []
    numbers = [each for each in map(read_number, given) if each is not None]
    if not (len(numbers) == len(given) == 2 and numbers[0] < numbers[1]):
        raise ValueError(f"{format_value(pair)}: must be the lowest and the highest value, as [0, 1]")
    return numbers[0], numbers[1]


def read_ranges(value: Any) -> Any:
    """Canonical metric name -> the range of its values."""
    return read_by_metric(value, read_range)


Metrics = Annotated[list[str], BeforeValidator(read_metrics), Trait.METRICS]
Margins = Annotated[dict[str, float], BeforeValidator(read_margins)]


def drop_own(content: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration with own = drop, if a metric has a preset that leaves the query's own document out."""
    lists = [content.get(key) for key in ("metrics", "primary_metrics", "secondary_metrics", "guardrails")]
    metrics = [metric for each in lists if isinstance(each, list | dict) for metric in each]
    documents = DocumentsSource.expand(content.get("documents")) or {}
    if not any(map(leaves_own_out, metrics)) or not isinstance(documents, dict):
        return content
    return {**content, "documents": {"own": "drop", **documents}}
