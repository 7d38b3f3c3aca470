"""The configuration of an evaluation: one model for the file, the flow's parameter and the form in Prefect's UI.

Paths in a configuration file are relative to that file.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from flows.errors import InputError
from ndcg_core.metric import Metric, MetricError, from_mapping, parse
from ndcg_core.signflip import DEFAULT_RESAMPLES, DEFAULT_SEED

FileFormat = Literal["trec", "csv", "tsv", "jsonl", "parquet"]
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"


class Model(BaseModel):
    """Frozen, and strict about keys: a key that nobody reads is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FileSource(Model):
    """A file of judgments, queries or one system's rankings."""

    file: Path = Field(description="Path of the file, relative to the configuration.")
    format: FileFormat | None = Field(None, description="The file's format; by default told by its name.")
    columns: dict[str, str] = Field(
        default_factory=dict, description="Names of columns in the file that differ: query_id, doc_id, grade, …"
    )


class PythonSource(Model):
    """A function that is given the queries and returns documents with scores: any engine can stand behind it."""

    python: str = Field(description="module:function; modules beside the configuration are found.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="Keyword arguments for the function.")

    @field_validator("python")
    @classmethod
    def _two_parts(cls, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", value):
            raise ValueError("must be module:function")
        return value


class System(Model):
    """One version of a ranker, and where its rankings come from: `file` or `python`."""

    name: str = Field(description="The system's name in every table.", min_length=1, max_length=100)
    version: str | None = Field(None, description="What the name stands for at the moment: a tag, a commit, a date.")
    file: Path | None = Field(None, description="A file of rankings, relative to the configuration.")
    format: FileFormat | None = Field(None, description="The file's format; by default told by its name.")
    columns: dict[str, str] = Field(default_factory=dict, description="Names of columns in the file that differ.")
    python: str | None = Field(None, description="module:function that returns the rankings.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="Keyword arguments for the function.")

    @model_validator(mode="after")
    def _one_place(self) -> "System":
        if (self.file is None) == (self.python is None):
            raise ValueError("needs either file or python, to say where its rankings come from")
        _ = self.source
        return self

    @property
    def source(self) -> FileSource | PythonSource:
        if self.file is not None:
            if self.arguments:
                raise ValueError("arguments go with python, not with file")
            return FileSource(file=self.file, format=self.format, columns=self.columns)
        if self.format or self.columns:
            raise ValueError("format and columns go with file, not with python")
        assert self.python is not None
        return PythonSource(python=self.python, arguments=self.arguments)


class Statistics(Model):
    """How the differences are tested."""

    alpha: float = Field(0.05, gt=0, lt=1, description="Threshold of the adjusted p-value.")
    resamples: int = Field(
        DEFAULT_RESAMPLES, ge=100, le=10_000_000, description="Sign flips of the randomisation test."
    )
    seed: int = Field(DEFAULT_SEED, ge=0, description="Seed of the flips; kept with the results.")


class Tracking(Model):
    """Where MLflow keeps the results."""

    tracking_uri: str | None = Field(
        None, description="MLflow server or store; by default MLFLOW_TRACKING_URI, else SQLite in the output directory."
    )
    experiment: str | None = Field(None, description="Experiment name; by default the evaluation's name.")


class Prefect(Model):
    """Which Prefect server keeps the flow run."""

    api_url: str | None = Field(None, description="Prefect server; by default PREFECT_API_URL, else none is needed.")


class Resources(Model):
    """What DuckDB may use."""

    threads: int | None = Field(None, ge=1, description="Threads; by default every core.")
    memory_limit: str | None = Field(
        None, pattern=r"^\d+(\.\d+)? ?([KMGT]i?B|%)$", description="For example 4GB; by default 80 % of the memory."
    )


def read_source(value: Any) -> Any:
    return {"file": value} if isinstance(value, str | Path) else value


def read_metric(value: Any) -> str:
    if isinstance(value, str):
        return parse(value).name
    if isinstance(value, dict):
        return from_mapping(value).name
    raise ValueError("must be text like ndcg@10 or a mapping with measure and cutoff")


class Evaluation(Model):
    """One question: which of these systems ranks better, by these judgments and metrics?"""

    name: str = Field(description="Names the evaluation, its folder and its MLflow experiment.", pattern=f"^{NAME}$")
    judgments: FileSource = Field(description="The judgments: a file name, or file, format and columns.")
    queries: FileSource | None = Field(None, description="The queries' texts; python sources need them.")
    systems: list[System] = Field(min_length=1, description="The systems compared; the first is the baseline.")
    baseline: str | None = Field(None, description="The system that the others are compared with.")
    metrics: list[str] = Field(
        default=["ndcg@10"], min_length=1, description="Metrics, as ndcg@10 or as a mapping with measure and cutoff."
    )
    statistics: Statistics = Statistics()
    output: Path = Field(Path("ndcg-ab-results"), description="Directory for results, relative to the configuration.")
    mlflow: Tracking = Tracking()
    prefect: Prefect = Prefect()
    resources: Resources = Resources()
    directory: Path = Field(Path(), description="What relative paths start from; set by the file that was read.")

    @field_validator("judgments", "queries", mode="before")
    @classmethod
    def _file_name_alone(cls, value: Any) -> Any:
        return read_source(value)

    @field_validator("metrics", mode="before")
    @classmethod
    def _canonical_metrics(cls, value: Any) -> Any:
        if not isinstance(value, list):
            raise ValueError("must be a list")
        return list(dict.fromkeys(read_metric(metric) for metric in value))

    @model_validator(mode="after")
    def _consistent(self) -> "Evaluation":
        names = [system.name for system in self.systems]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"systems: the name {name!r} is given twice; every system needs its own")
        if self.baseline is not None and self.baseline not in names:
            raise ValueError(f"baseline = {self.baseline!r}: must be one of the systems ({', '.join(names)})")
        if self.queries is None:
            for system in self.systems:
                if system.python is not None:
                    raise ValueError(f"queries: missing; system {system.name!r} is a python source and needs them")
        return self

    @property
    def baseline_name(self) -> str:
        return self.baseline or self.systems[0].name

    @property
    def metric_list(self) -> list[Metric]:
        return [parse(metric) for metric in self.metrics]

    def path(self, given: Path) -> Path:
        return given if given.is_absolute() else self.directory / given

    @property
    def output_directory(self) -> Path:
        return self.path(self.output).resolve()


def read_config(path: Path) -> Evaluation:
    """The evaluation that a YAML file describes; InputError names the key, the value and the rule."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such configuration file")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        raise InputError(f"{path}{line}: is not YAML: {getattr(error, 'problem', None) or error}") from None
    except (UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: must hold keys and values; `configs/example.yaml` shows every key")
    if "directory" in content:
        raise InputError(f"{path}: key 'directory' cannot be set in a file: paths are relative to the file")
    try:
        return Evaluation(**content, directory=path.parent.resolve())
    except ValidationError as error:
        raise InputError("\n".join(f"{path}: {problem}" for problem in problems(error))) from None
    except (MetricError, TypeError) as error:
        raise InputError(f"{path}: {error}") from None


def problems(error: ValidationError) -> Iterator[str]:
    """One sentence for each thing wrong, with the key's path, the value and the rule."""
    for problem in error.errors():
        place = problem["loc"]
        key = dotted(place)
        if problem["type"] == "extra_forbidden":
            near = get_close_matches(str(place[-1]), known_keys(place[:-1]), n=1, cutoff=0.6)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            rule = f"known here: {', '.join(known_keys(place[:-1]))}"
            yield f"key {key!r} is unknown{hint} ({rule})"
        elif problem["type"] == "missing":
            yield f"key {key!r} is missing: it must be given"
        else:
            rule = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
            shown = "" if isinstance(problem["input"], dict | list) or not place else f" = {problem['input']!r}"
            yield f"{key}{shown}: {rule}" if place else rule


def dotted(place: tuple[int | str, ...]) -> str:
    """systems[1].file for ("systems", 1, "file")."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".")


def known_keys(place: tuple[int | str, ...]) -> list[str]:
    """The keys that a mapping at this place of the configuration can have."""
    model: type[BaseModel] = Evaluation
    for part in place:
        if isinstance(part, str) and part in model.model_fields:
            for inner in inner_types(model.model_fields[part].annotation):
                if isinstance(inner, type) and issubclass(inner, BaseModel):
                    model = inner
    return [name for name in model.model_fields if not (model is Evaluation and name == "directory")]


def inner_types(annotation: Any) -> Iterator[Any]:
    yield annotation
    for inner in get_args(annotation):
        yield from inner_types(inner)
