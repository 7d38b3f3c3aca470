"""Print the results of `ndcg-ab history`: a line per night and bars per system, or the drops since a date."""

import string
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from ndcg_ab.comparing.since_last import STILL
from ndcg_ab.errors import shorten
from ndcg_ab.history.digest import Digest, Drop
from ndcg_ab.history.failed_nights import COULD_NOT_RUN, SHOWN, FailedNight
from ndcg_ab.history.timeline import EvaluatedNight, QueryValue, ReusedNight, Timeline
from ndcg_ab.report.answer import format_decisions, group_decisions
from ndcg_ab.report.over_time import print_repeated_tests
from ndcg_ab.report.terminal.grid import STYLES, Grid, Row, divide_columns, plain_table, shorten_middle
from ndcg_ab.report.words import MARKS
from ndcg_ab.results.decisions import Choice
from ndcg_ab.results.numbers import format_plain, signed

BARS = "▁▂▃▄▅▆▇█"
WIDE = 120  # columns from which differences are shown beside the values, and decisions in words
ROOM = 20  # columns that the last column needs; with less it is below the table
MARGIN = 18  # columns of number and night before what stands below the table
DECISION = 40  # columns of a decision, which may take several lines
NightGroup = list[EvaluatedNight | ReusedNight | FailedNight]  # one evaluation, or nights on end without one
LONG = 14  # columns of a system's name in the head of a wide table


def column_labels(systems: Sequence[str], width: int) -> dict[str, str]:
    """Return system -> column head.

    The heads are the names, shortened if needed. If two shortened names are equal, the heads are letters.
    """
    longest = LONG if width >= WIDE and len(systems) <= 6 else 9
    short = {system: shorten_middle(system, longest) for system in systems}
    if len(set(short.values())) == len(short):
        return short
    letters = [*string.ascii_uppercase, *(f"S{number}" for number in range(27, len(systems) + 1))]
    return dict(zip(systems, letters, strict=False))


def print_timeline(console: Console, timeline: Timeline, *, details: bool = False) -> None:
    """Print one line per night, the latest decisions, and each system's values as a row of bars.

    details: print the events of nights uncut, and the tests over all evaluations.
    """
    labels = column_labels(timeline.systems, console.width)
    wide = console.width >= WIDE
    full = [night_row(night, timeline, wide=wide) for night in group_nights(timeline)]
    heads = ["", "night", *(labels[system] for system in timeline.systems), *(["decision"] if wide else [])]
    first, last = (pick(each.began[:4] for each in timeline.evaluations) for pick in (min, max))
    years = first if first == last else f"{first}–{last}"
    title = f"[bold]{escape(timeline.name)}[/], {escape(timeline.metric)}, {years}"
    tables, free_width = split_columns(heads, full, console.width)
    crowded = free_width < ROOM or len(tables) > 1
    room = console.width - MARGIN if crowded else free_width - 3
    rows = full if details else [cut_row(row, room, wide) for row in full]
    for columns in tables:
        table = plain_table(title)
        title = ""
        for at in columns:
            is_text = heads[at] in ("night", "decision")
            is_fixed = heads[at] != "decision"
            table.add_column(Text(heads[at]), justify="left" if is_text else "right", no_wrap=is_fixed)
        if not crowded:
            table.add_column("what happened")
        for row in rows:
            table.add_row(*(row[at] for at in columns), *([] if crowded else [row[-1]]))
        console.print(table)
    if crowded:
        for row in rows:
            if row[-1].plain not in ("", "–"):
                console.print(Text(f"{row[0].plain:>3}  {row[1].plain}  ").append(row[-1]))
    for line in latest_decisions(timeline.evaluations[-1]):
        console.print(line)
    print_sparklines(
        console, {system: [each.values.get(system) for each in timeline.evaluations] for system in labels}, labels
    )
    if timeline.missing_metric_text:
        console.print(timeline.missing_metric_text, markup=False)
    console.print(f"[dim]{format_legend(timeline, wide=wide)}[/]")
    if details:
        print_repeated_tests(console, timeline.over_nights)
    else:
        console.print("[dim]--details: what happened in full, and what all evaluations say together[/]")


def cut_row(row: list[Text], room: int, wide: bool) -> list[Text]:
    """Cut the events of one row of the timeline to `room` characters, and return the row.

    If `wide`, the decision is cut to DECISION characters. A row without an evaluation, such as that of a failed night,
    is not cut. row: the number of the evaluation is first, the events are last.
    """
    if row[0].plain:
        row[-1].truncate(room, overflow="ellipsis")
        if wide:
            row[-2].truncate(DECISION, overflow="ellipsis")
    return row


