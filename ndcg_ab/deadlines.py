"""Run work in a thread that is abandoned after a time limit, and report how long work will take."""

import contextvars
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
Say = Callable[[str], object]
PAUSE = 2.0  # seconds between two messages about the work that is left
LOOK = 0.1  # seconds between two looks at what is awaited: so soon a signal is obeyed
_left: list[threading.Thread] = []


class OverdueError(Exception):
    """Raised if work did not finish in time and was abandoned."""


class Budget:
    """A time budget in seconds that several attempts share.

    The clock starts with the first call of `remaining_seconds`.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end: float | None = None

    def remaining_seconds(self) -> float:
        """Return the remaining seconds; zero or negative if the budget is used up.

        The first call starts the clock.
        """
        if self._end is None:
            self._end = time.monotonic() + self.seconds
        return self._end - time.monotonic()


class Countdown:
    """A counter of finished work items that reports the finished share and the estimated remaining seconds.

    Attributes
    ----------
    step : str
        Name of the work, with which each report begins.
    total : int
        Number of all work items.
    say : callable
        A function that receives each report as a text, at most every `PAUSE` seconds.
    """

    def __init__(self, step: str, total: int, say: Say) -> None:
        self.step, self.total, self.say = step, total, say
        self.count = 0
        self.began = self.reported = time.monotonic()

    def advance(self) -> None:
        """Count one finished item, and report the progress if the last report was long enough ago."""
        self.count += 1
        if (now := time.monotonic()) - self.reported > PAUSE:
            self.reported, remaining = now, (now - self.began) * (self.total - self.count) / self.count
            share = f"{self.count:,} of {self.total:,} ({self.count / self.total:.0%})"
            self.say(f"{self.step}: {share}, about {remaining:,.0f} s left")


class BackgroundTask(Generic[T]):
    """A function call that runs in a thread of its own, in a copy of the caller's context.

    The process can end without waiting for the thread.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._found: list[T] = []
        self._error: BaseException | None = None
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=lambda: context.run(self._do, work), daemon=True)
        self._thread.start()

    def _do(self, work: Callable[[], T]) -> None:
        try:
            self._found.append(work())
        except BaseException as error:
            self._error = error

    def wait(self, is_overdue: Callable[[], bool] = lambda: False) -> T:
        """Wait for the call, and return its result or raise its error.

        is_overdue: a function that is called repeatedly while the call runs.
        Raises OverdueError as soon as `is_overdue` returns True. After this error, or if an exception such as
        KeyboardInterrupt interrupts the waiting, the thread continues to run, and its result is lost.
        """
        try:
            while self._thread.is_alive():
                self._thread.join(LOOK)
                if self._thread.is_alive() and is_overdue():
                    raise OverdueError
        except BaseException:
            _left.append(self._thread)
            raise
        if self._error is not None:
            raise self._error
        return self._found[0]


def run_with_timeout(seconds: float, work: Callable[[], T]) -> T:
    """Return the result of `work`, which is called in a thread of its own.

    An error of `work` is raised. Raises OverdueError if the call takes longer than `seconds`; its thread is left
    running.
    """
    end = time.monotonic() + seconds
    return BackgroundTask(work).wait(lambda: time.monotonic() > end)


def has_abandoned_work() -> bool:
    """Return whether a thread is still running whose caller stopped waiting for it."""
    return any(thread.is_alive() for thread in _left)
