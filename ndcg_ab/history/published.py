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
    """Return whether a tracker has the bundle and knows every later night that reused it.

    address: consider only the tracker at this address; by default any tracker.
    """
    known_nights = read_published(folder)
    records = known_nights.values() if address is None else [known_nights[address]] if address in known_nights else []
    return any(nights >= len(read_reruns(folder)) for nights in records)


def read_published(folder: Path) -> dict[str, int]:
    """Return tracker address -> number of reusing nights that the tracker knows; empty without a readable file."""
    with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
        content = json.loads((folder / PUBLISHED).read_text(encoding="utf-8"))
        return {str(address): int(nights) for address, nights in content.get("places", {}).items()}
    return {}


def mark_published(folder: Path, where: Mapping[str, Any]) -> None:
    """Record that a tracker has the bundle, in addition to the trackers recorded earlier.

    where: `uri` (the address of the tracker), `reused` (the number of reusing nights that it knows) and further
    properties.
    """
    known_nights = read_published(folder) | {where.get("uri", ""): where.get("reused", 0)}
    write_text(folder / PUBLISHED, json.dumps({**where, "places": known_nights}, indent=2) + "\n")


def read_reruns(folder: Path) -> list[str]:
    """Return the times of the nights that reused the bundle (ISO 8601, UTC); empty without a readable file."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        return [str(time) for time in json.loads((folder / REUSED).read_text(encoding="utf-8"))]
    return []


def add_rerun(folder: Path, began: str) -> None:
    write_text(folder / REUSED, json.dumps([*read_reruns(folder), began], indent=2) + "\n")


@contextlib.contextmanager
def lock_publishing(folder: Path, patience: float = 120.0) -> Iterator[None]:
    """Hold the lock for publishing the bundles of an evaluation during the block.

    Raise InputError if another process holds the lock too long, or if the folder is not writable. patience: seconds to
    wait for the lock.
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
