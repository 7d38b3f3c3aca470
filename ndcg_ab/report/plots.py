"""The pictures that commands draw with matplotlib (PNG, SVG or PDF by the name): histories, sensitivity, power."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ndcg_ab.files import replacing
from ndcg_ab.history.timeline.timeline import QueryValue, Timeline
from ndcg_ab.report.terminal.sensitivity_tables import COLOURS, MARKS, SHORT
from ndcg_ab.studies.power import Asked, Plan
from ndcg_ab.studies.sensitivity import Sensitivity, comparison_matrix, matrix_axes, verdict_kind
from ndcg_core.statistics.verdicts.verdict import Tone, Verdict

SHAPES = {Tone.GOOD: ("^", "#1b7837"), Tone.BAD: ("v", "#b2182b")}
GUARDRAIL_COLOUR = "#fdae61"
TICKS = 7  # dates below a history


def make_canvas(*places: int, **settings: Any) -> tuple[Any, Any]:
    """A figure and its axes, drawn without a screen."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    return plt.subplots(*places, layout="constrained", **settings)


def save_figure(figure: Any, path: Path) -> None:
    """Whole or not at all."""
    from matplotlib import pyplot as plt

    with replacing(path) as partial:
        figure.savefig(partial, dpi=150, format=path.suffix[1:].lower())
    plt.close(figure)


# ---- a history


def draw_timeline(timeline: Timeline, path: Path) -> None:
    """The systems' means in the order of the nights, one line for each; what regressed is marked."""
    figure, axis = make_history_canvas(len(timeline.evaluations))
    places = range(len(timeline.evaluations))
    for system in timeline.systems:
        values = [value_or_gap(each.values.get(system)) for each in timeline.evaluations]
        axis.plot(places, values, ".-", label=legend_label(system))
    for conclusion in sorted(Verdict, key=lambda kind: kind.direction):
        if conclusion.traits.tone not in SHAPES:
            continue
        shape, colour = SHAPES[conclusion.traits.tone]
        marked = [
            (place, value_or_gap(each.values.get(system)))
            for place, each in enumerate(timeline.evaluations)
            for system, found in each.conclusions.items()
            if found is conclusion
        ]
        if marked:
            axis.plot(
                *zip(*marked, strict=True),
                shape,
                color=GUARDRAIL_COLOUR if conclusion.is_guardrail else colour,
                markersize=7,
                linestyle="",
                label=conclusion.replace("_", " "),
            )
    label = "gate failed"
    for place, each in enumerate(timeline.evaluations):
        if each.gate == "failed":
            axis.axvline(place, color="#b2182b", alpha=0.25, linewidth=3, zorder=0, label=label)
            label = ""  # once in the legend
    moments = [(each.ordinal, each.began) for each in timeline.evaluations]
    finish_history(figure, axis, path, moments, timeline.metric, timeline.name)


def draw_query_values(rows: Sequence[QueryValue], query_id: str, path: Path) -> None:
    """One query's values, evaluation after evaluation."""
    moments = list(dict.fromkeys((ordinal, began) for ordinal, began, _, _ in rows))
    figure, axis = make_history_canvas(len(moments))
    for name in dict.fromkeys(system for _, _, system, _ in rows):
        values = {ordinal: value for ordinal, _, system, value in rows if system == name}
        axis.plot(
            range(len(moments)), [value_or_gap(values.get(at)) for at, _ in moments], ".-", label=legend_label(name)
        )
    finish_history(figure, axis, path, moments, "value", f"query {query_id}")


def make_history_canvas(count: int) -> tuple[Any, Any]:
    return make_canvas(figsize=(min(14.0, 7 + 0.1 * count), 4.5))


