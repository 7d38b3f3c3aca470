"""Where a command writes: refused before any work where a file cannot be written or would overwrite an input."""

import os
import shlex
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from ndcg_ab.errors import InputError
from ndcg_ab.files import resolved

if TYPE_CHECKING:
    from ndcg_ab.config.model.evaluation import Evaluation


PAGES = (".html", ".htm")
PICTURES = (".svg",)
TABLES = (".csv", ".tsv", ".parquet", ".pq")


def local_inputs(evaluation: "Evaluation") -> list[Path]:
    """The local files that it reads."""
    from ndcg_ab.config.model.keys import Trait, walk_keys

    return [value for _, traits, value in walk_keys(evaluation) if Trait.INPUT in traits and isinstance(value, Path)]


def refuse_one_file_twice(paths: Mapping[str, Path | None]) -> None:
    """Raise InputError if two options name one file; paths: option -> file."""
    named = [(option, path) for option, path in paths.items() if path]
    for (one, first), (other, second) in combinations(named, 2):
        if resolved(first) == resolved(second):
            raise InputError(f"{one} and {other} both name {first}: one would overwrite the other")


def text_file(option: str, name: str | None, inputs: Sequence[Path]) -> Path | None:
    """The path of an output; None where there is none or where it is standard output."""
    return check_writable(option, name, inputs) if name and name != "-" else None


def output_file(option: str, name: str | Path | None, inputs: Sequence[Path], *suffixes: str) -> Path | None:
    """The path of an output whose name has one of the suffixes; None if there is none. A device may have any name."""
    if not name:
        return None
    path = check_writable(option, name, inputs)
    if path.suffix.lower() not in suffixes and (path.is_file() or not path.exists()):
        raise InputError(
            f"{option} {path}: must end in {' or '.join(filter(None, (', '.join(suffixes[:-1]), suffixes[-1])))}"
        )
    return path


def check_writable(option: str, name: str | Path, inputs: Sequence[Path]) -> Path:
    """The path of an output, refused before any work where it cannot be written or would overwrite an input."""
    path = Path(name)
    if not path.parent.is_dir():
        raise InputError(
            f"{option} {path}: there is no directory {path.parent}; make it: mkdir -p {shlex.quote(str(path.parent))}"
        )
    if path.is_dir():
        raise InputError(f"{option} {path}: is a directory; a file name is needed")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{option} {path}: cannot be written")
    if path.exists() and any(given.exists() and path.samefile(given) for given in inputs):
        raise InputError(f"{option} {path}: is one of the inputs, and would be overwritten")
    return path
