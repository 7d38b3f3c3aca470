"""Convert the options of `ndcg-ab compare` and the arguments of `ndcg_ab.compare` into an evaluation."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ndcg_ab.config.loading.file import describe_problems
from ndcg_ab.config.loading.keys import is_path
from ndcg_ab.config.model.by_metric import ALL, FIRST
from ndcg_ab.config.model.costs import OF_A_COST
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.keys import Option, Trait, options_of
from ndcg_ab.config.model.operation import Resources
from ndcg_ab.config.model.settings import GATE_NUMBERS
from ndcg_ab.config.walking import general_key
from ndcg_ab.errors import InputError, Setting
from ndcg_ab.finding_codes import CODES
from ndcg_ab.visible import is_number
from ndcg_core.measures.notation import split_metrics

OPTIONS = tuple(sorted(options_of(Evaluation), key=lambda option: "[]" in option.key))  # lists before their entries


def evaluation_from_options(options: Mapping[str, Any], least_systems: int = 1) -> Evaluation:
    """Return the evaluation that command-line options describe.

    options: parameter name of a command (`Option.parameter`) -> value. None and empty lists count as not given, and so
        does an empty text for an input file. Unknown parameters are ignored.
    least_systems: the smallest number of systems that is accepted, unless scores are given.
    Raises InputError, which names the option, for an invalid value.
    """
    values = dict(options)
    for option in OPTIONS:
        if values.get(option.parameter) == "" and is_path(option.key_path, {Trait.INPUT}):  # `--queries "$QUERIES"`
            del values[option.parameter]
    if values.get("scores"):
        for name in ("judgments", "system"):
            if values.get(name):
                raise InputError(f"--{name}: goes with rankings, and --scores hold none: take one of the two out")
    elif len(systems := values.get("system") or ()) < least_systems:
        files = {str(file) for _, file, *_ in systems}
        is_positional = any(str(text).endswith(tuple(files)) for text in values.get("files") or ())
        known = f"{', '.join(files)}: is the only ranking" if is_positional else f"--system: {len(systems)} given"
        missing = "a second FILE" if is_positional else "--system NAME=FILE"
        raise InputError(f"{known}; at least {least_systems} systems are needed; add {missing}")
    if values.get("gate"):
        values["require"] = values.get("require") or []
    if cluster := values.get("cluster"):
        if values.get("cluster_prefix") is not None:
            raise InputError("--cluster, --cluster-prefix: both name the clusters; take one of the two out")
        if not values.get("queries"):
            raise InputError("--cluster: names a column of the queries; give their file too, with --queries FILE")
        values["queries"] = {"file": values["queries"], "columns": {"cluster": cluster}}
    content: dict[str, Any] = {"name": "compare"}
    for option in OPTIONS:
        value = values.get(option.parameter)
        if value is not None and (value not in ([], ()) or (option.argument_name == "gate" and values.get("gate"))):
            set_option(content, option, globals()[option.read](option.name, value))
    if values.get("cheap_judgments") and "judgments" in content:
        content["cheap_judgments"] = content["judgments"] | {"file": values["cheap_judgments"]}
    return validate_evaluation(make_first_metric_primary(content), name_option)


def evaluation_from_arguments(arguments: Mapping[str, Any]) -> Evaluation:
    """Return the evaluation that Python arguments describe.

    arguments: name (`Option.argument_name`) -> value; None counts as not given.
    Raises InputError, which names the argument, for an invalid value.
    """
    content: dict[str, Any] = {"name": "compare"}
    for option in OPTIONS:
        if (value := arguments.get(option.argument_name)) is not None:
            set_option(content, option, value)
    return validate_evaluation(make_first_metric_primary(content), name_argument)


def read_resources(options: Mapping[str, Any], otherwise: Resources | None = None) -> Resources:
    """Return the limits that the options `--threads`, `--memory-limit` and `--spill` set.

    options: parameter name -> value; other parameters are ignored.
    otherwise: the limits that apply if an option is missing; None for the default limits.
    Raises InputError, which names the option, for an invalid value.
    """
    overrides = {name: value for name in Resources.model_fields if (value := options.get(name)) is not None}
    if (spill := overrides.get("spill")) is not None:
        if not spill.strip():
            raise InputError("--spill is empty: it must be a folder")
        overrides["spill"] = Path(spill).absolute()  # from where the command was given, not beside a configuration
    try:
        return Resources.model_validate((otherwise or Resources()).model_dump() | overrides)
    except ValidationError as error:
        messages = describe_problems(error, lambda setting: f"--{setting.key.replace('_', '-')}")
        raise InputError("\n".join(messages)) from None


def with_resource_options(evaluation: Evaluation, options: Mapping[str, Any]) -> Evaluation:
    """Return the evaluation with its `resources` overridden by the options of a command.

    Raises InputError, which names the option, for an invalid value.
    """
    return evaluation.model_copy(update={"resources": read_resources(options, evaluation.resources)})


def make_first_metric_primary(content: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration with its first metric as the only primary metric.

    The configuration is returned unchanged if it has at most one metric, or if it names primary or secondary metrics.
    """
    several = isinstance(metrics := content.get("metrics"), list) and len(metrics) > 1
    roles = ("primary_metrics", "secondary_metrics")
    return content | ({"primary_metrics": FIRST} if several and not any(map(content.get, roles)) else {})


