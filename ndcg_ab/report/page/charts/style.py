"""What the charts share: what a chart is, its words and colours, scales and tips.

Outcomes are shown by position or shape, never by colour alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ndcg_ab.report.page.data import OUTCOMES, PageData, Rows

if TYPE_CHECKING:
    import altair

    Figure = altair.Chart | altair.LayerChart | altair.FacetChart | altair.VConcatChart


@dataclass(frozen=True)
class Words:
    """The names in a figure; by default the page's placeholders."""

    metric: str = "{metric}"
    candidate: str = "{candidate}"
    baseline: str = "{baseline}"
    attribute: str = "{attribute}"

    def fill(self, text: str) -> str:
        return text.format_map(vars(self))


@dataclass(frozen=True)
class Colours:
    """Colours of a figure: those of paper, or the page's, which follow light and dark."""

    ink: str = "#1b1f24"
    soft: str = "#57606a"
    line: str = "#d0d7de"
    win: str = "#0b63b5"
    loss: str = "#b5440b"
    tie: str = "#6e7781"
    lines: tuple[str, ...] = ("#0072b2", "#d55e00", "#009e73", "#a8327d", "#946c00", "#56646f", "#3a86c8", "#7a4b2a")


PAPER = Colours()
PAGE = Colours(
    ink="var(--ink)",
    soft="var(--soft)",
    line="var(--line)",
    win="var(--win)",
    loss="var(--loss)",
    tie="var(--tie)",
    lines=tuple(f"var(--line{place})" for place in range(1, 9)),
)


@dataclass(frozen=True)
class Picture:
    """A static figure of a chart. name: that of its file, without the ending."""

    name: str
    words: Words
    rows: Rows


@dataclass(frozen=True)
class Chart:
    """One chart of the page.

    title: with placeholders, as in Words. draw: the figure from rows, on the page those of its script.
    pictures: its static figures. describe: the essential numbers of a picture's rows, for those who cannot see it.
    """

    title: str
    draw: "Callable[[Any, Words, Colours], Figure]"
    pictures: Callable[[PageData], Iterator[Picture]]
    describe: Callable[[Rows], str]


def outcome_scale(colours: Colours) -> "altair.Scale":
    import altair as alt

    return alt.Scale(domain=OUTCOMES, range=[colours.win, colours.tie, colours.loss])


def number_tip(field: str, sign: str) -> "altair.Tooltip":
    import altair as alt

    return alt.Tooltip(f"{field}:Q", format=f"{sign}.4f")


def query_tips(words: Words) -> "list[altair.Tooltip]":
    import altair as alt

    tips = [alt.Tooltip("query:N"), alt.Tooltip("text:N")]
    for field, title in (("baseline", words.baseline), ("candidate", words.candidate), ("difference", "difference")):
        tips.append(alt.Tooltip(f"{field}:Q", title=title, format="+.4f" if field == "difference" else ".4f"))
    return tips


def count_wins_and_losses(rows: Rows) -> str:
    """How many queries of the rows are won, tied and lost."""
    counts = {outcome: sum(row["count"] for row in rows if row["outcome"] == outcome) for outcome in OUTCOMES}
    wins, ties, losses = counts.values()
    return f"{wins} wins, {ties} ties, {losses} losses."


def candidate_names(data: PageData) -> list[str]:
    return list(dict.fromkeys(row.candidate for row in data.outcome.main))


def chart_config(colours: Colours) -> dict[str, Any]:
    """The look that every figure shares."""
    text = {"labelColor": colours.ink, "titleColor": colours.ink, "labelFontSize": 12, "titleFontSize": 12}
    return {
        "background": None if colours is PAGE else "#ffffff",
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": text
        | {
            "gridColor": colours.line,
            "domainColor": colours.soft,
            "tickColor": colours.soft,
            "titleFontWeight": "normal",
        },
        "legend": text | {"orient": "top", "labelLimit": 260, "columns": 3},
        "title": {"color": colours.ink, "anchor": "start", "fontSize": 14, "offset": 12},
    }
