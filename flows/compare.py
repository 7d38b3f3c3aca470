"""What the options of `ndcg-ab compare` mean: an evaluation without a configuration file."""

import dataclasses
import math
import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from flows.config import Evaluation
from flows.config_file import problems
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


@dataclasses.dataclass(frozen=True)
class Plan:
    """The options that say what is compared beside the primary metrics, as they were given."""

    secondary: Sequence[str] | None = None
    guardrails: Sequence[str] | None = None
    smallest_effects: Sequence[str] | None = None
    queries: str | None = None
    slices: Sequence[str] | None = None
    smallest_slice: int | None = None

    def keys(self) -> dict[str, Any]:
        """The keys of an evaluation that the options stand for."""
        slices: dict[str, Any] = {"by": list(self.slices or [])}
        if self.smallest_slice is not None:
            slices["smallest"] = self.smallest_slice
        guardrails = dict(parse_margin("--guardrail", text) for text in self.guardrails or [])
        if len(guardrails) < len(self.guardrails or []):
            raise InputError(f"--guardrail: a metric is named twice in {', '.join(self.guardrails or [])}")
        found = {"secondary_metrics": list(self.secondary or []), "slices": slices, "guardrails": guardrails}
        return found | ({"queries": self.queries} if self.queries else {})

    def smallest_effect(self) -> float | dict[str, float] | None:
        """One for every metric, or one for each that is named; InputError for a mixture."""
        given = self.smallest_effects or []
        if len(given) == 1 and "=" not in re.sub(r"\(.*\)", "", given[0]):
            return parse_number("--smallest-effect", given[0], given[0])
        found = dict(parse_margin("--smallest-effect", text) for text in given)
        if len(found) < len(given):
            raise InputError(f"--smallest-effect: a metric is named twice in {', '.join(given)}")
        return found or None


def parse_margin(option: str, text: str) -> tuple[str, float]:
    """Metric and number of ``METRIC=D``; a metric may have ``=`` in its choices."""
    metric, equals, number = text.rpartition("=")
    if not equals or not metric or ")" in number:
        raise InputError(f"{option} {text!r}: must be METRIC=DIFFERENCE, such as recall@100=0.01")
    return metric, parse_number(option, text, number)


def parse_number(option: str, text: str, number: str) -> float:
    try:
        value = float(number)
    except ValueError:
        raise InputError(f"{option} {text!r}: {number!r} must be a number above 0") from None
    if not 0 < value < math.inf:
        raise InputError(f"{option} {text!r}: {number!r} must be a number above 0")
    return value


def evaluation_of(
    files: Files,
    baseline: str | None,
    metrics: Sequence[str] | None,
    statistics: dict[str, Any],
    threads: int | None,
    plan: Plan = Plan(),
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
    optional |= plan.keys()
    if (smallest_effect := plan.smallest_effect()) is not None:
        given["smallest_effect"] = smallest_effect
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
    "secondary_metrics": "--secondary",
    "guardrails": "--guardrail",
    r"slices\.smallest": "--smallest-slice",
    r"slices\.by": "--slice",
    "queries": "--queries",
    r"statistics\.smallest_effect": "--smallest-effect",
    r"statistics(?:\.|: )(\w+)": r"--\1",
    "resources.threads": "--threads",
}


def by_option(problem: str) -> str:
    """``--alpha = 2: must be below 0.5`` for ``statistics.alpha = 2: must be below 0.5``."""
    problem = problem.replace("slices.by needs", "--slice needs")
    for key, option in OPTIONS.items():
        if re.match(rf"{key}( =|:)", problem):
            return re.sub(rf"^{key}", option, problem)
    return problem


def inputs_of(evaluation: Evaluation) -> list[Path]:
    queries = [evaluation.queries.file] if evaluation.queries else []
    return [evaluation.judgments.file, *queries, *(system.file for system in evaluation.systems if system.file)]


def about_files(evaluation: Evaluation) -> dict[str, Any]:
    """What the page says of a comparison that no history keeps: the files, without digests."""
    inputs = [input_row(evaluation.judgments.file.name, "judgments", evaluation.judgments.file)]
    inputs += [input_row(system.name, "ranking", system.file) for system in evaluation.systems if system.file]
    if evaluation.queries:
        inputs.append(input_row(evaluation.queries.file.name, "queries", evaluation.queries.file))
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    return {"name": "compare", "ordinal": None, "began": None, "finished": finished, "inputs": inputs}


def input_row(name: str, kind: str, file: Path) -> dict[str, Any]:
    return {"name": name, "kind": kind, "version": None, "origin": str(file), "rows": None, "digest": None}


def refuse_one_file_twice(option: str, first: Path | None, other: Path | None, one: str = "--json") -> None:
    if first and other and first.resolve() == other.resolve():
        raise InputError(f"{one} and {option} both name {first}: one would overwrite the other")


def page_path(path: Path, inputs: Sequence[Path]) -> Path:
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--report {path}: must end in .html")
    return writable("--report", path, inputs)


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
