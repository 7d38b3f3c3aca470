"""End the program with a sentence and an exit code if it was stopped or an error occurred."""

import contextlib
import logging
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from ndcg_ab import __version__
from ndcg_ab.config.secrets.redaction import redact
from ndcg_ab.deadlines import has_abandoned_work
from ndcg_ab.errors import InputError, ParityError, SqlError, message_of, on_one_line, shorten
from ndcg_ab.files import CONFIGURATIONS, command_to_paste
from ndcg_ab.full_disks import is_full, no_room
from ndcg_ab.temporary import remove_open_folders, write_temporary_file
from ndcg_ab.visible import visible

from ..stopping import CLEAN_UP, Stopped, end_process_and_children, obey_signals
from .streams import prepare_streams

GATE_FAILED = 1  # and nothing else
UNUSABLE = 2  # usage, configuration, data, or what the machine has room for
BROKEN = 70  # EX_SOFTWARE: an error of ours
PENDING = 75  # EX_TEMPFAIL: the results are on disk, and only logging them is pending
DEBUG = "NDCG_AB_DEBUG"
TOPICS = ("formats", "metrics", "findings", "schema", "terms")  # of `ndcg-ab help`
LONGEST, LONGEST_LINE = 2900, 1200  # characters of one message, and of one of its lines
ClickError: Any = typer.BadParameter.__mro__[2]  # of click, or of the copy of it that a newer typer holds


class Program(TyperGroup):
    """The group of all commands, which turns every error of a command into a sentence and an exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the program, in which ``help compare`` means ``compare --help``.

        ``help`` alone means ``help --help``. If the first argument is no command and no option, print a hint and exit.
        """
        if args == ["help"] or (args[:1] == ["help"] and args[1] in self.commands and args[1] not in TOPICS):
            args = [args[-1], "--help"]
        elif args and not ctx.resilient_parsing and (message := self.explain_command(ctx, args)):
            write_error(message)
            raise typer.Exit(UNUSABLE)
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed

    def explain_command(self, ctx: Any, args: Sequence[str]) -> str | None:
        """Return a sentence that says what to write if the first argument is no command and no option, else None.

        The sentence proposes a command with a similar name, or a command for the file that the argument names.
        """
        first, *rest = args[args[0] == "help" :]
        known = [*self.commands, *(option for each in self.get_params(ctx) for option in each.opts)]
        if first in known:
            return None
        how = get_close_matches(first, known, 1) or ["--version"] * (first in ("-v", "-V"))
        if Path(first).is_file():
            how = ["run" if first.endswith(CONFIGURATIONS) else "compare", first]
        how = [*args[: args[0] == "help"], *how, *rest] if how and "--set" not in rest else [*how, "--help"]
        kind = "option" if first.startswith("-") else "command"
        return f"{first}: is no {kind} → {command_to_paste('ndcg-ab')} {shlex.join(how)}"

    def invoke(self, ctx: Any) -> Any:
        prepare_streams()
        streams = sys.stdout, sys.stderr
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except BaseException as error:  # SystemExit(0) of somebody else's code is no success
            sys.stdout, sys.stderr = streams  # somebody else's code may have replaced them
            raise typer.Exit(report_error(error)) from None
        finally:
            sys.stdout, sys.stderr = streams

    def main(self, args: Sequence[str] | None = None, *more: Any, **settings: Any) -> Any:
        if args is not None:  # inside somebody else's process
            return super().main(args, *more, **settings)
        obey_signals()
        CLEAN_UP.append(remove_open_folders)
        logging.raiseExceptions = False  # no traceback where a handler of Prefect's or MLflow's cannot tell something
        try:
            return super().main(args, *more, **settings)
        except SystemExit as ending:
            leave_program(ending.code if isinstance(ending.code, int) else 0)
        except OSError as error:  # standard error takes nothing, not even how the command is used
            leave_program(report_error(error))


