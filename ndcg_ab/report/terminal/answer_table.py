"""The first screen: a row for each candidate, the deciding metric with its interval, five warnings at the most."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from ndcg_ab.report.answer import DRAW_AGAIN, JUDGE, Answer, Candidate, make_answer
from ndcg_ab.report.doubts import Line
from ndcg_ab.report.terminal.grid import STYLES, shorten_middle
from ndcg_ab.report.words import add_recomputed_count, comparison_mark, deciding_interval, format_confidence_level
from ndcg_ab.results.decisions import Choice, is_turned
from ndcg_ab.results.numbers import format_plain, signed
from ndcg_ab.results.outcome import Outcome, Severity
from ndcg_ab.results.wording import queries_text
from ndcg_core.measures.metric import Metric
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import Tone

MOST_ROWS = 20  # candidates with a row of their own; of more the first by decision and difference
MOST_REASONS = 8  # candidates whose reasons are on the screen
WHOLE_REASONS = 2  # of so few they take two lines
MOST_WARNINGS = 5
NAMES = (8, 28)  # columns of the names: at least, at most
HEADS = 12  # columns that the name of a metric has at least
GAP = "  "
INDENT = "    "
DOUBTED = " (in doubt)"
OPEN_LABELS = "L"  # beside a difference that unjudged results could turn


class Column(NamedTuple):
    """A metric: its head, and a text for each candidate with its colour."""

    head: str
    cells: list[tuple[str, str]]

    @property
    def width(self) -> int:
        return max(map(cell_len, (self.head, *(text for text, _ in self.cells))))


def print_answer_table(console: Console, outcome: Outcome) -> None:
    """The whole answer: at most 10 lines for one candidate and metric, 25 for 4 x 4, 35 for 19 x 4, at 100 columns."""
    answer = make_answer(outcome)
    doubts, warnings = split_warnings(answer)
    print_doubts(console, doubts)
    shown = answer.candidates[:MOST_ROWS]
    has_reasons = len(answer.candidates) <= MOST_REASONS  # which say it where a decision is in doubt
    shown_names = [found.name + DOUBTED * bool(found.doubt and not has_reasons) for found in shown]
    names = min(max(map(cell_len, shown_names), default=0), NAMES[1])
    words = max((cell_len(found.choice.words) for found in shown), default=0)
    columns = [metric_column(metric, shown, is_first=at == 0) for at, metric in enumerate(outcome.metrics)]
    columns += cost_columns(shown)
    head = table_head(answer)
    beside_names = 2 + words + len(GAP)
    for wanted, least in ((columns, NAMES[1] // 2), (columns[:1], NAMES[0])):  # all metrics, or else the first
        room = console.width - beside_names - sum(len(GAP) + column.width for column in wanted)
        if room >= least:
            break
    names = min(names, max(room, NAMES[0])) if room >= least else names
    left = beside_names + names
    fitting = list(columns_that_fit(columns, console.width - left))
    room = console.width - sum(len(GAP) + column.width for column in fitting)
    is_apart = cell_len(head) > room
    left = left if is_apart else max(left, cell_len(head))
    if is_apart:
        console.print(Text(head, style="bold"))
    heads = GAP.join(set_cell_size(column.head, column.width) for column in fitting)
    beside = set_cell_size("" if is_apart else head, left)
    console.print(Text(f"{beside}{GAP}{heads}".rstrip(), style="bold"))
    for at, found in enumerate(shown):
        cells = [(column.cells[at], column.width) for column in fitting]
        print_row(console, found.choice, (words, shown_names[at], names), left, cells)
        if has_reasons:
            is_short = len(answer.candidates) > WHOLE_REASONS or answer.gate
            room, lines = console.width - len(INDENT), 1 if is_short else 2
            for line in textwrap.wrap(found.reason, room, break_on_hyphens=False, max_lines=lines, placeholder=" …"):
                console.print(Text(f"{INDENT}{line}"), style="dim")
    if more := len(answer.candidates) - len(shown):
        console.print(Text(f"and {more} more: --details"), style="dim")
    if answer.gate:
        console.print(Text(answer.gate, style="red" if outcome.failures else "green"))
    print_warnings(console, answer, warnings, MOST_WARNINGS - len(doubts))
    print_method(console, outcome, answer, left_out=len(columns) - len(fitting))


def table_head(answer: Answer) -> str:
    """``vs bm25 0.3764 · 158 queries``: what all candidates are compared with, on the deciding metric."""
    name = f"vs {shorten_middle(answer.baseline, NAMES[1])}"
    if answer.queries is None:
        return name
    return f"{name} {format_plain(answer.mean)} · {queries_text(answer.queries, answer.kind)}"


def metric_column(metric: Metric, candidates: Sequence[Candidate], *, is_first: bool) -> Column:
    """The candidates' differences on a metric; on the first, which decides, with their intervals."""
    cells = []
    for found in candidates:
        row = next((each for each in found.rows if each.metric == metric.name), None)
        text = difference_cell(row, with_interval=is_first) if row else ""
        cells.append((text, STYLES[row.conclusion.traits.tone] if row else ""))
    width = max(HEADS, *(cell_len(text) for text, _ in cells)) if cells else HEADS
    return Column(shorten_middle(metric.name, width), cells)


