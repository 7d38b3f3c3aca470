"""Evaluations kept: a bundle on disk for each, entered in the history (flows/history.py).

A bundle is a folder: ``bundle.json`` (what was found, from what), ``query_scores.parquet``, ``report.html``
and ``evaluation.duckdb`` (every table of the pipeline).  It appears whole: it is made under another name
and renamed at the end.  ``published.json`` is added when the tracker has it.
"""

import contextlib
import dataclasses
import errno
import fcntl
import json
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import pyarrow.parquet as papq

from flows import __version__, history
from flows.config import Evaluation
from flows.errors import InputError
from flows.outcome import Outcome, write_text
from flows.report_files import PAGE, write_report, write_stub
from flows.warehouse import Warehouse

BUNDLE = "bundle.json"
SCORES = "query_scores.parquet"
TABLES = "evaluation.duckdb"
PUBLISHED = "published.json"
LOCK = ".lock"
PUBLISHING = ".publishing"
STAMP = "%Y%m%dT%H%M%SZ"
SETTLED = 60.0  # seconds after which a working folder without a lock belongs to nobody
KEEP_PATIENCE = 900.0  # seconds that a finished evaluation waits for the history: more than its lock is ever held
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}
UNREADABLE = (InputError, OSError, ValueError, KeyError, TypeError, AttributeError)  # what a damaged bundle raises


@dataclasses.dataclass(frozen=True)
class Bundle:
    """A finished evaluation, as read from its folder.

    key: unique and stable; publishing twice under one key logs once.  ordinal: 1, 2, 3 … among the
    evaluations of its name.  began, finished: UTC.  inputs: name, kind, origin and content digest of each.
    content_key, configuration_key: digests of all that the result depends on, and of the configuration's part.
    comparisons_so_far: tested primary comparisons on the same set of queries, this one's among them.
    """

    folder: Path
    key: str
    ordinal: int
    began: datetime
    finished: datetime
    evaluation: Evaluation
    outcome: Outcome
    inputs: tuple[dict[str, Any], ...]
    extremes: tuple[dict[str, Any], ...]
    comparisons_so_far: int
    content_key: str = ""
    configuration_key: str = ""


@contextlib.contextmanager
def working(evaluation: Evaluation, at: datetime | None = None) -> Iterator[Path]:
    """A folder to work in, under a name that no reader looks at; gone at the end unless `keep` renamed it.

    at: the moment that the evaluation stands for; by default now.  While it is used the folder is locked, so that
    another process can tell it from one whose owner died; those are cleared away here.
    """
    parent = evaluation.output_directory / evaluation.name
    clear_abandoned(parent)
    ours = [path for path in (parent, parent.parent) if not path.exists()]
    folder, lock = begin(parent, (at or datetime.now(UTC)).astimezone(UTC), str(evaluation.output))
    with lock:
        try:
            yield folder
        except Exception as error:
            if is_full(error):
                raise InputError(f"output = {str(evaluation.output)!r}: cannot be written: {error}") from error
            raise
        finally:
            if folder.exists():
                shutil.rmtree(folder, ignore_errors=True)
            with contextlib.suppress(OSError):
                for path in ours:
                    path.rmdir()


def begin(parent: Path, moment: datetime, shown: str) -> tuple[Path, IO[str]]:
    """A new working folder and its lock, which lasts as long as the file is open."""
    stamp = moment.strftime(STAMP)
    for attempt in range(1, 1000):
        name = stamp if attempt == 1 else f"{stamp}-{attempt}"
        folder = parent / f".{name}.partial"
        try:
            if (parent / name).exists():
                continue
            folder.mkdir(parents=True)
            if (parent / name).exists():  # another process has just finished under this name
                folder.rmdir()
                continue
            return folder, hold(folder)
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(f"output = {shown!r}: cannot be written: {error}") from None
    raise InputError(f"{parent}: too many evaluations began in one second")


def hold(folder: Path) -> IO[str]:
    """Locks a folder; no other process sees the lock before it is held."""
    unseen = folder / f"{LOCK}.new"
    lock = unseen.open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    unseen.rename(folder / LOCK)
    return lock


def is_full(error: Exception) -> bool:
    """Whether the output directory takes no more: Python's word for it or DuckDB's."""
    if isinstance(error, OSError):
        return error.errno in FULL
    if isinstance(error.__cause__, Exception) and is_full(error.__cause__):
        return True
    return history.is_duckdbs(error) and ("ould not write" in str(error) or "No space left" in str(error))


