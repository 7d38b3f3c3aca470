"""Mean differences from the baseline with their intervals."""

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ndcg_ab.report.answer.interval import deciding_interval
from ndcg_ab.report.page.data import PageData, Rows, verdict_kind
from ndcg_ab.report.pictures.style import BETTER, NEITHER, SOFT, WORSE, Chart, Picture, Words
from ndcg_ab.report.words.text import format_interval
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import signed

if TYPE_CHECKING:
    from ndcg_ab.report.pictures.style import Figure


VERDICTS = ["improved", "regressed", "other"]


def draw(rows: Any, words: Words) -> "Figure":
    """Mean differences with their intervals, zero, the band of the smallest effect, and bounds of unjudged documents.

    Rows: label, order, candidate, metric, difference, low, high, bound_low and bound_high (or null),
    delta (or null), minus_delta, kind (one of VERDICTS).
    """
    import altair as alt

    sort = alt.EncodingSortField("order", op="min")
    order = alt.Y("label:N", sort=sort, title=None, axis=alt.Axis(domain=False, ticks=False))
    colour = alt.Color("kind:N", scale=alt.Scale(domain=VERDICTS, range=[BETTER, WORSE, NEITHER]), legend=None)
    shape = alt.Shape(
        "kind:N", scale=alt.Scale(domain=VERDICTS, range=["triangle-up", "triangle-down", "circle"]), legend=None
    )
    base = alt.Chart(rows)
    where = alt.X(
        "low:Q",
        title=f"mean difference from {words.baseline}",
        axis=alt.Axis(format="+.3~f", tickCount=5, titleAnchor="end"),
    )
    band = (
        base.transform_filter("isValid(datum.delta)")
        .mark_bar(color=SOFT, opacity=0.22, height=alt.RelativeBandSize(band=0.9), aria=False)
        .encode(y=order, x="minus_delta:Q", x2="delta:Q")
    )
    zero = base.mark_rule(color=SOFT, aria=False).encode(x=alt.datum(0))
    bounds = (
        base.transform_filter("isValid(datum.bound_low)")
        .mark_bar(opacity=0.22, height=10, aria=False)
        .encode(y=order, x="bound_low:Q", x2="bound_high:Q", color=colour)
    )
    whisker = (
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=3)
        .encode(y=order, x=where, x2="high:Q", color=colour)
    )
    point = base.mark_point(filled=True, opacity=1, size=110).encode(
        y=order, x="difference:Q", color=colour, shape=shape
    )
    return alt.layer(zero, band, bounds, whisker, point).properties(width=560, height=alt.Step(30))


def pictures(data: PageData) -> Iterator[Picture]:
    """One for the metrics from 0 to 1, and one for each metric with a unit of its own."""
    outcome = data.outcome
    in_order = sorted(interval_rows(outcome), key=lambda row: row["unit"])
    for unit, group in groupby(in_order, lambda row: row["unit"]):
        words = Words(unit or outcome.metrics[0].name, baseline=outcome.baseline)
        yield Picture(f"intervals {unit}".strip(), words, list(group))


def interval_rows(outcome: Outcome) -> list[dict[str, Any]]:
    """Those of `draw`; unit: empty for metrics from 0 to 1, else the metric, which needs an axis of its own."""
    own_unit = {metric.name for metric in outcome.metrics if not metric.traits.is_bounded}
    found: list[dict[str, Any]] = []
    for row in outcome.main:
        if row.difference is None:
            continue
        interval, delta = deciding_interval(row), row.smallest_effect
        found.append(
            {
                "label": f"{row.metric} · {row.candidate}",
                "unit": row.metric if row.metric in own_unit else "",
                "order": len(found),
                "difference": row.difference,
                "low": interval and interval.low,
                "high": interval and interval.high,
                "interval": format_interval(row),
                "bound_low": row.bound_low,
                "bound_high": row.bound_high,
                "delta": delta,
                "minus_delta": None if delta is None else -delta,
                "kind": verdict_kind(row.conclusion),
            }
        )
    return found


def describe(rows: Rows) -> str:
    return " ".join(f"{row['label']}: {signed(row['difference'])} {row['interval']}." for row in rows)


CHART = Chart(
    title="Mean difference from {baseline} with its interval: right of zero is better",
    draw=draw,
    pictures=pictures,
    describe=describe,
)
