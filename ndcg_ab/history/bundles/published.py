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
    if places is None:
        return address is None and (folder / PUBLISHED).exists()
    told = places.values() if address is None else [places[address]] if address in places else []
    return any(nights >= len(read_reruns(folder)) for nights in told)


def read_published(folder: Path) -> dict[str, int] | None:
    """Address of a tracker -> the nights that it knows of; of earlier versions the last alone. None: no such file."""
    with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
        told = json.loads((folder / PUBLISHED).read_text(encoding="utf-8"))
        known = {str(address): int(nights) for address, nights in told.get("places", {}).items()}
        return known | {str(told.get("uri", "")): int(told.get("reused", 0))}
    return None


def mark_published(folder: Path, where: Mapping[str, Any]) -> None:
    """where: `uri`, `reused` and more of the tracker that has it now; those that had it before stay noted."""
    places = (read_published(folder) or {}) | {where.get("uri", ""): where.get("reused", 0)}
    write_text(folder / PUBLISHED, json.dumps({**where, "places": places}, indent=2) + "\n")