def leave_program(code: int) -> NoReturn:
    """Flush the output streams, and end the process with an exit code.

    If a stream cannot be flushed and `code` is 0, the exit code of that error is used instead. The process ends at
    once, without waiting for threads, if a signal stopped it or if an abandoned thread still runs.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as error:
            code = code or report_error(error)
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # else Python tries again, and complains
    remove_open_folders()
    if Stopped.number is not None or Stopped.abruptly or has_abandoned_work():
        end_process_and_children(code)
    Stopped.code = code
    sys.exit(code)


def write_error(text: str) -> None:
    """Print a message to standard error, shortened, and without secrets and control characters.

    Nothing is printed if standard error cannot be written. Messages are shortened only here, after their secrets are
    removed.
    """
    with contextlib.suppress(OSError):
        for line in fit_lines(visible(redact(text)).splitlines()):
            print(f"ndcg-ab: {line}", file=sys.stderr, flush=True)


def fit_lines(lines: Sequence[str]) -> list[str]:
    """Return the first lines that fit into LONGEST characters, then a line with the number of the others, if any.

    Each line is cut to LONGEST_LINE characters.
    """
    lines_found: list[str] = []
    room = LONGEST
    for number, line in enumerate(lines):
        line = shorten(line, LONGEST_LINE)
        room -= len(line) + len("ndcg-ab: \n")
        if room < 0:
            return [*lines_found, f"… and {len(lines) - number:,} more such lines"]
        lines_found.append(line)
    return lines_found


def report_error(error: BaseException) -> int:
    """Print a sentence about an error to standard error, and return the exit code for the error.

    If the error is a defect of ndcg-ab, the traceback is saved as well. If a signal stopped the process, nothing is
    printed, and the code is 128 + the number of the signal.
    """
    if Stopped.number is not None:  # that is said already
        return 128 + Stopped.number
    if isinstance(error, KeyboardInterrupt):
        write_error("stopped by SIGINT")
        return 128 + signal.SIGINT
    if is_memory_error(error):
        write_error(f"memory ran out: {one_line_message(error)}; give it more, or compare fewer systems at once")
        return UNUSABLE
    if is_full(error) and not isinstance(error, InputError):
        error = no_room(error)
    from ndcg_core.measures.metric import MetricError

    if isinstance(error, (InputError, OSError, MetricError, ClickError, ParityError, SqlError)):
        write_error(message_of(error) or type(error).__name__)
        return BROKEN if isinstance(error, ParityError | SqlError) else UNUSABLE
    write_error(
        f"an error of ndcg-ab {__version__} itself, please report it: {type(error).__name__}: {one_line_message(error)}"
        f" ({save_traceback(error)})"
    )
    return BROKEN


def save_traceback(error: BaseException) -> str:
    """Save the traceback of an error without secrets, and return a text that says where it is.

    The traceback is written to a temporary file, or to standard error if NDCG_AB_DEBUG is set. If the file cannot be
    written, the returned text says how to see the traceback.
    """
    text = redact("".join(traceback.format_exception(error)))
    if os.environ.get(DEBUG) not in (None, "", "0"):
        print(text, file=sys.stderr, end="")
        return "its traceback is above"
    try:
        path = write_temporary_file(text, "ndcg-ab-error-", ".txt")
    except OSError:
        return f"{DEBUG}=1 shows its traceback"
    return f"its traceback: {path}"


def one_line_message(error: BaseException) -> str:
    """Return the message of an error on one line of at most 300 characters, or the type of the error if it is empty."""
    return on_one_line(message_of(error), 300) or type(error).__name__


def is_memory_error(error: BaseException) -> bool:
    """Return whether an error says that memory ran out, in Python, numpy, Arrow or DuckDB."""
    names = {type(error).__name__, type(error.__cause__).__name__}
    return isinstance(error, MemoryError) or "OutOfMemoryException" in names
