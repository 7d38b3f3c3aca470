"""What the arguments of `ndcg_ab.compare` mean: an evaluation, with the data that it was given in memory."""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, Union, get_args, get_origin

import pyarrow as pa

from ndcg_ab.api.data import read_argument
from ndcg_ab.config.loading.keys import fields_of
from ndcg_ab.config.model.by_metric import ALL, FIRST
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.sources import InMemoryData
from ndcg_ab.config.model.keys import Option, models_in
from ndcg_ab.config.options.from_options import OPTIONS, evaluation_from_arguments
from ndcg_ab.config.options.positional import distinct_names
from ndcg_ab.errors import InputError, Setting, format_value, write_sentence
from ndcg_ab.sources.tables.in_memory import is_table, python_number, type_name
from ndcg_core.measures.metric import Metric

RANKED = ("judgments", "more_judgments", "cheap_judgments", "systems")  # what rankings are scored by and with
IDS = ("intended", "careful_unseen")  # of queries: a list of them, or a source
OPTIONAL = ("queries", "documents", *IDS)  # sources that need not be given


def is_of(option: Option, kind: type) -> bool:
    """Return whether a key is always a list, or a mapping; places of data, which are models, are neither."""
    *_, field = fields_of(option.place)
    is_union = get_origin(field.annotation) in (Union, UnionType)
    choices = get_args(field.annotation) if is_union else (field.annotation,)
    return kind in {get_origin(each) for each in choices} and float not in choices and not models_in(field.annotation)


LISTS = {option.given for option in OPTIONS if is_of(option, list)}  # one alone may be given without a list
MAPPINGS = {option.given for option in OPTIONS if is_of(option, dict)} | {"gate"}
MAPPINGS |= {f"{name}_columns" for name in ("queries", "documents")}
ARGUMENTS = {"--candidate": "candidates", "--effect": "effects", "--metric": "metrics", "--system": "systems"}


@contextlib.contextmanager
def name_arguments_in_errors() -> Iterator[None]:
    """An InputError of a study names arguments instead of the options of its command."""

    def argument(setting: Setting) -> str:
        return ARGUMENTS.get(setting.key, setting.key.removeprefix("--").replace("-", "_"))

    try:
        yield
    except InputError as error:
        raise type(error)(write_sentence(error.parts, argument)) from error.__cause__


def make_evaluation(arguments: Mapping[str, Any]) -> Evaluation:
    """The evaluation that the arguments describe, None where one is not given; InputError names the argument."""
    if arguments.get("scores") is not None:
        return make_scores_evaluation(arguments)
    plain = {name: as_configured(name, value) for name, value in arguments.items() if name not in RANKED}
    plain["judgments"], judgments = judgments_place("judgments", arguments["judgments"], arguments.get("slices"))
    entries, rankings = systems_entries(arguments["systems"], plain.pop("columns", None), plain.pop("format", None))
    held = {"judgments": judgments}
    held |= add_optional_places(plain)
    for name, given in held.items():
        refuse_for_data(name, given, arguments.get(f"{name}_columns"), arguments.get(f"{name}_format"))
    if arguments.get("cheap_judgments") is not None:
        plain["cheap_judgments"], held["cheap_judgments"] = proxy_judgments_place(arguments)
    more = more_judgments_places(arguments.get("more_judgments"), arguments.get("slices"))
    plain["more_judgments"] = [place if isinstance(place, dict) else {"file": place} for place, _ in more]
    evaluation = evaluation_from_arguments(plain | {"systems": entries})
    attach_data(evaluation, held)
    for place, (_, given) in zip(evaluation.more_judgments, more, strict=True):
        place.hold(given)
    for system, given in zip(evaluation.systems, rankings, strict=True):
        system.hold(given)
    return evaluation


def add_optional_places(plain: dict[str, Any]) -> dict[str, InMemoryData | None]:
    """Puts queries and documents into `plain` as a configuration has them; of each what it was given in memory."""
    held = {}
    for name in OPTIONAL:
        columns = plain.pop(f"{name}_columns", None)
        if name in IDS and isinstance(plain.get(name), list | tuple | set | frozenset):
            plain[name] = table_of_ids(name, plain[name])
        if plain.get(name) is not None:
            file, held[name] = read_argument(name, plain[name])
            plain[name] = {"file": file, "columns": dict(columns or {})}
    return held


def judgments_place(argument: str, data: Any, slices: Any) -> tuple[Any, InMemoryData | None]:
    """The file, or the place of a function that judges, and what was given in memory.

    slices: the columns of queries that it is given, too.
    """
    if not callable(data) or isinstance(data, str | Mapping) or is_table(data):
        return read_argument(argument, data)
    words = [getattr(data, "__module__", None) or "python", getattr(data, "__qualname__", type(data).__name__)]
    module, name = (re.sub(r"\W", "", word.rpartition(".<locals>.")[2].rpartition(".")[2]) for word in words)
    attributes = [slices] if isinstance(slices, str) else list(slices or ())
    return {"python": f"{module or 'python'}:{name or 'function'}", "attributes": attributes}, InMemoryData(
        argument, data
    )


def more_judgments_places(given: Any, slices: Any) -> list[tuple[Any, InMemoryData | None]]:
    """The file of each, and what it was given in memory; one alone may be given without a list."""
    several = given if isinstance(given, list | tuple) else [] if given is None else [given]
    return [judgments_place(f"more_judgments[{at}]", each, slices) for at, each in enumerate(several)]


def table_of_ids(argument: str, ids: Any) -> pa.Table:
    """Ids of queries in memory as a table."""
    for query_id in ids:
        if not isinstance(query_id, str):
            raise InputError(f"{argument}: {format_value(query_id)}: must be the text of a query id")
    if not ids:
        raise InputError(f"{argument}: is empty: at least one query id is needed")
    return pa.table({"query_id": pa.array(ids, pa.string())})