def cost_columns(candidates: Sequence[Candidate]) -> list[Column]:
    """What requests cost, of each statistic that is shown: how much more the candidates take."""
    found = []
    for name in dict.fromkeys(row.metric for each in candidates for row in each.costs):
        rows = [next((row for row in each.costs if row.metric == name), None) for each in candidates]
        tones = [row.conclusion.traits.tone if row and row.conclusion else Tone.PLAIN for row in rows]
        cells = [f"{row.mark or '●'} {row.numbers}" if row else "" for row in rows]
        found.append(Column(name, list(zip(cells, (STYLES[tone] for tone in tones), strict=True))))
    return found


def difference_cell(row: Comparison, *, with_interval: bool) -> str:
    """``▲ +.137 [+.101, +.173] L``"""
    found = deciding_interval(row) if with_interval else None
    number = short_number(row.difference) + (
        f" [{short_number(found.low)}, {short_number(found.high)}]" if found else ""
    )
    return f"{comparison_mark(row)} {number}" + f" {OPEN_LABELS}" * is_turned(row)


def short_number(value: float | None) -> str:
    """``+.137``: three decimals where they say enough; else as everywhere."""
    if value is None or abs(value) >= 1:
        return signed(value)
    return f"{value:+.3f}".replace("0.", ".", 1)


def columns_that_fit(columns: Sequence[Column], room: int) -> Iterator[Column]:
    """The first one, and as many more as there is room for."""
    for at, column in enumerate(columns):
        room -= len(GAP) + column.width
        if room < 0 and at:
            return
        yield column


def print_row(
    console: Console,
    choice: Choice,
    widths: tuple[int, str, int],
    left: int,
    cells: Sequence[tuple[tuple[str, str], int]],
) -> None:
    """widths: of the decision's words, the name, its width.  left: columns before the first metric."""
    words, name, names = widths
    line = Text.assemble(
        (f"{choice.mark} {set_cell_size(choice.words, words)}", f"bold {STYLES[choice.traits.tone]}"),
        GAP,
        (shorten_middle(name, names), "bold"),
    )
    line.append(" " * max(0, left - cell_len(line.plain)))
    for (text, style), width in cells:
        line.append(f"{GAP}{set_cell_size(text, width)}", style=style)
    line.rstrip()
    line.truncate(console.width)
    console.print(line)


def split_warnings(answer: Answer) -> tuple[Sequence[Line], Sequence[Line]]:
    """Those that question the whole answer, above it, and the others, below; at least one line is left for these."""
    found = answer.warnings
    above = min(sum(each.severity == "error" for each in found), MOST_WARNINGS - 1)
    return found[:above], found[above:]


def print_warnings(console: Console, answer: Answer, warnings: Sequence[Line], room: int) -> None:
    """The warnings below the answer in so many lines, with what to run about each; the rest is counted."""
    lines = [warning_line(each, console.width) for each in warnings]
    if any(is_turned(each) for found in answer.candidates for each in found.rows):
        is_drawn_for_others = any(each.command == DRAW_AGAIN for each in warnings)
        command = DRAW_AGAIN if is_drawn_for_others else JUDGE
        legend = Line("note", f"{OPEN_LABELS}: unjudged results could turn it", command=command)
        lines.insert(0, warning_line(legend, console.width))
    if len(lines) > room:
        lines = [*lines[: room - 1], Text(f"and {len(lines) - room + 1} more warnings: --details", style="yellow")]
    for line in lines:
        console.print(line)


def print_doubts(console: Console, doubts: Sequence[Line]) -> None:
    for each in doubts:
        line = warning_line(each, console.width)
        line.stylize("bold yellow")
        console.print(line)


def warning_line(warned: Line, width: int) -> Text:
    """``! the sentence → the command``, the sentence cut where it is too long."""
    traits = Severity(warned.severity).traits
    tail = warned.more + (f" → {warned.command}" if warned.command else "")
    room = max(width - 2 - cell_len(tail), NAMES[1])
    text = warned.text if cell_len(warned.text) <= room else set_cell_size(warned.text, room - 1) + "…"
    line = Text.assemble((traits.mark if warned.severity != "note" else " ", traits.colour), f" {text}{tail}")
    line.truncate(width)
    return line


def print_method(console: Console, outcome: Outcome, answer: Answer, left_out: int) -> None:
    """What the numbers in brackets are, what was computed twice, and where the rest is."""
    count = sum(row.p_adjusted is not None for row in outcome.main)
    level = format_confidence_level(outcome.alpha)
    parts = [f"[low, high]: {level} interval{f', {count} comparisons' if count > 1 else ''}"]
    parts.append(add_recomputed_count(outcome, "{} computed twice"))
    notes = sum(line.severity == "note" for line in answer.findings) + len(answer.notes)
    rest = [
        f"{number} {word}{'s' * (number != 1)}" for number, word in ((notes, "note"), (left_out, "metric")) if number
    ]
    parts.append(f"{', '.join([*rest, 'every number'])}: --details")
    line = Text(" · ".join(parts), style="dim")
    line.truncate(console.width, overflow="ellipsis")
    console.print(line)
