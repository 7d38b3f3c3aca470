"""The page's figures as Vega-Lite, made once for two uses: in the browser, and as PNG or SVG without one.

On the page the rows come from the page's data and the words are placeholders that its script fills in; a static figure
has both inside. Outcomes are told by position or shape, never by colour alone.
"""

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.errors import InputError
from flows.outcome import replacing
from flows.page_data import (
    OUTCOMES,
    VERDICTS,
    PageData,
    Rows,
    bars,
    interval_rows,
    night_rows,
    paired_rows,
    points,
    slice_rows,
)
from flows.wording import signed

if TYPE_CHECKING:
    import altair

    Figure = altair.Chart | altair.LayerChart | altair.FacetChart

TITLES = {
    "differences": "What changes, query by query: {candidate} against {baseline}, {metric}",
    "values": "Each query's {metric} under both systems: above the diagonal {candidate} wins",
    "intervals": "Mean difference from {baseline} with its interval: right of zero is better",
    "slices": "{metric} by {attribute}: {baseline} and {candidate}",
    "nights": "Mean {metric} of each system, night after night",
}


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
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 2], [1, 3], [10, 2, 2, 2]]


def differences(rows: Any, words: Words, colours: Colours) -> "Figure":
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


def values(rows: Any, words: Words, colours: Colours) -> "Figure":
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
    points = (
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
    return alt.layer(diagonal, points).properties(width=400, height=400)


def intervals(rows: Any, words: Words, colours: Colours) -> "Figure":
    """Mean differences with their intervals, zero, and the band of the smallest effect.

    Rows: label, order, candidate, metric, difference, low, high, delta (or null), minus_delta, verdict, kind (one of
    VERDICTS).
    """
    import altair as alt

    sort = alt.EncodingSortField("order", op="min")
    order = alt.Y("label:N", sort=sort, title=None, axis=alt.Axis(domain=False, ticks=False))
    tips = [alt.Tooltip("candidate:N"), alt.Tooltip("metric:N"), number_tip("difference", "+")]
    tips += [number_tip("low", "+"), number_tip("high", "+"), alt.Tooltip("delta:Q", title="smallest effect ±")]
    tips += [alt.Tooltip("verdict:N")]
    colour = alt.Color(
        "kind:N", scale=alt.Scale(domain=VERDICTS, range=[colours.win, colours.loss, colours.tie]), legend=None
    )
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
        .mark_bar(color=colours.soft, opacity=0.22, height=alt.RelativeBandSize(band=0.9), aria=False)
        .encode(y=order, x="minus_delta:Q", x2="delta:Q", tooltip=tips)
    )
    zero = base.mark_rule(color=colours.soft, aria=False).encode(x=alt.datum(0))
    whisker = (
        base.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=3)
        .encode(y=order, x=where, x2="high:Q", color=colour, tooltip=tips)
    )
    point = base.mark_point(filled=True, opacity=1, size=110).encode(
        y=order, x="difference:Q", color=colour, shape=shape, tooltip=tips
    )
    return alt.layer(zero, band, whisker, point).properties(width=560, height=alt.Step(30))


def slices(rows: Any, words: Words, colours: Colours) -> "Figure":
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


def nights(rows: Any, words: Words, colours: Colours) -> "Figure":
    """One line for each system over the nights; a night on which a system regressed is marked.

    Rows: night (its date), ordinal, system, mean, difference, verdict, regressed.
    """
    import altair as alt

    tips = [alt.Tooltip("system:N"), alt.Tooltip("ordinal:Q", title="evaluation"), alt.Tooltip("night:N")]
    tips += [number_tip("mean", ""), number_tip("difference", "+"), alt.Tooltip("verdict:N")]
    legend = alt.Legend(title=None, symbolType="stroke", symbolSize=500, symbolStrokeWidth=2)
    base = alt.Chart(rows).encode(
        x=alt.X("night:O", title="night (UTC)", sort=None, axis=alt.Axis(labelAngle=0, labelOverlap="greedy")),
        y=alt.Y("mean:Q", title=f"mean {words.metric}", scale=alt.Scale(zero=False)),
        tooltip=tips,
    )
    line = base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=50)).encode(
        color=alt.Color("system:N", sort=None, scale=alt.Scale(range=list(colours.lines)), legend=legend),
        strokeDash=alt.StrokeDash("system:N", sort=None, scale=alt.Scale(range=DASHES), legend=legend),
    )
    fall = base.transform_filter("datum.regressed").mark_point(
        shape="triangle-down", size=240, filled=True, opacity=1, color=colours.loss
    )
    return alt.layer(line, fall).properties(width=640, height=280)


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


