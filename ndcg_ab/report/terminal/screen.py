"""Print the result of an evaluation in the terminal: the answer on one screen, then what it leaves out."""

import shlex
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from ndcg_ab.config.secrets.redaction import redact
from ndcg_ab.errors import shorten
from ndcg_ab.report.answer import DRAW_AGAIN, JUDGE, Answer, Candidate, format_headline, group_decisions, make_answer
from ndcg_ab.report.doubts import ENOUGH, SET_EFFECT, Line, describe_slices, lacks_smallest_effect
from ndcg_ab.report.explanations import explain_outcome
from ndcg_ab.report.over_time import print_since
from ndcg_ab.report.sections import notes_on_metric
from ndcg_ab.report.terminal.grid import STYLES, print_dimmed, shorten_middle, shorten_names
from ndcg_ab.report.terminal.tables import LONGEST, print_findings, print_tables
from ndcg_ab.report.words import OPEN_LABELS, deciding_interval, format_confidence_level, format_marked
from ndcg_ab.results.decisions import Choice
from ndcg_ab.results.numbers import format_plain, signed
from ndcg_ab.results.outcome import Outcome, Severity
from ndcg_ab.results.wording import queries_text
from ndcg_core.statistics.verdicts.verdict import Tone

if TYPE_CHECKING:
    from ndcg_ab.history.bundle import Bundle
    from ndcg_ab.pipeline.context import Context

MOST_ROWS = 20  # systems with a row of their own; of more the first by decision and difference
MOST_REASONS = 8  # candidates whose reasons are on the screen
REASON_LINES = 2  # of each candidate
GROUP_LINES = 2  # of each decision, if reasons are not on the screen
MOST_WARNINGS = 5
LEAST_WARNINGS = 2  # lines, however many the answer takes
NAMES = (14, 28)  # columns of the names: at least if that keeps a metric on the screen, at most
TWO_INTERVALS = 100  # columns from which two metrics have their intervals before a third is shown
GAP = "  "
INDENT = "    "
DOUBTED = " (in doubt)"
TERMS = "ndcg-ab help terms"  # what explains the words of the screen
TOGETHER = "\N{NO-BREAK SPACE}"  # at which no line ends


class Column(NamedTuple):
    """One column of the matrix: a metric or a cost.

    head: the name of the metric or cost. cells: per system a tuple of the text without the interval, the text with the
    interval, and the colour.
    """

    head: str
    cells: list[tuple[str, str, str]]

    def width(self, is_wide: bool) -> int:
        return max(cell_len(shorten_middle(self.head, NAMES[0])), *(cell_len(cell[is_wide]) for cell in self.cells))


def print_answer_table(
    console: Console, outcome: Outcome, *, in_full: bool = False, remedies: Mapping[str, str] | None = None
) -> None:
    """Print the answer on one screen: decisions, warnings and the matrix of systems and metrics.

    With 100 characters a line, it takes at most 10 lines for one candidate and one metric, 25 for 4 candidates and 4
    metrics, and 35 for 19 candidates and 4 metrics.
    in_full: print every reason, system and warning, in as many lines as needed.
    remedies: the command of a warning -> the same command with the user's files. The second command is printed in place
        of the first if it fits into a line or `in_full` is True. Later warnings with this command have no command.
    """
    answer = make_answer(outcome)
    above, warnings = split_warnings(answer)
    lines = list(decision_lines(answer, console.width, in_full=in_full))
    matrix, has_letter = matrix_lines(answer, console.width, in_full=in_full)
    lines += matrix
    if answer.gate:
        lines.append(Text(answer.gate, style="red" if outcome.failures else "green"))
    method = method_lines(outcome, answer, console.width, in_full=in_full)
    is_small = len(answer.candidates) <= 1 and len(outcome.metrics) == 1
    most = 10 if is_small else 25 if len(answer.candidates) <= MOST_REASONS else 35
    room = sys.maxsize if in_full else max(LEAST_WARNINGS, most - len(lines) - len(method))
    count = sys.maxsize if in_full else MOST_WARNINGS
    is_fitting = {each: in_full or cell_len(full) <= console.width - 4 for each, full in (remedies or {}).items()}
    unused = dict(remedies or {})
    remarks = [
        line._replace(command=unused.pop(line.command, "")) if is_fitting.get(line.command) else line
        for line in (*above, *legend_lines(answer, outcome, has_letter, in_full=in_full), *warnings)
    ]
    doubts = list(warning_lines(remarks[: len(above)], console.width, room - bool(warnings), count))
    below = warning_lines(remarks[len(above) :], console.width, room - len(doubts), count - len(above))
    for doubt in doubts:
        doubt.stylize("bold yellow")
    for line in [*doubts, *lines, *below, *method]:
        line.rstrip()
        if not line.plain.startswith("  → "):
            line.truncate(console.width)
        console.print(line, soft_wrap=True)
    if outcome.systems and not outcome.candidates:
        print_dimmed(console, "give a second ranking to compare it with")


