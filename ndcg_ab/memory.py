"""Limit the memory of an evaluation, and provide a folder for data that do not fit into it."""

import contextlib
import ctypes
import os
import re
import sys
import threading
from pathlib import Path
from typing import ClassVar, Self

from ndcg_ab.errors import InputError
from ndcg_ab.temporary import Folder, clear_abandoned, user_folder

# Measured: a small comparison takes 220 MB; three rankings of 7 million rows some 470 MB beside DuckDB, which takes up
# to a tenth more than it is allowed, and does not get along with less than 180 MB: with 600 MB allowed they took 667.
LEAST = 800_000_000  # bytes
OURS, SLACK = 350_000_000, 0.1
ROWS = 200_000_000  # bytes of that for rows on their way; the rest are imports, of which `run` has twice as many
LEAST_OF_DUCKDB = 180_000_000
FOR_A_THREAD = 150_000_000  # bytes that each of DuckDB's threads should have
LOOK = 0.01  # seconds between two looks at what the process holds
OVER = 1.01  # times the limit at which the work ends
UNITS = {"K": 1, "M": 2, "G": 3, "T": 4}


def bytes_of(size: str) -> int:
    """Return the number of bytes that a size names: ``4GB`` (also ``4G``, ``4gb``), ``512MiB``, ``0B`` or ``50%``.

    K, M, G and T are powers of 1000, but powers of 1024 with an ``i``. A percentage is a share of the machine's memory.
    """
    match = re.fullmatch(r"([0-9.]+) ?(%|([KMGT])?(?:(I?)B)?)", size.upper())
    assert match is not None
    if match[2] == "%":
        return round(float(match[1]) / 100 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    unit: int = (1024 if match[4] else 1000) ** UNITS.get(match[3], 0)
    return round(float(match[1]) * unit)


def limit_fault(size: str) -> str | None:
    """Return the reason why a memory limit is too small for any evaluation, or None if it is large enough."""
    if bytes_of(size) >= LEAST:
        return None
    bytes_text = f" ({bytes_of(size) // 10**6}MB here)" if size.endswith("%") else ""
    return f"is too little to work with{bytes_text}: it is of the whole process, and must be {LEAST // 10**6}MB or more"


class LimitReached(InputError):  # noqa: N818 - no error of the user's
    """Raised if the process exceeds its memory limit, in the thread that set the limit."""

    sentence = ""

    def __init__(self) -> None:
        super().__init__(self.sentence)


class Guard:
    """A thread that raises LimitReached in its creator's thread if the process exceeds its memory limit.

    most: the bytes that the process may hold. limit_text: the limit as the user wrote it. at_work: the active guard of
    this process, or None.
    """

    at_work: "ClassVar[Guard | None]" = None

    def __init__(self, most: float, limit_text: str) -> None:
        self.most, self.limit_text = most, limit_text
        self.watched = threading.get_ident()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        Guard.at_work = self
        self.thread.start()

    def watch(self) -> None:
        """Check the memory of the process until the guard is closed; above the limit, raise LimitReached and return.

        The error is raised in the thread that created the guard.
        """
        while not self.done.wait(LOOK):
            if resident_bytes() > self.most and (used := free_and_measure_memory()) > self.most:
                LimitReached.sentence = (
                    f"memory limit {self.limit_text!r}: is too little: {used // 10**6:,}MB were in use, and more were"
                    f" needed: {limit_advice(used * 3 // 2)}"
                )
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.watched), ctypes.py_object(LimitReached))
                return

    def close(self) -> None:
        self.done.set()
        self.thread.join()
        Guard.at_work = None


