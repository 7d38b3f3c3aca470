"""Differences that keys and options name, held against what a metric can differ by.

2 for two per cent, or 1, is above all that most metrics can differ by: a guardrail of it cannot fail, and a smallest
effect of it cannot be reached.
"""

import sys
from typing import Any, NamedTuple

from ndcg_ab.config.loading.hints import plain_number
from ndcg_ab.errors import RuleError, Setting, format_value
from ndcg_core.measures.ranges import Range

QUESTIONED = 0.5  # of the largest possible difference; one so large is asked about


class NamedDifference(NamedTuple):
    """A margin, a smallest effect or a threshold, > 0, in the unit of its metric.

    key: the key or option that names it. by_metric: whether it is one of several there, each with its metric.
    """

    key: str
    metric: str
    difference: float
    by_metric: bool = False

    @property
    def as_given(self) -> str:
        """What comes after the key: ``: recall@10 = 0.02``, `` = 0.02``."""
        return f"{f': {self.metric}' if self.by_metric else ''} = {self.difference:g}"

    def refuse_out_of(self, known: Range | None) -> None:
        """RuleError for a difference that the metric cannot have."""
        if known is not None and self.difference >= known.width:
            limit = f"must be below {known.width:g}, since {self.describe(known)}"
            raise RuleError(Setting(self.key), f"{self.as_given}: {limit}{self.hint(known)}")

    def question(self, known: Range | None) -> str | None:
        """What is asked about one that is half of the largest possible difference or more; None for a smaller one."""
        if known is None or self.difference < QUESTIONED * known.width:
            return None
        is_large = f"is half of the largest possible difference or more, since {self.describe(known)}"
        return f"{self.key}{self.as_given}: {is_large}{self.hint(known)}"

    def describe(self, known: Range) -> str:
        return f"{self.metric} lies between {known.low:g} and {known.high:g}"

    def hint(self, known: Range) -> str:
        """The number that was meant, where it was written as a percentage."""
        meant = self.difference / 100
        return f"; did you mean {meant:.12g}?" if meant < QUESTIONED * known.width else ""


def read_number(value: Any) -> float | None:
    """A number that a double can hold; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        return None
    return float(value)


def read_margin(value: Any) -> float:
    """A difference that matters: a number above 0."""
    found = read_number(value)
    if found is None or found <= 0:
        meant = plain_number(str(value)) if isinstance(value, str) or found is not None else None
        raise ValueError(f"{format_value(value)}: must be a number above 0{f'; write {meant}' if meant else ''}")
    return found
