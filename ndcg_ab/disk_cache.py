"""Texts that take seconds to make and are the same every time: kept among the user's caches.

Nothing is lost with them: what is not there, or is damaged, is made again.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

from ndcg_ab.files import replacing


def cached_text(about: list[str], make: Callable[[], str]) -> str:
    """What `make` makes, or what it made in an earlier process.

    about: everything that it depends on.  Where nothing can be kept, it is made every time.
    """
    folder = cache_folder()
    if folder is None:
        return make()
    path = folder / f"{digest(json.dumps(about).encode())}.txt"
    if (known := read_sealed(path)) is not None:
        return known
    made = make()
    content = made.encode()
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replacing(path) as partial:
            partial.write_bytes(f"{digest(content)}\n".encode() + content)
    return made


def cache_folder() -> Path | None:
    """``$XDG_CACHE_HOME/ndcg-ab``, by default ``~/.cache/ndcg-ab``; None where there is no such place."""
    try:
        above = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    except RuntimeError:
        return None
    return above / "ndcg-ab" if above.is_absolute() else None


def read_sealed(path: Path) -> str | None:
    """A text whose digest is in front of it; None where there is none, or another."""
    try:
        seal, _, content = path.read_bytes().partition(b"\n")
        return content.decode() if seal.decode() == digest(content) else None
    except (OSError, ValueError):
        return None


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
