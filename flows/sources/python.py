"""A Python function as a source: it is given the queries, and returns documents with scores.

    def search(queries: Mapping[str, str], **arguments) -> Mapping[str, Iterable[tuple[str, float]]]

`queries` maps query_id to text.  The result maps query_id to (doc_id, score) pairs in any order; a query
that finds nothing may be left out.  Any search engine can be pulled from this way.
"""

import importlib
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import pyarrow as pa

from flows.config import PythonSource
from flows.errors import InputError
from flows.sources.layout import RANKING


def load_function(name: str, directory: Path) -> Callable[..., Any]:
    """The function that ``module:function`` names; modules in `directory` are found first."""
    module_name, _, function_name = name.partition(":")
    sys.path.insert(0, str(directory))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name.partition(".")[0]:
            raise InputError(f"python = {name!r}: importing it failed: {error}") from error
        raise InputError(f"python = {name!r}: there is no module {error.name!r} in {directory} or installed") from None
    except Exception as error:
        raise InputError(f"python = {name!r}: importing it failed: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(directory))
    function = getattr(module, function_name, None)
    if not callable(function):
        raise InputError(f"python = {name!r}: module {module_name!r} has no function {function_name!r}")
    return function  # type: ignore[no-any-return]


def pull_function(source: PythonSource, queries: Mapping[str, str], directory: Path) -> pa.Table:
    """The ranking that the function returns; raises InputError when it fails or returns something else."""
    function = load_function(source.python, directory)
    try:
        found = function(dict(queries), **source.arguments)
    except Exception as error:
        raise InputError(f"python = {source.python!r} failed: {type(error).__name__}: {error}") from error
    if not isinstance(found, Mapping):
        raise InputError(f"python = {source.python!r} returned {type(found).__name__}: must map query_id to results")
    query_ids: list[str] = []
    doc_ids: list[str] = []
    scores: list[float] = []
    for query_id, results in found.items():
        for doc_id, score in checked_results(source.python, query_id, results):
            query_ids.append(query_id)
            doc_ids.append(doc_id)
            scores.append(score)
    if not doc_ids:
        raise InputError(f"python = {source.python!r} returned no document for any of {len(queries)} queries")
    ranks = pa.nulls(len(doc_ids), pa.int64())
    return pa.table([query_ids, doc_ids, scores, ranks], schema=RANKING.schema)


def checked_results(name: str, query_id: Any, results: Iterable[Any]) -> Iterable[tuple[str, float]]:
    where = f"python = {name!r}, query {query_id!r}"
    if not isinstance(query_id, str) or not query_id:
        raise InputError(f"{where}: the query_id must be text that is not empty")
    for result in results:
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise InputError(f"{where}: {result!r}: every result must be a pair (doc_id, score)")
        doc_id, score = result
        if not isinstance(doc_id, str) or not doc_id:
            raise InputError(f"{where}: doc_id = {doc_id!r}: must be text that is not empty")
        if isinstance(score, bool) or not isinstance(score, Real) or not math.isfinite(score):
            raise InputError(f"{where}, document {doc_id!r}: score = {score!r}: must be a finite number")
        yield doc_id, float(score)
