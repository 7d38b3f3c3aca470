"""Cache the inputs of earlier nights beside the history, so that unchanged inputs are not read again.

An entry is a folder named by the key of a content (`sources.files.parts`), with ``table.parquet`` and ``entry.json``.
It is made inside the working folder of a run and renamed at the end, so that it is complete or absent even if processes
are killed or run concurrently. A damaged entry is removed, reported and made again.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as papq

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.errors import InputError
from ndcg_ab.history.database import digest_of
from ndcg_ab.history.working_folder import remove_at_once
from ndcg_ab.memory import bytes_of
from ndcg_ab.results.codec import decode
from ndcg_ab.sources.files.parts import Content, digest_of_file
from ndcg_ab.sources.tables.reduced_ranking import ReducedRanking
from ndcg_ab.visible import visible

INPUTS = "inputs"
NEW = "known"  # the folder of new entries, inside that of what was pulled
TABLE, ENTRY = "table.parquet", "entry.json"
TABLES = ("rows", "answers", "ranks")  # of a reduced ranking
DAMAGED = (InputError, OSError, ValueError, KeyError, TypeError, AttributeError)  # what an entry that is none raises
Found = TypeVar("Found")


@dataclasses.dataclass(frozen=True)
class EntryFacts:
    """The facts about a cached input.

    Attributes
    ----------
    digest : str
        Digest of the content.
    rows : int
        Number of rows.
    read : str
        Nominal time of the run that read the input, ISO 8601, UTC.
    places : tuple of str
        The files or addresses from which it was read.
    is_remarked : bool
        True if remarks about the content name these files or addresses.
    """

    digest: str
    rows: int
    read: str
    places: tuple[str, ...]
    is_remarked: bool


def cache_folder(evaluation: Evaluation) -> Path:
    return evaluation.output_directory / evaluation.name / INPUTS


def cache_limit(evaluation: Evaluation) -> int:
    """Return the largest total size of the cache, in bytes; 0 turns the cache off."""
    return bytes_of(evaluation.retention.inputs)


def restore_cached_table(evaluation: Evaluation, content: Content, target: Path) -> EntryFacts | None:
    """Put the cached table of an input at `target`, and return the facts about it, or None.

    The result is None if the cache has no entry for the content, if the entry is damaged, or if remarks about the table
    name other files or addresses than those that the content has now. Nothing is then left at `target`.
    """

    def read(entry: Path) -> EntryFacts | None:
        known = read_entry(entry)
        facts: EntryFacts = decode(EntryFacts, known)
        if facts.is_remarked and facts.places != content.locations:
            return None
        link_or_copy(entry / TABLE, target)
        if digest_of_file(target) != known["tables"]["table"]:
            raise ValueError("its table was changed")
        return facts

    facts = take_entry(evaluation, content.key, read)
    if facts is None:
        target.unlink(missing_ok=True)
    return facts


def take_entry(evaluation: Evaluation, key: str, read: Callable[[Path], Found | None]) -> Found | None:
    """Call `read` with the folder of a cache entry, and return its result.

    The result is None if the entry is missing or damaged, or if the cache is off. A damaged entry is reported on
    standard error and removed. For any other entry the time of last use is set to now.
    key: the name of the entry.
    """
    entry = cache_folder(evaluation) / key
    if cache_limit(evaluation) == 0 or not entry.exists():
        return None
    try:
        content = read(entry)
    except DAMAGED as error:
        reason = (
            str(error) if type(error) is ValueError else getattr(error, "strerror", None) or "it holds something else"
        )
        message = f"{entry}: what an earlier night left there is damaged ({reason}): it is removed, and made again"
        print(visible(f"ndcg-ab: {message}"), file=sys.stderr)
        remove_at_once(entry, entry.parent.parent)
        return None
    with contextlib.suppress(OSError):  # else it is removed sooner from a full cache
        os.utime(entry / ENTRY)
    return content


def read_entry(entry: Path) -> Any:
    """Return the facts of a cache entry.

    Raise ValueError if the file was changed since it was written.
    """
    content = json.loads((entry / ENTRY).read_text(encoding="utf-8"))
    if content["seal"] != digest_of(content["known"]):
        raise ValueError("it was changed")
    return content["known"]


def make_entry(folder: Path, key: str, tables: Mapping[str, Path | pa.Table], **facts: Any) -> None:
    """Make a cache entry inside a working folder; `enter_entries` moves it into the cache later.

    key: the name of the entry: of an input the key of its content, of a reduced ranking the digest of everything that
        determines it.
    tables: name -> table, or the Parquet file that holds it.
    facts: facts about the entry: all fields of `EntryFacts`, or the count of a reduced ranking.
    """
    entry = folder / NEW / key
    entry.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        if isinstance(table, Path):
            link_or_copy(table, entry / f"{name}.parquet")
        else:
            papq.write_table(table, entry / f"{name}.parquet", compression="zstd")
    known = {**facts, "tables": {name: digest_of_file(entry / f"{name}.parquet") for name in tables}}
    (entry / ENTRY).write_text(json.dumps({"known": known, "seal": digest_of(known)}, indent=2), encoding="utf-8")


def read_cached_ranking(evaluation: Evaluation, key: str) -> ReducedRanking | None:
    """Return a reduced ranking from the cache, or None if the entry is missing or damaged, or the cache is off.

    A reduced ranking has only the first rows of each query.
    key: the digest of everything that determines the reduced ranking.
    """

    def read(entry: Path) -> ReducedRanking:
        facts, tables = read_entry(entry), {}
        for name in TABLES:
            content = (entry / f"{name}.parquet").read_bytes()
            if hashlib.sha256(content).hexdigest() != facts["tables"][name]:
                raise ValueError("it was changed")
            tables[name] = papq.read_table(pa.BufferReader(content))
        return ReducedRanking(**tables, count=int(facts["count"]))

    return take_entry(evaluation, key, read)


def enter_entries(evaluation: Evaluation, folder: Path) -> str | None:
    """Move the new entries of a working folder into the cache, and shrink the cache to its limit.

    The least recently used entries are removed. Return None, or a sentence with the reason if the cache cannot be
    written.
    """
    store = cache_folder(evaluation)
    try:
        for entry in sorted((folder / NEW).glob("*")):
            store.mkdir(exist_ok=True)
            try:
                entry.rename(store / entry.name)
            except OSError:
                if not (store / entry.name).exists():  # else another process was faster
                    raise
        remove_least_recent(store, cache_limit(evaluation))
    except OSError as error:
        return f"{store}: cannot be written ({error.strerror}): what was read is read again in the next run"
    return None


def remove_least_recent(store: Path, limit: int) -> None:
    """Remove the least recently used entries of the cache, until the others have at most `limit` bytes."""
    entries = [(entry, files_in(entry)) for entry in store.glob("*")]
    entries.sort(key=lambda found: found[1][ENTRY].st_mtime if ENTRY in found[1] else 0.0, reverse=True)
    size = 0
    for entry, files in entries:
        size += sum(about.st_size for about in files.values())
        if size > limit:
            remove_at_once(entry, entry.parent.parent)


def files_in(entry: Path) -> dict[str, os.stat_result]:
    """Return file name -> file status for a cache entry, without files that another process has just removed."""
    sizes = {}
    for path in entry.glob("*"):
        with contextlib.suppress(FileNotFoundError):
            sizes[path.name] = path.stat()
    return sizes


def link_or_copy(path: Path, target: Path) -> None:
    """Make `target` a hard link to a file, or a copy if the file system has no links; replace an old `target`."""
    target.unlink(missing_ok=True)
    try:
        os.link(path, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(path, target)
