"""Let a Python function judge documents: it receives a query and a document, and returns a grade.

    def grade(query: ndcg_ab.Query, document: ndcg_ab.Document, **arguments) -> float | int | None

None means that the function cannot tell. Answers are cached (`GradeCache`) by the source of the function's module, its
name and arguments, the query and the document. A function that is no attribute of a module (a lambda, a nested
function, one in a notebook) is called every time, because no source identifies it. If the function raises an OSError,
the flow retries and asks only for grades that are still unknown.

The cache is among the user's caches, in one file for every command and notebook. Each answer is written as it arrives,
because the grades of a model cost money and time.
"""

import contextlib
import dataclasses
import hashlib
import inspect
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

from ndcg_ab.config.model.inputs.sources import JudgeSource
from ndcg_ab.config.secrets.lookup import reveal_arguments
from ndcg_ab.deadlines import Countdown, Say
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.extensions import translate_foreign_errors
from ndcg_ab.sources.forms.nested import ids_text
from ndcg_ab.sources.forms.plausible import MOST_GRADE
from ndcg_ab.sources.functions import is_finite, load_function, prefer_modules_in

KEYS = 1  # to be raised with every change of what a key is made from


@dataclasses.dataclass(frozen=True)
class Query:
    """A query for which a document is judged.

    Attributes
    ----------
    query_id : str
        Id of the query.
    text : str
        Text of the query.
    attributes : mapping of str to str
        Column -> value, of the columns that the configuration names (in Python: the columns to slice by).
    """

    query_id: str
    text: str
    attributes: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Document:
    """A document that is judged.

    Attributes
    ----------
    doc_id : str
        Id of the document.
    title : str or None
        Title; None if it is unknown.
    url : str or None
        Address; None if it is unknown.
    """

    doc_id: str
    title: str | None = None
    url: str | None = None


Pair = tuple[Query, Document]


class JudgeFunctionCaller:
    """A caller of the judge function that a configuration names or that was passed in memory."""

    def __init__(self, described: JudgeSource, directory: Path) -> None:
        self.origin = described.python
        self.described = described
        self.directory = directory
        self.workers = described.workers or 1

    def grades_of(self, pairs: Sequence[Pair], say: Say, since: float | None = None) -> tuple[list[float | None], int]:
        """Return the grade of every pair, and the number of grades that came from the cache.

        A grade is None if the function cannot tell. Pairs that are not cached are judged by calling the function in
        `workers` threads. since: seconds since 1970; answers that were cached earlier are not used. Raises InputError
        if the function fails or its grade is no finite number from -1,000 to 1,000, or UnavailableError if a retry may
        succeed. Answers that came before the error stay cached.
        """
        in_memory = self.described.in_memory
        with (
            contextlib.nullcontext() if in_memory else prefer_modules_in(self.directory),
            contextlib.closing(GradeCache(say)) as cache,
        ):
            function = in_memory.data if in_memory else load_function(self.origin, self.directory)
            with translate_foreign_errors(f"python = {self.origin!r} failed"):
                keys = self.keys_of(function, pairs, source_text(function, is_named=in_memory is not None))
            if keys is None:
                say(f"{self.origin}: no source tells what it does, so that it is asked every time")
            cached = cache.stored_grades(keys, since) if keys else {}
            grades: list[float | None] = [cached.get(key) for key in keys] if keys else [None] * len(pairs)
            waiting = [index for index in range(len(pairs)) if not keys or keys[index] not in cached]
            say(f"judging {len(pairs):,} document{'s' * (len(pairs) != 1)} ({len(pairs) - len(waiting):,} known)")
            arguments = reveal_arguments(
                self.described.arguments, f"python = {self.origin!r}, arguments", self.directory
            )
            countdown = Countdown("judging", len(waiting), say)
            ask = partial(self.check_grade, partial(function, **arguments))
            answers = self.answers(ask, [(index, *pairs[index]) for index in waiting])
            for index, grade in answers:
                grades[index] = grade
                if keys:
                    cache.keep(keys[index], grade)
                countdown.advance()
        return grades, len(pairs) - len(waiting)

    def keys_of(self, function: Callable[..., Any], pairs: Sequence[Pair], source: str | None) -> list[str] | None:
        """Return the cache key of each pair, or None if no source code identifies the function.

        source: the source code of the function's module, or None.
        """
        if source is None:
            return None
        name = getattr(function, "__qualname__", self.described.judge)
        about = hashlib.sha256(json.dumps([KEYS, source, name]).encode())
        about.update(json.dumps(self.described.arguments, sort_keys=True, default=str).encode())
        return [answer_key(about, query, document) for query, document in pairs]

    def answers(
        self, ask: Callable[[Query, Document], float | None], pairs: Sequence[tuple[int, Query, Document]]
    ) -> Iterator[tuple[int, float | None]]:
        """Call `ask` for each pair and yield (index of the pair, grade), in the order in which grades arrive.

        If a call fails, no further calls begin, the grades of the running calls are yielded, and then the error is
        raised.
        """
        if self.workers == 1:
            for index, query, document in pairs:
                yield index, ask(query, document)
            return
        executor = ThreadPoolExecutor(self.workers)
        try:
            waiting = {executor.submit(ask, query, document): index for index, query, document in pairs}
            for future in as_completed([*waiting]):
                if future.exception() is not None:
                    break
                yield waiting.pop(future), future.result()
            executor.shutdown(cancel_futures=True)  # after a failure those at work are heard out before it is told
            heard = [future for future in waiting if not future.cancelled()]
            yield from ((waiting[future], future.result()) for future in heard if future.exception() is None)
            for future in heard:
                future.result()
        finally:
            executor.shutdown(wait=False, cancel_futures=True)

    def check_grade(self, function: Callable[..., Any], query: Query, document: Document) -> float | None:
        """Call the function for one pair and return the grade, or None if the function cannot tell.

        Raises InputError if the function fails, or the grade is no finite number from -1,000 to 1,000.
        """
        location = ids_text(query.query_id, document.doc_id)
        with translate_foreign_errors(f"python = {self.origin!r} failed on {location}"):
            grade = function(query, document)
            if grade is None:
                return None
            if not is_finite(grade) or abs(grade) > MOST_GRADE:
                raise InputError(
                    f"python = {self.origin!r}, {location}: grade = {format_value(grade)}: must be a finite number from"
                    f" -{MOST_GRADE:,} to {MOST_GRADE:,}, or None where it cannot say"
                )
            return float(grade)


