"""Print results and progress of commands."""

import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import typer

from ndcg_ab.files import command_to_paste
from ndcg_ab.visible import printable_width, visible, visible_record

from .exit_codes import GATE_FAILED, write_error
from .streams import unwrap_stream

if TYPE_CHECKING:
    from rich.console import Console

    from ndcg_ab.results.outcome import Outcome

NOT_A_TERMINAL = 200  # columns for output that goes to a file or a pipe, where COLUMNS does not say


def exit_if_gate_failed(outcome: "Outcome") -> None:
    """Print a sentence for each failed gate, and exit with code 1; do nothing if no gate failed."""
    for gate in outcome.failures:
        write_error(f"gate failed: {gate.name}: {gate.message}")
    if outcome.failures:
        raise typer.Exit(GATE_FAILED)


class Progress:
    """A progress display on standard error.

    On a terminal it is a spinner, else a line for each step that begins after the first second. quiet: True to display
    nothing.
    """

    def __init__(self, quiet: bool) -> None:
        from rich.console import Console

        self.quiet = quiet
        self.start = time.monotonic()
        self.status = None
        if not quiet and sys.stderr.isatty():
            self.status = Console(file=unwrap_stream(sys.stderr)).status("starting")

    def __enter__(self) -> "Progress":
        if self.status:
            self.status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.status:
            self.status.stop()

    def __call__(self, step: str) -> None:
        seconds = time.monotonic() - self.start
        if self.status:
            from rich.text import Text

            self.status.update(Text(f"{visible(step)} …"))
        elif not self.quiet and seconds > 1:
            print(f"{seconds:5.1f} s  {visible(step)}", file=sys.stderr)


def program_name() -> str:
    """Return the word by which a printed command line can start ``ndcg-ab``: the name, or the path."""
    return command_to_paste("ndcg-ab")


def output_console() -> "Console":
    from rich.console import Console

    if sys.stdout.isatty():
        return Console(width=printable_width(Console().width), highlight=False, emoji=False)
    columns = os.environ.get("COLUMNS", "")
    width = int(columns[:6]) if columns.isdecimal() else 0
    return Console(width=printable_width(width or NOT_A_TERMINAL), highlight=False, emoji=False)


def print_safely(printer: Callable[..., None], *things: object, **options: object) -> None:
    """Call a printing function of `ndcg_ab.report` with the console and with results that are safe to print.

    Control characters in texts of the results are escaped.
    """
    printer(output_console(), *map(visible_record, things), **options)


def print_line(text: object) -> None:
    """Print a line to standard output with control characters escaped."""
    print(visible(str(text)), flush=True)


def print_to_stderr(text: object) -> None:
    """Print a line to standard error with control characters escaped."""
    print(visible(str(text)), file=sys.stderr)


def print_wrapped(lines: Iterable[str]) -> None:
    """Print sentences to standard output, wrapped to the width of the terminal."""
    console = output_console()
    for line in lines:
        console.print(visible(line), markup=False)
