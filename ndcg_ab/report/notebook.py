"""Format results as HTML for notebooks, and for `print` as the tables of the terminal without colours.

A template makes the HTML and escapes every text. It has no style sheet and no script, and takes its colours from the
surrounding text, so that it is readable on white and on black.
"""

import io
import shutil
from collections.abc import Callable
from html import escape
from typing import Any

from rich.console import Console

from ndcg_ab.report.page.render import template_environment, template_functions
from ndcg_ab.results.decisions import Choice
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.visible import printable_width, visible_record
from ndcg_core.statistics.verdicts.verdict import Tone

WIDTH = 200  # columns where there is no terminal, as for the commands
COLOURS = {"improved": "#2f81d6", "regressed": "#d0611f", "other": "#808890"}  # told from white and from black
TONES = {
    Tone.GOOD: COLOURS["improved"],
    Tone.BAD: COLOURS["regressed"],
    Tone.OPEN: "#a87900",
    Tone.DIM: COLOURS["other"],
    Tone.PLAIN: COLOURS["other"],
}
CHOICE_COLOURS = {choice: TONES[choice.traits.tone] for choice in Choice}


def format_outcome_html(outcome: Outcome) -> str:
    """Return decisions, tables with drawn intervals, and findings as HTML for a notebook."""
    template = template_environment().get_template("notebook.html")
    return template.render(colours=COLOURS, choice_colours=CHOICE_COLOURS, **template_functions(outcome))


def wrap_preformatted(text: str) -> str:
    return f'<pre style="line-height: 1.25; overflow-x: auto; white-space: pre">{escape(text)}</pre>'


def format_printed(printer: Callable[..., None], *things: object) -> str:
    """Return the text that `printer` prints for `things`, without colours, at the width of the terminal."""
    page = io.StringIO()
    width = printable_width(shutil.get_terminal_size((WIDTH, 24)).columns)
    plain: dict[str, Any] = {"color_system": None, "force_jupyter": False, "force_terminal": False}
    console = Console(file=page, width=width, highlight=False, emoji=False, **plain)
    printer(console, *map(visible_record, things))
    return page.getvalue().rstrip()