def finish_history(
    figure: Any, axis: Any, path: Path, moments: Sequence[tuple[int, str]], unit: str, title: str
) -> None:
    """Dates below, names beside; texts from data are shown as they are."""
    every = -(-len(moments) // TICKS)
    ticks = list(enumerate(moments))[::-1][::every]
    names = [f"{ordinal}\n{began[:10]}" for _, (ordinal, began) in ticks]
    axis.set_xticks([place for place, _ in ticks], names, fontsize=8)
    axis.set_ylabel(unit, parse_math=False)
    axis.set_title(title, fontsize=10, loc="left", parse_math=False)
    axis.grid(axis="y", alpha=0.3)
    legend = figure.legend(fontsize=8, loc="outside lower left", ncols=3, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
    save_figure(figure, path)


def legend_label(name: str) -> str:
    """Matplotlib leaves labels that begin with a line out of the legend."""
    return f" {name}" if name.startswith("_") else name


def value_or_gap(value: float | None) -> float:
    """A gap where there is no value."""
    return float("nan") if value is None else value


# ---- sensitivity


def draw_sensitivity(sensitivity: Sensitivity, path: Path) -> None:
    """The matrices as a picture: colour is the difference, a sign the verdict."""
    rows, columns = matrix_axes(sensitivity)
    count = len(sensitivity.candidates)
    size = (2.2 + 0.95 * len(columns), count * (1.3 + 0.36 * len(rows)))
    figure, axis_list = make_canvas(count, 1, figsize=size, squeeze=False)
    differences = [row.difference or 0.0 for row in sensitivity.comparisons.values()]
    limit = max(map(abs, differences), default=1.0) or 1.0
    for axis, candidate in zip(axis_list[:, 0], sensitivity.candidates, strict=True):
        cells = comparison_matrix(sensitivity, candidate)
        values = [[row.difference or 0.0 for row in line] for line in cells]
        image = axis.imshow(values, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
        for y, line in enumerate(cells):
            for x, row in enumerate(line):
                strong = abs(row.difference or 0.0) > 0.6 * limit
                axis.text(
                    x,
                    y,
                    f"{row.difference or 0.0:+.3f} {MARKS[verdict_kind(row)]}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="white" if strong else "black",
                    fontweight="bold" if verdict_kind(row) in COLOURS else "normal",
                )
        axis.set_xticks(range(len(columns)), [f"{ideal}\n@{cutoff}" for ideal, cutoff in columns], fontsize=8)
        axis.set_yticks(range(len(rows)), [f"{gain}, {SHORT.get(name, name)}" for gain, name in rows], fontsize=8)
        axis.set_title(f"{candidate} against {sensitivity.baseline}: difference in nDCG", fontsize=10, loc="left")
        figure.colorbar(image, ax=axis, fraction=0.03)
    figure.supxlabel("▲ improved  ▼ regressed  · no detectable difference  = identical  ? not testable", fontsize=8)
    save_figure(figure, path)


# ---- power


def draw_power(plans: Sequence[Plan], asked: Asked, path: Path) -> None:
    """Detectable effect against number of queries, a line for each comparison.

    A dot stands where a line meets an effect that was asked for, a diamond at the present number of queries.
    """
    counts = [row.n for plan in plans for row in plan.curve] or list(asked.queries)
    counts += [need.queries for plan in plans for need in plan.needed if need.queries]
    grid = sorted({round(n) for n in np.geomspace(min(counts), max(counts), 200)})
    figure, axis = make_canvas(figsize=(8, 5))
    for plan in plans:
        label = plan.name.replace("$", r"\$")  # a dollar would begin a formula
        if plan.obstacle or plan.deviation is None:
            axis.plot([], [], " ", label=f"{label}: {plan.obstacle}")
            continue
        (line,) = axis.plot(grid, [plan.detectable(n, asked) for n in grid], label=label)
        met = {need.effect: need.queries for need in plan.needed if need.queries}
        axis.plot(list(met.values()), list(met), "o", color=line.get_color())
        if plan.queries and plan.mde:
            axis.plot([plan.queries], [plan.mde], "D", color=line.get_color(), markeredgecolor="black")
    for effect in asked.effects:
        axis.axhline(effect, color="grey", linewidth=0.8, linestyle=":")
    for n in sorted({plan.queries for plan in plans if plan.queries and plan.mde}):
        axis.axvline(n, color="grey", linewidth=0.8, linestyle="--", label=f"{n:,} queries here")
    axis.set_xlim(0.8 * grid[0], 1.25 * grid[-1])
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.set_ylim(bottom=0)
    axis.set_xlabel("queries")
    axis.set_ylabel("detectable effect")
    title = f"What a number of queries detects (alpha {asked.alpha:g}, {100 * asked.power:g} % power)"
    axis.set_title(title, fontsize=10, loc="left")
    axis.legend(fontsize=8)
    save_figure(figure, path)