def clear_abandoned(parent: Path) -> None:
    """Removes what processes that died left: working folders, bundles half removed, histories half made."""
    for folder in parent.glob(".*.partial"):
        with contextlib.suppress(OSError):
            if not (folder / LOCK).exists():
                abandoned = time.time() - folder.stat().st_mtime > SETTLED
            else:
                with (folder / LOCK).open() as lock:
                    abandoned = try_lock(lock)
            if abandoned and folder.is_dir():
                shutil.rmtree(folder, ignore_errors=True)
            elif abandoned:
                folder.unlink()
    for folder in parent.glob(".*.removed"):
        shutil.rmtree(folder, ignore_errors=True)


def try_lock(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def began_of(name: str) -> datetime:
    """The moment in a bundle folder's name."""
    return datetime.strptime(name.partition("-")[0], STAMP).replace(tzinfo=UTC)


def find_same(evaluation: Evaluation, inputs: Sequence[Mapping[str, Any]]) -> Path | None:
    """The bundle of an earlier evaluation with the same configuration and the same inputs; None without one.

    Only one that is whole, and that retention does not remove tonight.
    """
    parent = evaluation.output_directory / evaluation.name
    if not history.path_of(evaluation).exists() and not bundles(parent):
        return None
    with history.opened(history.path_of(evaluation)) as past:
        adopt(past, parent)
        found = history.same_content(past, history.content_key(evaluation, inputs))
    limit = evaluation.retention.bundles
    staying = bundles(parent)[-limit:] if limit else bundles(parent)
    folders = [parent / key.rpartition("/")[2] for key in found]
    return next((folder for folder in folders if folder in staying and is_whole(folder)), None)


def is_whole(folder: Path) -> bool:
    with contextlib.suppress(*UNREADABLE):
        read_bundle(folder)
        return (folder / SCORES).is_file() and (folder / PAGE).is_file()
    return False


def keep(
    folder: Path,
    evaluation: Evaluation,
    outcome: Outcome,
    inputs: Sequence[Mapping[str, Any]],
    extremes: list[dict[str, Any]],
) -> Path:
    """Finishes the bundle and enters it in the history; the folder's final place.

    The folder is renamed inside the transaction: a process that dies between the two leaves a bundle that the next
    one to open the history enters (`adopt`).  A folder that still has its lock's name was renamed by one that died.
    """
    final = folder.with_name(folder.name.removeprefix(".").removesuffix(".partial"))
    scores = papq.read_table(folder / SCORES)
    with history.opened(history.path_of(evaluation), KEEP_PATIENCE) as past:
        adopt(past, folder.parent)
        with past.transaction():
            content: dict[str, Any] = {
                "schema": 1,
                "program": __version__,
                "key": f"{evaluation.name}/{final.name}",
                "ordinal": history.next_ordinal(past),
                "began": began_of(final.name).isoformat(timespec="seconds"),
                "finished": finished_at(final.name).isoformat(timespec="seconds"),
                "evaluation": evaluation.model_dump(mode="json"),
                "content_key": history.content_key(evaluation, inputs),
                "configuration_key": history.configuration_key(evaluation),
                "query_set": query_set(folder / TABLES),
                "inputs": list(inputs),
                "extremes": extremes,
                "outcome": outcome.to_dict(),
            }
            history.enter(past, content, outcome, scores)
            content["comparisons_so_far"] = history.comparisons_so_far(past, content["query_set"])
            write_text(folder / BUNDLE, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
            try:
                write_report(folder, folder / TABLES, outcome, content, history.nights(past))
            except Exception as error:  # costs the page, never the night
                if is_full(error):
                    raise
                write_stub(folder, error)
            shutil.rmtree(folder / "pulled", ignore_errors=True)
            folder.rename(final)
            (final / LOCK).unlink(missing_ok=True)
    return final


def finished_at(name: str) -> datetime:
    """Now, or the moment in the name where that was set to another day (a night that is made up for)."""
    now, began = datetime.now(UTC), began_of(name)
    return now if abs((now - began).total_seconds()) < 86_400 else began


def query_set(tables: Path) -> str:
    """Digest of the queries that are judged: on the same ones every new candidate is another look."""
    with Warehouse(tables) as warehouse:
        return history.digest_of([row for (row,) in warehouse.rows(JUDGED_QUERIES)])


JUDGED_QUERIES = "select query_id from query where is_judged order by query_id"


def adopt(past: Warehouse, parent: Path) -> None:
    """Enters finished bundles that the history does not have: their process died first, or it was begun anew.

    Each keeps its ordinal where that is free.  One that cannot be read is said and left out.
    """
    known = history.keys(past)
    for folder in bundles(parent):
        if f"{parent.name}/{folder.name}" in known:
            continue
        try:
            content = read_content(folder)
            if content["key"] not in known:  # else a copy
                enter_again(past, folder, content)
            known.add(content["key"])
        except UNREADABLE as error:
            complain(folder, error)
        (folder / LOCK).unlink(missing_ok=True)


def enter_again(past: Warehouse, folder: Path, content: dict[str, Any]) -> None:
    outcome, scores = Outcome.from_dict(content["outcome"]), papq.read_table(folder / SCORES)
    with past.transaction():
        moved = content["ordinal"] in history.ordinals(past)
        if moved:
            content["ordinal"] = history.next_ordinal(past)
        history.enter(past, content, outcome, scores)
        if moved:
            content["comparisons_so_far"] = history.comparisons_so_far(past, content["query_set"])
            write_text(folder / BUNDLE, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def complain(folder: Path, error: Exception) -> None:
    reason = str(error) if isinstance(error, InputError) else f"{folder}: {type(error).__name__}: {error}"
    print(f"ndcg-ab: {reason}; left out", file=sys.stderr)


def bundles(parent: Path) -> list[Path]:
    """The folders of finished evaluations, in the order in which they were finished; damaged ones first."""
    found = [folder for folder in parent.glob("[0-9]*") if (folder / BUNDLE).is_file()]
    return sorted(found, key=lambda folder: (ordinal_of(folder), folder.name))


def ordinal_of(folder: Path) -> int:
    with contextlib.suppress(*UNREADABLE):
        return int(read_content(folder)["ordinal"])
    return 0


def unpublished(evaluation: Evaluation) -> list[Path]:
    """Bundles that no tracker has yet, the oldest first; one that cannot be read is said and left out."""
    found = []
    for folder in bundles(evaluation.output_directory / evaluation.name):
        if not (folder / PUBLISHED).exists():
            try:
                read_bundle(folder)
                found.append(folder)
            except UNREADABLE as error:
                complain(folder, error)
    return found


def mark_published(folder: Path, where: Mapping[str, str]) -> None:
    write_text(folder / PUBLISHED, json.dumps(dict(where), indent=2) + "\n")


@contextlib.contextmanager
def alone(folder: Path, patience: float = 120.0) -> Iterator[None]:
    """Only one process at a time publishes an evaluation's bundles; waits for another, then raises InputError."""
    deadline = time.monotonic() + patience
    parent = folder.resolve().parent
    with (parent / PUBLISHING).open("w") as lock:
        while not try_lock(lock):
            if time.monotonic() > deadline:
                raise InputError(f"{parent}: another process has been publishing for {patience:.0f} s and more")
            time.sleep(0.2)
        yield


def retain(evaluation: Evaluation) -> list[Path]:
    """Removes the oldest bundles beyond what is to be kept, never one that is not published; those removed.

    The history keeps their rows; the values of single queries go with `query_scores`.  What cannot be removed now is
    left for the next night.
    """
    if (nights := evaluation.retention.query_scores) is not None:
        try:
            with history.opened(history.path_of(evaluation)) as past:
                history.forget_query_scores(past, nights)
        except InputError as error:
            complain(history.path_of(evaluation), error)
    limit = evaluation.retention.bundles
    if limit is None:
        return []
    found = bundles(evaluation.output_directory / evaluation.name)
    old = [folder for folder in found[: max(0, len(found) - limit)] if (folder / PUBLISHED).exists()]
    for folder in old:
        going = folder.with_name(f".{folder.name}.removed")
        with contextlib.suppress(OSError):  # in one go: half a bundle would be taken for one that is not published
            folder.rename(going)
            shutil.rmtree(going, ignore_errors=True)
    return [folder for folder in old if not folder.exists()]


def read_content(folder: Path) -> dict[str, Any]:
    """What stands in a bundle's file; InputError where there is none."""
    path = folder / BUNDLE
    if not path.is_file():
        raise InputError(f"{folder}: holds no {BUNDLE}; name the folder of one evaluation")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("no object")
    except ValueError as error:
        raise InputError(f"{path}: is not a bundle of this version: {type(error).__name__}: {error}") from None
    return content


def read_bundle(folder: Path) -> Bundle:
    """The bundle in a folder; InputError where there is none."""
    content = read_content(folder)
    try:
        return Bundle(
            folder=folder,
            key=content["key"],
            ordinal=content["ordinal"],
            began=datetime.fromisoformat(content["began"]),
            finished=datetime.fromisoformat(content["finished"]),
            evaluation=Evaluation(**content["evaluation"]),
            outcome=Outcome.from_dict(content["outcome"]),
            inputs=tuple(content["inputs"]),
            extremes=tuple(content["extremes"]),
            comparisons_so_far=content["comparisons_so_far"],
            content_key=content["content_key"],
            configuration_key=content["configuration_key"],
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        path = folder / BUNDLE
        raise InputError(f"{path}: is not a bundle of this version: {type(error).__name__}: {error}") from None
