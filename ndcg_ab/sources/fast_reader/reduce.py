"""Reduce a regular ranking file to its top ranks while it is read, which is several times faster than a full table.

A file is regular if it is a local TREC text, compressed or not, or Parquet; the rows of every query are together;
within a query scores do not rise, ranks rise by 1 and no document is repeated; and no value needs interpretation. Other
files are read from the start by the modules of `files`, which report what is wrong or accept what is only unusual;
there are no further rules here.

Slices of complete queries are reduced in threads, each independently and in one pass, by the compiled extension
`ranking_reader`; no query may occur in two slices. Every line of a regular text has six fields with single delimiters
and the tag of the file; no field is empty or longer than 512 bytes, the text is UTF-8, no query id begins with "#",
scores are decimal numbers, and ranks are written as digits.

The extension also reduces whole queries of other tables. It is missing if no compiler was available at installation;
files are then read by the general readers.
"""

import dataclasses
import os
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.errors import InputError, ParityError
from ndcg_ab.sources.files.records import parquet_batches
from ndcg_ab.sources.files.streams import LONGEST_LINE
from ndcg_ab.sources.files.unpacking import is_packed, open_bytes
from ndcg_ab.sources.forms.form import Reading
from ndcg_ab.sources.forms.recognition import TREC_COLUMNS
from ndcg_ab.sources.tables.columns import cast_columns, may_be_inexact
from ndcg_ab.sources.tables.on_disk import IN_MEMORY, TableWriter, count_nulls
from ndcg_ab.sources.tables.reduced_ranking import ANSWER, FastReaderError, NeededResults, ReducedRanking
from ndcg_ab.sources.tables.schema import RANKING

ROWS = RANKING.schema.set(0, pa.field("query_id", pa.dictionary(pa.int32(), pa.string())))  # ids once for many rows

LONG_NUMBER = re.compile(rb"[ \t][+-]?[0-9]{16,}[ \t]")  # a whole number that may be beyond 2^53

ranking_reader: Any
try:
    from ndcg_ab.sources.fast_reader import ranking_reader
except ImportError:  # there was no compiler
    ranking_reader = None


def reduce_text(text: bytes | bytearray, length: int, line_end: bytes, needed: NeededResults) -> ReducedRanking:
    """Return the reduced ranking (first rows and a summary) of the first `length` bytes of a TREC ranking.

    line_end: the delimiter, tag and line feed that end every line. needed: says how many rows are kept. Raises
    FastReaderError if a line is irregular, the rows of a query are not adjacent, or a score may be inexact as a float.
    """
    reduced = read_buffers(ranking_reader.reduce(text, length, line_end, needed.depth, needed.ids), needed)
    is_large = any(may_be_inexact(reduced.answers[name]) for name in ("lowest_score", "highest_score"))
    if is_large and LONG_NUMBER.search(text, 0, length):
        raise FastReaderError
    return reduced


def group_rows(ranking: pa.Table) -> pa.Table:
    """Return a ranking in which the rows of each query are adjacent.

    If they are not adjacent yet, the rows of each query are sorted by rank, or by falling score if a rank is missing. A
    ranking without rows, or with a missing score, is not sorted. The columns of the result have one chunk.
    """
    ranking = ranking.combine_chunks()
    if not ranking.num_rows or ranking["score"].null_count:
        return ranking
    query_ids = ranking["query_id"].cast(pa.string()).combine_chunks().dictionary_encode()
    kind = np.min_scalar_type(len(query_ids.dictionary))  # 16 bits are sorted at once
    queries = query_ids.indices.to_numpy().astype(kind)
    if np.count_nonzero(queries[1:] != queries[:-1]) < len(query_ids.dictionary):
        return ranking
    order = np.argsort(-ranking["score"].to_numpy() if ranking["rank"].null_count else ranking["rank"].to_numpy())
    return ranking.take(pa.array(order[np.argsort(queries[order], kind="stable")])).combine_chunks()


def reduce_ranking(ranking: pa.Table, needed: NeededResults) -> ReducedRanking | None:
    """Return the reduced ranking (first rows and a summary) of a table in which the rows of each query are adjacent.

    Return None if the fast reader cannot read the table. Metadata of the table's schema are preserved.
    """
    try:
        reduced = reduce_columns(ranking, needed)
    except FastReaderError:
        return None
    return dataclasses.replace(reduced, rows=reduced.rows.replace_schema_metadata(ranking.schema.metadata))