def split_columns(heads: Sequence[str], rows: Sequence[list[Text]], width: int) -> tuple[list[list[int]], int]:
    """Return the column indices of each table, and the width that is free beside the last table.

    The timeline is divided into several tables if it is wider than `width`. Every table begins with the columns 0 and
    1, the number and the time of the evaluation.
    """
    widths = [max(cell_len(text) for text in (head, *(row[at].plain for row in rows))) for at, head in enumerate(heads)]
    widths = [min(wide, DECISION) if head == "decision" else wide for head, wide in zip(heads, widths, strict=True)]
    tables, free = divide_columns(widths[2:], width - sum(3 + wide for wide in widths[:2]))
    return [[0, 1, *(2 + at for at in table)] for table in tables], free


def night_row(nights: "NightGroup", timeline: Timeline, *, wide: bool) -> list[Text]:
    """Return the cells of a row: number, time, a value per system, the decision if `wide`, and the events.

    For a group of nights without an evaluation, all cells are empty except the time and a text about the group.
    """
    night = nights[0]
    if isinstance(night, EvaluatedNight):
        cells = [value_cell(night, system, wide=wide) for system in timeline.systems]
        cells += [decision_cell(night)] if wide else []
        happened = describe_night(night, timeline)
        return [Text(str(night.ordinal)), Text(format_moment(night.began)[5:]), *cells, happened]
    empty = [Text() for _ in range(len(timeline.systems) + wide)]
    happened = format_night_group(night, len(nights), format_moment(nights[-1].began)[5:])
    return [Text(), Text(format_moment(night.began)[5:]), *empty, happened]


def group_nights(timeline: Timeline) -> Iterator["NightGroup"]:
    """Yield each evaluation, and the groups of nights without an evaluation, in order of time.

    A group has consecutive nights with equal reason: they reused one evaluation, or failed with one error.
    """
    nights: NightGroup = [*timeline.evaluations, *timeline.reused, *timeline.failed]
    nights.sort(key=lambda night: night.began)
    for _, group in groupby(nights, lambda night: night.key if isinstance(night, EvaluatedNight) else night[1:]):
        yield list(group)


def format_night_group(night: ReusedNight | FailedNight, count: int, last: str) -> Text:
    """Return a text about nights without an evaluation: ``3 nights same as 8, the last 11-11 02:00``.

    8 is the number of the evaluation that was reused. For failed nights: ``✗ could not run: …``.
    night: the first night. count: number of nights. last: time of the last night.
    """
    if isinstance(night, ReusedNight):
        same_text = f"same as {night.ordinal}"
        return Text(f"{count} nights {same_text}, the last {last}" if count > 1 else same_text, "dim")
    head = f"✗ {count} nights could not run, the last {last}" if count > 1 else COULD_NOT_RUN
    sentence, arrow, remedy = night.reason_text.partition(" → ")
    return Text(f"{head}: {shorten(sentence, SHOWN)}{arrow}{remedy}", "red")


def describe_night(night: EvaluatedNight, timeline: Timeline) -> Text:
    """Return the events of an evaluation: pending publication, drops, failed gates, and changed inputs and means.

    Without events the text is ``–``, but empty for the first evaluation.
    """
    drops = [f"{name} ({signed(night.since_last[name].difference)})" for name in night.dropped]
    noted = ""
    if night.acknowledged is not None:
        noted = f" (acknowledged{': ' + night.acknowledged[1] if night.acknowledged[1] else ''})"
    parts = [Text("pending", "yellow")] if night.pending else []
    parts += [Text.assemble((f"dropped: {', '.join(drops)}", "red"), noted)] if drops else []
    failed = ", ".join(night.failures) or ("yes" if night.gate == "failed" else "")
    parts += [Text(f"gate failed: {failed}", "red")] if failed else []
    parts += [Text(text) for text in (format_changed_inputs(night), format_mixed_change(night)) if text]
    return Text("; ").join(parts) if parts else Text("" if night is timeline.evaluations[0] else "–")


def format_mixed_change(night: EvaluatedNight) -> str:
    """Return the mean that changed most, divided by cause: ``new: -0.0150 judgments, +0.0030 ranking``.

    Only means that changed for several causes are considered; the text is empty if there are none.
    """
    moved = {
        name: [(cause, part) for cause, part in parts.items() if abs(part) > STILL]
        for name, parts in night.moved.items()
    }
    mixed = [name for name, parts in moved.items() if len(parts) > 1]
    if not mixed:
        return ""
    name = max(mixed, key=lambda name: abs(sum(night.moved[name].values())))
    changes = sorted(moved[name], key=lambda row: -abs(row[1]))
    return f"{name}: {', '.join(f'{signed(part)} {cause}' for cause, part in changes)}"