def source_text(function: Callable[..., Any], is_named: bool) -> str | None:
    """Return the source code of a function's module, or None if it is unavailable.

    is_named: if True, also return None for a function that cannot be found in its module under its own name, such as a
    lambda or a nested function.
    """
    module: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    if not is_named:
        module = inspect.getmodule(inspect.unwrap(function))
    elif getattr(module, getattr(function, "__qualname__", ""), None) is not function:
        return None
    with contextlib.suppress(OSError, TypeError, SyntaxError):
        return inspect.getsource(module)
    return None


def answer_key(about: "hashlib._Hash", query: Query, document: Document) -> str:
    """Return the cache key of the function's answer for a query and a document.

    about: the hash object of the function, which stays unchanged.
    """
    content = [query.query_id, query.text, dict(query.attributes), document.doc_id, document.title, document.url]
    digest = about.copy()
    digest.update(json.dumps(content, sort_keys=True).encode())
    return digest.hexdigest()


NAME = "judged.sqlite3"
PATIENCE = 60.0  # seconds that another process may write
TABLE = "create table if not exists said (key text primary key, grade real, at real not null) without rowid"


class GradeCache:
    """A cache of the answers of judge functions; an answer is a grade, or None for "cannot tell".

    Without a folder for caches, and after an error of the file, answers are stored in memory only. say: a function that
    receives messages about errors.
    """

    def __init__(self, say: Say) -> None:
        self.say = say
        folder = cache_folder()
        try:
            self.connection = connect_database(folder and folder / NAME)
        except (OSError, sqlite3.Error) as error:
            self.use_memory(error)

    def stored_grades(self, keys: Sequence[str], since: float | None = None) -> dict[str, float | None]:
        """Return the cached answers by key; since: seconds since 1970, older answers are left out."""
        text = "select key, grade from said where key = ? and at >= ?"
        try:
            return dict(row for key in keys for row in self.connection.execute(text, [key, since or 0.0]))
        except sqlite3.Error as error:
            self.use_memory(error)
            return {}

    def keep(self, key: str, grade: float | None) -> None:
        """Write an answer to the cache file at once."""
        try:
            self.connection.execute("insert or replace into said values (?, ?, ?)", [key, grade, time.time()])
        except sqlite3.Error as error:
            self.use_memory(error)

    def use_memory(self, error: Exception) -> None:
        self.connection = connect_database(None)
        path = f"{cache_folder()}/{NAME}"
        self.say(f"what the function says is not kept, and will be asked again: {path}: {error}; delete a broken file")

    def close(self) -> None:
        self.connection.close()


def connect_database(path: Path | None) -> sqlite3.Connection:
    """Open the cache file, creating it if it is missing, or open a database in memory if there is no path.

    SQLite's write-ahead log makes each answer durable once it is written, even if the process is killed. Raises OSError
    or sqlite3.Error if the file cannot be opened.
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
    """Return ``$XDG_CACHE_HOME/ndcg-ab``, by default ``~/.cache/ndcg-ab``.

    None if there is no home directory, or the path is not absolute.
    """
    try:
        above = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    except RuntimeError:
        return None
    return above / "ndcg-ab" if above.is_absolute() else None
