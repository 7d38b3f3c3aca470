"""Both systems slice by slice."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ndcg_ab.report.page.charts.style import Chart, Colours, Picture, Words, candidate_names, number_tip
from ndcg_ab.report.page.data import PageData, Rows, slice_rows
from ndcg_ab.results.wording import signed

if TYPE_CHECKING:
    from ndcg_ab.report.page.charts.style import Figure


def draw(rows: Any, words: Words, colours: Colours) -> "Figure":
    """Both systems' means slice by slice; the interval of the difference is drawn around the candidate's mean.

    Rows, two for each slice: slice, role (baseline, candidate), system, value, low, high (of the difference, where
    the candidate's mean would be), difference, queries, verdict.
    """
    import altair as alt

    roles = ["baseline", "candidate"]
    order = alt.Y("slice:N", sort=None, title=None, axis=alt.Axis(domain=False, ticks=False))
    colour = alt.Color("role:N", scale=alt.Scale(domain=roles, range=[colours.tie, colours.lines[0]]))
    tips = [alt.Tooltip("slice:N"), alt.Tooltip("system:N"), alt.Tooltip("queries:Q"), number_tip("value", "")]
    tips += [number_tip("difference", "+"), alt.Tooltip("interval:N"), alt.Tooltip("verdict:N")]
    base = alt.Chart(rows)
    whisker = (
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=3, opacity=0.6)
        .encode(
            y=order,
            x=alt.X("low:Q", title=f"mean {words.metric}", axis=alt.Axis(titleAnchor="end", tickCount=6)),
            x2="high:Q",
            color=colour,
            tooltip=tips,
        )
    )
    point = base.mark_point(filled=True, opacity=1, size=120).encode(
        y=order,
        x=alt.X("value:Q", scale=alt.Scale(zero=False)),
        color=colour.legend(title=None),
        shape=alt.Shape("role:N", scale=alt.Scale(domain=roles, range=["circle", "diamond"]), legend=alt.Legend()),
        tooltip=tips,
    )
    return alt.layer(whisker, point).properties(width=560, height=alt.Step(34))


def pictures(data: PageData) -> Iterator[Picture]:
    """One for each candidate and attribute, on the first metric."""
    outcome = data.outcome
    metric = outcome.metrics[0].name
    for candidate in candidate_names(data):
        for attribute in dict.fromkeys(row.attribute for row in outcome.slices if row.attribute):
            rows = slice_rows(outcome, attribute, metric, candidate)
            words = Words(metric, candidate, outcome.baseline, attribute)
            yield Picture(f"slices {attribute} {candidate}", words, rows)


def describe(rows: Rows) -> str:
    parts = [row for row in rows if row["role"] == "candidate"]
    return " ".join(f"{row['slice']}: {signed(row['difference'])} {row['interval']}." for row in parts)


CHART = Chart(
    title="{metric} by {attribute}: {baseline} and {candidate}",
    draw=draw,
    pictures=pictures,
    describe=describe,
)
