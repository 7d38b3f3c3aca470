"""The pictures that commands draw (PNG, SVG or PDF by the name of the file): histories, sensitivity, power."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ndcg_ab.errors import InputError
from ndcg_ab.history.timeline.timeline import QueryValue, Timeline
from ndcg_ab.report.pictures.figures import save_figure, skip_schema_checks
from ndcg_ab.report.pictures.style import BETTER, DASHES, INK, LINES, SOFT, WORSE, chart_config
from ndcg_ab.report.terminal.studies.sensitivity_tables import MARKS, SHORT
from ndcg_ab.studies.power import Asked, Plan
from ndcg_ab.studies.sensitivity import Sensitivity, comparison_matrix, matrix_axes, verdict_kind
from ndcg_core.statistics.verdicts.verdict import Tone, Verdict

if TYPE_CHECKING:
    import altair

    from ndcg_ab.report.pictures.style import Figure

GATE_FAILED = "gate failed"
WITHIN_GUARDRAIL = "#946c00"
SHAPES = {Tone.GOOD: ("triangle-up", BETTER), Tone.BAD: ("triangle-down", WORSE)}
TWO_LINES = "split(datum.label, '\\n')"


def save(figure: "Figure", title: str, path: Path) -> None:
    """With its title and the look of every chart; whole or not at all."""
    with skip_schema_checks():
        made = figure.properties(title=title).configure(**chart_config())
    save_figure(made, path)


# ---- a history


def draw_timeline(timeline: Timeline, path: Path) -> None:
    """Draw the systems' means over the nights, a line each, with verdicts marked; InputError if there is no mean."""
    if timeline.lacking:
        raise InputError(f"{path}: {timeline.lacking}")
    nights = [night_label(each.ordinal, each.began) for each in timeline.evaluations]
    rows = [
        {"night": night, "series": name, "value": each.values.get(name)}
        for night, each in zip(nights, timeline.evaluations, strict=True)
        for name in timeline.systems
    ]
    marks = [
        {"night": night, "value": each.values.get(name), "conclusion": found.replace("_", " "), "order": found}
        for night, each in zip(nights, timeline.evaluations, strict=True)
        for name, found in each.conclusions.items()
        if found.traits.tone in SHAPES
    ]
    failed = [night for night, each in zip(nights, timeline.evaluations, strict=True) if each.gate == "failed"]
    drawn = draw_history(rows, nights, timeline.systems, timeline.metric, marks, failed)
    save(drawn, timeline.name, path)


def draw_query_values(rows: Sequence[QueryValue], query_id: str, path: Path) -> None:
    """One query's values, evaluation after evaluation."""
    nights = list(dict.fromkeys(night_label(ordinal, began) for ordinal, began, _, _ in rows))
    systems = list(dict.fromkeys(name for _, _, name, _ in rows))
    known = {(night_label(ordinal, began), name): value for ordinal, began, name, value in rows}
    values = [
        {"night": night, "series": name, "value": known.get((night, name))} for night in nights for name in systems
    ]
    save(draw_history(values, nights, systems, "value"), f"query {query_id}", path)


def night_label(ordinal: int, began: str) -> str:
    return f"{ordinal}\n{began[:10]}"


