"""Work that may never come to an end: done in a thread of its own, and left behind when its time is over."""

import contextvars
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
LOOK = 0.1  # seconds between two looks at what is awaited: so soon a signal is obeyed
_left: list[threading.Thread] = []


class OverdueError(Exception):
    """Work was not done in its time, and was left behind."""


class Budget:
    """Seconds that several attempts share, counted from the first of them."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end: float | None = None

    def left(self) -> float:
        """The seconds that are left; not above 0 when it is used up.  The first call begins the counting."""
        if self._end is None:
            self._end = time.monotonic() + self.seconds
        return self._end - time.monotonic()


class BackgroundTask(Generic[T]):
    """Work in a thread of its own, in a copy of the caller's context; the end of the process does not wait for it."""

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
        """What the work returned, or raised; raises OverdueError as soon as `is_overdue` reports it.

        Whatever interrupts the waiting leaves the work behind.
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
    """What the work returns, or OverdueError after so many seconds, whatever it is doing then."""
    end = time.monotonic() + seconds
    return BackgroundTask(work).wait(lambda: time.monotonic() > end)


def is_anything_left() -> bool:
    """Whether work that was left behind is still going on."""
    return any(thread.is_alive() for thread in _left)
