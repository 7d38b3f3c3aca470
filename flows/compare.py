"""What the options of `ndcg-ab compare` mean: an evaluation without a configuration file."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from flows.config import Evaluation, problems
from flows.errors import InputError


def parse_system(text: str) -> tuple[str, str]:
    """NAME and FILE of ``--system NAME=FILE``."""
    name, equals, file = text.partition("=")
    if not equals or not name or not file:
        raise InputError(f"--system {text!r}: must be NAME=FILE, such as new=runs/new.run.gz")
    return name, file


def parse_columns(option: str, text: str | None) -> dict[str, str]:
    """field -> column of ``query_id=qid,doc_id=url``."""
    found = {}
    for part in (text or "").split(","):
        field, equals, column = (piece.strip() for piece in part.partition("="))
        if part.strip():
            if not equals or not field or not column:
                raise InputError(f"{option} {text!r}: must be FIELD=COLUMN, with commas between")
            found[field] = column
    return found


def evaluation_of(
    judgments: dict[str, Any],
    systems: Sequence[dict[str, Any]],
    baseline: str | None,
    metrics: Sequence[str] | None,
    statistics: dict[str, Any],
    threads: int | None,
) -> Evaluation:
    """The evaluation that the options describe; InputError names the option."""
    given = {key: value for key, value in statistics.items() if value is not None}
    optional: dict[str, Any] = {"metrics": list(metrics)} if metrics else {}
    try:
        return Evaluation(
            name="compare",
            judgments=judgments,
            systems=list(systems),
            baseline=baseline,
            statistics=given,
            resources={"threads": threads},
            **optional,
        )
    except ValidationError as error:
        raise InputError("\n".join(problems(error))) from None


def writable(option: str, name: str | Path, inputs: Sequence[Path]) -> Path:
    """The path of an output, refused before any work where it cannot be written or would overwrite an input."""
    path = Path(name)
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: there is no directory {path.parent}")
    if path.is_dir():
        raise InputError(f"{option} {path}: is a directory; a file name is needed")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{option} {path}: cannot be written")
    if path.exists() and any(given.exists() and path.samefile(given) for given in inputs):
        raise InputError(f"{option} {path}: is one of the inputs, and would be overwritten")
    return path
