"""Convert the arguments of `ndcg_ab.compare` (paths, tables, dictionaries, lists) into an `Evaluation`."""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, Protocol, Union, get_args, get_origin

import pyarrow as pa

from ndcg_ab.config.loading.keys import fields_of
from ndcg_ab.config.model.by_metric import ALL, FIRST
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.config.model.inputs.connections import ADDRESS, InMemoryFile, in_memory_file, in_memory_function
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.config.model.keys import Option, models_in
from ndcg_ab.config.options.from_options import OPTIONS, evaluation_from_arguments
from ndcg_ab.config.options.positional import distinct_names
from ndcg_ab.errors import InputError, Setting, format_value, write_sentence
from ndcg_ab.sources.tables.in_memory import is_readable, is_table, python_number, to_readable, type_name
from ndcg_core.measures.metric import Metric


class ShownInNotebook:
    """A mixin that makes a notebook display an object as the text that `print` writes."""

    def _repr_html_(self) -> str:
        from ndcg_ab.report.terminal.grid import wrap_preformatted

        return wrap_preformatted(str(self))


class ArrowTable(Protocol):
    """A table with the Arrow PyCapsule interface, such as one of pandas, polars, pyarrow or DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Data = str | os.PathLike[str] | ArrowTable | Mapping[Any, Any] | Sequence[Any]
"""A path, an Arrow table, or nested dictionaries and lists such as ``{query_id: {doc_id: score}}``."""
JudgeFunction = Callable[..., float | None]
"""A function that takes an `ndcg_ab.Query` and an `ndcg_ab.Document` and returns a grade, or None for no grade."""


def read_argument(argument: str, data: Any) -> Path | str:
    """Return the path or address from which the data of a Python argument are read.

    An address such as ``s3://…`` is returned as text. Data in memory are returned as an `InMemoryFile`, a path object
    that carries them. Raise InputError, which names the argument, for data of another type.
    """
    if isinstance(data, InMemoryFile):
        return data
    if isinstance(data, str | os.PathLike):
        return data if isinstance(data, str) and ADDRESS.match(data) else Path(os.fspath(data)).expanduser()
    data = to_readable(argument, data)
    if is_readable(data):
        return in_memory_file(argument, data)
    hint = "; collect() it first" if hasattr(data, "collect") else ""
    problem = "None" if data is None else f"is of type {type_name(data)}"
    raise InputError(
        f"{argument}: {problem}: must be a path, a table of a library that speaks Arrow (pandas, polars, pyarrow,"
        f" DuckDB), a list of objects, or dictionaries such as {{'q1': {{'d1': 1.0}}}}{hint}"
    )


def make_source(argument: str, data: Any) -> FileSource:
    """Return the source that reads a path, an address or data in memory; raise InputError for data of another type."""
    return FileSource(file=read_argument(argument, data))


RANKED = ("judgments", "more_judgments", "cheap_judgments", "systems")  # what rankings are scored by and with
IDS = ("intended", "careful_unseen")  # of queries: a list of them, or a source
OPTIONAL = ("queries", "documents", *IDS)  # sources that need not be given


def accepts(option: Option, kind: type) -> bool:
    """Return whether the value of a configuration key can only be a plain list, or only a plain mapping.

    option: the option of the key. kind: `list` or `dict`. The result is False if the key accepts a number as well, or
    if a model describes the entries.
    """
    *_, field = fields_of(option.key_path)
    is_union = get_origin(field.annotation) in (Union, UnionType)
    choices = get_args(field.annotation) if is_union else (field.annotation,)
    return kind in {get_origin(each) for each in choices} and float not in choices and not models_in(field.annotation)


LISTS = {option.argument_name for option in OPTIONS if accepts(option, list)}  # one alone may be given without a list
MAPPINGS = {option.argument_name for option in OPTIONS if accepts(option, dict)} | {"gate"}
MAPPINGS |= {f"{name}_columns" for name in ("queries", "documents")}
ARGUMENTS = {"--candidate": "candidates", "--effect": "effects", "--metric": "metrics", "--system": "systems"}


@contextlib.contextmanager
def name_arguments_in_errors() -> Iterator[None]:
    """Rewrite each InputError raised in the block so that it names Python arguments instead of command-line options."""

    def argument(setting: Setting) -> str:
        return ARGUMENTS.get(setting.key, setting.key.removeprefix("--").replace("-", "_"))

    try:
        yield
    except InputError as error:
        raise type(error)(write_sentence(error.parts, argument)) from error.__cause__


def make_evaluation(arguments: Mapping[str, Any]) -> Evaluation:
    """Return the evaluation that Python arguments describe; an argument that is None counts as not given.

    Raise InputError, which names the argument, if an argument is invalid or two arguments exclude each other.
    """
    of_scores = arguments.get("scores") is not None
    plain = {name: as_configured(name, value) for name, value in arguments.items() if name not in (*RANKED, "scores")}
    if of_scores:
        for name in (*RANKED, "documents"):
            if arguments.get(name) is not None:
                raise InputError(f"{name}: goes with rankings, and scores hold none: take one of the two out")
        plain["scores"] = scores_entries(arguments["scores"])
    else:
        plain["judgments"] = judgments_entry("judgments", arguments["judgments"], arguments.get("slices"))
        plain["systems"] = systems_entries(arguments["systems"], plain.pop("columns", None), plain.pop("format", None))
        refuse_for_data("judgments", plain["judgments"], arguments)
    for name in OPTIONAL:
        columns = plain.pop(f"{name}_columns", None)
        if name in IDS and isinstance(plain.get(name), list | tuple | set | frozenset):
            plain[name] = table_of_ids(name, plain[name])
        if plain.get(name) is not None:
            file = read_argument(name, plain[name])
            refuse_for_data(name, file, arguments)
            plain[name] = {"file": file, "columns": dict(columns or {})}
    if arguments.get("cheap_judgments") is not None:
        about = (arguments.get(f"judgments_{each}") for each in ("columns", "format"))
        plain["cheap_judgments"] = file_entry("cheap_judgments", arguments["cheap_judgments"], *about)
    more = arguments.get("more_judgments")
    several = more if isinstance(more, list | tuple) else [] if more is None else [more]
    entries = (
        judgments_entry(f"more_judgments[{at}]", each, arguments.get("slices")) for at, each in enumerate(several)
    )
    plain["more_judgments"] = [entry if isinstance(entry, dict) else {"file": entry} for entry in entries]
    return evaluation_from_arguments(plain)


def judgments_entry(argument: str, data: Any, slices: Any) -> Any:
    """Return the configuration entry for judgments that are given as a Python argument.

    The entry is a path, an address or a path object with the data. For a judge function it is a mapping with the keys
    `python` and `attributes`. slices: the columns of the queries to slice by, which the judge function receives as
    attributes. Raise InputError, which names the argument, for data of another type.
    """
    if not callable(data) or isinstance(data, str | Mapping) or is_table(data):
        return read_argument(argument, data)
    words = [getattr(data, "__module__", None) or "python", getattr(data, "__qualname__", type(data).__name__)]
    module, name = (re.sub(r"\W", "", word.rpartition(".<locals>.")[2].rpartition(".")[2]) for word in words)
    function = in_memory_function(f"{module or 'python'}:{name or 'function'}", data)
    return {"python": function, "attributes": [slices] if isinstance(slices, str) else list(slices or ())}


def table_of_ids(argument: str, ids: Any) -> pa.Table:
    """Return query ids as a table; raise InputError if an id is not text or there are no ids."""
    for query_id in ids:
        if not isinstance(query_id, str):
            raise InputError(f"{argument}: {format_value(query_id)}: must be the text of a query id")
    if not ids:
        raise InputError(f"{argument}: is empty: at least one query id is needed")
    return pa.table({"query_id": pa.array(ids, pa.string())})


def file_entry(argument: str, data: Any, columns: Any, file_format: Any) -> dict[str, Any]:
    """Return a dataset as the configuration keys `file`, `columns` and `format`.

    `columns` is left out for dictionaries, and `format` for data that are not a file. Raise InputError, which names the
    argument, if the data are of a type that cannot be read.
    """
    entry: dict[str, Any] = {"file": read_argument(argument, data)}
    if columns and not holds_dictionaries(entry["file"]):
        entry["columns"] = columns
    if file_format and not isinstance(entry["file"], InMemoryFile):
        entry["format"] = file_format
    return entry


def holds_dictionaries(file: Any) -> bool:
    return isinstance(file, InMemoryFile) and isinstance(file.data, Mapping)


def scores_entries(scores: Any) -> list[dict[str, Any]]:
    """Return the configuration entries of per-query scores: one for a table of all systems, or one for each system.

    Raise InputError if a mapping of systems is empty, or if data are of a type that cannot be read.
    """
    if not isinstance(scores, Mapping):
        return [{"file": read_argument("scores", scores)}]
    if not scores:
        raise InputError("scores: is empty: at least one system is needed")
    return [{"system": name, "file": read_argument(f"scores[{name!r}]", data)} for name, data in scores.items()]


def as_configured(name: str, value: Any) -> Any:
    """Return an argument's value in the form of a configuration file.

    Metrics become names, sequences become lists, and numpy numbers become Python numbers. Raise InputError if the value
    must be a list or mapping and is not.
    """
    if name == "primary_metrics" and value in (FIRST, ALL):
        return value
    if name in LISTS and value is not None:
        try:
            return [metric_text(each) for each in ([value] if isinstance(value, str | Metric | Mapping) else value)]
        except TypeError:
            raise InputError(f"{name} = {format_value(value)}: must be one, or a list of them") from None
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


def metric_text(metric: Any) -> Any:
    return metric.name if isinstance(metric, Metric) else metric


def systems_entries(systems: Any, columns: Any, file_format: Any) -> list[dict[str, Any]]:
    """Return the configuration entries of the systems, each with its name, file, columns and format.

    columns: field -> column name, for files and tables. file_format: the format of files. Raise InputError if columns
    or file_format are given and no system can use them.
    """
    if not isinstance(systems, Mapping):
        systems = name_paths(systems)
    if not systems:
        raise InputError("systems: is empty: at least one system is needed")
    entries = [
        {"name": name, **file_entry(f"systems[{name!r}]", data, columns, file_format)} for name, data in systems.items()
    ]
    if columns and not any("columns" in entry for entry in entries):
        raise InputError(
            f"columns = {format_value(columns)}: names columns of files and tables, and there is none of them"
        )
    if file_format and not any("format" in entry for entry in entries):
        raise InputError(f"format = {format_value(file_format)}: is of files, and no system is given as one")
    return entries


def name_paths(systems: Any) -> dict[str, str]:
    """Return {system name: path} for rankings that are given as a list of paths.

    Each system is named after its file. Raise InputError for anything but a list of paths.
    """
    if not isinstance(systems, list | tuple) or not all(isinstance(each, str | os.PathLike) for each in systems):
        raise InputError(
            f"systems: is of type {type_name(systems)}: must map every system's name to its ranking, or be a list of"
            " paths, whose names the systems get"
        )
    paths = [str(os.fspath(each)) for each in systems]
    return dict(zip(distinct_names(paths), paths, strict=True))


def refuse_for_data(name: str, data: Any, arguments: Mapping[str, Any]) -> None:
    """Raise InputError if columns are given for dictionaries, or a file format for data that are not a file."""
    columns, file_format = arguments.get(f"{name}_columns"), arguments.get(f"{name}_format")
    if columns and holds_dictionaries(data):
        raise InputError(f"{name}_columns = {format_value(columns)}: names columns of a table, and {name} has none")
    if file_format and isinstance(data, InMemoryFile | dict):  # a dict describes a judge function
        raise InputError(f"{name}_format = {format_value(file_format)}: is of a file, and {name} is none")