def format_changed_inputs(night: EvaluatedNight) -> str:
    """Return the changed inputs, several rankings as one item: ``judgments 2026-11, all rankings``."""
    rankings = [f"ranking {system}" for system in night.values if f"ranking {system}" in night.changed]
    mark = f" {night.judgments_version}" if night.judgments_version else ""
    others = [f"{text}{mark}" if text == "judgments" else text for text in night.changed if text not in rankings]
    if len(rankings) > 1:
        names = ", ".join(rankings).replace("ranking ", "")
        rankings = ["all rankings" if len(rankings) == len(night.values) else f"rankings {names}"]
    return ", ".join([*others, *rankings])


def decision_cell(night: EvaluatedNight) -> Text:
    """Return the decisions of an evaluation in one line: ``✗ do not ship new; ship newest``; empty without any."""
    groups = group_decisions(night.decisions)
    if not groups:
        return Text()
    choice = groups[0][0]
    return Text(f"{choice.mark} {format_decisions(night.decisions)}", STYLES[choice.traits.tone] or "default")


def latest_decisions(night: EvaluatedNight) -> Iterator[Text]:
    """Yield a line per candidate, the best first: ``6: ✗ do not ship new: ndcg@10 regressed (-0.0400)``."""
    differences = {name: found.difference for name, found in night.compared.items()}
    ordered = sorted(
        night.decisions,
        key=lambda name: (night.decisions[name].traits.position, -(differences.get(name) or 0.0)),
    )
    for name in ordered:
        choice = night.decisions[name]
        decision = (f"{choice.mark} {choice.words}", STYLES[choice.traits.tone])
        yield Text.assemble(f"{night.ordinal}: ", decision, f" {name}: {night.reasons[name]}")


def format_legend(timeline: Timeline, *, wide: bool) -> str:
    """Return the meanings of the marks that occur in the timeline.

    wide: True to leave out the marks of decisions, because the decisions are printed in words.
    """
    conclusions = {found.marked_verdict for each in timeline.evaluations for found in each.compared.values()}
    texts = [f"{sign} {found.words}" for found, sign in MARKS.items() if found in conclusions]
    if not wide:
        choices = {choice for each in timeline.evaluations for choice in each.decisions.values()}
        texts += [f"{choice.mark} {choice.words}" for choice in Choice if choice in choices]
    return "  ".join(texts)


def print_sparklines(console: Console, values: dict[str, list[float | None]], letters: dict[str, str]) -> None:
    """Print the latest values of each system as a row of bars, with one scale for all systems.

    No bars are printed if no system has more than one value. values: system -> values in order of time. letters: system
    -> column head in the tables; the names of systems whose heads are other texts are printed below the bars.
    """
    short = max(map(len, letters.values()), default=0)
    finite = [value for series in values.values() for value in series if value is not None]
    scale = (min(finite, default=0.0), max(finite, default=0.0))
    is_drawn = bool(finite) and max(map(len, values.values())) > 1  # a single bar compares nothing
    for system, series in values.items() if is_drawn else ():
        fitting = series[-max(10, console.width - short - 2) :]
        console.print(f"{letters[system]:>{short}}  {draw_sparkline(fitting, scale)}", markup=False, overflow="crop")
    if is_drawn:
        ends = f"{BARS[0]} {format_plain(scale[0])}  {BARS[-1]} {format_plain(scale[1])}"
        console.print(f"[dim]{'':>{short}}  {ends}[/]")
    for system, letter in letters.items():
        if letter != system:
            console.print(f"{letter:>{short}}: {system}", markup=False)


def format_moment(began: str) -> str:
    """Return an ISO 8601 time to the minute, without its time zone: ``2026-11-20 02:00``."""
    return began[:16].replace("T", " ")