def reduce_columns(ranking: pa.Table, needed: NeededResults) -> ReducedRanking:
    """Return the reduced ranking (first rows and a summary) of a table with the columns of a ranking.

    The columns are query_id, which may be dictionary-encoded, doc_id, score and rank. Raises FastReaderError if the
    compiled extension is missing, or cannot read the table, for example because a cell is null.
    """
    if ranking_reader is None:
        raise FastReaderError
    query_ids = ranking["query_id"].cast(pa.string())
    combined = ranking.set_column(0, "query_id", query_ids).combine_chunks()
    if any(column.num_chunks != 1 for column in combined.columns):  # no row, or more than 2 GB of texts
        raise FastReaderError
    query_ids, doc_ids, score, rank = (column.chunk(0) for column in combined.columns)
    has_ranks = not rank.null_count
    if any(each.null_count for each in (query_ids, doc_ids, score)) or rank.null_count not in (0, len(rank)):
        raise FastReaderError
    buffers = (
        *text_buffers(query_ids),
        *text_buffers(doc_ids),
        number_buffer(score),
        number_buffer(rank) if has_ranks else None,
    )
    return read_buffers(ranking_reader.reduce_columns(*buffers, needed.depth, needed.ids), needed, has_ranks)


def read_buffers(buffers: tuple[bytes, ...] | None, needed: NeededResults, has_ranks: bool = True) -> ReducedRanking:
    """Return the reduced ranking (first rows and a summary) in the buffers that the compiled extension returned.

    has_ranks: whether the rows have ranks. Raises FastReaderError if `buffers` is None, because the extension could not
    read the rows, or if the rows of a query are not adjacent. Raises ParityError if a row that is needed was not kept.
    """
    if buffers is None:
        raise FastReaderError
    head_ends, heads, lengths, given_rows, kept_rows, first_ranks = buffers[:6]
    highest, lowest, doc_ends, docs, scores, ranks = buffers[6:]
    query_ids = text_column(head_ends, heads)
    if len(query_ids.unique()) < len(query_ids):  # the rows of a query are not together
        raise FastReaderError
    returned, sizes, kept, low = (
        np.frombuffer(each, np.int64) for each in (lengths, given_rows, kept_rows, first_ranks)
    )
    codes = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    doc_ids, rank = text_column(doc_ends, docs), number_column(pa.int64(), ranks)
    columns = [doc_ids, number_column(pa.float64(), scores), rank if has_ranks else pa.nulls(len(codes), pa.int64())]
    rows = pa.table([pa.DictionaryArray.from_arrays(pa.array(codes), query_ids), *columns], schema=ROWS)
    judged_counts: list[int | None] = [None] * len(sizes)
    starts = np.cumsum(sizes) - sizes
    for index in np.flatnonzero(sizes == returned).tolist():
        query_id, own = query_ids[index].as_py(), slice(int(starts[index]), int(starts[index] + sizes[index]))
        if query_id in needed.judged:
            judged_counts[index] = pc.sum(pc.is_in(doc_ids[own], value_set=needed.judged[query_id])).as_py()
        if query_id in needed.sample:  # its rows are all here, so that it shows whether the right ones are kept
            single = np.frombuffer(scores)[own].astype(np.float32)
            refuse_lost_result(query_id, single, int(kept[index]), needed.depth)
            if has_ranks:
                refuse_lost_result(query_id, -rank[own].to_numpy(), int(kept[index]), needed.depth)
    is_kept = np.arange(len(codes)) - starts[codes] < kept[codes]
    if not is_kept.all():
        rows = rows.filter(pa.array(is_kept))
    unknown = [None] * len(low)
    known_ranks = (low, low + returned - 1, np.ones(len(low), bool)) if has_ranks else (unknown, unknown, unknown)
    ends = (np.frombuffer(each, np.float64) for each in (lowest, highest))
    answers = pa.table([query_ids, returned, *known_ranks, *ends, judged_counts], schema=ANSWER)
    return ReducedRanking(rows, answers, int(returned.sum()))


def refuse_lost_result(query_id: str, keys: npt.NDArray[Any], kept: int, depth: int) -> None:
    """Raise ParityError if a row that was not kept may belong to the first `depth` results of a query.

    keys: one sort key for each row of the query; rows with higher keys rank first. A key is a negated rank, or a score
    as 32-bit float, so that scores are equal if they tie in lower precision. kept: the number of first rows that were
    kept.
    """
    if kept < len(keys) and keys[kept:].max() >= np.partition(keys, -depth)[-depth]:
        raise ParityError(
            f"parity check: query {query_id!r}: a result among the first {depth} was lost while reading; nothing of"
            " this evaluation can be believed"
        )


