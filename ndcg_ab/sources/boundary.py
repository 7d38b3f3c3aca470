"""The bounds of what comes from outside: bytes, seconds, rows and the largest whole number, for each door."""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from ndcg_ab.config.model.inputs.connections import Database
from ndcg_ab.config.model.inputs.http import HttpRequest
from ndcg_ab.deadlines import BackgroundTask, OverdueError
from ndcg_ab.errors import InputError, SilentError

T = TypeVar("T")
MIB, GIB, TIB = 1 << 20, 1 << 30, 1 << 40
HOUR, DAY = 3600.0, 86400.0
START = 40.0  # seconds in which a server that has a pace to keep may be slow
EXACT = 2**53  # a double cannot hold every whole number beyond it


class Bounds(NamedTuple):
    """The most that may come through one door.

    bytes: of one file, one answer, or the rows of one query.  seconds: until all of it is there; None: it is there
    from the beginning, and ends.  rows: of one table.  largest: the first whole number that is too large.
    remedy: what to do if more is meant.  pace: bytes that come in a second, at the least.
    """

    bytes: int
    seconds: float | None
    rows: int
    largest: int
    remedy: str
    pace: int = 0


ROWS = 1_000_000_000
SPLIT = "split it"
COPY = "if it is meant, download it with another tool, and name the copy"
QUERY = "select less, or make a table of it in the database first"
FILE = ", or set NDCG_AB_UNPACK_RATIO to more"
http, database = HttpRequest.model_fields, Database.model_fields
BOUNDS = {
    "file": Bounds(TIB, None, ROWS, EXACT, SPLIT),
    "baseline": Bounds(256 * MIB, None, 5_000_000, EXACT, "write one of fewer queries, or with a smaller depth"),
    "web server": Bounds(GIB, HOUR, ROWS, EXACT, COPY, pace=10_000),
    "object store": Bounds(64 * GIB, 6 * HOUR, ROWS, EXACT, COPY),
    "database": Bounds(64 * GIB, database["timeout"].default, ROWS, EXACT, QUERY),
    "database file": Bounds(GIB, database["timeout"].default, ROWS, EXACT, QUERY + FILE),  # and 500 times the file
    "search engine": Bounds(http["most_bytes"].default, http["deadline"].default, http["depth"].default, EXACT, ""),
    "function": Bounds(16 * GIB, DAY, 100_000_000, EXACT, "return less, or write files"),
    "extension": Bounds(16 * GIB, DAY, 100_000_000, EXACT, "return less, or write files"),
    "click log": Bounds(TIB, DAY, ROWS, 10_000, "leave out the oldest events"),
    "cluster": Bounds(TIB, DAY, 100 * ROWS, EXACT, "choose rows with `where`"),
}


class Passage:
    """Data on their way through one door, refused as soon as they exceed its bounds."""

    def __init__(self, bounds: Bounds, place: str) -> None:
        self.bounds, self.place = bounds, place
        self.began = time.monotonic()
        self.bytes = self.rows = 0

    def count(self, *, bytes: int = 0, rows: int = 0) -> None:
        """Add what came; raise InputError if it is too much, too late or too slow."""
        self.bytes, self.rows = self.bytes + bytes, self.rows + rows
        for bound in ("bytes", "rows"):
            if getattr(self, bound) > (most := getattr(self.bounds, bound)):
                raise self.error(f"gives more than {most:,} {bound}")
        if self.is_overdue():
            raise self.overdue()

    def passed(self) -> float:
        return time.monotonic() - self.began

    def is_slow(self) -> bool:
        pace = self.bounds.pace
        return pace > 0 and self.passed() > START + self.bytes / pace

    def is_overdue(self) -> bool:
        return self.is_slow() or (self.bounds.seconds is not None and self.passed() > self.bounds.seconds)

    def overdue(self) -> InputError:
        if self.is_slow():
            said = f"sent {self.bytes:,} bytes in {self.passed():.0f} seconds"
            return SilentError(f"{self.place}: {said}, and must send {self.bounds.pace:,} a second: try it again")
        return self.error(f"does not end within {self.bounds.seconds:,g} seconds")

    def error(self, what: str) -> InputError:
        return InputError(f"{self.place}: {what}, the most that is read from there: {self.bounds.remedy}")

    def wait(self, work: Callable[[], T]) -> T:
        """Return the result of work, done in a thread that is left behind if its time is over."""
        try:
            return BackgroundTask(work).wait(self.is_overdue)
        except OverdueError:
            raise self.overdue() from None
        except BaseException:
            self.bounds = self.bounds._replace(seconds=-1.0)  # a thread that an interrupt left behind ends soon
            raise

    def each(self, pieces: Iterable[Any]) -> Iterator[Any]:
        """Yield pieces of a table, counted; each is awaited with `wait`."""
        iterator = iter(pieces)
        try:
            while (piece := self.wait(lambda: next(iterator, None))) is not None:
                self.count(bytes=getattr(piece, "nbytes", 0), rows=getattr(piece, "num_rows", 0))
                yield piece
        finally:
            with contextlib.suppress(ValueError, AttributeError):  # still at work in a thread, or no generator
                iterator.close()  # type: ignore[attr-defined]
