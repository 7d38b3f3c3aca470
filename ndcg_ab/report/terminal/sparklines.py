"""An interval as a line of characters: ``   │·····━━●━━``; several strips share one scale."""

from collections.abc import Sequence
from typing import NamedTuple

from ndcg_ab.report.answer.interval import deciding_interval
from ndcg_core.statistics.verdicts.comparison import Comparison

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