def value_cell(night: EvaluatedNight, system: str, *, wide: bool) -> Text:
    """Return the cell of a system in one night: its mean, and a mark for its verdict; empty without a value.

    If `wide`, a candidate's cell also has its difference; if not, a mark for its decision.
    """
    if system not in night.values:
        return Text()
    text = format_plain(night.values[system])
    if system == night.baseline:
        return Text(text)
    conclusion, choice = None, night.decisions.get(system)
    if compared := night.compared.get(system):
        conclusion = compared.marked_verdict
        text += f" {signed(compared.difference)}" if wide else ""
    marked = Text(f"{text}  ")
    if conclusion in MARKS:
        marked = Text(f"{text} {MARKS[conclusion]}", STYLES[conclusion.traits.tone] or "default")
    if wide:
        return marked
    return Text.assemble(marked, *((" ", (choice.mark, STYLES[choice.traits.tone])) if choice else ("  ",)))


def draw_sparkline(values: Sequence[float | None], scale: tuple[float, float]) -> str:
    """Return a text with one bar per value, and a dot for a missing value. scale: the lowest and highest value."""
    low, high = scale
    span = (high - low) or 1.0
    return "".join("·" if value is None else BARS[round((len(BARS) - 1) * (value - low) / span)] for value in values)


def print_query_values(console: Console, query_id: str, rows: Sequence[QueryValue]) -> None:
    systems = list(dict.fromkeys(system for _, _, system, _ in rows))
    labels = column_labels(systems, console.width)
    values: dict[tuple[int, str], dict[str, float]] = defaultdict(dict)
    for ordinal, began, system, value in rows:
        values[ordinal, began][system] = value
    cells = [
        Row([str(ordinal), format_moment(began)], [format_plain(found.get(system)) for system in systems])
        for (ordinal, began), found in values.items()
    ]
    heads = [labels[system] for system in systems]
    Grid(["", "night"], heads, cells).print(console, Text.assemble("query ", (query_id, "bold")))
    print_sparklines(console, {system: [found.get(system) for found in values.values()] for system in systems}, labels)


def print_digest(console: Console, digest: Digest, timeline: Timeline) -> None:
    night = f"{digest.evaluations} evaluation{'s' * (digest.evaluations != 1)}"
    same_text = f", {digest.reused} more in which nothing had changed" if digest.reused else ""
    failed = f", {len(digest.failed)} more that could not run" if digest.failed else ""
    heading = f", {digest.metric}, since {digest.since[:10]}: {night}{same_text}{failed}"
    console.print(Text.assemble((digest.name, "bold"), heading))
    if digest.failed:
        failed_nights = [f"{each.began[5:10]} {COULD_NOT_RUN}: {each.reason_text}" for each in digest.failed]
        print_section(console, "failed", failed_nights)
    print_section(console, "dropped", [format_drop(drop) for drop in digest.drops])
    last = timeline.evaluations[-1]
    print_section(console, "to look at", open_matters(digest, last.ordinal))
    console.print(Text(f"now (the latest evaluation, {last.began[:10]})", style="bold"))
    for line in latest_decisions(last):
        console.print(line)


def print_section(console: Console, title: str, lines: list[str]) -> None:
    console.print(Text(title, style="bold"))
    for line in lines or ["nothing"]:
        console.print(Text(f"  {line}"))


def format_drop(drop: Drop) -> str:
    """Return a drop in one line: ``8  10-08  reranked -0.2804: -0.2820 ranking, …; improved again in 9``."""
    text = f"{drop.ordinal}  {drop.began[5:10]}  {drop.system_id} {signed(drop.difference)}: {format_drop_cause(drop)}"
    if drop.acknowledged is not None:
        text += f"; acknowledged {drop.acknowledged[:10]}{f': {drop.note}' if drop.note else ''}"
    return text if drop.better_in is None else f"{text}; improved again in {drop.better_in}"


def format_drop_cause(drop: Drop) -> str:
    """Return the parts of a drop by cause, the largest first: ``-0.2820 ranking, …``.

    Return the changed inputs if the parts are unknown, or if all of them are negligible (at most `STILL`).
    """
    parts = sorted(((abs(part), part, cause) for cause, part in drop.moved.items()), reverse=True)
    causes = ", ".join(f"{signed(part)} {cause}" for size, part, cause in parts if size > STILL)
    return causes or f"changed: {', '.join(drop.changed)}"


def open_matters(digest: Digest, last: int) -> list[str]:
    lines = [
        f"{drop.system_id} dropped in {drop.ordinal} (known? --acknowledge {drop.ordinal})"
        for drop in digest.drops
        if drop.is_open
    ]
    lines += [
        f"gate failed: {gate}" + (f", since evaluation {since}" if since != last else "")
        for gate, since in digest.failing.items()
    ]
    if digest.pending:
        numbers = ", ".join(map(str, digest.pending))
        lines.append(f"logging is pending: {numbers} (ndcg-ab publish CONFIG)")
    return lines
