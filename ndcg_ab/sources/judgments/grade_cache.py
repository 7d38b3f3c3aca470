"""What functions that judge have said, kept among the user's caches: what is asked again is known.

A grade of a model costs money and time, so that each is written as it arrives, and one file serves every command and
notebook: `compare` has no folder of its own, and an evaluation's results may be told to go.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path

NAME = "judged.sqlite3"
PATIENCE = 60.0  # seconds that another process may write
TABLE = "create table if not exists said (key text primary key, grade real, at real not null) without rowid"
Say = Callable[[str], object]


class GradeCache:
    """Answers by their keys; an answer is a grade, or None: it could not be said.

    Without a folder for caches, and after an error of the file, it forgets them at its end. say: told of errors.
    """

    def __init__(self, say: Say) -> None:
        self.say = say
        folder = cache_folder()
        try:
            self.connection = connect_database(folder and folder / NAME)
        except (OSError, sqlite3.Error) as error:
            self.give_up(error)

    def take(self, keys: Sequence[str], since: float | None = None) -> dict[str, float | None]:
        """Return what is known of these keys; since: seconds since 1970, answers before which do not count."""
        text = "select key, grade from said where key = ? and at >= ?"
        try:
            return dict(row for key in keys for row in self.connection.execute(text, [key, since or 0.0]))
        except sqlite3.Error as error:
            self.give_up(error)
            return {}

    def keep(self, key: str, grade: float | None) -> None:
        """Write an answer down at once."""
        try:
            self.connection.execute("insert or replace into said values (?, ?, ?)", [key, grade, time.time()])
        except sqlite3.Error as error:
            self.give_up(error)

    def give_up(self, error: Exception) -> None:
        self.connection = connect_database(None)
        place = f"{cache_folder()}/{NAME}"
        self.say(f"what the function says is not kept, and will be asked again: {place}: {error}; delete a broken file")

    def close(self) -> None:
        self.connection.close()


def connect_database(path: Path | None) -> sqlite3.Connection:
    """Open the file, which is made if it is missing, or a database in memory.

    Every answer is there once it is written, whatever becomes of the process: the log of SQLite holds it.
    """
    if path is not None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    connection = sqlite3.connect(path or ":memory:", timeout=PATIENCE, isolation_level=None)
    try:
        for text in ("pragma journal_mode = wal", "pragma synchronous = normal", TABLE, "select 1 from said limit 1"):
            connection.execute(text)
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
