"""Each system's mean, evaluation after evaluation."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ndcg_ab.report.page.data import PageData, Rows, timeline_rows
from ndcg_ab.report.pictures.style import DASHES, LINES, WORSE, Chart, Picture, Words

if TYPE_CHECKING:
    from ndcg_ab.report.pictures.style import Figure


def draw(rows: Any, words: Words) -> "Figure":
    """One line for each system over the evaluations; one in which it regressed is marked.

    Rows: night (the evaluation's date), system, mean, regressed.
    """
    import altair as alt

    legend = alt.Legend(title=None, symbolType="stroke", symbolSize=500, symbolStrokeWidth=2)
    base = alt.Chart(rows).encode(
        x=alt.X("night:O", title="night (UTC)", sort=None, axis=alt.Axis(labelAngle=0, labelOverlap="greedy")),
        y=alt.Y("mean:Q", title=f"mean {words.metric}", scale=alt.Scale(zero=False)),
    )
    line = base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=50)).encode(
        color=alt.Color("system:N", sort=None, scale=alt.Scale(range=list(LINES)), legend=legend),
        strokeDash=alt.StrokeDash("system:N", sort=None, scale=alt.Scale(range=DASHES), legend=legend),
    )
    fall = base.transform_filter("datum.regressed").mark_point(
        shape="triangle-down", size=240, filled=True, opacity=1, color=WORSE
    )
    return alt.layer(line, fall).properties(width=640, height=280)


def pictures(data: PageData) -> Iterator[Picture]:
    """One, on the first metric, where evaluations are kept."""
    if data.timeline is not None:
        metric = data.outcome.metrics[0].name
        rows = [row for row in timeline_rows(data) if row["metric"] == metric]
        yield Picture("nights", Words(metric, baseline=data.outcome.baseline), rows)


def describe(rows: Rows) -> str:
    last = {row["system"]: row["mean"] for row in rows}
    return " ".join(f"{system}: last {mean:.4f}." for system, mean in last.items() if mean is not None)


CHART = Chart(
    title="Mean {metric} of each system, night after night",
    draw=draw,
    pictures=pictures,
    describe=describe,
)