def decision_lines(answer: Answer, width: int, *, in_full: bool = False) -> Iterator[Text]:
    """Yield lines with each candidate's decision and reason.

    If there are more than MOST_REASONS candidates and `in_full` is False, each decision has at most GROUP_LINES lines
    with the names of its candidates, and reasons are left out.
    """
    short = shorten_names([candidates.name for candidates in answer.candidates], NAMES[1])
    if in_full or len(answer.candidates) <= MOST_REASONS:
        words = max((cell_len(candidates.choice.words) for candidates in answer.candidates), default=0)
        most = sys.maxsize if in_full else REASON_LINES if len(answer.candidates) > 1 or not answer.gate else 1
        for candidates in answer.candidates:
            text = f"{candidates.choice.words:<{words}}  {short[candidates.name]}: "
            yield from wrap_decision(candidates.choice, text, candidates.reason.split("; "), "; ", width, most)
        return
    doubted = {each.name for each in answer.candidates if each.doubt}
    for choice, names in group_decisions(answer.choices):
        each = [f"{short[name]}{DOUBTED * (name in doubted)}" for name in names]
        yield from wrap_decision(choice, f"{choice.words} ({len(names)}): ", each, ", ", width, GROUP_LINES)


def wrap_decision(choice: Choice, head: str, parts: Sequence[str], separator: str, width: int, room: int) -> list[Text]:
    """Return a decision in at most `room` lines: its mark, a head, and as many parts as fit, then "…".

    parts: the names or reasons. separator: the text between parts.
    """
    for count in range(len(parts), 0, -1):
        left_out = f"{separator}…" if count < len(parts) else ""
        text = f"{choice.mark} {head}{separator.join(parts[:count])}{left_out}"
        wrapped = textwrap.wrap(text, width, subsequent_indent=INDENT, break_on_hyphens=False)
        if len(wrapped) <= room:
            break
    else:  # not even the first part is short enough
        wrapper = textwrap.TextWrapper(width, subsequent_indent=INDENT, break_on_hyphens=False)
        wrapper.max_lines, wrapper.placeholder = room, " …"
        wrapped = wrapper.wrap(f"{choice.mark} {head}{parts[0]}")
    lines = [Text(line) for line in wrapped]
    lines[0].stylize(f"bold {STYLES[choice.traits.tone]}", 0, 2 + len(choice.words))
    return lines


