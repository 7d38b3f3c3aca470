"""What the functions take as judgments, rankings and queries: paths, tables, dictionaries and lists."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ndcg_ab.config.model.inputs.connections import ADDRESS, InMemoryFile, in_memory_file
from ndcg_ab.config.model.inputs.sources import FileSource
from ndcg_ab.errors import InputError
from ndcg_ab.sources.tables.in_memory import is_readable, type_name


class ShownInNotebook:
    """What shows itself in a notebook as `print` writes it."""

    def _repr_html_(self) -> str:
        from ndcg_ab.report.notebook import wrap_preformatted

        return wrap_preformatted(str(self))


class ArrowTable(Protocol):
    """A table of any library that speaks the Arrow PyCapsule interface: pandas, polars, pyarrow, DuckDB and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Data = str | os.PathLike[str] | ArrowTable | Mapping[Any, Any] | Sequence[Any]
"""A file's path, a table, or dictionaries and lists as a JSON file holds them: ``{query_id: {doc_id: score}}``."""
JudgeFunction = Callable[..., float | None]
"""A function that is given an `ndcg_ab.Query` and an `ndcg_ab.Document`, and returns a grade."""


def read_argument(argument: str, data: Any) -> Path | str:
    """Return the path or address to read, or a path that stands for data in memory; raise InputError for others."""
    if isinstance(data, InMemoryFile):
        return data
    if isinstance(data, str | os.PathLike):
        return data if isinstance(data, str) and ADDRESS.match(data) else Path(os.fspath(data)).expanduser()
    if is_readable(data):
        return in_memory_file(argument, data)
    hint = "; its to_dict() gives such" if hasattr(data, "to_dict") else ""
    if hasattr(data, "collect"):
        hint = "; collect() it first"
    what = "None" if data is None else f"is of type {type_name(data)}"
    raise InputError(
        f"{argument}: {what}: must be a path, a table of a library that speaks Arrow (pandas, polars, pyarrow,"
        f" DuckDB), a list of objects, or dictionaries such as {{'q1': {{'d1': 1.0}}}}{hint}"
    )


def make_source(argument: str, data: Any) -> FileSource:
    """Return the source of a path, an address or data in memory; raise InputError for others."""
    return FileSource(file=read_argument(argument, data))
