"""The page and the pictures of a bundle."""

import sys
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa

from flows.figures import figures_of, save_figure
from flows.outcome import Outcome, write_text
from flows.page import gather, write_page
from flows.warehouse import Warehouse

PAGE = "report.html"
FIGURES = "figures"


def write_report(folder: Path, tables: Path, outcome: Outcome, content: dict[str, Any], nights: pa.Table) -> None:
    """`report.html` and `figures/` in the folder; tables: the evaluation's DuckDB file."""
    with Warehouse(tables) as warehouse:
        data = gather(warehouse, outcome, content, nights)
    write_page(folder / PAGE, data)
    (folder / FIGURES).mkdir(exist_ok=True)
    for name, chart in figures_of(data).items():
        if name in ("intervals", "nights"):
            save_figure(chart, folder / FIGURES / f"{name}.png")


def write_stub(folder: Path, error: Exception) -> None:
    """A page that says why there is none, and the same on standard error."""
    said = f"the page cannot be drawn: {type(error).__name__}: {error}"
    print(f"ndcg-ab: {folder}: {said}", file=sys.stderr)
    write_text(folder / PAGE, f"<!doctype html><title>report</title><p>{escape(said)}\n")
