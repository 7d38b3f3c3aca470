"""What functions that judge have said, kept among the user's caches: what is asked again is known.

A grade of a model costs money and time, so that each is written as it arrives, and one file serves every command and
notebook: `compare` has no folder of its own, and an evaluation's results may be told to go.  A file that is damaged is
put aside; where nothing can be kept, the functions are asked every time.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME, ASIDE = "judged.sqlite3", "judged.damaged"
AT_ONCE = 500  # keys that one question names
PATIENCE = 60.0  # seconds that another process may write
DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
TABLE = "create table if not exists said (key text primary key, grade real, at real not null) without rowid"
Say = Callable[[str], object]


class GradeCache:
    """Answers by their keys; an answer is a grade, or None: it could not be said.

    Without a connection nothing is known, and nothing is kept.
    """

    def __init__(self, connection: sqlite3.Connection | None, say: Say) -> None:
        self.connection = connection
        self.say = say

    def take(self, keys: Sequence[str], since: float | None = None) -> dict[str, float | None]:
        """What is known of these; since: seconds since 1970, answers before which do not count."""
        found: dict[str, float | None] = {}
        for start in range(0, len(keys) if self.connection else 0, AT_ONCE):
            some = list(keys[start : start + AT_ONCE])
            places = ", ".join("?" * len(some))
            text = f"select key, grade from said where key in ({places}) and at >= ?"
            try:
                assert self.connection is not None
                found |= self.connection.execute(text, [*some, since or 0.0]).fetchall()
            except sqlite3.Error as error:
                self.give_up(error)
                return {}
        return found

    def keep(self, key: str, grade: float | None) -> None:
        """Writes an answer down at once."""
        if self.connection is None:
            return
        try:
            self.connection.execute("insert or replace into said values (?, ?, ?)", [key, grade, time.time()])
        except sqlite3.Error as error:
            self.give_up(error)

    def give_up(self, error: sqlite3.Error) -> None:
        self.connection = None
        self.say(f"what the function says is not kept from here on, and will be asked again: {error}")


@contextmanager
def open_grade_cache(say: Say) -> "Iterator[GradeCache]":
    """The answers that are kept; say: told where they cannot be."""
    folder = cache_folder()
    try:
        connection = None if folder is None else open_database(folder / NAME, say)
    except (OSError, sqlite3.Error) as error:
        connection = None
        say(f"what the function says is not kept, and will be asked again: {folder}: {error}")
    if connection is None:
        yield GradeCache(None, say)
        return
    with closing(connection):
        yield GradeCache(connection, say)


def open_database(path: Path, say: Say) -> sqlite3.Connection:
    """The file, made where there is none; a damaged one is put aside."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        return connect_database(path)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode not in DAMAGED:
            raise
    aside = path.with_name(ASIDE)
    path.replace(aside)
    for ending in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + ending).unlink()
    say(f"{path}: is damaged, and lies in {aside.name} now: its grades are asked again")
    return connect_database(path)


def connect_database(path: Path) -> sqlite3.Connection:
    """Every answer is there once it is written, whatever becomes of the process: the log of SQLite holds it."""
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")
        connection.execute(TABLE)
        connection.execute("select count(*) from (select 1 from said limit 1)")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def cache_folder() -> Path | None:
    """``$XDG_CACHE_HOME/ndcg-ab``, by default ``~/.cache/ndcg-ab``; None where there is no such place."""
    try:
        above = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    except RuntimeError:
        return None
    return above / "ndcg-ab" if above.is_absolute() else None
