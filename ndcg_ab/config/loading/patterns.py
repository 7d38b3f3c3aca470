"""Patterns in paths: `*`, `?`, `[ab]` and `**`."""

import glob
import re
from difflib import get_close_matches
from pathlib import Path

WILD = re.compile(r"[*?\[]")
SHOWN = 3  # files in a message


def stands_for_many(path: Path) -> bool:
    """Return whether a path is a folder, or a pattern that is no file's own name."""
    return path.is_dir() or bool(WILD.search(str(path)) and not path.exists())


def matching_files(path: Path, directory: Path) -> list[Path]:
    """The files that match, by name; relative to the directory where the pattern is."""
    names = glob.glob(str(path), root_dir=directory, recursive=True)  # noqa: PTH207 (absolute ones too)
    return [Path(name) for name in sorted(names) if (directory / name).is_file()]


def nothing_matches_text(path: Path) -> str:
    """What there is in the folder of a pattern that nothing matches."""
    folder = path.parent
    while WILD.search(str(folder)) and not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        return f"there is no folder {folder}"
    names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    near = get_close_matches(path.name, names, n=SHOWN, cutoff=0.3) or names[:SHOWN]
    return f"in {folder} there is {', '.join(near)}" if near else f"the folder {folder} is empty"