def draw_history(
    rows: list[dict[str, Any]],
    nights: Sequence[str],
    systems: Sequence[str],
    unit: str,
    marks: Sequence[dict[str, Any]] = (),
    failed: Sequence[str] = (),
) -> "Figure":
    """Lines over the nights, dates below, a gap where there is no value; signs for verdicts, bars for failed gates.

    rows: night, series, value. marks: night, value, conclusion, order (the verdict).
    """
    import altair as alt

    axis = alt.Axis(labelExpr=TWO_LINES, labelAngle=0, labelOverlap="greedy")
    night = alt.X("night:O", title=None, sort=None, scale=alt.Scale(domain=list(nights)), axis=axis)
    value = alt.Y("value:Q", title=unit, scale=alt.Scale(zero=False))
    order = list(systems)
    line = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=30))
        .encode(
            x=night,
            y=value,
            color=alt.Color("series:N", title=None, scale=alt.Scale(domain=order, range=list(LINES))),
            strokeDash=alt.StrokeDash("series:N", title=None, scale=alt.Scale(domain=order, range=DASHES)),
        )
    )
    layers: list[Any] = [line]
    if failed:
        bars = [{"night": each, "gate": GATE_FAILED} for each in failed]
        layers.insert(0, failed_gates(alt.InlineData(values=bars), night))
    if marks:
        layers.append(verdict_marks(list(marks), night, value))
    drawn: Figure = alt.layer(*layers).resolve_scale(
        color="independent", shape="independent", stroke="independent", strokeDash="independent"
    )
    return drawn.properties(width=min(1100, 520 + 8 * len(nights)), height=300)


def failed_gates(bars: Any, night: "altair.X") -> "altair.Chart":
    import altair as alt

    colour = alt.Stroke("gate:N", title=None, scale=alt.Scale(domain=[GATE_FAILED], range=[WORSE]))
    rule: altair.Chart = alt.Chart(bars).mark_rule(strokeWidth=4, opacity=0.25).encode(x=night, stroke=colour)
    return rule


def verdict_marks(marks: list[dict[str, Any]], night: "altair.X", value: "altair.Y") -> "altair.Chart":
    """A sign on what improved or regressed; its legend names those that are there."""
    import altair as alt

    there = sorted({Verdict(mark["order"]) for mark in marks}, key=lambda found: found.direction)
    words = [found.replace("_", " ") for found in there]
    colours = [WITHIN_GUARDRAIL if found.is_guardrail else SHAPES[found.traits.tone][1] for found in there]
    shapes = [SHAPES[found.traits.tone][0] for found in there]
    drawn: altair.Chart = (
        alt.Chart(alt.InlineData(values=marks))
        .mark_point(size=130, filled=True, opacity=1)
        .encode(
            x=night,
            y=value,
            color=alt.Color("conclusion:N", title=None, scale=alt.Scale(domain=words, range=colours)),
            shape=alt.Shape("conclusion:N", title=None, scale=alt.Scale(domain=words, range=shapes)),
        )
    )
    return drawn


# ---- sensitivity


def draw_sensitivity(sensitivity: Sensitivity, path: Path) -> None:
    """The matrices as a picture: colour is the difference, a sign the verdict."""
    import altair as alt

    differences = [row.difference or 0.0 for row in sensitivity.comparisons.values()]
    limit = max(map(abs, differences), default=1.0) or 1.0
    matrices = [draw_matrix(sensitivity, candidate, limit) for candidate in sensitivity.candidates]
    signs = "▲ improved  ▼ regressed  · no detectable difference  = identical  ? not testable"
    save(alt.vconcat(*matrices), signs, path)


def draw_matrix(sensitivity: Sensitivity, candidate: str, limit: float) -> "Figure":
    """One candidate's differences: a row for each gain and discount, a column for each ideal and cutoff."""
    import altair as alt

    definitions, settings = matrix_axes(sensitivity)
    columns = [f"{ideal}\n@{cutoff}" for ideal, cutoff in settings]
    lines = [f"{gain}, {SHORT.get(discount, discount)}" for gain, discount in definitions]
    cells = [
        {"line": line, "column": column, "difference": row.difference or 0.0, "mark": MARKS[verdict_kind(row)]}
        for line, found in zip(lines, comparison_matrix(sensitivity, candidate), strict=True)
        for column, row in zip(columns, found, strict=True)
    ]
    base = alt.Chart(alt.InlineData(values=cells)).encode(
        x=alt.X("column:O", title=None, sort=columns, axis=alt.Axis(labelExpr=TWO_LINES, labelAngle=0)),
        y=alt.Y("line:O", title=None, sort=lines, axis=alt.Axis(labelLimit=300)),
    )
    scale = alt.Scale(scheme="redblue", domain=[-limit, limit])
    legend = alt.Legend(title=None, orient="right", format="+.3f")
    boxes = base.mark_rect().encode(color=alt.Color("difference:Q", scale=scale, legend=legend))
    texts = (
        base.transform_calculate(text="format(datum.difference, '+.3f') + ' ' + datum.mark")
        .mark_text(fontSize=11)
        .encode(
            text="text:N",
            color=alt.condition(f"abs(datum.difference) > {0.6 * limit!r}", alt.value("white"), alt.value("black")),
        )
    )
    title = f"{candidate} against {sensitivity.baseline}: difference in nDCG"
    drawn: Figure = alt.layer(boxes, texts).properties(title=title, width=76 * len(columns), height=28 * len(lines))
    return drawn


