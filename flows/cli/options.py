"""The options that several commands have: type, name of the value, help; and the groups that commands take."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer

from ndcg_ab.config.loading.keys import fields_of
from ndcg_ab.config.model.keys import Option, inner_types
from ndcg_ab.config.options import option_parsing
from ndcg_ab.config.options.from_options import OPTIONS

# The groups that `--help` shows them in.
of_data = partial(typer.Option, rich_help_panel="Data")
of_metrics = partial(typer.Option, rich_help_panel="Metrics")
of_statistics = partial(typer.Option, rich_help_panel="Statistics")
of_output = partial(typer.Option, rich_help_panel="Output")


def made_by(option: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes the type of an option of a group: in_data(str | None, metavar=…, help=…)."""
    return lambda kind, *names, **settings: Annotated[kind, option(*names, **settings)]


in_data, in_statistics = made_by(of_data), made_by(of_statistics)

ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG", help="Configuration file (YAML).")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key: statistics.alpha=0.01; again for more."),
]
At = Annotated[
    str | None, typer.Option(metavar="TIME", help="Time of the evaluation, as 2026-11-20T02:00. (default now)")
]
Quiet = Annotated[bool, of_output("--quiet", "-q", help="Print nothing but errors.")]
JsonFile = Annotated[
    str | None,
    of_output(metavar="FILE", help="Write the results as JSON; - prints them instead of tables."),
]
Details = Annotated[
    bool,
    of_output("--details", help="Print every table and number."),
]
Explain = Annotated[
    bool,
    of_output("--explain", help="Explain the result in plain words: how sure, what could overturn it, what next."),
]


def type_of(option: Option) -> Any:
    """Return the type of what a command is given for a key: a list, a switch, a number or a text."""
    *_, field = fields_of(option.place)
    *_, reader = inspect.signature(getattr(option_parsing, option.read)).parameters.values()
    kinds = inner_types(field.annotation) if reader.annotation is Any else [reader.annotation]
    kind = next((each for each in kinds if each in (bool, int, float)), str)
    if get_origin(reader.annotation) is Sequence:
        return list[str] | None
    return bool if kind is bool and (reader.annotation is bool or field.default is False) else kind | None


def make_option(option: Option) -> Any:
    """Return the option of a key, as typer has it: names, group and sentence of help, as the key's model says."""
    *_, field = fields_of(option.place)
    text = option.help or field.description or ""
    if type_of(option) == list[str] | None:
        text = f"{text.removesuffix('.')}; again for more."
    elif not option.help and isinstance(field.default, str | int | float) and not isinstance(field.default, bool):
        text += f" (default {field.default})"
    names = (option.also,) if "/" in option.also else filter(None, (option.name, option.also))
    return typer.Option(*names, metavar=option.metavar, help=text, rich_help_panel=option.panel)


MADE = {option.parameter: make_option(option) for option in OPTIONS if option.group}
OF_KEYS = {option.parameter: Annotated[type_of(option), MADE[option.parameter]] for option in OPTIONS if option.group}

JudgmentsFile = Annotated[str | None, MADE["judgments"]]
SystemFiles = Annotated[list[str] | None, MADE["system"]]
MetricNames = Annotated[list[str] | None, MADE["metric"]]
FindingSeverities = Annotated[list[str] | None, MADE["finding"]]
Strict = Annotated[bool, MADE["strict"]]
JudgmentsGrades = Annotated[str | None, MADE["grades"]]
ClusterPrefix = Annotated[str | None, MADE["cluster_prefix"]]


def of_groups(*groups: str) -> dict[str, Any]:
    """Return the options of the keys whose models name one of the groups."""
    return {option.parameter: OF_KEYS[option.parameter] for option in OPTIONS if option.group in groups}


# What a command that takes a group finds in its `**options`.
FILES: dict[str, Any] = {
    "files": Annotated[
        list[str] | None,
        typer.Argument(
            metavar="JUDGMENTS BASELINE CANDIDATE",
            help="Judgments, then rankings, the baseline's first; systems are named after the files.",
        ),
    ],
    **of_groups("files"),
}
JUDGES = of_groups("judges")
RANKINGS_FORM = of_groups("rankings")
DOCUMENT_RULES = of_groups("rules")
FORMS = of_groups("forms", "rankings", "rules")
TESTS = of_groups("tests")
CLUSTERS: dict[str, Any] = {
    "cluster": in_statistics(
        str | None, metavar="COLUMN", help="Column that groups dependent queries: a conversation, a user."
    ),
    **of_groups("clusters"),
}
RESOURCES = of_groups("resources")
OF_CONFIG: dict[str, Any] = {"at": At, "settings": Settings}
COMPARED = of_groups("compared", "baseline", "metric", "effects", "queries", "documents", "slices", "weights")


def takes(*groups: Mapping[str, Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds groups of options, without defaults, to a command, before its own."""
    options = {name: kind for group in groups for name, kind in group.items()}

    def add(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        parameters = signature.parameters.values()
        own = [each.replace(kind=each.KEYWORD_ONLY) for each in parameters if each.kind is not each.VAR_KEYWORD]
        added = [
            own[0].replace(name=name, default=False if get_args(kind)[0] is bool else None, annotation=kind)
            for name, kind in options.items()
        ]
        command.__signature__ = signature.replace(parameters=[*added, *own])  # type: ignore[attr-defined]
        command.__annotations__ |= options
        return command

    return add
