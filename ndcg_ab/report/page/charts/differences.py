"""Every query's difference, sorted: how many win, how many lose, and by how much."""

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
from ndcg_ab.report.page.data import PageData, bar_rows, paired_rows

if TYPE_CHECKING:
    from ndcg_ab.report.page.charts.style import Figure


def draw(rows: Any, words: Words, colours: Colours) -> "Figure":
    """Every query's difference, sorted. Rows: from, to (places), difference, outcome, query, text, baseline, candidate.

    Beyond FULL queries a row is a group of neighbours with their mean difference.
    """
    import altair as alt

    chart: Figure = (
        alt.Chart(rows)
        .mark_rect(aria=False, cursor="pointer", strokeWidth=0)
        .encode(
            x=alt.X("from:Q", title="queries, sorted by difference", scale=alt.Scale(nice=False, zero=False)),
            x2="to:Q",
            y=alt.Y("difference:Q", title=f"difference in {words.metric}", axis=alt.Axis(format="+.2~f")),
            y2=alt.datum(0),
            fill=alt.Fill("outcome:N", scale=outcome_scale(colours), legend=None),
            tooltip=query_tips(words),
        )
        .properties(width=640, height=260)
    )
    return chart


def pictures(data: PageData) -> Iterator[Picture]:
    """One for each candidate, on the first metric."""
    metric = data.outcome.metrics[0].name
    for candidate in candidate_names(data):
        if pairs := paired_rows(data, metric, candidate):
            yield Picture(f"differences {candidate}", Words(metric, candidate, data.outcome.baseline), bar_rows(pairs))


CHART = Chart(
    title="What changes, query by query: {candidate} against {baseline}, {metric}",
    draw=draw,
    pictures=pictures,
    describe=count_wins_and_losses,
)
