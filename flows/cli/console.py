"""What the commands share of the terminal: errors in a sentence, progress, where results are printed."""

import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ndcg_ab.errors import format_value
from ndcg_ab.files import command_to_paste, write_text
from ndcg_ab.visible import formulas, printable_width, visible, visible_json, visible_record

from .exit_codes import GATE_FAILED, write_error
from .streams import unwrap_stream

if TYPE_CHECKING:
    from rich.console import Console

    from ndcg_ab.results.outcome import Outcome

NOT_A_TERMINAL = 200  # columns for output that goes to a file or a pipe, where COLUMNS does not say


def end_where_a_gate_failed(outcome: "Outcome") -> None:
    """Each failure in a sentence, and exit code 1."""
    for gate in outcome.failures:
        write_error(f"gate failed: {gate.name}: {gate.message}")
    if outcome.failures:
        raise typer.Exit(GATE_FAILED)


class Progress:
    """Says on standard error what is being done: a spinner on a terminal, else lines after the first second."""

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
    """``ndcg-ab`` as a command that is printed names it."""
    return command_to_paste("ndcg-ab")


def output_console() -> "Console":
    from rich.console import Console

    if sys.stdout.isatty():
        return Console(width=printable_width(Console().width), highlight=False, emoji=False)
    columns = os.environ.get("COLUMNS", "")
    width = int(columns[:6]) if columns.isdecimal() else 0
    return Console(width=printable_width(width or NOT_A_TERMINAL), highlight=False, emoji=False)


def print_safely(printer: Callable[..., None], *things: object, **options: object) -> None:
    """Calls a function of `ndcg_ab.report` that prints, with things in which every text can be shown."""
    printer(output_console(), *map(visible_record, things), **options)


def draw_and_print(
    printer: Callable[..., None], *things: object, picture: Path | None, is_printed: bool, **options: object
) -> None:
    """Print as `print_safely` does if `is_printed`; if there is a path for a picture, draw there what is printed."""
    if picture:
        from ndcg_ab.report.terminal.picture import save_picture

        save_picture(picture, lambda console: printer(console, *map(visible_record, things), **options))
    if is_printed:
        print_safely(printer, *things, **options)


def print_line(text: object) -> None:
    """A line on standard output, every character of which can be seen."""
    print(visible(str(text)))


def print_to_stderr(text: object) -> None:
    """The same on standard error, beside a result that is on standard output."""
    print(visible(str(text)), file=sys.stderr)


def warn_of_formulas(where: str, texts: Iterable[object]) -> None:
    """Says of a CSV file that is opened as a spreadsheet which cells are not shown as they are, but computed."""
    if found := formulas(dict.fromkeys(texts)):
        what = "text begins" if len(found) == 1 else "texts begin"
        print_to_stderr(
            f"ndcg-ab: {where}: {len(found)} {what} with =, +, - or @, as {format_value(found[0])} does: a"
            " spreadsheet takes"
            " that for a formula; import the columns as text"
        )


def print_wrapped(lines: Iterable[str]) -> None:
    """Sentences on standard output, in lines as long as it is wide."""
    console = output_console()
    for line in lines:
        console.print(visible(line), markup=False)


def name_written(*paths: Path | None, quiet: bool = False, is_output_taken: bool = False) -> None:
    """The last line: every file that was written; on standard error where standard output has a result itself."""
    names = ", ".join(str(path) for path in paths if path)
    if names and not quiet:
        (print_to_stderr if is_output_taken else print_line)(f"written: {names}")


def write_or_print(text: Callable[[], str], path: Path | None, *, to_standard_output: bool) -> None:
    """JSON to a file, to standard output (in which it has no character that a terminal could obey), or nowhere."""
    if path:
        write_text(path, text())
    if to_standard_output:
        sys.stdout.write(visible_json(text()))
