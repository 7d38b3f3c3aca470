"""A Python function as a source: it is given the queries, and returns documents with scores.

    def search(queries: Mapping[str, str], **arguments) -> Mapping[str, Iterable[tuple[str, float]]]

`queries` maps query_id to text.  The result maps query_id to (doc_id, score) pairs in any order; a query
that finds nothing may be left out.  Any search engine can be pulled from this way.
An OSError that the function raises (ConnectionError, TimeoutError, …) may pass: the flow tries again.
"""

import importlib
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import pyarrow as pa

from ndcg_ab.config.sources import PythonSource
from ndcg_ab.config.values import filled_everywhere
from ndcg_ab.errors import InputError, SilentError
from ndcg_ab.sources.base import Source
from ndcg_ab.sources.schema import Layout, shown

# Trouble with files does not pass by itself; every other OSError (ConnectionError, TimeoutError, …) may.
FILES = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


def load_function(name: str, directory: Path) -> Callable[..., Any]:
    """The function that ``module:function`` names; modules in `directory` are found first."""
    module_name, _, function_name = name.partition(":")
    sys.path.insert(0, str(directory))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name.partition(".")[0]:
            raise InputError(f"python = {name!r}: importing it failed: {in_one_line(error)}") from error
        raise InputError(f"python = {name!r}: there is no module {error.name!r} in {directory} or installed") from None
    except (Exception, SystemExit) as error:
        raise InputError(f"python = {name!r}: importing it failed: {in_one_line(error)}") from error
    finally:
        sys.path.remove(str(directory))
    function = getattr(module, function_name, None)
    if not callable(function):
        raise InputError(f"python = {name!r}: module {module_name!r} has no function {function_name!r}")
    return function  # type: ignore[no-any-return]


def in_one_line(error: BaseException) -> str:
    """KeyError: 'title'"""
    return " ".join(f"{type(error).__name__}: {error}".split())


class Function(Source):
    """A function of the user's, found beside the configuration or installed."""

    def __init__(self, described: PythonSource, directory: Path) -> None:
        self.origin = described.python
        self.arguments = described.arguments
        self.directory = directory

    def pull(self, layout: Layout, queries: Mapping[str, str]) -> pa.Table:
        """The ranking that the function returns; raises InputError when it fails or returns something else."""
        function = load_function(self.origin, self.directory)
        arguments = filled_everywhere(self.arguments, f"python = {self.origin!r}, arguments")
        try:
            rows = checked_rows(self.origin, function(dict(queries), **arguments))
        except InputError:
            raise
        except (Exception, SystemExit) as error:
            kind = SilentError if isinstance(error, OSError) and not isinstance(error, FILES) else InputError
            raise kind(f"python = {self.origin!r} failed: {in_one_line(error)}") from error
        if not rows:
            raise InputError(f"python = {self.origin!r} returned no document for any of {len(queries)} queries")
        query_ids, doc_ids, scores = zip(*rows, strict=True)
        ranks = pa.nulls(len(rows), pa.int64())
        return pa.table([query_ids, doc_ids, scores, ranks], schema=layout.schema)


def checked_rows(name: str, found: Any) -> list[tuple[str, str, float]]:
    """(query_id, doc_id, score) of all that a function returned; it may still be at work on the results."""
    if not isinstance(found, Mapping):
        raise InputError(f"python = {name!r} returned {type(found).__name__}: must map query_id to results")
    return [
        (query_id, doc_id, score)
        for query_id, results in found.items()
        for doc_id, score in checked_results(name, query_id, results)
    ]


def checked_results(name: str, query_id: Any, results: Iterable[Any]) -> Iterable[tuple[str, float]]:
    where = f"python = {name!r}, query {shown(query_id)}"
    if not is_text(query_id):
        raise InputError(f"{where}: the query_id must be text that is not empty")
    if not isinstance(results, Iterable) or isinstance(results, str | Mapping):
        raise InputError(f"{where}: {shown(results)}: the results must be pairs (doc_id, score)")
    for result in results:
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise InputError(f"{where}: {shown(result)}: every result must be a pair (doc_id, score)")
        doc_id, score = result
        if not is_text(doc_id):
            raise InputError(f"{where}: doc_id = {shown(doc_id)}: must be text that is not empty")
        if not is_finite(score):
            raise InputError(f"{where}, document {shown(doc_id)}: score = {shown(score)}: must be a finite number")
        yield doc_id, float(score)


def is_text(value: Any) -> bool:
    """Not empty, and what UTF-8 can hold."""
    try:
        return isinstance(value, str) and len(value.encode()) > 0
    except UnicodeEncodeError:
        return False


def is_finite(value: Any) -> bool:
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False
