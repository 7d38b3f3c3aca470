"""Use a Python function as a source of rankings: the function receives queries and returns documents with scores.

    def search(queries: Mapping[str, str], **arguments) -> Mapping[str, Iterable[tuple[str, float]]]
    def search(queries: Mapping[str, str], **arguments) -> Iterator[tuple[str, Iterable[tuple[str, float]]]]
    def search(text: str, **arguments) -> Iterable[tuple[str, float]]                 # with per_query: true

`queries` maps query_id to text. The result maps query_id to (doc_id, score) pairs in any order, or yields such
entries one by one; a query without results may be left out. With `per_query` the function is called once per query
with the text of the query, so that every error names the query.
If the function raises an OSError (ConnectionError, TimeoutError, …), the flow retries.

Modules of the user beside a configuration can be imported while they are loaded and while their functions run.

An installed package adds another kind of source by an entry point of the group ``ndcg_ab.sources``:

    def read(contents: str, queries: Mapping[str, str], directory: Path, **arguments) -> table or dictionaries

contents: ``judgment``, ``ranking`` or ``query``, the table to return. queries: query_id -> text, as far as the
evaluation has texts. directory: the folder from which relative paths start. The function returns data that the
Python API accepts: a table with the Arrow PyCapsule interface, or dictionaries (docs/python.md).
"""

import contextlib
import importlib
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from numbers import Real
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from ndcg_ab.config.model.costs import LATENCY
from ndcg_ab.config.model.inputs.connections import in_memory_file
from ndcg_ab.config.model.inputs.sources import ExtensionSource, PythonSource
from ndcg_ab.config.secrets.lookup import reveal_arguments
from ndcg_ab.deadlines import Countdown
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.extensions import SOURCES, load_named, translate_foreign_errors
from ndcg_ab.files import resolve_path
from ndcg_ab.sources.base import Ask, CostRequest, PullRequest, PullResult, Source
from ndcg_ab.sources.boundary import BOUNDS, LimitCounter
from ndcg_ab.sources.costs import CostRecord, shuffle_requests
from ndcg_ab.sources.tables.in_memory import InMemorySource, is_readable
from ndcg_ab.sources.tables.schema import Layout, is_valid_text

Entry = tuple[Any, Any]  # query_id and results, both unchecked
Called = Callable[[Any], Any]  # the function with its arguments: of all queries, or of the text of one