class Memory:
    """The memory limit of one evaluation, and a temporary folder for data that do not fit; a context manager.

    limit: the memory that the process may use, such as ``4GB``, not counting what other work, as in a notebook, used
        before; None for no limit.
    spill: the folder in which the temporary folder is made; None for the user's folder among the temporary files.
    has_folder: False to make no folder.
    Raises InputError if the limit is too small, or if the folder cannot be written.
    """

    def __init__(self, limit: str | None = None, spill: Path | None = None, *, has_folder: bool = True) -> None:
        self.limit = None if limit is None else bytes_of(limit)
        self.limit_text = limit
        used = 0 if limit is None else free_and_measure_memory()
        self.other_bytes = max(0, used - OURS - ROWS)  # of a process that does other work, as a notebook
        self.ours = max(OURS, used - self.other_bytes + ROWS)
        if limit is not None and (problem := limit_fault(limit)):
            raise InputError(f"memory limit {limit!r}: {problem}")
        self.spill = user_folder() if spill is None else spill.absolute()
        self.folder: Path | None = None
        self._open = contextlib.ExitStack()
        clear_abandoned()
        try:
            if has_folder:
                self.folder = self._open.enter_context(Folder(None if spill is None else self.spill))
        except OSError as error:
            if spill is not None or limit is not None:
                raise InputError(
                    f"{self.spill}: the folder for what does not fit into memory cannot be written ({error.strerror}):"
                    " name another one with --spill or resources.spill"
                ) from None
        if limit is not None and Guard.at_work is None:
            self._open.callback(Guard(OVER * bytes_of(limit) + self.other_bytes, limit).close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the guard, and remove the temporary folder.

        The spill folder is removed, too, if it was created for the temporary folder and is empty.
        """
        self._open.close()
        self.folder = None

    def no_room(self, message: object) -> InputError:
        """Return the error that the disk of the spill folder is full.

        message: the message of the library or the system.
        """
        reason = " ".join(str(message).split(". ")[0].split())
        return InputError(
            f"{self.spill}: there is no room for what does not fit into memory ({reason}): make some, name another"
            " folder with --spill or resources.spill, or allow more memory"
        )

    @property
    def duckdb_bytes(self) -> int | None:
        """The number of bytes that DuckDB may use: the limit without the part for the rest of the process.

        None without a limit.
        """
        return None if self.limit is None else max(LEAST_OF_DUCKDB, round(self.limit * (1 - SLACK)) - self.ours)

    def has_room(self, rows: int, size: int) -> bool:
        """Return whether `rows` rows of `size` bytes fit into the memory limit beside the memory in use now.

        The result is True without a limit.
        """
        return self.limit is None or free_and_measure_memory() - self.other_bytes + rows * size <= self.limit

    def refuse_beyond(self, rows: int, size: int, noun: str) -> None:
        """Raise InputError if `rows` rows of `size` bytes do not fit into the memory limit.

        The message names the memory needed.
        noun: word for the rows in the message.
        """
        if not self.has_room(rows, size):
            needed = free_and_measure_memory() - self.other_bytes + rows * size
            raise InputError(
                f"memory limit {self.limit_text!r}: is too little for {rows:,} {noun}, with which the process would"
                f" hold some {needed // 10**6:,}MB: {limit_advice(needed)}"
            )

    def duckdb_bytes_beside(self, used: int, size: int = 0) -> int:
        """Return the number of bytes that DuckDB may use in total, which depends on the memory in use by other code.

        used: the bytes that DuckDB holds now.
        size: further bytes to leave free for other code.
        There must be a memory limit.
        """
        assert self.limit is not None
        rest = max(self.ours, free_and_measure_memory() - self.other_bytes - used + ROWS // 2) + size
        return max(LEAST_OF_DUCKDB, round(self.limit * (1 - SLACK)) - rest)

    def threads(self, requested: int | None) -> int | None:
        """Return the number of threads for DuckDB, which is reduced if each thread would have too little memory.

        requested: the configured number; None for DuckDB's default. Without a memory limit, it is returned unchanged.
        """
        if self.duckdb_bytes is None:
            return requested
        return max(1, min(requested or os.cpu_count() or 1, self.duckdb_bytes // FOR_A_THREAD))


def release_freed_memory() -> None:
    """Return freed memory of this process to the operating system."""
    if arrow := sys.modules.get("pyarrow"):
        arrow.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):  # only the C library of GNU can
        ctypes.CDLL(None).malloc_trim(0)


def limit_advice(size: int) -> str:
    """Return the advice to raise the memory limit to `size` bytes, rounded up to half a gigabyte."""
    return f"allow {-(-size // 500_000_000) * 0.5:g}GB or more with --memory-limit or resources.memory_limit"


def free_and_measure_memory() -> int:
    """Free unused memory and return the bytes that this process holds, or 0 if the system does not report them."""
    release_freed_memory()
    return resident_bytes()


def resident_bytes() -> int:
    """Return the bytes of memory that this process holds now, or 0 if the system does not report them."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
