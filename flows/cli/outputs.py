"""Where a command writes: refused before any work where a file cannot be written or would overwrite an input."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ndcg_ab.errors import InputError
from ndcg_ab.files import resolved

if TYPE_CHECKING:
    from ndcg_ab.config.model.evaluation import Evaluation


def local_inputs(evaluation: "Evaluation") -> list[Path]:
    """The local files that it reads."""
    named = (evaluation.judgments, evaluation.cheap_judgments, evaluation.queries, evaluation.documents)
    ids = (evaluation.intended, evaluation.careful_unseen)
    judged = (evaluation.judgments, evaluation.cheap_judgments, *evaluation.more_judgments)
    clicks = [place.clicks for place in judged if place and place.clicks]
    places = (*named, *ids, *clicks, *evaluation.more_judgments, *evaluation.systems, *evaluation.scores)
    return [place.file for place in places if place and isinstance(place.file, Path)]


def refuse_one_file_twice(option: str, first: Path | None, other: Path | None, one: str = "--json") -> None:
    if first and other and resolved(first) == resolved(other):
        raise InputError(f"{one} and {option} both name {first}: one would overwrite the other")


def page_path(path: Path, inputs: Sequence[Path]) -> Path:
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--report {path}: must end in .html")
    return check_writable("--report", path, inputs)


def scores_file(path: Path, inputs: Sequence[Path]) -> Path:
    """The path of `--per-query`; a device or a pipe may have any name."""
    found = check_writable("--per-query", path, inputs)
    is_device = path.exists() and not path.is_file()
    if path.suffix.lower() not in (".csv", ".parquet", ".pq") and not is_device:
        raise InputError(f"--per-query {path}: must end in .csv, .parquet or .pq")
    return found


def picture_path(path: Path, inputs: Sequence[Path]) -> Path:
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError(f"--picture {path}: must end in .png, .svg or .pdf")
    return check_writable("--picture", path, inputs)


def json_file(name: str | None, inputs: Sequence[Path]) -> Path | None:
    """The path of `--json`; None where there is none or where it is standard output."""
    return text_file("--json", name, inputs)


def text_file(option: str, name: str | None, inputs: Sequence[Path]) -> Path | None:
    """The path of an output; None where there is none or where it is standard output."""
    return check_writable(option, name, inputs) if name and name != "-" else None


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
