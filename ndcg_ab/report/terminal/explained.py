"""What `ndcg-ab explain` prints: a ranking place by place, its ideal, the division, and the steps between metrics."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ndcg_ab.report.terminal.grid import plain_table
from ndcg_ab.studies.explain import Explained
from ndcg_core.measures.explain import Explanation, Place, Step
from ndcg_core.measures.writing import format_number

NOTHING = {"zero": "nothing was returned", "condense": "nothing that is judged was returned"}
SHOWN = 30  # places shown of a ranking that no cutoff ends


def print_explained(console: Console, explained: Sequence[Explained], query_id: str) -> None:
    for system in explained:
        for explanation in system.explanations:
            title = f"[bold]{escape(system.system_id)}[/], query '{escape(query_id)}', "
            title += f"[bold]{escape(explanation.metric.name)}[/]"
            if explanation.places:
                console.print(ranking_table(title, explanation))
            else:
                console.print(f"{title}: {NOTHING[explanation.metric.unjudged]}")
            if explanation.ideal:
                console.print(ideal_table(explanation))
            console.print(format_conclusion(explanation), markup=False)
            console.print()
        for way in system.steps:
            console.print(steps_table(system.system_id, way))


def ranking_table(title: str, explanation: Explanation) -> Table:
    made = plain_table(title)
    for name in ("rank", "document", "score", "grade", "gain", "discount", "gain · discount", "sum"):
        made.add_column(name, justify="left" if name == "document" else "right", overflow="fold")
    counted = explanation.counted[: explanation.metric.cutoff or SHOWN]
    for place in counted:
        score = "–" if place.score is None else format_number(place.score)
        made.add_row(str(place.rank), Text(place.doc_id or ""), score, format_grade(place), *format_place(place))
    if len(explanation.places) > len(counted):
        rest = len(explanation.places) - len(counted)
        beyond = "beyond the cutoff" if explanation.metric.cutoff else "that follow"
        made.add_row("…", f"[dim]{rest} documents {beyond}[/]", *[""] * 6)
    return made


def ideal_table(explanation: Explanation) -> Table:
    made = plain_table(f"ideal = {explanation.metric.ideal}, best first")
    for name in ("rank", "document", "grade", "gain", "discount", "gain · discount", "sum"):
        made.add_column(name, justify="left" if name == "document" else "right", overflow="fold")
    for place in explanation.ideal[:SHOWN]:
        document = Text("any of this grade", "dim") if place.doc_id is None else Text(place.doc_id)
        made.add_row(str(place.rank), document, format_grade(place), *format_place(place))
    if len(explanation.ideal) > SHOWN:
        last = explanation.ideal[-1]
        made.add_row(
            f"…{last.rank}", f"[dim]{len(explanation.ideal) - SHOWN} more[/]", "", "", "", "", f"{last.cumulated:.4f}"
        )
    return made


def format_grade(place: Place) -> str:
    return "[dim]unjudged[/]" if place.grade is None else format_number(place.grade)


def format_place(place: Place) -> list[str]:
    return [f"{place.gain:g}", f"{place.discount:.4f}", f"{place.contribution:.4f}", f"{place.cumulated:.4f}"]


def format_conclusion(explanation: Explanation) -> str:
    """The last line: how the value comes out of the sums."""
    metric, value = explanation.metric, explanation.value
    if value is None or explanation.because:
        return f"{metric.name}: {'left out' if value is None else f'{value:.6f}'}: {explanation.because}"
    return f"{metric.name} = {explanation.last_step}{value:.6f}, in SQL as in the Python core"


def steps_table(system_id: str, way: Sequence[Step]) -> Table:
    first, last = way[0].metric.name, way[-1].metric.name
    made = plain_table(f"[bold]{escape(system_id)}[/]: from {escape(first)} to {escape(last)}, a choice at a time")
    for name in ("change", "value", "moves it by"):
        made.add_column(name, justify="left" if name == "change" else "right")
    before: float | None = None
    for step in way:
        value = "left out" if step.value is None else f"{step.value:.6f}"
        known = step.choices and step.value is not None and before is not None
        moved = f"{(step.value or 0.0) - (before or 0.0):+.6f}" if known else ""
        made.add_row(escape(step.choices) or f"[dim]{escape(first)}[/]", value, moved)
        before = step.value
    return made