def matrix_lines(answer: Answer, width: int, *, in_full: bool) -> tuple[list[Text], bool]:
    """Return the lines of the matrix, and True if a difference in it has the mark L.

    L means that unjudged results could turn the verdict. The matrix has a line for each system. Further lines give the
    number of systems, and the names of columns, for which there is no room.
    """
    most = MOST_ROWS + (len(answer.matrix) == MOST_ROWS + 1)  # a line that counts one system takes as much room
    rows = dict(list(answer.matrix.items())[: None if in_full else most])
    columns = [
        metric_column(answer, list(rows), metric, is_first=at == 0)
        for at, metric in enumerate(next(iter(rows.values())))
    ]
    choices = {each.name: each for each in answer.candidates}
    columns += cost_columns([choices.get(name) for name in rows])
    head = queries_text(answer.queries, answer.kind) if answer.queries is not None else ""
    wanted_width = min(max(cell_len(head) - 2, *map(cell_len, rows)), NAMES[1])
    wide = choose_widths(columns, width - 2, wanted_width)
    used = sum(len(GAP) + column.width(is_wide) for column, is_wide in zip(columns, wide, strict=False))
    names = max(min(wanted_width, width - 2 - used), min(wanted_width, NAMES[0] // 2))
    heads = [
        set_cell_size(shorten_middle(column.head, column.width(is_wide)), column.width(is_wide))
        for column, is_wide in zip(columns, wide, strict=False)
    ]
    lines = [Text(GAP.join([set_cell_size(head, 2 + names), *heads]), style="bold")]
    short = shorten_names(rows, names)
    for at, name in enumerate(rows):
        choice = choices[name].choice if name in choices else None
        line = Text(f"{choice.mark} " if choice else "  ", style=STYLES[choice.traits.tone] if choice else "")
        line.append(set_cell_size(short[name], names), style="bold")
        for column, is_wide in zip(columns, wide, strict=False):
            cell = column.cells[at]
            line.append(f"{GAP}{set_cell_size(cell[is_wide], column.width(is_wide))}", style=cell[2])
        lines.append(line)
    if more := len(answer.matrix) - len(rows):
        lines.append(Text(f"and {more} more systems: --details", style="dim"))
    if left_out := [column.head for column in columns[len(wide) :]]:
        where = "tables below" if in_full else "--details"
        lines.append(Text(f"no room for {', '.join(left_out)}: {where}", style="dim"))
    return lines, any(cell[0].endswith(f" {OPEN_LABELS}") for column in columns[: len(wide)] for cell in column.cells)


def choose_widths(columns: Sequence[Column], width: int, name_width: int) -> list[bool]:
    """Return a boolean for each column that fits on the screen: True if the column is displayed with intervals.

    Columns are taken from the left until one does not fit; the first is always taken. The first column has intervals if
    there is room for them. On a line of at least TWO_INTERVALS characters, the second column has them, too, if there is
    room. Another column has intervals if every name can then still be displayed in full.
    width: characters of a line, without the mark before the name.
    name_width: characters of the longest name.
    """
    first = 1 + (width + 2 >= TWO_INTERVALS)
    room, wide = width - min(name_width, NAMES[0]), []
    for at, column in enumerate(columns):
        fitting = [is_wide for is_wide in (at < first, False) if column.width(is_wide) + len(GAP) <= room]
        if not fitting and at:
            break
        wide.append(fitting[0] if fitting else False)
        room -= column.width(wide[-1]) + len(GAP)
    room -= max(0, name_width - NAMES[0])
    for at, column in enumerate(columns[: len(wide)]):
        more = column.width(True) - column.width(False)
        if not wide[at] and more <= room:
            wide[at] = True
            room -= more
    return wide


def metric_column(answer: Answer, systems: Sequence[str], metric: str, *, is_first: bool) -> Column:
    """Return the column of a metric: the mean of each of the systems, and each candidate's difference with its mark.

    is_first: True to write "baseline" beside the mean of the baseline.
    """
    cells = [answer.matrix[system][metric] for system in systems]
    means = [short_number(cell.mean, "") for cell in cells]
    width = max(map(cell_len, means), default=0)
    column_cells = []
    for cell, mean in zip(cells, means, strict=True):
        text = f"{mean:>{width}}"
        if cell.row is None:
            text += " baseline" * (is_first and len(cells) > 1 and cell is cells[0])
            column_cells.append((text, text, ""))
            continue
        interval = deciding_interval(cell.row)
        interval_text = f" [{short_number(interval.low)}, {short_number(interval.high)}]" if interval else ""
        number = short_number(cell.row.difference)
        short, wide = (f"{text} {format_marked(cell.row, shown)}" for shown in (number, number + interval_text))
        column_cells.append((short, wide, STYLES[cell.row.conclusion.traits.tone]))
    return Column(metric, column_cells)


def cost_columns(candidates: Sequence[Candidate | None]) -> Iterator[Column]:
    """Yield a column for each displayed cost statistic, with the additional cost of each candidate.

    candidates: one per row of the matrix; None for a row that is no candidate.
    """
    costs = [each.costs if each else () for each in candidates]
    for name in dict.fromkeys(row.metric for rows in costs for row in rows):
        cells = [next((row for row in rows if row.metric == name), None) for rows in costs]
        tones = [row.conclusion.traits.tone if row and row.conclusion else Tone.PLAIN for row in cells]
        texts = [f"{row.mark or '●'} {row.numbers}" if row else "" for row in cells]
        yield Column(name, [(text, text, STYLES[tone]) for text, tone in zip(texts, tones, strict=True)])


def short_number(value: float | None, sign: str = "+") -> str:
    """Return a number with three decimals and without a leading zero: ``+.137``, ``+1.370``; a dash for None.

    A number whose absolute value is 10 or more has four decimals: ``+12.3457``.
    sign: "+" to display the sign of positive numbers, or empty: ``.137``.
    """
    if value is None or abs(value) >= 10:
        return signed(value) if sign else format_plain(value)
    text = f"{value:{sign}.3f}"
    return text if abs(value) >= 1 else text.replace("0.", ".", 1)


def split_warnings(answer: Answer) -> tuple[Sequence[Line], Sequence[Line]]:
    """Return the warnings to print above the answer, and those to print below.

    The first MOST_WARNINGS - 1 doubts about the answer are printed above it, all other warnings below.
    """
    above = min(len(answer.doubts), MOST_WARNINGS - 1)
    return answer.warnings[:above], answer.warnings[above:]


def legend_lines(answer: Answer, outcome: Outcome, has_letter: bool, *, in_full: bool) -> Iterator[Line]:
    """Yield a line with the meaning of the mark L, if a difference has it, and further hints, unless `in_full`.

    L means that unjudged results could turn the verdict. The hints are about slices and about a missing smallest
    effect. has_letter: True if a difference has the mark L.
    """
    if has_letter:
        command = DRAW_AGAIN if any(each.command == DRAW_AGAIN for each in answer.warnings) else JUDGE
        others = " or queries that were not drawn" if command == DRAW_AGAIN else ""
        yield Line("note", f"{OPEN_LABELS}: unjudged results{others} could turn it", command=command)
    if in_full:
        return
    if slices := describe_slices(outcome):
        yield Line("note", slices, command="--details")
    if lacks_smallest_effect(outcome):
        yield Line("note", ENOUGH, command=SET_EFFECT)


def warning_lines(warnings: Sequence[Line], width: int, room: int, most_warnings: int) -> Iterator[Text]:
    """Yield at most `most_warnings` warnings in at most `room` lines, then the number of the others."""
    wrapped = [wrap_warning(each, width) for each in warnings]
    shown = len(wrapped)
    while shown and (shown > most_warnings - (shown < len(wrapped)) or sum(map(len, wrapped[:shown])) > room):
        shown -= 1
        room -= shown == len(wrapped) - 1  # for the line that counts the others
    for lines in wrapped[:shown]:
        yield from lines
    if shown < len(wrapped):
        yield Text(
            f"and {len(wrapped) - shown} more warning{'s' * (len(wrapped) - shown != 1)}: --details", style="yellow"
        )


def wrap_warning(warned: Line, width: int) -> list[Text]:
    """Return a warning as ``! sentence → remedy``, in at most two lines; the sentence is cut with … if needed.

    The remedy is the command of the warning, or what follows "→" in its text. A command that does not fit takes further
    lines, and a text that does not fit is replaced by ``--details``.
    """
    traits = Severity(warned.severity).traits
    mark = traits.mark if warned.severity != "note" else " "
    sentence, arrow, remedy = warned.text.partition(" → ")
    if cell_len(remedy) > width - 4:
        remedy = "--details"
    remedy_text, continued = remedy if arrow else warned.command, []
    if cell_len(remedy_text) > width - 4:  # lines that a shell joins
        shell_words = " ".join(shlex.quote(word).replace(" ", TOGETHER) for word in shlex.split(remedy_text))
        parts = textwrap.wrap(f"→{TOGETHER}{shell_words}", width - 4, break_long_words=False, break_on_hyphens=False)
        continued, remedy_text = [*(f"  {part} \\" for part in parts[:-1]), f"  {parts[-1]}"], ""
    tail = f" →{TOGETHER}{remedy_text.replace(' ', TOGETHER)}" if remedy_text else ""
    words = sentence.split(" ")
    for count in range(len(words), 0, -1):
        cut = "…" * (count < len(words))
        lines = textwrap.wrap(
            f"{mark} {' '.join(words[:count])}{cut}{tail}", width, subsequent_indent="  ", break_on_hyphens=False
        )
        if len(lines) <= 2:
            break
    texts = [Text(line.replace(TOGETHER, " ")) for line in (*lines, *continued)]
    texts[0].stylize(traits.colour, 0, 1)
    return texts


def method_lines(outcome: Outcome, answer: Answer, width: int, *, in_full: bool) -> list[Text]:
    """Return lines that explain the numbers in brackets, and name the option and the command that show more."""
    parts = []
    if answer.candidates:
        count = sum(row.p_adjusted is not None for row in outcome.main)
        comparisons = f", {count} comparisons" if count > 1 else ""
        counts = {row.clusters.count for row in outcome.main if row.clusters is not None}
        clusters = f", {min(counts)} clusters" if counts else ""
        parts.append(f"[low, high]: {format_confidence_level(outcome.alpha)} interval{comparisons}{clusters}")
    notes = len(answer.notes)
    noted = f"{notes} note{'s' * (notes != 1)}, " if notes else ""
    reasons = "reasons, " if len(answer.candidates) > MOST_REASONS else ""
    parts += [f"{noted}{reasons}every number: --details"] * (not in_full) + [f"terms: {TERMS}"]
    text = " · ".join(part.replace(" ", TOGETHER) for part in parts)
    lines = textwrap.wrap(text, width, break_on_hyphens=False)
    return [Text(line.replace(TOGETHER, " "), style="dim") for line in lines]


def print_outcome(
    console: Console,
    outcome: Outcome,
    *,
    details: bool = False,
    explain: bool = False,
    remedies: Mapping[str, str] | None = None,
) -> None:
    """Print the answer of an evaluation: decisions, the matrix of systems and metrics, and warnings.

    details: print the answer uncut, with all notes and tables below. explain: print an explanation in plain words, too.
    remedies: the command of a warning -> the same command with the user's files, to print instead.
    """
    print_answer_table(console, outcome, in_full=details, remedies=remedies)
    if explain:
        print_plain_words(console, outcome)
    if details:
        print_details(console, outcome)


def print_details(console: Console, outcome: Outcome) -> None:
    """Print what the first screen leaves out: further findings, notes about comparisons, and all tables."""
    console.print()
    answer = make_answer(outcome)
    further = [("  also: ", line) for warned in answer.warnings for line in warned.more]
    for mark, line in [*further, *(("i ", line) for line in answer.notes)]:
        code = (f" [{line.code}]" if line.code else "", "dim")
        console.print(Text.assemble((mark, "dim"), shorten(redact(line.text), LONGEST), code))
    if answer.is_clean:
        print_findings(console, [])
    for metric in outcome.metrics:
        for note in notes_on_metric(outcome, metric, has_tables=True):
            print_dimmed(console, textwrap.fill(note, console.width, subsequent_indent=GAP))
    console.print()
    print_tables(console, outcome)


def print_plain_words(console: Console, outcome: Outcome) -> None:
    """Print the explanation of each candidate in plain words."""
    for candidate, words in explain_outcome(outcome).items():
        console.print()
        console.print(Text(f"{candidate}, in plain words", style="bold"))
        for title, sentences in words.items():
            if sentences:
                console.print(Text(title), style="dim")
            for sentence in sentences:
                lines = textwrap.wrap(sentence, console.width - len(GAP), break_on_hyphens=False)
                console.print(Text("\n".join(f"{GAP}{line}" for line in lines)))


def print_answer_and_gates(console: Console, outcome: Outcome) -> None:
    """Print the first screen, then each gate with its reason."""
    print_answer_table(console, outcome)
    for gate in outcome.gates:
        colour, word = ("green", "passed") if gate.passed else ("red", "failed")
        console.print(Text.assemble("gate ", (word, colour), f": {gate.name}: {gate.message}"))


def print_run(
    console: Console, run: "Context", bundle: "Bundle", tracker: str, *, details: bool = False, **shown: Any
) -> None:
    """Print the answer of a stored evaluation, the changes since the previous one, and where the results are.

    If the evaluation was reused because nothing changed, this is printed instead of the changes. tracker: name of the
    tracker, to print before the address of its run. details, shown: options of `print_outcome`.
    """
    assert run.outcome is not None
    print_outcome(console, run.outcome, details=details, **shown)
    if not run.reused:
        print_since(console, run.since_last)
    console.print()
    if run.reused:
        console.print("same inputs and configuration as an earlier evaluation: its result is still valid")
    elif details and (names := [f"{row['name']} ({row['read'][:10]})" for row in bundle.inputs if row.get("read")]):
        console.print(f"not read again, as unchanged since: {', '.join(names)}", markup=False)
    if delivered := run.published["delivered"]:
        console.print(f"also logged: {delivered} earlier evaluations that were pending")
    locations: dict[str, object] = {"files": bundle.folder} if details else {}
    locations |= {"decision": format_headline(run.outcome), "page": bundle.folder / "report.html"}
    # the links are addresses of a server that need not run yet
    locations |= {"first start": run.published["dashboard"], f"{tracker} run": run.published["url"]}
    locations |= {"over time": run.published["trend_url"]} if details else {}
    for name, location in locations.items():
        if location:
            console.print(f"{name:>11}  {location}", markup=False, soft_wrap=True)
