"""Validate keys of a configuration that map metrics to values, such as guardrails and smallest effects."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator

from ndcg_ab.config.loading.hints import guess_positive_number, read_number
from ndcg_ab.config.model.inputs.sources import READING_SCORES, DocumentsSource, external_metric_name
from ndcg_ab.config.model.keys import Trait
from ndcg_ab.errors import RuleError, Setting, format_value
from ndcg_ab.other_measures import find_measure
from ndcg_core.measures.notation import excludes_own_document, from_mapping
from ndcg_core.measures.score import Range

FIRST, ALL = "first", "all"  # of the key `primary_metrics`
QUESTIONED = 0.5  # of the largest possible difference; one so large is asked about


class NamedDifference(NamedTuple):
    """A margin, a smallest effect or a threshold that the configuration gives for a metric.

    Attributes
    ----------
    key : str
        Configuration key or command-line option.
    metric : str
        Name of the metric.
    difference : float
        Difference > 0, in the unit of the metric.
    by_metric : bool
        True if the key maps metrics to differences, False if its value is one number.
    """

    key: str
    metric: str
    difference: float
    by_metric: bool = False

    @property
    def text_after_key(self) -> str:
        """The text after the key in a message: ``: recall@10 = 0.02`` or `` = 0.02``."""
        return f"{f': {self.metric}' if self.by_metric else ''} = {self.difference:g}"

    def refuse_if_beyond_range(self, limits: Range | None) -> None:
        """Raise RuleError if the difference is at least as large as the range of the metric.

        limits: the range of the metric, or None if it is unknown; then no error is raised.
        """
        if limits is not None and self.difference >= limits.width:
            limit = f"must be below {limits.width:g}, since {self.describe(limits)}"
            raise RuleError(Setting(self.key), f"{self.text_after_key}: {limit}{self.hint(limits)}")

    def size_warning(self, limits: Range | None) -> str | None:
        """Return a warning text if the difference is at least half the range of the metric, else None.

        limits: the range of the metric, or None if it is unknown; then the result is None.
        """
        if limits is None or self.difference < QUESTIONED * limits.width:
            return None
        is_large = f"is half of the largest possible difference or more, since {self.describe(limits)}"
        return f"{self.key}{self.text_after_key}: {is_large}{self.hint(limits)}"

    def describe(self, limits: Range) -> str:
        return f"{self.metric} lies between {limits.low:g} and {limits.high:g}"

    def hint(self, limits: Range) -> str:
        """Return a hint on the intended number if the difference seems to be a percentage, or an empty text."""
        proposal = self.difference / 100
        return f"; did you mean {proposal:.12g}?" if proposal < QUESTIONED * limits.width else ""


def read_margin(value: Any) -> float:
    """Return a difference as a float; raise ValueError unless it is a number above 0."""
    number = read_number(value)
    if number is None or number <= 0:
        meant = guess_positive_number(str(value)) if isinstance(value, str) or number is not None else None
        raise ValueError(f"{format_value(value)}: must be a number above 0{f'; write {meant}' if meant else ''}")
    return number


def read_metrics(value: Any) -> list[str]:
    """Return a list of metrics as distinct canonical names; raise ValueError for anything but a list."""
    if not isinstance(value, list):
        raise ValueError(f"must be a list{f'; write [{value}]' if isinstance(value, str) else ''}")
    return list(dict.fromkeys(map(read_metric, value)))


def read_metric(value: Any) -> str:
    """Return the canonical name of a metric given as text or as a mapping; raise ValueError for an invalid metric.

    While a configuration with `scores` is read, the name of any metric of another tool is accepted.
    """
    if READING_SCORES.get():
        return external_metric_name(value)
    if isinstance(value, str):
        return find_measure(value).name
    if isinstance(value, dict):
        return from_mapping(value).name
    raise ValueError(f"{value!r}: must be text like ndcg@10 or a mapping with measure and cutoff")


def read_by_metric(value: Any, read: Callable[[Any], Any]) -> Any:
    """Return the mapping canonical metric name -> `read(value)`; anything but a mapping is returned unchanged.

    Raises ValueError if a metric is named twice or a value is invalid.
    """
    if not isinstance(value, dict):
        return value
    values = {}
    for key, each in value.items():
        name = read_metric(key)
        if name in values:
            raise ValueError(f"{name} is named twice")
        try:
            values[name] = read(each)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None
    return values


def read_range(pair: Any) -> tuple[float, float]:
    """Return the lowest and the highest value of a metric; raise ValueError unless they are two rising numbers."""
    bounds = list(pair) if isinstance(pair, list | tuple) else []
    numbers = [each for each in map(read_number, bounds) if each is not None]
    if not (len(numbers) == len(bounds) == 2 and numbers[0] < numbers[1]):
        raise ValueError(f"{format_value(pair)}: must be the lowest and the highest value, as [0, 1]")
    return numbers[0], numbers[1]


Metrics = Annotated[list[str], BeforeValidator(read_metrics), Trait.METRICS]
read_margins = partial(read_by_metric, read=read_margin)
Margins = Annotated[dict[str, float], BeforeValidator(read_margins)]
Ranges = Annotated[dict[str, tuple[float, float]], BeforeValidator(lambda value: read_by_metric(value, read_range))]


def read_primary(value: Any) -> Any:
    """Return the value of the key `primary_metrics`: a list of canonical metric names, "first", "all" or None.

    Raises ValueError for any other value.
    """
    if value is None or value in (FIRST, ALL):
        return value
    if not isinstance(value, list) or not value:
        instead = f"; write [{value}]" if isinstance(value, str) else ""
        raise ValueError(f"must be a list of metrics, or first, or all{instead}")
    return read_metrics(value)


Primary = Annotated[list[str] | Literal["first", "all"] | None, BeforeValidator(read_primary), Trait.METRICS]


def add_own_rule(content: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration with `documents.own` = drop if a metric's preset leaves out the query's own document.

    An `own` in the configuration takes precedence.
    """
    lists = [content.get(key) for key in ("metrics", "primary_metrics", "secondary_metrics", "guardrails")]
    metrics = [metric for each in lists if isinstance(each, list | dict) for metric in each]
    documents = DocumentsSource.expand(content.get("documents")) or {}
    if not any(map(excludes_own_document, metrics)) or not isinstance(documents, dict):
        return content
    return {**content, "documents": {"own": "drop", **documents}}
