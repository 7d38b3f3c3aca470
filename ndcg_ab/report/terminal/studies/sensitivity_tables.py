"""What `ndcg-ab sensitivity` prints: for each candidate a matrix of definitions, and what it comes to."""

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from ndcg_ab.report.terminal.grid import Grid, Row
from ndcg_ab.report.terminal.tables import print_findings
from ndcg_ab.results.wording import signed
from ndcg_ab.studies.sensitivity import Sensitivity, comparison_matrix, format_summary, matrix_axes, verdict_kind
from ndcg_core.statistics.verdicts.comparison import Comparison

SHORT = {"jarvelin_kekalainen": "järvelin-k."}
MARKS = {"improved": "▲", "regressed": "▼", "identical": "=", "not testable": "?", "undecided": "·"}
COLOURS = {"improved": "green", "regressed": "red"}


def print_sensitivity(console: Console, sensitivity: Sensitivity) -> None:
    definitions, columns = matrix_axes(sensitivity)
    heads = [f"{ideal} @{cutoff}" for ideal, cutoff in columns]
    for candidate in sensitivity.candidates:
        rows = [
            Row((gain, SHORT.get(discount, discount)), [format_cell(row) for row in found])
            for (gain, discount), found in zip(definitions, comparison_matrix(sensitivity, candidate), strict=True)
        ]
        title = Text.assemble((candidate, "bold"), f" against {sensitivity.baseline}, nDCG")
        Grid(("gain", "discount"), heads, rows, verdicts=False).print(console, title)
        console.print(escape(format_summary(sensitivity, candidate)), highlight=False)
        console.print()
    console.print("[dim]" + "  ".join(f"{mark} {word}" for word, mark in MARKS.items()) + "[/]", highlight=False)
    print_findings(console, sensitivity.findings)


def format_cell(row: Comparison) -> Text:
    return Text(f"{signed(row.difference)} {MARKS[verdict_kind(row)]}", COLOURS.get(verdict_kind(row), ""))