def proxy_judgments_place(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], InMemoryData | None]:
    """The proxy judgments as a configuration has them, with the columns and the format of the judgments."""
    file, given = read_argument("cheap_judgments", arguments["cheap_judgments"])
    place: dict[str, Any] = {"file": file}
    if given is None or not isinstance(given.data, Mapping):
        place["columns"] = dict(arguments.get("judgments_columns") or {})
    if given is None:
        place["format"] = arguments.get("judgments_format")
    return place, given


def attach_data(evaluation: Evaluation, held: Mapping[str, InMemoryData | None]) -> None:
    for name, given in held.items():
        getattr(evaluation, name).hold(given)


def make_scores_evaluation(arguments: Mapping[str, Any]) -> Evaluation:
    """The evaluation of scores that another tool computed; InputError names the argument."""
    for name in ("judgments", "more_judgments", "cheap_judgments", "systems", "documents"):
        if arguments.get(name) is not None:
            raise InputError(f"{name}: goes with rankings, and scores hold none: take one of the two out")
    plain = {name: as_configured(name, value) for name, value in arguments.items() if name not in ("scores", *RANKED)}
    entries, givens = scores_entries(arguments["scores"])
    held = add_optional_places(plain)
    for name, given in held.items():
        refuse_for_data(name, given, arguments.get(f"{name}_columns"), None)
    evaluation = evaluation_from_arguments(plain | {"scores": entries})
    attach_data(evaluation, held)
    for source, given in zip(evaluation.scores, givens, strict=True):
        source.hold(given)
    return evaluation


def scores_entries(scores: Any) -> tuple[list[dict[str, Any]], list[InMemoryData | None]]:
    """The entries of a configuration, and of each what it was given in memory."""
    if not isinstance(scores, Mapping):
        path, given = read_argument("scores", scores)
        return [{"file": path}], [given]
    if not scores:
        raise InputError("scores: is empty: at least one system is needed")
    places = [read_argument(f"scores[{name!r}]", data) for name, data in scores.items()]
    entries = [{"system": name, "file": path} for name, (path, _) in zip(scores, places, strict=True)]
    return entries, [given for _, given in places]


def as_configured(name: str, value: Any) -> Any:
    """An argument as a configuration has it: metrics by their names, lists as lists, Python's own numbers."""
    if name == "primary_metrics" and value in (FIRST, ALL):
        return value
    if name in LISTS and value is not None:
        alone = isinstance(value, str | Metric | Mapping)
        return [metric_text(each) for each in ([value] if alone else list_entries(name, value))]
    if isinstance(value, Mapping) and name in ("guardrails", "smallest_effect"):
        return {metric_text(metric): python_number(number) for metric, number in value.items()}
    if name == "gate" and isinstance(value, bool):
        return {} if value else None
    if name == "gate" and isinstance(value, Mapping):
        return {
            key: as_configured("guardrails", each) if key == "not_worse" else python_number(each)
            for key, each in value.items()
        }
    if name in MAPPINGS and value is not None and not isinstance(value, Mapping):
        raise InputError(f"{name} = {format_value(value)}: must be a mapping")
    return value if name in OPTIONAL else python_number(value)


def list_entries(name: str, value: Any) -> list[Any]:
    try:
        return list(value)
    except TypeError:
        raise InputError(f"{name} = {format_value(value)}: must be one, or a list of them") from None


def metric_text(metric: Any) -> Any:
    return metric.name if isinstance(metric, Metric) else metric


def systems_entries(
    systems: Any, columns: Any, file_format: Any
) -> tuple[list[dict[str, Any]], list[InMemoryData | None]]:
    """The entries of a configuration, and of each what it was given in memory.

    columns are of files and tables, file_format is of files; InputError where one has nothing to be of.
    """
    if not isinstance(systems, Mapping):
        systems = name_paths(systems)
    if not systems:
        raise InputError("systems: is empty: at least one system is needed")
    entries: list[dict[str, Any]] = []
    givens: list[InMemoryData | None] = []
    for name, data in systems.items():
        path, given = read_argument(f"systems[{name!r}]", data)
        entry = {"name": name, "file": path}
        if columns and not (given and isinstance(given.data, Mapping)):
            entry["columns"] = columns
        if file_format and not given:
            entry["format"] = file_format
        entries.append(entry)
        givens.append(given)
    if columns and not any("columns" in entry for entry in entries):
        raise InputError(
            f"columns = {format_value(columns)}: names columns of files and tables, and there is none of them"
        )
    if file_format and not any("format" in entry for entry in entries):
        raise InputError(f"format = {format_value(file_format)}: is of files, and no system is given as one")
    return entries, givens


def name_paths(systems: Any) -> dict[str, str]:
    """The rankings in files by names that the files give them, as those of `ndcg-ab compare`; InputError for others."""
    if not isinstance(systems, list | tuple) or not all(isinstance(each, str | os.PathLike) for each in systems):
        raise InputError(
            f"systems: is of type {type_name(systems)}: must map every system's name to its ranking, or be a list of"
            " paths, whose names the systems get"
        )
    paths = [str(os.fspath(each)) for each in systems]
    return dict(zip(distinct_names(paths), paths, strict=True))


def refuse_for_data(name: str, given: InMemoryData | None, columns: Any, file_format: Any) -> None:
    """Columns of dictionaries, and formats of what is no file."""
    if given and columns and isinstance(given.data, Mapping):
        raise InputError(f"{name}_columns = {format_value(columns)}: names columns of a table, and {name} has none")
    if given and file_format:
        raise InputError(f"{name}_format = {format_value(file_format)}: is of a file, and {name} is none")
