"""Reduce a regular ranking file to its top ranks while it is read, which is several times faster than a full table.

A file is regular if it is a local TREC text, compressed or not, or Parquet; the rows of every query are together;
within a query scores do not rise, ranks rise by 1 and no document is repeated; and no value needs interpretation
(`plain_text` has the rules). Other files are read from the start by the modules of `files`, which report what is wrong
or accept what is only unusual; there are no further rules here.

Slices of complete queries are reduced in threads, each independently; no query may occur in two slices.
"""

import os
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from ndcg_ab.errors import InputError, ParityError
from ndcg_ab.sources.fast_reader.plain_text import (
    KEPT,
    SLICE,
    ranking_reader,
    read_slices,
    reduce_columns,
    reduce_text,
)
from ndcg_ab.sources.files.records import parquet_batches
from ndcg_ab.sources.files.unpacking import is_packed, open_bytes
from ndcg_ab.sources.forms.form import Reading
from ndcg_ab.sources.forms.recognition import TREC_COLUMNS
from ndcg_ab.sources.tables.columns import cast_columns
from ndcg_ab.sources.tables.on_disk import IN_MEMORY, TableWriter, count_nulls
from ndcg_ab.sources.tables.reduced_ranking import FastReaderError, NeededResults, ReducedRanking
from ndcg_ab.sources.tables.schema import RANKING

UNREADABLE = (FastReaderError, InputError, OSError, pa.ArrowException)
Slice = TypeVar("Slice")
Made = TypeVar("Made")
IN_FLIGHT = 2  # slices that wait beside those that are worked at


def reduce_file(
    path: Path,
    reading: Reading,
    needed: NeededResults,
    threads: int | None = None,
    size: int = SLICE,
    writer: TableWriter = IN_MEMORY,
) -> ReducedRanking | None:
    """Return the reduced ranking of a file, or None if the fast reader cannot read the file.

    A reduced ranking has the first rows of each query and a summary of all rows. reading: how the rows are read.
    needed: says how many rows are kept. threads: number of threads; None for one per processor. size: bytes of a slice.
    writer: receives the rows that are kept. Raise ParityError if kept rows turn out to be the wrong ones.
    """
    if ranking_reader is None or (reading.format == "parquet" and is_packed(path)):
        return None
    try:
        with open_slices(path, reading, size) as (slices, reduce):
            return join_slices(work_in_threads(lambda each: reduce(*each, needed), slices, threads), writer)
    except UNREADABLE:
        return None
    except ParityError:
        raise
    except Exception:
        if reading.format == "parquet":  # a broken file makes the library raise nearly anything
            return None
        raise


@contextmanager
def open_slices(path: Path, reading: Reading, size: int) -> Iterator[tuple[Iterator[Any], Callable[..., Any]]]:
    """Yield the slices of a file, and the function that reduces one slice to a ranking.

    Each slice is a tuple. The function is called with the items of this tuple and then the `NeededResults`. Raise
    FastReaderError if the fast reader cannot read the file. Reading the slices can raise FastReaderError or
    InputError.
    """
    if reading.format == "parquet":
        yield read_queries(path, reading), reduce_queries
        return
    if reading.names != TREC_COLUMNS["ranking"] or reading.columns:
        raise FastReaderError
    with open_bytes(path) as file:
        yield read_slices(file, size), reduce_text


def work_in_threads(
    work: Callable[[Slice], Made], inputs: Iterable[Slice], threads: int | None = None
) -> Iterator[Made]:
    """Yield the result of `work` for each input, in the order of the inputs; threads compute the results.

    threads: number of threads; None for one per processor. Only a few more inputs than threads are in memory. An error
    of `work` is raised.
    """
    workers = threads or count_processors()
    if workers == 1:
        yield from map(work, inputs)
        return
    with ThreadPoolExecutor(workers) as pool:
        begun: deque[Future[Made]] = deque()
        try:
            for each in inputs:
                begun.append(pool.submit(work, each))
                while len(begun) >= workers + IN_FLIGHT or (begun and begun[0].done()):
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            for waiting in begun:
                waiting.cancel()


def count_processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def join_slices(slices: Iterable[ReducedRanking], writer: TableWriter = IN_MEMORY) -> ReducedRanking:
    """Join the reduced rankings of all slices of a file into one reduced ranking.

    A reduced ranking has the first rows of each query and a summary of all rows. writer: receives the rows. Raises
    FastReaderError if a query is in two slices, if only some rows have ranks, or if there is no row.
    """
    answers: list[pa.Table] = []
    count = 0

    def rows_of_each() -> Iterator[pa.Table]:
        nonlocal count
        seen: set[str] = set()
        for part in slices:
            heads = part.answers["query_id"].to_pylist()
            if not seen.isdisjoint(heads):  # the others need not be reduced where a query comes again
                raise FastReaderError
            seen.update(heads)
            answers.append(part.answers)
            count += part.count
            yield part.rows.cast(KEPT)

    rows = writer.write(rows_of_each(), RANKING.schema)
    if not count or 0 < count_nulls(rows, "rank") < rows.num_rows:
        raise FastReaderError
    return ReducedRanking(rows, pa.concat_tables(answers).combine_chunks(), count)


BATCH = 1 << 17  # rows
MOST_ROWS = 1 << 22  # of one query


def read_queries(path: Path, reading: Reading) -> Iterator[tuple[pa.Table, dict[str, str]]]:
    """Yield tables of complete queries from a Parquet or Arrow file, each with the mapping field -> column.

    reading: how the rows are read. A query whose rows are not adjacent occurs in several tables. Raises
    FastReaderError if there is no score column, or if a query has more than `MOST_ROWS` rows. Raises InputError if a
    column is missing or the file is broken.
    """
    waiting: list[pa.Table] = []
    for batch, chosen in parquet_batches(path, RANKING, reading, BATCH):
        if "score" not in chosen:
            raise FastReaderError
        if not batch.num_rows:
            continue
        table, query_ids = pa.Table.from_batches([batch]), batch.column(chosen["query_id"])
        # where the last query begins; a query whose rows are apart comes again in another table
        last = query_ids[-1]
        cut = bisect_left(range(len(query_ids)), True, key=lambda row: query_ids[row] == last)
        if cut or not waiting or query_ids[0] != waiting[0][chosen["query_id"]][0]:
            complete = [*waiting, table.slice(0, cut)]
            if any(map(len, complete)):
                yield pa.concat_tables(complete), chosen
            waiting = []
        waiting.append(table.slice(cut))
        if sum(map(len, waiting)) > MOST_ROWS:
            raise FastReaderError
    if waiting:
        yield pa.concat_tables(waiting), chosen


def reduce_queries(table: pa.Table, chosen: dict[str, str], needed: NeededResults) -> ReducedRanking:
    """Return the reduced ranking (first rows and a summary) of a table of complete queries.

    chosen: field -> column of `table`. Raises FastReaderError if the fast reader cannot read the table.
    """
    ranking = cast_columns(table, RANKING, chosen, "", validate=False).combine_chunks()
    return reduce_columns(ranking, needed)
