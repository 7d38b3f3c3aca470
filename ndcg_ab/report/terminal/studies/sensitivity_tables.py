"""What `ndcg-ab sensitivity` prints: for each candidate a matrix of definitions, and what it comes to."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from ndcg_ab.report.terminal.grid import plain_table
from ndcg_ab.report.terminal.tables import print_findings
from ndcg_ab.results.wording import signed
from ndcg_ab.studies.sensitivity import Sensitivity, comparison_matrix, format_summary, matrix_axes, verdict_kind
from ndcg_core.statistics.verdicts.comparison import Comparison

SHORT = {"jarvelin_kekalainen": "järvelin-k."}
GAP = 3  # columns between two of a table
MARKS = {"improved": "▲", "regressed": "▼", "identical": "=", "not testable": "?", "undecided": "·"}
COLOURS = {"improved": "green", "regressed": "red"}


def print_sensitivity(console: Console, sensitivity: Sensitivity) -> None:
    rows, columns = matrix_axes(sensitivity)
    for candidate in sensitivity.candidates:
        cells = [[format_cell(row) for row in found] for found in comparison_matrix(sensitivity, candidate)]
        names = [(gain, SHORT.get(discount, discount)) for gain, discount in rows]
        heads = [f"{ideal}\n@{cutoff}" for ideal, cutoff in columns]
        widest = max(
            cell_len(part)
            for text in (*heads, *(cell.plain for row in cells for cell in row))
            for part in text.split("\n")
        )
        taken = sum(max(map(cell_len, column)) + GAP for column in zip(("gain", "discount"), *names, strict=True))
        title = f"[bold]{escape(candidate)}[/] against {escape(sensitivity.baseline)}, nDCG"
        for places in group_columns(
            [ideal for ideal, _ in columns], (console.width + GAP - taken - 1) // (widest + GAP)
        ):
            made = plain_table(title)
            for name in ("gain", "discount"):
                made.add_column(name, no_wrap=True)
            for place in places:
                made.add_column(heads[place], justify="right", no_wrap=True)
            for labels, row in zip(names, cells, strict=True):
                made.add_row(*labels, *(row[place] for place in places))
            console.print(made)
            title = ""
        console.print(escape(format_summary(sensitivity, candidate)), highlight=False)
        console.print()
    console.print("[dim]" + "  ".join(f"{mark} {word}" for word, mark in MARKS.items()) + "[/]", highlight=False)
    print_findings(console, sensitivity.findings)


def group_columns(ideals: Sequence[str], room: int) -> list[list[int]]:
    """The places of the columns of each table: all in one, else those of one ideal; never more than there is room for.

    ideals: of each column.
    """
    room = max(room, 1)
    every = list(range(len(ideals)))
    if len(every) <= room:
        return [every]
    alike = [[place for place in every if ideals[place] == ideal] for ideal in dict.fromkeys(ideals)]
    return [places[start : start + room] for places in alike for start in range(0, len(places), room)]


def format_cell(row: Comparison) -> Text:
    return Text(f"{signed(row.difference)} {MARKS[verdict_kind(row)]}", COLOURS.get(verdict_kind(row), ""))
