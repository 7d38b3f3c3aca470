"""Which trackers have a bundle: noted in its folder, when it was logged there."""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ndcg_ab.files import write_text
from ndcg_ab.history.bundles.rerun_log import read_reruns

PUBLISHED = "published.json"


def is_published(folder: Path, address: str | None = None) -> bool:
    """Whether a tracker (the one of an address) has the bundle, and knows of every night that reused it."""
    places = read_published(folder)
    told = places.values() if address is None else [places[address]] if address in places else []
    return any(nights >= len(read_reruns(folder)) for nights in told)


def read_published(folder: Path) -> dict[str, int]:
    """Address of a tracker -> the nights that it knows of; empty if no file says so."""
    with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
        told = json.loads((folder / PUBLISHED).read_text(encoding="utf-8"))
        return {str(address): int(nights) for address, nights in told.get("places", {}).items()}
    return {}


def mark_published(folder: Path, where: Mapping[str, Any]) -> None:
    """where: `uri`, `reused` and more of the tracker that has it now; those that had it before stay noted."""
    places = read_published(folder) | {where.get("uri", ""): where.get("reused", 0)}
    write_text(folder / PUBLISHED, json.dumps({**where, "places": places}, indent=2) + "\n")
