"""What the options of `ndcg-ab compare` mean: an evaluation without a configuration file."""

import dataclasses
import os
import re
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
            if field in found:
                raise InputError(f"{option} {text!r}: {field} is named twice")
            found[field] = column
    return found


@dataclasses.dataclass(frozen=True)
class Files:
    """The options that name judgments and rankings, as they were given."""

    judgments: str
    systems: Sequence[str]
    judgments_format: str | None = None
    format: str | None = None
    judgments_columns: str | None = None
    columns: str | None = None


def evaluation_of(
    files: Files,
    baseline: str | None,
    metrics: Sequence[str] | None,
    statistics: dict[str, Any],
    threads: int | None,
    least_systems: int = 1,
) -> Evaluation:
    """The evaluation that the options describe; InputError names the option."""
    if len(files.systems) < least_systems:
        raise InputError(f"--system: given {len(files.systems)} times; at least {least_systems} systems are needed")
    judgments = {
        "file": files.judgments,
        "format": files.judgments_format,
        "columns": parse_columns("--judgments-columns", files.judgments_columns),
    }
    columns = parse_columns("--columns", files.columns)
    systems = [
        {"name": name, "file": file, "format": files.format, "columns": columns}
        for name, file in map(parse_system, files.systems)
    ]
    given = {key: value for key, value in statistics.items() if value is not None}
    optional: dict[str, Any] = {"metrics": list(metrics)} if metrics else {}
    try:
        return Evaluation(
            name="compare",
            judgments=judgments,
            systems=systems,
            baseline=baseline,
            statistics=given,
            resources={"threads": threads},
            **optional,
        )
    except ValidationError as error:
        raise InputError("\n".join(dict.fromkeys(by_option(problem) for problem in problems(error)))) from None


OPTIONS = {  # where the evaluation has it -> the option that gave it
    "judgments.format": "--judgments-format",
    "judgments": "--judgments",
    r"systems\[\d+\]\.format": "--format",
    r"systems(\[\d+\]\.name)?": "--system",
    "baseline": "--baseline",
    "metrics": "--metric",
    r"statistics\.(\w+)": r"--\1",
    "resources.threads": "--threads",
}


def by_option(problem: str) -> str:
    """``--alpha = 2: must be below 1`` for ``statistics.alpha = 2: must be below 1``."""
    for key, option in OPTIONS.items():
        if re.match(rf"{key}( =|:)", problem):
            return re.sub(rf"^{key}", option, problem)
    return problem


def inputs_of(evaluation: Evaluation) -> list[Path]:
    return [evaluation.judgments.file, *(system.file for system in evaluation.systems if system.file)]


def refuse_one_file_twice(option: str, json_path: Path | None, other: Path | None) -> None:
    if json_path and other and json_path.resolve() == other.resolve():
        raise InputError(f"--json and {option} both name {json_path}: one would overwrite the other")


def picture_path(path: Path, inputs: Sequence[Path]) -> Path:
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError(f"--picture {path}: must end in .png, .svg or .pdf")
    return writable("--picture", path, inputs)


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