# ---- power


def draw_power(plans: Sequence[Plan], asked: Asked, path: Path) -> None:
    """Detectable effect against number of queries, a line for each comparison.

    A dot stands where a line meets an effect that was asked for, a diamond at the present number of queries.
    """
    import altair as alt

    counts = [row.n for plan in plans for row in plan.curve] or list(asked.queries)
    counts += [need.queries for plan in plans for need in plan.needed if need.queries]
    grid = sorted({round(n) for n in np.geomspace(min(counts), max(counts), 200)})
    names = [f"{plan.name}: {plan.obstacle}" if plan.obstacle else plan.name for plan in plans]
    scale = alt.Scale(domain=names, range=list(LINES))
    encoding = {
        "x": alt.X("queries:Q", title="queries", scale=alt.Scale(type="log", domain=[grid[0], max(grid[-1], 2)])),
        "y": alt.Y("effect:Q", title="detectable effect"),
        "color": alt.Color("plan:N", title=None, scale=scale, legend=alt.Legend(labelLimit=0, columns=1)),
    }
    lines, met, present = power_points(plans, names, asked, grid)
    layers: list[Any] = [
        alt.Chart(alt.InlineData(values=lines)).mark_line(strokeWidth=2, clip=True).encode(**encoding),
        alt.Chart(alt.InlineData(values=met)).mark_point(filled=True, size=70, opacity=1).encode(**encoding),
        alt.Chart(alt.InlineData(values=present))
        .mark_point(shape="diamond", filled=True, size=140, opacity=1, stroke=INK)
        .encode(**encoding),
        alt.Chart(alt.InlineData(values=present))
        .mark_text(align="left", dx=9, dy=-9, color=INK)
        .encode(x=encoding["x"], y=encoding["y"], text="here:N"),
    ]
    if asked.effects:
        effects = alt.InlineData(values=[{"effect": effect} for effect in asked.effects])
        layers.insert(0, alt.Chart(effects).mark_rule(color=SOFT, strokeDash=[2, 3]).encode(y="effect:Q"))
    title = f"What a number of queries detects (alpha {asked.alpha:g}, {100 * asked.power:g} % power)"
    save(alt.layer(*layers).properties(width=620, height=380), title, path)


def power_points(
    plans: Sequence[Plan], names: Sequence[str], asked: Asked, grid: Sequence[int]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """The lines, the dots where they meet what was asked, the diamonds at present: plan, queries, effect."""
    lines: list[dict[str, Any]] = []
    met: list[dict[str, Any]] = []
    present: list[dict[str, Any]] = []
    for name, plan in zip(names, plans, strict=True):
        if plan.obstacle or plan.deviation is None:
            continue
        lines += [{"plan": name, "queries": n, "effect": plan.detectable(n, asked)} for n in grid]
        found = {need.effect: need.queries for need in plan.needed if need.queries}
        met += [{"plan": name, "queries": n, "effect": effect} for effect, n in found.items()]
        if plan.queries and plan.mde:
            present.append(
                {"plan": name, "queries": plan.queries, "effect": plan.mde, "here": f"{plan.queries:,} queries"}
            )
    return lines, met, present
