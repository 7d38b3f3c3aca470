"""Reads a configuration file, and says in one sentence each what is wrong with it: key, value, rule."""

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ndcg_ab.config.hints import value_hint
from ndcg_ab.config.model import MEMORY, NAME, Evaluation
from ndcg_ab.errors import InputError


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
        hint = "; indent with spaces, not with tabs" if "'\\t'" in str(error.problem) else ""
        raise InputError(f"{path}{where}: is not YAML: {error.problem}{hint}") from None
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
            allowed = str(problem.get("ctx", {}).get("expected", ""))
            rule = rule_of(problem) + value_hint(key, problem["type"], problem["input"], allowed)
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
