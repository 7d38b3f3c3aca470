"""Determine the lowest and the highest value that a metric can have."""

import math
from typing import NamedTuple

from ndcg_core.measures.metric import Metric
from ndcg_core.measures.notation import ExternalMetric, find_builtin_metric, translate_name
from ndcg_core.measures.registry import GAINS
from ndcg_core.measures.score import discount, highest_gain


class Range(NamedTuple):
    """The range of values that a metric can have: from low to high, in the metric's unit; low < high."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """Return high - low.

        Every difference of two values, and every mean of such differences, lies in [-width, width].
        """
        return self.high - self.low


def value_range(metric: Metric, highest_grade: float | None = None) -> Range | None:
    """Return the lowest and the highest value that a metric can have; None if the range is unknown or unbounded.

    highest_grade: highest grade of all judgments; None if judgments have not been read. It is needed for dcg and cg,
    whose range depends on it unless the gain is binary or a table.

    A metric of another tool has the range of the built-in metric with its name, if the tool uses the same unit.
    """
    if isinstance(metric, ExternalMetric):
        builtin = find_builtin_metric(metric.source_name) or find_builtin_metric(
            translate_name(metric.source_name) or ""
        )
        limits = None if builtin is None else value_range(builtin)
        return Range(-limits.high, -limits.low) if limits and metric.is_negated else limits
    if metric.has_own_ideal and metric.ties == "average":
        return None  # the mean gains of a tie can exceed the ideal of the documents that are shown
    if metric.traits.is_bounded:
        return Range(0.0, 1.0)
    if metric.cutoff is None:
        return None
    gain = largest_gain(metric, highest_grade)
    if gain is None:
        return None
    high = gain * math.fsum(discount(metric, rank) for rank in range(1, metric.cutoff + 1))
    return Range(0.0, max(high, 1.0) if metric.no_relevant == "one" else high) if high > 0 else None


def largest_gain(metric: Metric, highest_grade: float | None) -> float | None:
    """Return the largest gain that one document can have.

    Return None if the gain grows with the grade, and either `highest_grade` is None or the gain exceeds a float.
    """
    rule = metric.effective_gain
    if not isinstance(rule, str):
        return max(gain for _, gain in rule)
    if GAINS[rule].highest is not None:
        return GAINS[rule].highest
    if highest_grade is None:
        return None
    try:
        return highest_gain(metric, highest_grade)
    except OverflowError:
        return None  # refused where it is scored