FIGURES = {"differences": differences, "values": values, "intervals": intervals, "slices": slices, "nights": nights}


def config(colours: Colours) -> dict[str, Any]:
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


def page_specs() -> dict[str, Any]:
    """The figures as the page's script fills them: no rows, no title, placeholders for names."""
    import altair as alt

    specs = {}
    for name, make in FIGURES.items():
        spec = make(alt.NamedData(name="rows"), Words(), PAGE).to_dict()
        specs[name] = {key: part for key, part in spec.items() if key not in ("$schema", "config", "datasets")}
    return specs


def figures_of(data: PageData) -> "dict[str, Figure]":
    """Static figures: the first metric for each candidate, all intervals, the nights."""
    outcome = data.outcome
    metric = outcome.metrics[0].name
    found: dict[str, Figure] = {}
    for candidate in dict.fromkeys(row.candidate for row in outcome.main):
        words = Words(metric, candidate, outcome.baseline)
        pairs = paired_rows(data, metric, candidate)
        if pairs:
            found[f"differences {candidate}"] = finished("differences", bars(pairs), words)
            found[f"values {candidate}"] = finished("values", points(pairs), words)
        for attribute in dict.fromkeys(row.attribute for row in outcome.slices if row.attribute):
            rows = slice_rows(outcome, attribute, metric, candidate)
            words = Words(metric, candidate, outcome.baseline, attribute)
            found[f"slices {attribute} {candidate}"] = finished("slices", rows, words)
    for unit, group in groupby(sorted(interval_rows(outcome), key=lambda row: row["unit"]), lambda row: row["unit"]):
        words = Words(unit or metric, baseline=outcome.baseline)
        found[f"intervals {unit}".strip()] = finished("intervals", list(group), words)
    if data.nights is not None:
        rows = [row for row in night_rows(data) if row["metric"] == metric]
        found["nights"] = finished("nights", rows, Words(metric, baseline=outcome.baseline))
    return found


def finished(name: str, rows: Rows, words: Words) -> "Figure":
    """One static figure with its rows, its title, and its numbers in words for those who cannot see it."""
    import altair as alt

    chart = FIGURES[name](alt.InlineData(values=list(rows)), words, PAPER)
    title = words.fill(TITLES[name])
    made: Figure = chart.properties(title=title, description=f"{title}. {described(name, rows)}").configure(
        **config(PAPER)
    )
    return made


def described(name: str, rows: Rows) -> str:
    """The essential numbers of a figure's rows."""
    if name in ("differences", "values"):
        counts = {outcome: sum(row["count"] for row in rows if row["outcome"] == outcome) for outcome in OUTCOMES}
        wins, ties, losses = counts.values()
        return f"{wins} wins, {ties} ties, {losses} losses."
    if name == "intervals":
        return " ".join(f"{row['label']}: {signed(row['difference'])} ({row['interval']})." for row in rows)
    if name == "slices":
        parts = [row for row in rows if row["role"] == "candidate"]
        return " ".join(f"{row['slice']}: {signed(row['difference'])} ({row['interval']})." for row in parts)
    last = {row["system"]: row["mean"] for row in rows}
    return " ".join(f"{system}: last {mean:.4f}." for system, mean in last.items() if mean is not None)


def save_figure(chart: "Figure", path: Path) -> None:
    """PNG or SVG by the name, without a browser; whole or not at all."""
    import vl_convert

    spec, version = chart.to_dict(), vegalite_version()
    with replacing(path) as partial:
        if path.suffix == ".png":
            partial.write_bytes(vl_convert.vegalite_to_png(spec, vl_version=version, scale=2))
        elif path.suffix == ".svg":
            partial.write_text(vl_convert.vegalite_to_svg(spec, vl_version=version), encoding="utf-8")
        else:
            raise InputError(f"{path}: must end in .png or .svg")


def vegalite_version() -> str:
    """The Vega-Lite that Altair writes, or the next one that the converter has."""
    import altair as alt
    import vl_convert

    wanted = alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2]
    known = [version for version in vl_convert.get_vegalite_versions() if version.split(".")[0] == wanted[0]]
    return ".".join(wanted) if ".".join(wanted) in known else str(known[-1])
