"""The interval that decides a comparison, the same in every report (docs/statistics.md, "Which interval is shown")."""

from typing import NamedTuple

from ndcg_ab.results.wording import signed
from ndcg_core.statistics.verdicts.comparison import Comparison


class Interval(NamedTuple):
    """low <= high, in the metric's unit."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"[{signed(self.low)}, {signed(self.high)}]"


def deciding_interval(row: Comparison) -> Interval | None:
    """The (1 - alpha) interval of a comparison's difference that agrees with its verdict; None where none was made.

    Of a guardrail it begins at the one-sided bound that decides.  Else it is the one that holds together with those of
    the family, where there is one, and it contains 0 exactly where no difference is shown: the adjusted p, by which the
    verdict goes, and the interval are made of the same resamples and can lie on two sides of 0 by a hair.
    """
    if row.low is None or row.high is None or row.difference is None:
        return None
    if row.lower_bound is not None and row.conclusion.is_guardrail:
        return Interval(min(row.lower_bound, row.difference), max(row.high, row.difference))
    low, high = row.low, row.high
    if row.simultaneous_low is not None and row.simultaneous_high is not None:
        low, high = row.simultaneous_low, row.simultaneous_high
    if row.conclusion.direction > 0:
        low = max(low, 0.0)
    elif row.conclusion.direction < 0:
        high = min(high, 0.0)
    else:
        low, high = min(low, 0.0), max(high, 0.0)
    return Interval(low, high)
