"""Define the options that several commands share (type, metavar, help), and the groups in which commands take them."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, get_origin

import typer

if TYPE_CHECKING:
    from ndcg_ab.config.model.keys import Option


def option(metavar: str | None, text: str, *names: str, default: Any = None, **settings: Any) -> Any:
    """Return a typer option, as the default value of a command's parameter.

    metavar: stands for the value in the help; None for a flag, which is False by default. text: the line of the help.
    names: the names of the option, by default that of the parameter. settings: further arguments of `typer.Option`.
    """
    value = False if metavar is None else default
    return typer.Option(value, *names, metavar=metavar, help=text, **settings)


def argument(metavar: str | None, text: str, *, default: Any = None, **settings: Any) -> Any:
    """Return a typer argument, as the default value of a parameter; default: `...` if the argument is required."""
    return typer.Argument(default, metavar=metavar, help=text, **settings)


# The groups that `--help` shows options in.
of_data = functools.partial(option, rich_help_panel="Data")
of_metrics = functools.partial(option, rich_help_panel="Metrics")
of_statistics = functools.partial(option, rich_help_panel="Statistics")
of_output = functools.partial(option, rich_help_panel="Output")

CONFIG_FILE = argument("CONFIG", "Configuration file (YAML).", default=...)
SETTINGS = option("KEY=VALUE", "Change a key: statistics.alpha=0.01; again for more.", "--set")
QUIET = of_output(None, "Print nothing but errors.", "--quiet", "-q")
JSON_FILE = of_output("FILE", "Write the results as JSON; - prints them instead of tables.")
PICTURE = option("FILE", "Draw what is printed, as SVG.")
SHEET = of_output("FILE", "Write a sheet to judge in, as HTML.")
DETAILS = of_output(None, "Print every table and number.", "--details")
EXPLAIN = of_output(
    None, "Explain the result in plain words: how sure, what could overturn it, what next.", "--explain"
)

# Groups of options, each of a name, as `Option.group` has it, or the name of an option alone; several with the models'
# order of keys are a tuple.
Group = str | tuple[str, ...] | Mapping[str, Any]
FORMS = ("forms", "rankings", "rules")
COMPARED = ("compared", "baseline", "metric", "effects", "queries", "documents", "slices", "weights")
FILES = argument(
    "JUDGMENTS BASELINE CANDIDATE",
    "Judgments, then rankings, the baseline's first; systems are named after the files.",
)
CLUSTER = of_statistics("COLUMN", "Column that groups dependent queries: a conversation, a user.")
TIME = option("TIME", "Time of the evaluation, as 2026-11-20T02:00. (default now)")
ADDED: dict[str, dict[str, Any]] = {  # what a group has beside the keys of models: parameter -> type, option
    "files": {"files": (list[str] | None, FILES)},
    "clusters": {"cluster": (str | None, CLUSTER)},
    "config": {"at": (str | None, TIME), "settings": (list[str] | None, SETTINGS)},
}
C = TypeVar("C", bound=Callable[..., None])


def takes(*groups: Group) -> Callable[[C], C]:
    """Return a decorator that marks a command with groups of options, which `add_options` adds later."""

    def mark(command: C) -> C:
        command.groups = groups  # type: ignore[attr-defined]
        return command

    return mark


@functools.cache
def add_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the options of the groups added before the command's own options."""
    if groups := getattr(command, "groups", ()):
        options = parameter_types(*groups)
        signature = inspect.signature(command)
        parameters = signature.parameters.values()
        own = [each.replace(kind=each.KEYWORD_ONLY) for each in parameters if each.kind is not each.VAR_KEYWORD]
        added = [
            own[0].replace(name=name, default=default, annotation=kind) for name, (kind, default) in options.items()
        ]
        command.__signature__ = signature.replace(parameters=[*added, *own])  # type: ignore[attr-defined]
        command.__annotations__ |= {name: kind for name, (kind, _) in options.items()}
    return command


def parameter_types(*groups: Group) -> dict[str, Any]:
    """Return {parameter: (type, option)} for the options in groups.

    In each group, options that set no configuration key come before those that do.
    """
    from ndcg_ab.config.options.from_options import OPTIONS

    options: dict[str, Any] = {}
    for group in groups:
        if isinstance(group, Mapping):
            options |= group
            continue
        names = (group,) if isinstance(group, str) else group
        for name in names:
            options |= ADDED.get(name, {})
        for option in OPTIONS:
            if option.group and not {option.group, option.parameter}.isdisjoint(names):
                options[option.parameter] = (parameter_type(option), make_option(option))
    return options


def parameter_type(option: "Option") -> Any:
    """Return the type of the command's parameter that sets a configuration key.

    It is a list of texts, a switch, a number or a text; all but a switch may be None.
    """
    from ndcg_ab.config.loading.keys import fields_of
    from ndcg_ab.config.model.keys import inner_types
    from ndcg_ab.config.options import from_options

    *_, field = fields_of(option.key_path)
    *_, reader = inspect.signature(getattr(from_options, option.read)).parameters.values()
    kinds = inner_types(field.annotation) if reader.annotation is Any else [reader.annotation]
    kind = next((each for each in kinds if each in (bool, int, float)), str)
    if get_origin(reader.annotation) is Sequence:
        return list[str] | None
    return bool if kind is bool and (reader.annotation is bool or field.default is False) else kind | None


def make_option(option: "Option") -> Any:
    """Return the typer option that sets a configuration key; unset it is None, or False for a switch.

    Names, group and help text of the option come from the model of the key.
    """
    from ndcg_ab.config.loading.keys import fields_of

    *_, field = fields_of(option.key_path)
    text = option.help or field.description or ""
    if parameter_type(option) == list[str] | None:
        text = f"{text.removesuffix('.')}; again for more."
    elif not option.help and isinstance(field.default, str | int | float) and not isinstance(field.default, bool):
        text += f" (default {field.default})"
    names = (option.also,) if "/" in option.also else filter(None, (option.name, option.also))
    unset = False if parameter_type(option) is bool else None
    return typer.Option(unset, *names, metavar=option.metavar, help=text, rich_help_panel=option.panel)
