"""Is this file plain? A plain ranking is reduced while it is read, in a fraction of the time that a table of it takes.

Plain is a file of this machine in TREC text, packed or not, or in Parquet, in which every query's rows stand together,
once, scores do not rise and ranks rise by 1 within a query, no document comes twice in one, and nothing needs a second
look: `plain_text`, `plain_parquet` and `reduced` have the rules.  Anything else is not plain, and is read from its
start by the careful ways of `files`, which say what is wrong, or accept what is only unusual: no rule is kept here that
they do not know.

Slices of whole queries are reduced by threads, each in itself; across slices no query may come twice.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from ndcg_ab.errors import InputError
from ndcg_ab.sources.fast_reader.compiled_pass import KEPT, ranking_reader, wanted_rows
from ndcg_ab.sources.fast_reader.plain_text import SLICE, query_spans, read_slices, reduce_slice, reduce_span
from ndcg_ab.sources.files.unpacking import is_packed, open_bytes
from ndcg_ab.sources.forms.form import Reading
from ndcg_ab.sources.forms.recognition import TREC_COLUMNS
from ndcg_ab.sources.tables.on_disk import IN_MEMORY, TableWriter, count_nulls
from ndcg_ab.sources.tables.schema import RANKING
from ndcg_ab.sources.tables.top_places import NotPlainError, ReducedRanking, WantedPlaces

UNREADABLE = (NotPlainError, InputError, OSError, pa.ArrowException)
Slice = TypeVar("Slice")
Made = TypeVar("Made")
IN_FLIGHT = 2  # slices that wait beside those that are worked at


def reduce_file(
    path: Path,
    reading: Reading,
    wanted: WantedPlaces,
    threads: int | None = None,
    size: int = SLICE,
    keep: TableWriter = IN_MEMORY,
) -> ReducedRanking | None:
    """The ranking reduced; None where the file is not plain.

    reading: how its rows are read.  threads: by default one for every processor.
    size: bytes of a slice.  keep: where the rows that are kept go.
    """
    if ranking_reader is None or (reading.format == "parquet" and is_packed(path)):
        return None
    rows = wanted_rows(wanted)
    try:
        with open_slices(path, reading, size) as (slices, reduce):
            return join_slices(work_in_threads(lambda each: reduce(*each, rows), slices, threads), keep)
    except UNREADABLE:
        return None
    except Exception:
        if reading.format == "parquet":  # a broken file makes the library raise nearly anything
            return None
        raise


@contextmanager
def open_slices(path: Path, reading: Reading, size: int) -> Iterator[tuple[Iterator[Any], Callable[..., Any]]]:
    """Give the slices of a file, and what reduces one of them; raise NotPlainError if it is no such file."""
    if reading.format == "parquet":
        from ndcg_ab.sources.fast_reader.plain_parquet import read_queries, reduce_queries

        yield read_queries(path, dict(reading.columns)), reduce_queries
        return
    if reading.names != TREC_COLUMNS["ranking"] or reading.columns:
        raise NotPlainError
    if is_packed(path) or not hasattr(os, "preadv"):
        with open_bytes(path) as file:
            yield read_slices(file, size), reduce_slice
        return
    with path.open("rb", buffering=0) as plain:
        yield query_spans(plain.fileno(), size), partial(reduce_span, plain.fileno())


def work_in_threads(work: Callable[[Slice], Made], given: Iterable[Slice], threads: int | None) -> Iterator[Made]:
    """What threads make of each slice, in order; a few slices are there at a time."""
    workers = threads or count_processors()
    if workers == 1:
        yield from map(work, given)
        return
    with ThreadPoolExecutor(workers) as pool:
        begun: deque[Future[Made]] = deque()
        try:
            for each in given:
                begun.append(pool.submit(work, each))
                if len(begun) >= workers + IN_FLIGHT:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            for left in begun:
                left.cancel()


def count_processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def join_slices(found: Iterable[ReducedRanking], keep: TableWriter = IN_MEMORY) -> ReducedRanking:
    """Return one ranking of its slices; raise NotPlainError if a query is in two, some lack ranks, or there is none."""
    answers: list[pa.Table] = []
    count = 0

    def rows_of_each() -> Iterator[pa.Table]:
        nonlocal count
        seen: set[str] = set()
        for part in found:
            heads = part.answers["query_id"].to_pylist()
            if not seen.isdisjoint(heads):  # the others need not be reduced where a query comes again
                raise NotPlainError
            seen.update(heads)
            answers.append(part.answers)
            count += part.count
            yield part.rows.cast(KEPT)

    rows = keep.write(rows_of_each(), RANKING.schema)
    if not count or 0 < count_nulls(rows, "rank") < rows.num_rows:
        raise NotPlainError
    return ReducedRanking(rows, pa.concat_tables(answers).combine_chunks(), count)
