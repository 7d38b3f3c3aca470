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
from pydantic_core import ErrorDetails

from flows.errors import InputError
from ndcg_core.metric import Metric, from_mapping, parse
from ndcg_core.signflip import DEFAULT_RESAMPLES, DEFAULT_SEED

FileFormat = Literal["trec", "csv", "tsv", "jsonl", "parquet"]
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
MEMORY = r"^((0\.0*)?[1-9][0-9]*(\.[0-9]+)? ?[KMGT]i?B|([1-9][0-9]?|100) ?%)$"


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

    alpha: float = Field(0.05, strict=True, gt=0, lt=1, description="Threshold of the adjusted p-value.")
    resamples: int = Field(
        DEFAULT_RESAMPLES, strict=True, ge=100, le=10_000_000, description="Sign flips of the randomisation test."
    )
    seed: int = Field(DEFAULT_SEED, strict=True, ge=0, description="Seed of the flips; kept with the results.")


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

    threads: int | None = Field(None, strict=True, ge=1, description="Threads; by default every core.")
    memory_limit: str | None = Field(
        None, pattern=MEMORY, description="For example 4GB; by default 80 % of the memory."
    )


def read_source(value: Any) -> Any:
    return {"file": value} if isinstance(value, str | Path) else value


def read_metric(value: Any) -> str:
    if isinstance(value, str):
        return parse(value).name
    if isinstance(value, dict):
        return from_mapping(value).name
    raise ValueError(f"{value!r}: must be text like ndcg@10 or a mapping with measure and cutoff")


class Evaluation(Model):
    """One question: which of these systems ranks better, by these judgments and metrics?"""

    name: str = Field(description="Names the evaluation, its folder and its MLflow experiment.", pattern=NAME)
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
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: must hold keys and values; `configs/example.yaml` shows every key")
    if "directory" in content:
        raise InputError(f"{path}: key 'directory' cannot be set in a file: paths are relative to the file")
    try:
        return Evaluation.model_validate({**content, "directory": path.parent.resolve()})
    except ValidationError as error:
        raise InputError("\n".join(f"{path}: {problem}" for problem in problems(error))) from None


class Loader(yaml.SafeLoader):
    """YAML in which a key stands once and a date is text: `version: 2026-11-20` needs no quotes."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        first = {key.value: key for key in reversed(keys)}
        for key in keys:
            if key is not first[key.value]:
                raise yaml.MarkedYAMLError(problem=f"key {key.value!r} is given twice", problem_mark=key.start_mark)
        return super().construct_mapping(node, deep)


Loader.yaml_implicit_resolvers = {
    first: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:timestamp"]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path) -> Any:
    """What stands in a YAML file; InputError names the line of what is wrong."""
    text = read_text(path)
    try:
        return yaml.load(text, Loader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InputError(f"{path}, line {line}: is not YAML: {text[error.position]!r} cannot stand there") from None
    except yaml.MarkedYAMLError as error:
        where = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError(f"{path}{where}: is not YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{path}: is not YAML: {' '.join(str(error).split())}") from None


def read_text(path: Path) -> str:
    try:
        content = path.read_bytes()
        return content.decode()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    except UnicodeDecodeError as error:
        line, bad = content.count(b"\n", 0, error.start) + 1, content[error.start : error.start + 1]
        raise InputError(f"{path}, line {line}: byte {bad!r} is not UTF-8 text: convert the file to UTF-8") from None


RULES = {  # what pydantic calls it -> the rule in our words
    "string_type": "must be text; put it in quotes",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "path_type": "must be a path",
    "list_type": "must be a list",
    "dict_type": "must hold keys and values",
    "model_type": "must hold keys and values",
    "literal_error": "must be {expected}",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be {le} or less",
    "too_short": "must have at least one entry",
    "string_too_short": "must not be empty",
    "string_too_long": "must not be longer than {max_length} characters",
}
PATTERNS = {
    NAME: "must be letters, digits, '.', '_' and '-' only, the first a letter or a digit",
    MEMORY: "must be a size such as 4GB or 512MiB, or a share such as 50%",
}


def problems(error: ValidationError) -> Iterator[str]:
    """One sentence for each thing wrong, with the key's path, the value and the rule."""
    misspelt = set()
    for problem in error.errors():
        if problem["type"] == "extra_forbidden":
            misspelt |= {(*problem["loc"][:-1], name) for name in near_keys(problem["loc"])}
    for problem in error.errors():
        place = problem["loc"]
        key = dotted(place)
        if problem["type"] == "extra_forbidden":
            hint = "".join(f"; did you mean {name!r}?" for name in near_keys(place))
            yield f"key {key!r} is unknown{hint} (known here: {', '.join(known_keys(place[:-1]))})"
        elif problem["type"] == "missing":
            if place not in misspelt:
                yield f"key {key!r} is missing: it must be given"
        elif problem["type"] == "invalid_key":
            yield f"key {problem['input']!r} is no text: put it in quotes"
        else:
            rule = rule_of(problem)
            shown = "" if isinstance(problem["input"], dict | list) or not place else f" = {problem['input']!r}"
            yield f"{key}{shown}: {rule}" if place else rule


def rule_of(problem: ErrorDetails) -> str:
    context = problem.get("ctx", {})
    if problem["type"] == "string_pattern_mismatch":
        return PATTERNS[context["pattern"]]
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return RULES[problem["type"]].format(**context) if problem["type"] in RULES else message


def dotted(place: tuple[int | str, ...]) -> str:
    """systems[1].file for ("systems", 1, "file")."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".")


def near_keys(place: tuple[int | str, ...]) -> list[str]:
    """The known key that an unknown one is most like, if any is."""
    return get_close_matches(str(place[-1]), known_keys(place[:-1]), n=1, cutoff=0.6)


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