def text_buffers(texts: pa.Array) -> tuple[pa.Buffer, pa.Buffer]:
    """Return the offsets and the bytes of the texts of an Arrow array."""
    _, ends, content = texts.buffers()
    return ends.slice(4 * texts.offset, 4 * (len(texts) + 1)), content or pa.py_buffer(b"")


def number_buffer(values: pa.Array) -> pa.Buffer:
    return values.buffers()[1].slice(8 * values.offset, 8 * len(values))


def text_column(ends: bytes, content: bytes) -> pa.Array:
    """Return an Arrow array of texts from their offsets and bytes, without copying.

    ends: the offsets, as 32-bit integers; one more than there are texts.
    """
    count = len(ends) // 4 - 1
    return pa.StringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(content))


def number_column(kind: pa.DataType, content: bytes) -> pa.Array:
    return pa.Array.from_buffers(kind, len(content) // 8, [None, pa.py_buffer(content)])


# ---- slices of plain text


SLICE = 1 << 22  # bytes that are read at a time
FIRST_SLICE = 1 << 18  # bytes; enough to find a query whose rows are not adjacent
LARGEST_QUERY = 1 << 26  # bytes of one query's rows
LONGEST_TAG = 256  # bytes, with the delimiter before it and the end of the line


def line_form(first_line: bytes) -> tuple[bytes, bytes]:
    """Return (delimiter, line end) of a regular TREC ranking, which all its lines share.

    The line end is the delimiter, the tag and the line feed. Raises FastReaderError if the first line has no tag, or a
    very long one.
    """
    delimiter = b"\t" if b"\t" in first_line and b" " not in first_line.strip() else b" "
    line_end = delimiter + first_line.rpartition(delimiter)[2]
    if not 3 <= len(line_end) <= LONGEST_TAG:
        raise FastReaderError
    return delimiter, line_end


def read_slices(file: BinaryIO, size: int = SLICE) -> Iterator[tuple[bytes, int, bytes]]:
    """Yield slices of complete queries of a TREC file, as (text, length, line_end) for `reduce_text`.

    Only the first `length` bytes of `text` belong to the slice. line_end: the delimiter, tag and line feed that end
    every line. size: the number of bytes that are read at a time. Raises FastReaderError if a query is too large, or if
    the tag cannot be read from the first line.
    """
    form: tuple[bytes, bytes] | None = None
    rest = b""
    while block := file.read(size if form else min(size, FIRST_SLICE)):
        text = rest + block
        length = len(text)
        if form is None and (end := text.find(b"\n", 0, length)) >= 0:
            form = line_form(text[: end + 1])
        cut = start_of_last_query(text, length, form[0]) if form else 0
        if form and cut:
            yield text, cut, form[1]
        rest = text[cut:length]
        if len(rest) > (LARGEST_QUERY if form else LONGEST_LINE + size):
            raise FastReaderError
    if rest and not rest.endswith(b"\n"):
        rest += b"\n"
    if rest:
        yield rest, len(rest), (form or line_form(rest))[1]


def start_of_last_query(text: bytes, length: int, delimiter: bytes) -> int:
    """Return the byte offset at which the last query of a TREC text begins, or 0 if it may be the only query.

    Only the first `length` bytes of the text are searched. The rows of a query are taken to be adjacent: another query
    or row may be found if they are not.
    """
    end = text.rfind(b"\n", 0, length)
    start = text.rfind(b"\n", 0, max(end, 0)) + 1
    if end < 0 or not start:
        return 0
    head = text[start:end].partition(delimiter)[0] + delimiter
    low, first = 0, start  # both begin a line; the query begins between them
    while low < first:
        middle = (low + first) // 2
        line = text.rfind(b"\n", 0, middle) + 1
        if text.startswith(head, line):
            first = line
        else:
            low = text.find(b"\n", middle) + 1
    return first


# ---- files


UNREADABLE = (FastReaderError, InputError, OSError, pa.ArrowException)
Slice = TypeVar("Slice")
Made = TypeVar("Made")
WAITING = 2  # slices that wait for a thread


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
                while len(begun) >= workers + WAITING or (begun and begun[0].done()):
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
            if not seen.isdisjoint(heads):  # a query comes again, and the other slices need not be reduced
                raise FastReaderError
            seen.update(heads)
            answers.append(part.answers)
            count += part.count
            yield part.rows.cast(ROWS)

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
        # where the last query begins
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
