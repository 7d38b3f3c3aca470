"""What the options of `ndcg-ab compare` and the arguments of `ndcg_ab.compare` mean: an evaluation without a file."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ndcg_ab.config.loading.file import describe_problems
from ndcg_ab.config.loading.keys import is_path
from ndcg_ab.config.model.by_metric import FIRST
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.keys import Option, Trait, options_of
from ndcg_ab.config.model.operation import Resources
from ndcg_ab.config.options import option_parsing
from ndcg_ab.config.options.option_parsing import SINGLE_GATES
from ndcg_ab.config.walking import general_key
from ndcg_ab.errors import InputError, Setting

OPTIONS = tuple(sorted(options_of(Evaluation), key=lambda option: "[]" in option.key))  # lists before their entries


def evaluation_from_options(options: Mapping[str, Any], least_systems: int = 1) -> Evaluation:
    """The evaluation that the options describe; InputError names the option.

    options: the values of a command's parameters, by `Option.parameter`; None and "" are not given, others are ignored.
    """
    given = dict(options)
    for option in OPTIONS:
        if given.get(option.parameter) == "" and is_path(option.place, {Trait.INPUT}):  # `--queries "$QUERIES"`
            del given[option.parameter]
    if given.get("scores"):
        refuse_with_scores(given)
    elif (count := len(given.get("system") or ())) < least_systems:
        problem = f"given {count} times; at least {least_systems} systems are needed"
        raise InputError(f"--system: {problem}; add --system NAME=FILE")
    if given.get("gate"):
        given["require"] = given.get("require") or []
    if cluster := given.get("cluster"):
        if given.get("cluster_prefix") is not None:
            raise InputError("--cluster, --cluster-prefix: both name the clusters; take one of the two out")
        if not given.get("queries"):
            raise InputError("--cluster: names a column of the queries; give their file too, with --queries FILE")
        given["queries"] = {"file": given["queries"], "columns": {"cluster": cluster}}
    content: dict[str, Any] = {"name": "compare"}
    for option in OPTIONS:
        value = given.get(option.parameter)
        if value is not None and (value not in ([], ()) or (option.given == "gate" and given.get("gate"))):
            read = getattr(option_parsing, option.read)
            set_key(content, evaluation_key(option, content), read(option.name, value))
    if given.get("cheap_judgments") and "judgments" in content:
        content["cheap_judgments"] = content["judgments"] | {"file": given["cheap_judgments"]}
    return validate_evaluation(one_deciding(content), name_option)


def evaluation_key(option: Option, content: Mapping[str, Any]) -> str:
    """Where an evaluation has the option; formats and columns are those of the scores, where there are some."""
    return option.key.replace("systems[]", "scores[]") if "scores" in content else option.key


def refuse_with_scores(given: Mapping[str, Any]) -> None:
    for option in ("--judgments", "--system"):
        if given.get(option.removeprefix("--")):
            raise InputError(f"{option}: goes with rankings, and --scores hold none: take one of the two out")


def evaluation_from_arguments(arguments: Mapping[str, Any]) -> Evaluation:
    """The evaluation that arguments of the Python API describe, by `Option.given`; InputError names the argument.

    None stands for what is not given.
    """
    content: dict[str, Any] = {"name": "compare"}
    for option in OPTIONS:
        if (value := arguments.get(option.given)) is not None:
            key = evaluation_key(option, content)
            # what replaces a file's name is all that is said of the place: a function that judges
            set_key(content, key.removesuffix(".file") if isinstance(value, dict) else key, value)
    return validate_evaluation(one_deciding(content), name_argument)


def read_resources(options: Mapping[str, Any], otherwise: Resources | None = None) -> Resources:
    """What `--threads`, `--memory-limit` and `--spill` say; otherwise: of what they do not say.

    options: the values of a command's parameters; others are ignored.  InputError names the option.
    """
    given = {name: value for name in Resources.model_fields if (value := options.get(name)) is not None}
    if (spill := given.get("spill")) is not None:
        if not spill.strip():
            raise InputError("--spill is empty: it must be a folder")
        given["spill"] = Path(spill).absolute()  # from where the command was given, not beside a configuration
    try:
        return Resources.model_validate((otherwise or Resources()).model_dump() | given)
    except ValidationError as error:
        said = describe_problems(error, lambda setting: f"--{setting.key.replace('_', '-')}")
        raise InputError("\n".join(said)) from None


def with_resource_options(evaluation: Evaluation, options: Mapping[str, Any]) -> Evaluation:
    """The evaluation of a configuration, with what the options say instead of its `resources`."""
    return evaluation.model_copy(update={"resources": read_resources(options, evaluation.resources)})


def one_deciding(content: dict[str, Any]) -> dict[str, Any]:
    """Of several metrics the first decides, where it is not said which are primary or secondary."""
    several = isinstance(metrics := content.get("metrics"), list) and len(metrics) > 1
    roles = ("primary_metrics", "secondary_metrics")
    return content | ({"primary_metrics": FIRST} if several and not any(map(content.get, roles)) else {})


def validate_evaluation(content: dict[str, Any], name: Callable[[Setting], str] = str) -> Evaluation:
    """The evaluation; name: how an InputError writes a key that it is about."""
    try:
        return Evaluation.model_validate(content)
    except ValidationError as error:
        raise InputError("\n".join(dict.fromkeys(describe_problems(error, name)))) from None


def set_key(content: dict[str, Any], key: str, value: Any) -> None:
    """Sets a dotted key; `[].` sets it in every entry of a list."""
    first, _, rest = key.partition(".")
    if not rest:
        content[first] = value
    elif first.endswith("[]"):
        for entry in content[first[:-2]]:
            set_key(entry, rest, value)
    else:
        set_key(content.setdefault(first, {}), rest, value)


BY_KEY = {key: option for option in reversed(OPTIONS) for key in (option.key, *option.near)}


def name_option(setting: Setting) -> str:
    """A setting as the command has it: ``--alpha``, ``--require judged``, ``--guardrail recall@10=0.02``."""
    option = BY_KEY.get(general_key(setting.key))
    if option is None:
        return str(setting)
    if setting.entry:
        number = "" if setting.number is None else f"={setting.number:g}"
        return f"{option.name} {shlex.quote(setting.entry + number)}"
    return f"{option.name} {part}" if (part := gate_condition(setting, option)) else option.name


def name_argument(setting: Setting) -> str:
    """A setting as the Python API has it: ``alpha``, ``gate["judged"]``, ``guardrails={'recall@10': 0.02}``."""
    option = BY_KEY.get(general_key(setting.key))
    if option is None:
        return str(setting)
    if setting.entry:
        name = repr(setting.entry)
        return f"{option.given}=" + (f"[{name}]" if setting.number is None else f"{{{name}: {setting.number:g}}}")
    return f'{option.given}["{part}"]' if (part := gate_condition(setting, option)) else option.given


def gate_condition(setting: Setting, option: Option) -> str:
    """The one of several conditions in an option that a setting is; empty for another setting."""
    part = setting.key.removeprefix(f"{option.key}.")
    return part if part in SINGLE_GATES else ""
