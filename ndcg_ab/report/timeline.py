"""What `ndcg-ab history` prints: a line for each evaluation, and a row of bars for each system."""

import string
from collections import defaultdict
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from ndcg_ab.evaluation.phrases import signed
from ndcg_ab.history.timeline import Evaluated, QueryValue, Timeline
from ndcg_ab.report.grid import plain_table
from ndcg_ab.report.tables import COLOURS
from ndcg_ab.report.text import plain
from ndcg_core.statistics.verdict import Verdict

BARS = "▁▂▃▄▅▆▇█"
MARKS = {Verdict.IMPROVED: "▲", Verdict.REGRESSED: "▼", Verdict.MAY_BE_WORSE: "▽"}
WIDE = 120  # columns from which differences are shown beside the values
LONG = 14  # letters of a system's name; a longer one gets a letter, which the bars below explain


def labels(systems: Sequence[str], width: int) -> dict[str, str]:
    """What stands over a system's column: its name, or a letter where the names would not fit."""
    longest = LONG if width >= WIDE and len(systems) <= 6 else 9
    if all(len(system) <= longest for system in systems):
        return {system: system for system in systems}
    letters = [*string.ascii_uppercase, *(f"S{number}" for number in range(27, len(systems) + 1))]
    return dict(zip(systems, letters, strict=False))


def print_timeline(console: Console, timeline: Timeline) -> None:
    """One line for each evaluation; then each system's values as a row of bars."""
    named = labels(timeline.systems, console.width)
    made = plain_table(f"[bold]{escape(timeline.name)}[/], {escape(timeline.metric)}{years(timeline)}")
    for name in ("", "began", *(named[system] for system in timeline.systems), "gate", "changed"):
        is_text = name in ("began", "gate", "changed")
        made.add_column(Text(name), justify="left" if is_text else "right", no_wrap=name != "changed")
    for each in timeline.evaluations:
        cells = [value_cell(each, system, wide=console.width >= WIDE) for system in timeline.systems]
        changed = ", ".join(each.changed) or ("" if each is timeline.evaluations[0] else "–")
        if each.pending:
            changed = f"[yellow]pending[/]; {escape(changed)}" if each.changed else "[yellow]pending[/]"
        else:
            changed = escape(changed)
        gate = f"[red]{each.gate}[/]" if each.gate == "failed" else each.gate or "–"
        made.add_row(str(each.ordinal), when(each.began)[5:], *cells, gate, changed)
    console.print(made)
    print_sparklines(
        console, {system: [each.values.get(system) for each in timeline.evaluations] for system in named}, named
    )
    marks = "  ".join(f"{sign} {found.replace('_', ' ')}" for found, sign in MARKS.items())
    console.print(f"[dim]{marks}[/]", highlight=False)
    console.print(f"[dim]comparisons so far on these queries: {timeline.comparisons_so_far}[/]", highlight=False)


def years(timeline: Timeline) -> str:
    found = sorted({each.began[:4] for each in timeline.evaluations})
    return f", {found[0]}" + (f"–{found[-1]}" if len(found) > 1 else "")


def print_sparklines(console: Console, values: dict[str, list[float | None]], named: dict[str, str]) -> None:
    """The latest values that fit, the names behind them where letters stand for them."""
    short = max(map(len, named.values()))
    for system, found in values.items():
        fitting = found[-max(10, console.width - short - 2) :]
        console.print(f"{named[system]:>{short}}  {sparkline(fitting)}", markup=False, highlight=False, overflow="crop")
    for system, letter in named.items():
        if letter != system:
            console.print(f"{letter:>{short}}: {system}", markup=False, highlight=False)


def when(began: str) -> str:
    """2026-11-20 02:00, in UTC."""
    return began[:16].replace("T", " ")


def value_cell(each: Evaluated, system: str, *, wide: bool) -> str:
    """The mean and the verdict's mark, where there is room the difference of a candidate too."""
    if system not in each.values:
        return ""
    text = plain(each.values[system])
    if wide and system in each.differences:
        text += f" {signed(each.differences[system])}"
    found = each.conclusions.get(system)
    if found not in MARKS:
        return f"{text}  "
    return f"[{COLOURS[found]}]{text} {MARKS[found]}[/]"


def sparkline(values: Sequence[float | None]) -> str:
    """One sign for each value, from the lowest to the highest of them; a dot where there is none."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    span = (high - low) or 1.0
    return "".join("·" if value is None else BARS[round((len(BARS) - 1) * (value - low) / span)] for value in values)


def print_query_values(console: Console, query_id: str, rows: Sequence[QueryValue]) -> None:
    systems = list(dict.fromkeys(system for _, _, system, _ in rows))
    named = labels(systems, console.width)
    made = plain_table(f"query [bold]{escape(query_id)}[/]")
    for name in ("", "began", *(named[system] for system in systems)):
        made.add_column(Text(name), justify="right" if name != "began" else "left", no_wrap=True)
    values: dict[tuple[int, str], dict[str, float]] = defaultdict(dict)
    for ordinal, began, system, value in rows:
        values[ordinal, began][system] = value
    for (ordinal, began), found in values.items():
        made.add_row(str(ordinal), when(began), *(plain(found.get(system)) for system in systems))
    console.print(made)
    print_sparklines(console, {system: [found.get(system) for found in values.values()] for system in systems}, named)
