"""Print and write the results and the progress of commands; before any work, refuse a file that cannot be written."""

import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ndcg_ab.errors import InputError, format_value
from ndcg_ab.files import command_to_paste, resolve_path, write_text
from ndcg_ab.visible import find_formulas, printable_width, visible, visible_json, visible_record

from .exit_codes import GATE_FAILED, write_error
from .streams import unwrap_stream

if TYPE_CHECKING:
    from rich.console import Console

    from ndcg_ab.config.model.evaluation import Evaluation
    from ndcg_ab.results.outcome import Outcome

NOT_A_TERMINAL = 200  # columns for output that goes to a file or a pipe, where COLUMNS does not say
SCHEMA = 1
SUFFIXES = {  # parameter of an option that names a file -> how its name ends; others are texts, and may be `-`
    "per_query": (".csv", ".parquet", ".pq"),
    "output_file": (".csv", ".tsv", ".parquet", ".pq"),
    "report": (".html", ".htm"),
    "sheet": (".html", ".htm"),
    "picture": (".svg",),
}


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


class Output:
    """The destinations of a command's results: the files of its options, standard output, and the screen.

    Attributes
    ----------
    quiet : bool
        True if tables are not printed.
    on_stdout : list of str
        Parameters of the options whose result is written to standard output; at most one.
    is_taken : bool
        True if a result is written to standard output.
    paths : dict of str to Path or None
        Parameter of an option -> its file; None if the option is not set or writes to standard output.
    """

    def __init__(self, inputs: Sequence[Path], *, quiet: bool = False, **destinations: str | Path | None) -> None:
        """Check the output files, and raise InputError if one of them cannot be used.

        A file must be writable, must not be one of the inputs, and can be named once. Only one result can be written to
        standard output. inputs: the files that the command reads. destinations: parameter of an option -> file, "-" for
        standard output, or None.
        """
        self.quiet = quiet
        self.on_stdout = [name for name, each in destinations.items() if each == "-" and name not in SUFFIXES]
        self.is_taken = bool(self.on_stdout)
        self.paths = {
            name: None if not each or name in self.on_stdout else output_file(name, each, inputs)
            for name, each in destinations.items()
        }
        if len(self.on_stdout) > 1:
            both = " and ".join(f"{option_of(name)} -" for name in self.on_stdout)
            raise InputError(f"{both}: only one of them can be written here; name a file for the other")
        written = [(option_of(name), path) for name, path in self.paths.items() if path]
        for (one, first), (other, second) in combinations(written, 2):
            if resolve_path(first) == resolve_path(second):
                raise InputError(f"{one} and {other} both name {first}: one would overwrite the other")

    @property
    def is_shown(self) -> bool:
        """Return whether tables are printed to standard output.

        Tables are not printed with ``--quiet``, or if a result is written to standard output.
        """
        return not self.quiet and not self.is_taken

    def write(self, name: str, text: Callable[[], str]) -> None:
        """Write a result to the file of an option, or to standard output, or nowhere if the option is not set.

        On standard output, control characters are escaped. name: the parameter of the option. text: a function that
        returns the result; it is called only if the result is written.
        """
        if path := self.paths[name]:
            write_text(path, text())
        if name in self.on_stdout:
            sys.stdout.write(visible_json(text()))

    def write_json(self, **content: object) -> None:
        """Write a JSON document with the given content to the destination of ``--json``."""
        self.write("json", lambda: json.dumps({"schema": SCHEMA, **content}, indent=2, ensure_ascii=False) + "\n")

    def show(self, printer: Callable[..., None], *things: object, **options: object) -> None:
        """Print results as tables, and write the tables as a picture if the option for a picture is set.

        Nothing is printed if tables are switched off. printer: a function that prints `things` with the keyword
        arguments `options` to a console, which is its first argument.
        """
        if picture := self.paths.get("picture"):
            from ndcg_ab.report.terminal.grid import draw_picture

            write_text(picture, draw_picture(lambda console: printer(console, *map(visible_record, things), **options)))
        if self.is_shown:
            print_safely(printer, *things, **options)

    def finish(self, as_json: Callable[[], str], printer: Callable[..., None], *things: object, **options: Any) -> None:
        """Write the results as JSON, show them as `show` does, and print which files were written."""
        self.write("json", as_json)
        self.show(printer, *things, **options)
        self.print_written_files()

    def write_table(self, name: str, table: Any, texts: Iterable[str]) -> None:
        """Write an Arrow table to the file of an option, if the option is set; warn of texts that look like formulas.

        name: the parameter of the option. texts: the columns of the table with texts of other people.
        """
        if path := self.paths[name]:
            from ndcg_ab.files import write_table

            write_table(table, path)
            self.warn_of_formulas(name, (each for column in texts for each in table[column].unique().to_pylist()))

    def warn_of_formulas(self, name: str, texts: Iterable[object]) -> None:
        """Print a warning if a spreadsheet would run texts of a written CSV file as formulas.

        name: the parameter of the option that names the file. texts: the texts in the file.
        """
        path = self.paths[name]
        if self.quiet or (path and path.suffix.lower() in (".parquet", ".pq")):
            return
        if risky := find_formulas(dict.fromkeys(texts)):
            where = f"{option_of(name)} {path}" if path else option_of(name)
            subject = "text begins" if len(risky) == 1 else "texts begin"
            print_to_stderr(
                f"ndcg-ab: {where}: {len(risky)} {subject} with =, +, - or @, as {format_value(risky[0])} does: a"
                " spreadsheet takes that for a formula; import the columns as text"
            )

    def print_written_files(self) -> None:
        """Print a line with all files that were written, to standard error if standard output has a result."""
        names = ", ".join(str(path) for path in self.paths.values() if path)
        if names and not self.quiet:
            (print_to_stderr if self.is_taken else print_line)(f"written: {names}")


def option_of(name: str) -> str:
    """Return the option of a parameter: ``--per-query`` for ``per_query``."""
    return f"--{name.replace('_', '-')}"


def local_inputs(evaluation: "Evaluation") -> list[Path]:
    """Return the local files that an evaluation reads."""
    from ndcg_ab.config.model.keys import Trait, walk_keys

    return [value for _, traits, value in walk_keys(evaluation) if Trait.INPUT in traits and isinstance(value, Path)]


def output_file(name: str, file: str | Path, inputs: Sequence[Path]) -> Path:
    """Return the path of an output file, or raise InputError if the file cannot be used.

    The file must be writable, must not be one of the inputs, and must have a suffix that fits the option. A device may
    have any name. name: the parameter of the option.
    """
    path = check_writable(option_of(name), file, inputs)
    suffixes = SUFFIXES.get(name, ())
    if suffixes and path.suffix.lower() not in suffixes and (path.is_file() or not path.exists()):
        ends = " or ".join(filter(None, (", ".join(suffixes[:-1]), suffixes[-1])))
        raise InputError(f"{option_of(name)} {path}: must end in {ends}")
    return path


def check_writable(option: str, name: str | Path, inputs: Sequence[Path]) -> Path:
    """Return `name` as a path; raise InputError if the file cannot be written or is one of the inputs."""
    path = Path(name)
    if not path.parent.is_dir():
        raise InputError(
            f"{option} {path}: there is no directory {path.parent}; make it: mkdir -p {shlex.quote(str(path.parent))}"
        )
    if path.is_dir():
        raise InputError(f"{option} {path}: is a directory; a file name is needed")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{option} {path}: cannot be written")
    if path.exists() and any(given.exists() and path.samefile(given) for given in inputs):
        raise InputError(f"{option} {path}: is one of the inputs, and would be overwritten")
    return path