def validate_evaluation(content: dict[str, Any], name: Callable[[Setting], str] = str) -> Evaluation:
    """Return the evaluation that a configuration describes.

    name: a function that returns the text for a setting in messages, such as its option; by default the key.
    Raises InputError, with one line per fault, if the configuration is invalid.
    """
    try:
        return Evaluation.model_validate(content)
    except ValidationError as error:
        raise InputError("\n".join(dict.fromkeys(describe_problems(error, name)))) from None


def set_option(content: dict[str, Any], option: Option, value: Any) -> None:
    """Set the value of an option's key in a configuration, which is changed in place.

    If the configuration has scores, ``scores[]`` replaces ``systems[]`` in the key. A mapping in the place of a file's
    name is the whole entry, such as a judge function.
    """
    key = option.key.replace("systems[]", "scores[]") if "scores" in content else option.key
    set_key(content, key.removesuffix(".file") if isinstance(value, dict) else key, value)


def set_key(content: dict[str, Any], key: str, value: Any) -> None:
    """Set the value of a dotted key in a nested configuration, which is changed in place.

    Missing mappings are created. With a key such as ``systems[].format``, the value is set in every entry of the list.
    """
    first, _, rest = key.partition(".")
    if not rest:
        content[first] = value
    elif first.endswith("[]"):
        for entry in content[first[:-2]]:
            set_key(entry, rest, value)
    else:
        set_key(content.setdefault(first, {}), rest, value)


BY_KEY = {key: option for option in reversed(OPTIONS) for key in option.keys}


def name_option(setting: Setting) -> str:
    """Return the option of a setting, such as ``--alpha``, ``--require judged`` or ``--guardrail recall@10=0.02``.

    A setting without an option is named by its key.
    """
    option = BY_KEY.get(general_key(setting.key))
    if option is None:
        return str(setting)
    if setting.entry:
        number = "" if setting.number is None else f"={setting.number:g}"
        return f"{option.name} {shlex.quote(setting.entry + number)}"
    return f"{option.name} {part}" if (part := gate_condition(setting, option)) else option.name


def name_argument(setting: Setting) -> str:
    """Return the Python argument of a setting, such as ``alpha``, ``gate["judged"]`` or ``metrics=['p@5']``.

    A setting without an argument is named by its key.
    """
    option = BY_KEY.get(general_key(setting.key))
    if option is None:
        return str(setting)
    if setting.entry:
        name = repr(setting.entry)
        return f"{option.argument_name}=" + (
            f"[{name}]" if setting.number is None else f"{{{name}: {setting.number:g}}}"
        )
    return f'{option.argument_name}["{part}"]' if (part := gate_condition(setting, option)) else option.argument_name


