"""How a comparison is shown: its mark, the interval that decides, in numbers and as a strip, and its metric's role."""

from collections.abc import Sequence
from typing import NamedTuple

from ndcg_ab.results.decisions import is_turned
from ndcg_ab.results.numbers import format_range
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import GATE, GUARDRAILS, SECONDARY
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import Verdict


class Interval(NamedTuple):
    """low <= high, in the metric's unit."""

    low: float
    high: float

    def __str__(self) -> str:
        return format_range(self.low, self.high)


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


MARKS = {kind: kind.traits.mark for kind in Verdict if kind.traits.mark}
UNDECIDED_MARK = "●"


def comparison_mark(comparison: Comparison) -> str:
    """▲ improved, ▼ regressed, ✓ holds, ? open and ✗ worse of guardrails, ● any other.

    A guardrail that unjudged results could turn is open.
    """
    if comparison.conclusion.holds_margin and is_turned(comparison):
        return MARKS[Verdict.MAY_BE_WORSE]
    return MARKS.get(comparison.conclusion, UNDECIDED_MARK)


def speaks_for_candidate(comparison: Comparison) -> bool | None:
    """Whether a primary metric or a guardrail speaks for the candidate, against it, or (None) neither.

    What unjudged results could turn speaks for nobody.
    """
    if comparison.conclusion.is_harm:
        return None if is_turned(comparison) else False
    favours = comparison.conclusion.holds_margin or comparison.conclusion.direction > 0
    return True if favours and not is_turned(comparison) else None


def gate_margin_tests(outcome: Outcome, metric: str) -> dict[str, Comparison]:
    """Candidate -> the test of the gate's margin on a metric; empty where the gate has none there."""
    return {row.candidate: row for row in outcome.comparisons if row.family == GATE and row.metric == metric}


def describe_metric_role(outcome: Outcome, metric: str) -> list[str]:
    """What a metric is there for, where it is no primary one, and what the gate asks of it."""
    rows = [row for row in outcome.main if row.metric == metric]
    asked = next(iter(gate_margin_tests(outcome, metric).values()), None)
    told = []
    if rows and rows[0].family == GUARDRAILS:
        told.append(f"guardrail: not worse by {rows[0].smallest_effect:g}")
    elif rows and rows[0].family == SECONDARY:
        told.append("secondary" if asked else "secondary, decides nothing")
    if asked:
        told.append(f"gate: not worse by {asked.smallest_effect:g}")
    return told


def short_verdict(outcome: Outcome, row: Comparison) -> str:
    """The verdict in a few words, and that of the gate's margin where there is one."""
    asked = gate_margin_tests(outcome, row.metric).get(row.candidate)
    return f"{row.short_verdict}; {comparison_mark(asked)} {asked.short_verdict}" if asked else row.short_verdict


INTERVAL, POINT, ZERO, WITHIN = "━", "●", "│", "·"


class Scale(NamedTuple):
    """The values at the first and at the last character of every strip."""

    low: float
    high: float


def common_scale(rows: Sequence[Comparison]) -> Scale | None:
    """From the lowest to the highest that the intervals and the smallest effects span, zero among them.

    None where there is nothing to draw.
    """
    drawn = [found for row in rows if (found := deciding_interval(row)) is not None]
    ends = [*(end for found in drawn for end in found), *(row.difference for row in rows if row.difference is not None)]
    margins = [row.smallest_effect for row in rows if row.smallest_effect is not None]
    if not drawn:
        return None
    low, high = min([0.0, *ends, *(-margin for margin in margins)]), max([0.0, *ends, *margins])
    return Scale(low, high) if high > low else Scale(-1.0, 1.0)


def draw_strip(row: Comparison, scale: Scale | None, width: int) -> str:
    """The interval that decides a comparison ━, its difference ●, zero │ and what is too small to matter (±δ) as dots.

    width: characters, >= 5; a row without an interval is blank.
    """
    found = deciding_interval(row)
    if scale is None or found is None or row.difference is None:
        return " " * width

    def place(value: float) -> int:
        return round((value - scale.low) / (scale.high - scale.low) * (width - 1))

    cells = [" "] * width
    if row.smallest_effect is not None:
        for each in range(place(-row.smallest_effect), place(row.smallest_effect) + 1):
            cells[each] = WITHIN
    for each in range(place(found.low), place(found.high) + 1):
        cells[each] = INTERVAL
    cells[place(0.0)] = ZERO
    cells[place(row.difference)] = POINT
    return "".join(cells)
