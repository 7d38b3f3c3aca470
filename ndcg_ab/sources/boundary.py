"""The limits for data from outside (bytes, rows, seconds, largest integer) by kind of source, and a counter."""

import contextlib
import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, NamedTuple, NoReturn, TypeVar

from ndcg_ab.config.model.inputs.connections import Database
from ndcg_ab.config.model.inputs.http import HttpRequest
from ndcg_ab.deadlines import BackgroundTask, OverdueError
from ndcg_ab.errors import InputError

T = TypeVar("T")
Pieces = Generator[Any, None, None]
GIB, HOUR = 1 << 30, 3600.0
START = 40.0  # seconds before the pace counts
EXACT = 2**53  # a double cannot hold every whole number beyond it


class Bounds(NamedTuple):
    """The limits for data from one kind of source.

    Attributes
    ----------
    bytes : int
        Largest size of one file, one answer, or the rows of one query.
    rows : int
        Largest number of rows of one table.
    seconds : float
        Time within which all data must arrive; infinite for data of known length.
    remedy : str
        What the user can do if a limit is exceeded, for the message.
    largest : int
        Largest absolute value of an integer; in a click log, the largest rank.
    pace : int
        Least number of bytes that must arrive per second; 0 for no limit.
    """

    bytes: int
    rows: int
    seconds: float
    remedy: str
    largest: int = EXACT
    pace: int = 0


ROWS = 1_000_000_000
COPY = "if it is meant, download it with another tool, and name the copy"
QUERY = "choose fewer rows, or allow more time with `database: {timeout: SECONDS}`"
SMALL_FILE = f"{QUERY}, or more bytes with NDCG_AB_UNPACK_RATIO"
FILES = "write it into files, and name these"
http, timeout = HttpRequest.model_fields, Database.model_fields["timeout"].default
BOUNDS = {
    "file": Bounds(1024 * GIB, ROWS, math.inf, "split it"),
    "baseline": Bounds(GIB // 4, 5_000_000, math.inf, "keep fewer queries"),
    "web server": Bounds(GIB, ROWS, HOUR, COPY, pace=10_000),
    "object store": Bounds(64 * GIB, ROWS, 6 * HOUR, COPY),
    "database": Bounds(64 * GIB, ROWS, timeout, QUERY),
    "database file": Bounds(GIB, ROWS, timeout, SMALL_FILE),  # and for each byte of the file as many as of Parquet
    "search engine": Bounds(http["most_bytes"].default, ROWS, http["deadline"].default, "ask for less"),
    "function": Bounds(16 * GIB, ROWS // 10, math.inf, FILES),  # in the thread of its module: a connection may want it
    "extension": Bounds(16 * GIB, ROWS, 24 * HOUR, FILES),
    "click log": Bounds(1024 * GIB, ROWS, 24 * HOUR, "leave out the oldest events", largest=10_000),
    "cluster": Bounds(16 * GIB, 100 * ROWS, math.inf, "choose rows with `where`"),  # a row comes for each query
}


class LimitCounter:
    """A counter for the data of one source, which raises InputError as soon as a limit is exceeded.

    location: the name of the source in messages.
    """

    def __init__(self, bounds: Bounds, location: str) -> None:
        self.bounds, self.location = bounds, location
        self.began = time.monotonic()
        self.bytes = self.rows = 0

    def count(self, *, size: int = 0, rows: int = 0) -> None:
        """Add bytes and rows that arrived.

        Raise InputError if there are more bytes or rows than allowed, or if they arrived after the time limit.
        """
        self.bytes, self.rows = self.bytes + size, self.rows + rows
        for name in ("bytes", "rows"):
            if getattr(self, name) > (most := getattr(self.bounds, name)):
                self.refuse(f"gives more than {most:,} {name}")
        if self.is_overdue():
            self.refuse_late()

    def seconds(self) -> float:
        """Return the time limit for the bytes so far, in seconds since this counter was made.

        The limit grows with the number of bytes if the source must keep a pace.
        """
        most, pace = self.bounds.seconds, self.bounds.pace
        return min(most, START + self.bytes / pace) if pace else most

    def is_overdue(self) -> bool:
        return time.monotonic() - self.began > self.seconds()

    def refuse_late(self) -> NoReturn:
        self.refuse(f"takes more than {self.seconds():,g} seconds for {self.bytes:,} bytes")

    def refuse(self, problem: str) -> NoReturn:
        raise InputError(f"{self.location}: {problem}, the most that is allowed: {self.bounds.remedy}")

    def wait(self, work: Callable[[], T]) -> T:
        """Call `work` in a thread and return its result, or raise its error.

        Raise InputError at the time limit; the thread is then left running.
        """
        try:
            return BackgroundTask(work).wait(self.is_overdue)
        except OverdueError:
            self.refuse_late()

    def count_pieces(self, pieces: Iterable[Any]) -> Iterator[Any]:
        """Yield the pieces of a table while counting bytes and rows; raise InputError if a limit is exceeded."""
        for piece in pieces:
            self.count(size=getattr(piece, "nbytes", 0), rows=getattr(piece, "num_rows", 0))
            yield piece

    def await_pieces(self, pieces: Pieces) -> Pieces:
        """Yield the pieces of a table while counting bytes and rows; raise InputError if a limit is exceeded.

        Each piece is made in a thread, so that the time limit also ends the wait for a piece.
        """
        try:
            yield from self.count_pieces(iter(lambda: self.wait(lambda: next(pieces, None)), None))
        finally:
            with contextlib.suppress(ValueError):  # still at work in a thread
                pieces.close()
