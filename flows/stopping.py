"""End the program in order after Ctrl-C, SIGTERM or SIGHUP: print a sentence, and remove unfinished files.

This module imports nothing that takes time: signals are handled before the rest of the program is imported.
"""

import _thread
import atexit
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from typing import NoReturn

LONGEST = 3.0  # seconds that the clean-up may take
CHILDREN: "list[subprocess.Popen[bytes]]" = []  # processes that do not outlive this one
CLEAN_UP: list[Callable[[], None]] = []  # called before the process ends at once
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SHOW_CURSOR = "\r\x1b[K\x1b[?25h"  # what a spinner leaves on a terminal goes, and the cursor comes back


class Stopped(KeyboardInterrupt):
    """The exception that a signal raises to end the program.

    The attributes are set on the class, and describe the whole process.

    Attributes
    ----------
    number : int or None
        Number of the received signal; None if there was none.
    code : int or None
        Exit code of a program that ends without a signal; None until it ends.
    abruptly : bool
        True to end without waiting for the threads of libraries.
    """

    number: int | None = None
    code: int | None = None  # with which the program ends by itself
    abruptly = False  # it does so without waiting for what libraries would still like to tell a server


def obey_signals() -> None:
    """Install a handler for SIGNALS: the first signal raises `Stopped`, and a second one ends the process at once.

    Signals that are ignored stay ignored. The process will also exit without tearing down the interpreter, because
    threads of native libraries could abort it during the teardown, and a signal could be lost.
    """
    for number in SIGNALS:
        if signal.getsignal(number) not in (signal.SIG_IGN, stop):  # ignored: as nohup and a shell's & leave it
            signal.signal(number, stop)
    atexit.unregister(end_at_exit)
    atexit.register(end_at_exit)


def stop(number: int, _: object) -> NoReturn:
    """Handle a signal: print a sentence, close standard error, and raise Stopped.

    A second signal ends the process at once.
    """
    if Stopped.number is not None:
        os._exit(128 + number)
    Stopped.number = number
    _thread.start_new_thread(end_after_patience, ())  # whatever waits, swallows the exception or blocks
    with contextlib.suppress(OSError):
        sentence = f"ndcg-ab: stopped by {signal.Signals(number).name}\n"
        if os.isatty(2) and os.environ.get("TERM", "dumb") != "dumb":
            sentence = SHOW_CURSOR + sentence
        standard_error = os.dup(2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.write(standard_error, sentence.encode())
    raise Stopped


def end_after_patience() -> None:
    """End the process and its children after LONGEST seconds."""
    time.sleep(LONGEST)
    end_process_and_children(0)


def end_at_exit() -> None:
    """End the process without tearing down the interpreter, if it was stopped or has an exit code.

    It is registered first, so that it runs after all other exit functions.
    """
    if Stopped.code is not None or Stopped.number is not None:
        end_process_and_children(Stopped.code or 0)


def end_process_and_children(code: int) -> NoReturn:
    """Run the clean-up functions, kill the child processes, and end this process at once.

    code: the exit code, unless a signal stopped the process; then it is 128 + the number of the signal.
    """
    for clean_up in CLEAN_UP:
        with contextlib.suppress(OSError):
            clean_up()
    for child in CHILDREN:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            child.kill()
            child.wait(0.5)
    os._exit(code if Stopped.number is None else 128 + Stopped.number)
