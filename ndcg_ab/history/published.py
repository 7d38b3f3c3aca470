"""Record beside a bundle which trackers have it, and which later nights reused it."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ndcg_ab.errors import InputError
from ndcg_ab.files import resolve_path, wait_for_lock, write_text

PUBLISHED = "published.json"
REUSED = "reused.json"
PUBLISHING = ".publishing"


def is_published(folder: Path, address: str | None = None) -> bool:
    """Return whether a tracker has the bundle, and has been told of every later run that reused the bundle.

    folder: the folder of the bundle.
    address: consider only the tracker at this address; None for any tracker.
    """
    known_nights = read_published(folder)
    records = known_nights.values() if address is None else [known_nights[address]] if address in known_nights else []
    return any(nights >= len(read_reruns(folder)) for nights in records)


def read_published(folder: Path) -> dict[str, int]:
    """Return tracker address -> number of reusing runs that this tracker has been told of.

    The mapping is empty if the bundle was not published or the record cannot be read.
    """
    with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
        content = json.loads((folder / PUBLISHED).read_text(encoding="utf-8"))
        return {str(address): int(nights) for address, nights in content.get("places", {}).items()}
    return {}


def mark_published(folder: Path, where: Mapping[str, Any]) -> None:
    """Record that a tracker has the bundle. Earlier records of other trackers stay.

    where: `uri` (the address of the tracker), `reused` (the number of reusing runs that it has been told of) and
        further properties.
    """
    known_nights = read_published(folder) | {where.get("uri", ""): where.get("reused", 0)}
    write_text(folder / PUBLISHED, json.dumps({**where, "places": known_nights}, indent=2) + "\n")


def read_reruns(folder: Path) -> list[str]:
    """Return the nominal times (ISO 8601, UTC) of the runs that reused the bundle, in the order of recording.

    The list is empty if no run reused the bundle or the record cannot be read.
    """
    with contextlib.suppress(OSError, ValueError, TypeError):
        return [str(time) for time in json.loads((folder / REUSED).read_text(encoding="utf-8"))]
    return []


def add_rerun(folder: Path, began: str) -> None:
    write_text(folder / REUSED, json.dumps([*read_reruns(folder), began], indent=2) + "\n")


@contextlib.contextmanager
def lock_publishing(folder: Path, patience: float = 120.0) -> Iterator[None]:
    """Hold the lock for publishing the bundles of an evaluation within the context.

    folder: the folder of one bundle of the evaluation.
    patience: seconds to wait for the lock.
    Raises InputError if another process holds the lock for longer, or if the parent folder is not writable.
    """
    parent = resolve_path(folder).parent
    try:
        opened = (parent / PUBLISHING).open("w")
    except OSError as error:
        raise InputError(
            f"{parent}: cannot be written ({error.strerror}), and publishing is noted beside the bundle: make the"
            " folder writable, or publish a copy of it"
        ) from None
    with opened as lock:
        if not wait_for_lock(lock, patience):
            raise InputError(f"{parent}: another process has been publishing for {patience:.0f} s and more")
        yield