def gate_condition(setting: Setting, option: Option) -> str:
    """Return the name of the gate condition that a setting is about, or "" if it is about none.

    Only conditions with a single number have a name here, such as ``judged``.
    """
    part = setting.key.removeprefix(f"{option.key}.")
    return part if part in GATE_NUMBERS else ""


def parse_system(text: str) -> tuple[str, str]:
    """Return the name and the file in a text NAME=FILE; raise InputError for any other text."""
    name, equals, file = text.partition("=")
    if not equals or not name or not file:
        raise InputError(f"--system {text!r}: must be NAME=FILE, such as new=runs/new.run.gz")
    return name, file


def parse_systems(_option: str, systems: Sequence[tuple[Any, ...] | str]) -> list[dict[str, Any]]:
    """Return the configuration entries of systems, with the keys `name`, `file` and `parts` as far as given.

    systems: for each system a tuple (name, file) or (name, file, parts), or a text NAME=FILE. `parts` tells whether
        several files form one table.
    _option: has no effect; all functions that `Option.read` can name take it.
    Raises InputError for any other text.
    """
    pairs = (parse_system(each) if isinstance(each, str) else each for each in systems)
    return [dict(zip(("name", "file", "parts"), each, strict=False)) for each in pairs]


def parse_scores(_option: str, texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return the configuration entries of files of scores, with the key `file`, and `system` if it is named.

    texts: FILE or NAME=FILE. The name of an existing file counts as FILE, even if it contains a `=`.
    _option: has no effect; all functions that `Option.read` can name take it.
    """
    entries = []
    for text in texts:
        name, equals, file = text.partition("=")
        is_named = bool(equals and name and file) and not Path(text).exists()
        entries.append({"system": name, "file": file} if is_named else {"file": text})
    return entries


def parse_pairs(option: str, texts: Sequence[str], rule: str, typed_text: str = "") -> dict[str, str]:
    """Return the mapping left -> right of texts ``LEFT=RIGHT``.

    option: the name of the option, for messages.
    rule: the rule for the texts, for messages.
    typed_text: the user's whole input, for messages; if empty, the faulty text is shown.
    Raises InputError if a text has no ``=``, if one of its sides is empty, or if a left side is repeated.
    """
    pairs: dict[str, str] = {}
    for text in texts:
        left, equals, right = map(str.strip, text.partition("="))
        if not equals or not left or not right:
            raise InputError(f"{option} {typed_text or text!r}: {rule}")
        if left in pairs:
            raise InputError(f"{option} {typed_text or text!r}: {left} is named twice")
        pairs[left] = right
    return pairs


def parse_columns(option: str, text: str | None) -> dict[str, str]:
    """Return the mapping field -> column of a text such as ``query_id=qid,doc_id=url``.

    The mapping is empty for None. Raises InputError, which names the option, for an invalid text.
    """
    parts = [part for part in (text or "").split(",") if part.strip()]
    return parse_pairs(option, parts, "must be FIELD=COLUMN, with commas between", text or "")


def parse_grades(option: str, text: str) -> dict[str, float]:
    """Return the mapping word -> number of a text such as ``E=3,S=2``; raise InputError for any other text."""
    rule = "must be WORD=NUMBER, with commas between, such as E=3,S=2,C=1,I=0"
    numbers = parse_pairs(option, text.split(","), rule, text)
    if not all(map(is_number, numbers.values())):
        raise InputError(f"{option} {text!r}: {rule}")
    return {word: float(number) for word, number in numbers.items()}


def parse_number(_option: str, text: str) -> Any:
    """Return the number that a text holds; any other text unchanged, which the model refuses with a proposal."""
    if re.fullmatch("[+-]?[0-9]+", text):
        return int(text)
    return float(text) if is_number(text) else text


def parse_margins(option: str, texts: Sequence[str]) -> dict[str, Any]:
    """Return the mapping metric -> number of texts ``METRIC=D``, each split at the last ``=``.

    A cost statistic may stand in the place of a metric. Raises InputError for a text of another form, and for a
    repeated metric.
    """
    margins: dict[str, Any] = {}
    for text in texts:
        metric, _, number = text.rpartition("=")
        if not metric or ")" in number:
            name = text.strip("= ")
            kind, example = ("COST@STATISTIC", 20) if OF_A_COST.fullmatch(name) else ("METRIC", 0.01)
            such = "such as recall@100=0.01" if is_number(text) else f"say {option} {name}={example}"
            raise InputError(f"{option} {text!r}: must be {kind}=DIFFERENCE; {such} for a difference of {example}")
        margins[metric] = parse_number(option, number)
    if len(margins) < len(texts):
        raise InputError(f"{option}: a metric is named twice in {', '.join(texts)}")
    return margins


def parse_smallest_effect(option: str, texts: Sequence[str]) -> Any:
    """Return one number for all metrics, or a mapping metric -> number; an empty mapping for an empty sequence.

    texts: one number alone, such as ``0.01``, or any number of texts ``METRIC=D``.
    Raises InputError for a mixture of both, and for a metric that is named twice.
    """
    if len(texts) == 1 and "=" not in re.sub(r"\(.*\)", "", texts[0]):
        return parse_number(option, texts[0])
    return parse_margins(option, texts)


def parse_gate(option: str, texts: Sequence[str]) -> dict[str, Any]:
    """Return the keys of the configuration's gate for conditions such as ``proof``, ``judged=0.8`` or ``METRIC=D``.

    The conditions ``METRIC=D`` become the mapping `not_worse`. Raises InputError for an invalid condition.
    """
    conditions: dict[str, Any] = {PROOF: True} if PROOF in texts else {}
    margins = []
    for text in texts:
        key, _, number = text.partition("=")
        if key in GATE_NUMBERS and not number:
            raise InputError(f"{option} {text!r}: must be {key}=NUMBER")
        if key in GATE_NUMBERS:
            conditions[key] = parse_number(option, number)
        elif text != PROOF:
            margins.append(text)
    return conditions | ({"not_worse": parse_margins(option, margins)} if margins else {})


def parse_severities(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Return the mapping code -> severity of texts such as ``few_judged=ignore``.

    Raises InputError for a text of another form. It is not checked that codes and severities exist.
    """
    known = next((f"{text}=ignore" for text in texts if text in CODES), "few_judged=ignore")
    return parse_pairs(option, texts, f"must be CODE=SEVERITY; such as {known}")


def parse_metrics(option: str, texts: Sequence[str]) -> list[str]:
    for text in texts:
        if len(several := split_metrics(text)) > 1:
            each = " ".join(f"{option} {shlex.quote(metric)}" for metric in several)
            raise InputError(f"{option} {text!r}: names {len(several)} metrics; give each by itself: {each}")
    return list(texts)


def parse_primary(option: str, texts: Sequence[str]) -> list[str] | str:
    """Return the primary metrics as a list, or ``all`` or ``first`` if that is the only text.

    Raises InputError if one text names several metrics.
    """
    return texts[0] if list(texts) in ([ALL], [FIRST]) else parse_metrics(option, texts)


PROOF = "proof"  # guardrails must be shown to hold


def as_given(_option: str, value: Any) -> Any:
    return value


def as_list(_option: str, values: Sequence[str]) -> list[str]:
    return list(values)


def negate(_option: str, value: bool) -> bool | None:
    """Return False if a flag such as ``--unweighted`` is set, and None if it is not set.

    _option: has no effect; all functions that `Option.read` can name take it.
    """
    return False if value else None
