"""What `ndcg-ab sensitivity` prints: for each candidate a matrix of definitions, and what it comes to."""

from rich.console import Console
from rich.markup import escape

from ndcg_ab.evaluation.phrases import signed
from ndcg_ab.report.grid import plain_table
from ndcg_ab.report.tables import print_findings
from ndcg_ab.studies.sensitivity import Sensitivity, axes, kind, matrix, summary
from ndcg_core.statistics.comparison import Comparison

SHORT = {"jarvelin_kekalainen": "järvelin-k.", "exponential": "exp."}
MARKS = {"improved": "▲", "regressed": "▼", "identical": "=", "not testable": "?", "undecided": "·"}
COLOURS = {"improved": "green", "regressed": "red"}


def print_sensitivity(console: Console, sensitivity: Sensitivity) -> None:
    rows, columns = axes(sensitivity)
    for candidate in sensitivity.candidates:
        made = plain_table(f"[bold]{escape(candidate)}[/] against {escape(sensitivity.baseline)}, nDCG")
        made.add_column("gain")
        made.add_column("discount")
        for ideal, cutoff in columns:
            made.add_column(f"{ideal}\n@{cutoff}", justify="right", no_wrap=True)
        for (gain, discount), cells in zip(rows, matrix(sensitivity, candidate), strict=True):
            made.add_row(gain, SHORT.get(discount, discount), *(cell(row) for row in cells))
        console.print(made)
        console.print(escape(summary(sensitivity, candidate)), highlight=False)
        console.print()
    console.print("[dim]" + "  ".join(f"{mark} {word}" for word, mark in MARKS.items()) + "[/]", highlight=False)
    print_findings(console, sensitivity.findings)


def cell(row: Comparison) -> str:
    text = f"{signed(row.difference)} {MARKS[kind(row)]}"
    colour = COLOURS.get(kind(row))
    return f"[{colour}]{text}[/]" if colour else text
