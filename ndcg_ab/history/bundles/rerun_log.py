"""The nights that found nothing changed: their moments, in a file beside the bundle that stands for them."""

import contextlib
import json
from pathlib import Path

from ndcg_ab.files import write_text

REUSED = "reused.json"


def read_reruns(folder: Path) -> list[str]:
    """ISO 8601, UTC, in the order in which they came; a file that is damaged is no reason to fail."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        return [str(moment) for moment in json.loads((folder / REUSED).read_text(encoding="utf-8"))]
    return []


def add_rerun(folder: Path, moment: str) -> None:
    write_text(folder / REUSED, json.dumps([*read_reruns(folder), moment], indent=2) + "\n")
