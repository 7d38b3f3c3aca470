"""The evaluations of a history as a picture: one line for each system, verdicts marked on it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.outcome import replacing

if TYPE_CHECKING:
    from flows.nights import Nights, QueryValue

SHAPES = {"regressed": ("v", "#b2182b"), "improved": ("^", "#1b7837"), "may be worse": ("v", "#fdae61")}
TICKS = 7


def draw(nights: "Nights", path: Path) -> None:
    """The systems' means over the evaluations (PNG, SVG or PDF by the name); what regressed is marked."""
    figure, axis = canvas(len(nights.evaluations))
    ordinals = [each.ordinal for each in nights.evaluations]
    for system in nights.systems:
        axis.plot(ordinals, [number(each.values.get(system)) for each in nights.evaluations], ".-", label=shown(system))
    for word, (shape, colour) in SHAPES.items():
        marked = [
            (each.ordinal, number(each.values.get(system)))
            for each in nights.evaluations
            for system, verdict in each.verdicts.items()
            if verdict.startswith(word)
        ]
        if marked:
            axis.plot(*zip(*marked, strict=True), shape, color=colour, markersize=7, linestyle="", label=word)
    for each in nights.evaluations:
        if each.gate == "failed":
            axis.axvline(each.ordinal, color="#b2182b", alpha=0.25, linewidth=3, zorder=0)
    finish(figure, axis, path, [(each.ordinal, each.began) for each in nights.evaluations], nights.metric, nights.name)


def draw_query(rows: "Sequence[QueryValue]", query_id: str, path: Path) -> None:
    """One query's values over the evaluations."""
    moments = sorted({(ordinal, began) for ordinal, began, _, _ in rows})
    figure, axis = canvas(len(moments))
    for name in dict.fromkeys(system for _, _, system, _ in rows):
        values = {ordinal: value for ordinal, _, system, value in rows if system == name}
        axis.plot([at for at, _ in moments], [number(values.get(at)) for at, _ in moments], ".-", label=shown(name))
    finish(figure, axis, path, moments, "value", f"query {query_id}")


def canvas(count: int) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=(min(14.0, 7 + 0.1 * count), 4.5), layout="constrained")


def finish(figure: Any, axis: Any, path: Path, moments: Sequence[tuple[int, str]], unit: str, title: str) -> None:
    """Dates below, names beside; texts from data are shown as they are."""
    from matplotlib import pyplot as plt

    every = -(-len(moments) // TICKS)
    ticks = list(moments)[::-1][::every]
    axis.set_xticks([at for at, _ in ticks], [f"{at}\n{began[:10]}" for at, began in ticks], fontsize=8)
    axis.set_ylabel(unit, parse_math=False)
    axis.set_title(title, fontsize=10, loc="left", parse_math=False)
    axis.grid(axis="y", alpha=0.3)
    legend = figure.legend(fontsize=8, loc="outside lower left", ncols=3, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
    with replacing(path) as partial:
        figure.savefig(partial, dpi=150, format=path.suffix[1:].lower())
    plt.close(figure)


def shown(name: str) -> str:
    """Matplotlib leaves labels that begin with a line out of the legend."""
    return f" {name}" if name.startswith("_") else name


def number(value: float | None) -> float:
    """A gap where there is no value."""
    return float("nan") if value is None else value