class Function(Source):
    """A source that calls a function of the user, from a module beside the configuration or an installed package."""

    limits_key = "function"

    def __init__(self, described: PythonSource, directory: Path) -> None:
        super().__init__(described, directory)
        self.shown = f"python = {described.python!r}"

    def answer(self, layout: Layout, pull: PullRequest) -> PullResult:
        """Return the ranking that the function returns, with the time of each call if costs are recorded."""
        record = CostRecord(pull.costs or CostRequest(()))
        queries = pull.texts
        countdown = Countdown(f"{self.shown}: asking", len(queries), pull.say)
        with self.load_function() as function, self.translate_errors():
            if self.described.per_query:
                entries = self.call_singly(function, queries, record, countdown)
            else:
                entries = self.call_at_once(function, queries)
            rows = self.valid_rows(entries)
        if not rows:
            raise InputError(f"{self.shown} returned no document for any of {len(queries)} queries")
        if pull.costs:
            order = {query_id: index for index, query_id in enumerate(queries)}
            rows.sort(key=lambda row: order[row[0]])
        query_ids, doc_ids, scores = zip(*rows, strict=True)
        ranks = pa.nulls(len(rows), pa.int64())
        table = pa.table([query_ids, doc_ids, scores, ranks], schema=layout.schema)
        costs = record.table(f"one call at a time{record.request.order_text}") if pull.costs else None
        return PullResult(table, costs=costs)

    @contextlib.contextmanager
    def load_function(self) -> Iterator[Called]:
        """Yield the user's function with its arguments bound.

        During the block, imports find modules in the directory of the source.
        """
        with prefer_modules_in(self.directory):
            function = load_function(self.origin, self.directory)
            where = f"{self.shown}, arguments"
            yield partial(function, **reveal_arguments(self.described.arguments, where, self.directory))

    def call_singly(
        self, function: Called, queries: Mapping[str, str], record: CostRecord, countdown: Countdown
    ) -> Iterator[Entry]:
        """Call the function for each query and yield (query_id, results).

        If costs are recorded, the first calls warm up; after them, each query is called once, in random order. record:
        receives the times. countdown: receives the progress. Raises InputError if the function fails.
        """
        order, request = list(queries), record.request
        if request.names:
            order = shuffle_requests(order, request.seed)
        warm_up = order[: request.warm_up]
        for index, query_id in enumerate([*warm_up, *order]):
            results, costs = self.time_call(function, query_id, queries[query_id])
            countdown.advance()
            is_cold = index < len(warm_up)
            record.add(query_id, costs, is_cold=is_cold)
            if not is_cold:
                yield query_id, results

    def time_call(self, function: Called, query_id: str, text: str) -> tuple[Any, dict[str, float]]:
        """Call the function for one query and return (results, {LATENCY: milliseconds}).

        If the function returns an iterator, the milliseconds include reading it, and the results are a list.
        Raises InputError if the function fails.
        """
        with self.translate_errors(f" on query {format_value(query_id)}"):
            began = time.perf_counter()
            results = function(text)
            answer = list(islice(results, BOUNDS["function"].rows + 1)) if isinstance(results, Iterator) else results
            costs = {LATENCY: 1000 * (time.perf_counter() - began)}
        return answer, costs

    @contextlib.contextmanager
    def query_singly(self, pull: PullRequest) -> Iterator[Ask]:
        """Yield a function that calls the user's function for one query, given its id, and returns (costs, is_failed).

        costs: {LATENCY: milliseconds}. is_failed is always False: if the user's function fails, InputError is raised.
        """
        with self.load_function() as function:
            yield lambda query_id: (self.time_call(function, query_id, pull.texts[query_id])[1], False)

    def call_at_once(self, function: Called, queries: Mapping[str, str]) -> Iterator[Entry]:
        """Yield (query_id, results) from a function that answers all queries in one call.

        The function returns a mapping, or an iterator of such pairs. Raises InputError for anything else.
        """
        with self.translate_errors():
            results = function(dict(queries))
        if isinstance(results, Mapping):
            yield from results.items()
            return
        if not isinstance(results, Iterator):
            rule = "must map query_id to results, or yield query_id and results"
            raise InputError(f"{self.shown} returned {type(results).__name__}: {rule}")
        after = " before it yielded the first query"
        while True:
            with self.translate_errors(after):
                entry = next(results, END)
            if entry is END:
                return
            if not isinstance(entry, tuple | list) or len(entry) != 2:
                raise InputError(f"{self.shown} yielded {format_value(entry)}: must be query_id and results")
            yield entry[0], entry[1]
            after = f" after query {format_value(entry[0])}"

    def valid_rows(self, entries: Iterable[Entry]) -> list[tuple[str, str, float]]:
        """Return the rows (query_id, doc_id, score) of all results; raise InputError if a result breaks a rule."""
        rows: list[tuple[str, str, float]] = []
        limits = LimitCounter(BOUNDS[self.limits_key], self.shown)
        for query_id, results in entries:
            with self.translate_errors(f" on query {format_value(query_id)}"):
                some = islice(valid_results(self.origin, query_id, results), limits.bounds.rows - len(rows) + 1)
                rows += [(query_id, *pair) for pair in some]
                limits.count(rows=len(rows) - limits.rows)
        return rows

    def translate_errors(self, location: str = "") -> contextlib.AbstractContextManager[None]:
        """Return a context manager that raises errors of the function as InputError.

        location: a clause for the message, such as `` on query 'q1'``.
        """
        return translate_foreign_errors(f"{self.shown} failed{location}")


END = object()


