"""Baseline against candidate, query by query."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ndcg_ab.report.page.charts.style import (
    Chart,
    Colours,
    Picture,
    Words,
    candidate_names,
    count_wins_and_losses,
    outcome_scale,
    query_tips,
)
from ndcg_ab.report.page.data import OUTCOMES, PageData, paired_rows, point_rows

if TYPE_CHECKING:
    from ndcg_ab.report.page.charts.style import Figure


def draw(rows: Any, words: Words, colours: Colours) -> "Figure":
    """Baseline against candidate, one point for each query (beyond FULL: for each cell of a grid, sized by its count).

    Rows: baseline, candidate, outcome, count, query, text, difference; and least, most in each: the axes' range.
    """
    import altair as alt

    diagonal = (
        alt.Chart(rows)
        .transform_aggregate(least="min(least)", most="max(most)")
        .mark_rule(color=colours.soft, strokeDash=[4, 3], aria=False)
        .encode(x="least:Q", y="least:Q", x2="most:Q", y2="most:Q")
    )
    shapes = alt.Scale(domain=OUTCOMES, range=["triangle-up", "circle", "triangle-down"])
    marks = (
        alt.Chart(rows)
        .mark_point(filled=True, opacity=0.65, aria=False, cursor="pointer")
        .encode(
            x=alt.X("baseline:Q", title=f"{words.metric} of {words.baseline}"),
            y=alt.Y("candidate:Q", title=f"{words.metric} of {words.candidate}"),
            color=alt.Color("outcome:N", scale=outcome_scale(colours), legend=alt.Legend(title=None)),
            shape=alt.Shape("outcome:N", scale=shapes, legend=alt.Legend(title=None)),
            size=alt.Size("count:Q", scale=alt.Scale(type="sqrt", domainMin=1, range=[36, 500]), legend=None),
            tooltip=[*query_tips(words), alt.Tooltip("count:Q", title="queries")],
        )
    )
    return alt.layer(diagonal, marks).properties(width=400, height=400)


def pictures(data: PageData) -> Iterator[Picture]:
    """One for each candidate, on the first metric."""
    metric = data.outcome.metrics[0].name
    for candidate in candidate_names(data):
        if pairs := paired_rows(data, metric, candidate):
            yield Picture(f"values {candidate}", Words(metric, candidate, data.outcome.baseline), point_rows(pairs))


CHART = Chart(
    title="Each query's {metric} under both systems: above the diagonal {candidate} wins",
    draw=draw,
    pictures=pictures,
    describe=count_wins_and_losses,
)
