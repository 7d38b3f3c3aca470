"""Read a configuration file, and describe each error in one sentence with key, value and rule."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ndcg_ab.config.loading.hints import value_hint
from ndcg_ab.config.loading.keys import key_hint, known_keys, similar_keys
from ndcg_ab.config.loading.layers import read_layers
from ndcg_ab.config.loading.templates import broken_dates
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.operation import RULES_OF_PATTERNS
from ndcg_ab.config.secrets.redaction import find_plain_secrets, remember_plain_secrets
from ndcg_ab.config.walking import KeyPath, dotted_key
from ndcg_ab.errors import InputError, Part, RuleError, Setting, format_value, shorten, write_sentence
from ndcg_ab.files import path_fault, resolve_path

PLAIN_SECRET = (
    "holds what looks like a secret in plain text: name it as {env: NAME}, {file: PATH} or {prefect: BLOCK}, or write"
    " ${NAME} in its place; replace it if it has been in a repository"
)
LONGEST_RULE = 1000  # characters; a rule may quote a value


def read_config(path: Path, settings: Sequence[str] = ()) -> Evaluation:
    """Return the evaluation that a YAML file describes.

    settings: the changes by `--set`, each such as ``statistics.alpha=0.01``. Raises InputError, which names the key and
    the rule, if the configuration is invalid or holds a secret in plain text.
    """
    directory = resolve_path(path.parent)
    if problem := path_fault(str(directory)):
        raise InputError(f"{path}: its folder {format_value(str(directory))} {problem}")
    content, origins = read_layers(path, settings)

    def located(key_path: KeyPath, text: str) -> str:
        """Return a message after the origin of the value at a key path, or of the mapping or list that contains it."""
        ways = (key_path[:length] for length in range(len(key_path), 0, -1))
        return f"{next((origins[way] for way in ways if way in origins), path)}: {text}"

    if plain := dict.fromkeys(key_path for key_path, _ in find_plain_secrets(content)):
        remember_plain_secrets(content)
        raise InputError("\n".join(located(key_path, f"{dotted_key(key_path)}: {PLAIN_SECRET}") for key_path in plain))
    try:
        evaluation = Evaluation.model_validate({**content, "directory": directory})
    except ValidationError as error:
        messages = (located(key_path, write_sentence(parts)) for key_path, parts in problems_by_key(error))
        raise InputError("\n".join(messages)) from None
    for key_path, fault in broken_dates(evaluation):
        raise InputError(located(key_path, f"{dotted_key(key_path)}{fault}"))
    return evaluation


RULES = {  # what pydantic calls it -> the rule in our words
    "string_type": "must be text; put it in quotes",
    "string_unicode": "must be text that UTF-8 can hold",
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), "must be a whole number"),
    "int_parsing_size": "must be a whole number of fewer digits",
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    "finite_number": "must be a number, and finite",
    "path_type": "must be a path",
    **dict.fromkeys(("list_type", "tuple_type"), "must be a list"),
    **dict.fromkeys(("dict_type", "model_type"), "must hold keys and values"),
    "literal_error": "must be {expected}",
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be {le} or less",
    "too_short": "must have at least one entry",
    "too_long": "must have no more than {max_length} entries",
    "string_too_short": "must not be empty",
    "string_too_long": "must not be longer than {max_length} characters",
}


def describe_problems(error: ValidationError, name: Callable[[Setting], str] = str) -> Iterator[str]:
    """Return an iterator of sentences, one for each problem, with the key, the value and the rule.

    name: a function that returns the text by which a sentence names a key.
    """
    return (write_sentence(parts, name) for _, parts in problems_by_key(error))


def problems_by_key(error: ValidationError) -> Iterator[tuple[KeyPath, list[Part]]]:
    """Yield (key path, parts of the sentence) for each problem of a validation error.

    A missing key is left out if an unknown key is probably a misspelling of it.
    """
    misspelt = set()
    for problem in error.errors():
        if problem["type"] == "extra_forbidden":
            misspelt |= {(*problem["loc"][:-1], name) for name in similar_keys(problem["loc"])}
    for problem in error.errors():
        key_path = problem["loc"]
        key = dotted_key(key_path)
        if problem["type"] == "extra_forbidden":
            known = ", ".join(known_keys(key_path[:-1]))
            yield key_path, [f"key {format_value(key)} is unknown{key_hint(key_path)} (known here: {known})"]
        elif problem["type"] == "missing":
            if key_path not in misspelt:
                yield key_path, [f"key {key!r} is missing: it must be given"]
        elif problem["type"] == "invalid_key":
            yield key_path, [f"key {format_value(problem['input'])} is no text: put it in quotes"]
        else:
            rule = [part if isinstance(part, Setting) else shorten(part, LONGEST_RULE) for part in broken_rule(problem)]
            allowed = str(problem.get("ctx", {}).get("expected", ""))
            if problem["type"] == "model_type":
                rule.append(f": {', '.join(known_keys(key_path))}")
            rule.append(shorten(value_hint(key, problem["type"], problem["input"], allowed), LONGEST_RULE))
            if key_path and not isinstance(rule[0], Setting):
                is_long = isinstance(problem["input"], dict | list)
                rule[:0] = [Setting(shorten(key)), ": " if is_long else f" = {format_value(problem['input'])}: "]
            yield key_path, rule


def broken_rule(problem: ErrorDetails) -> tuple[Part, ...]:
    """Return the parts of the sentence about a broken rule.

    If the first part is a Setting, it names the key more precisely than the key path of the problem.
    """
    context = problem.get("ctx", {})
    if isinstance(error := context.get("error"), RuleError):
        return error.parts
    if problem["type"] == "string_pattern_mismatch":
        return (RULES_OF_PATTERNS[context["pattern"]],)
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return (RULES[problem["type"]].format(**context) if problem["type"] in RULES else message,)