def valid_results(name: str, query_id: Any, results: Any) -> Iterable[tuple[str, float]]:
    """Yield (doc_id, score) for each result of a query; raise InputError if a result breaks a rule."""
    where = f"python = {name!r}, query {format_value(query_id)}"
    if not is_valid_text(query_id):
        raise InputError(f"{where}: the query_id must be text that is not empty")
    if not isinstance(results, Iterable) or isinstance(results, str | Mapping):
        raise InputError(f"{where}: {format_value(results)}: the results must be pairs (doc_id, score)")
    for result in results:
        if not isinstance(result, tuple | list) or len(result) != 2:
            raise InputError(f"{where}: {format_value(result)}: every result must be a pair (doc_id, score)")
        doc_id, score = result
        if not is_valid_text(doc_id):
            raise InputError(f"{where}: doc_id = {format_value(doc_id)}: must be text that is not empty")
        if not is_finite(score):
            raise InputError(
                f"{where}, document {format_value(doc_id)}: score = {format_value(score)}: must be a finite number"
            )
        if isinstance(score, int) and abs(score) > BOUNDS["function"].largest:
            location = f"document {format_value(doc_id)}: score = {format_value(score)}"
            raise InputError(f"{where}, {location}: must be between -2^53 and 2^53, or a float: others become equal")
        yield doc_id, float(score)


def is_finite(value: Any) -> bool:
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


OURS = {"ndcg_ab", "ndcg_core"}


@contextlib.contextmanager
def prefer_modules_in(directory: Path) -> Iterator[None]:
    """Make modules in `directory` take precedence in imports during the block, also in imports inside functions.

    Loaded modules of equal names from elsewhere (a folder `flows`, an `engine.py` beside another configuration) are put
    aside during the block and restored afterwards.
    """
    tops = {name.partition(".")[0] for name in list(sys.modules)}
    others = {top for top in tops if has_other_module(top, directory)}
    aside = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in others}
    sys.path.insert(0, str(directory))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(directory))
        for name in [name for name in sys.modules if name.partition(".")[0] in others]:
            del sys.modules[name]
        sys.modules.update(aside)


def has_other_module(top: str, directory: Path) -> bool:
    """Return whether `directory` has a module called `top` that differs from the loaded module of that name.

    The result is False for modules of the standard library and of ndcg-ab.
    """
    if top in sys.stdlib_module_names or top in OURS:
        return False
    here = [directory / top / "__init__.py", directory / f"{top}.py"]
    namesake = next((path for path in here if path.is_file()), None)
    if namesake is None:
        return False
    loaded = getattr(sys.modules.get(top), "__file__", None)
    return loaded is None or resolve_path(Path(loaded)) != resolve_path(namesake)


def load_function(name: str, directory: Path) -> Callable[..., Any]:
    """Import and return the function that ``module:function`` names.

    Call this inside `prefer_modules_in`. Raises InputError if the import fails, or the module has no such function.
    """
    module_name, _, function_name = name.partition(":")
    with translate_foreign_errors(f"python = {name!r}: importing it failed"):
        try:
            module: ModuleType = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name != module_name.partition(".")[0]:
                raise
            raise InputError(
                f"python = {name!r}: there is no module {error.name!r} in {directory} or installed"
            ) from None
        function = getattr(module, function_name, None)
    if not callable(function):
        raise InputError(f"python = {name!r}: module {module_name!r} has no function {function_name!r}")
    return function  # type: ignore[no-any-return]


class Extension(Source):
    """A source that an installed package adds, chosen by ``extension:``."""

    limits_key = "extension"

    def __init__(self, described: ExtensionSource, directory: Path) -> None:
        super().__init__(described, directory)
        self.origin = f"extension = {described.extension!r}"

    def pull(self, layout: Layout, queries: Mapping[str, str]) -> pa.Table:
        """Return the table of the extension; raise InputError if it is not installed, fails, or breaks a rule."""
        read = load_named(SOURCES, self.described.extension, "extension = ")
        arguments = reveal_arguments(self.described.arguments, f"{self.origin}, arguments", self.directory)
        with translate_foreign_errors(f"{self.origin} failed"):
            data = read(layout.kind, dict(queries), self.directory, **arguments)
            if not is_readable(data):
                raise InputError(f"{self.origin} returned {type(data).__name__}: must return a table or dictionaries")
        return InMemorySource(in_memory_file(self.origin, data), self.described.columns).pull(layout, queries)
