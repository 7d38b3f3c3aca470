"""The compiled pass over whole queries, and what is made of its buffers; it is not there where no compiler was."""

import re
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.sources.tables.columns import may_be_inexact
from ndcg_ab.sources.tables.schema import RANKING
from ndcg_ab.sources.tables.top_places import (
    ANSWER,
    NotPlainError,
    ReducedRanking,
    WantedPlaces,
    make_table,
    refuse_apart,
)

KEPT = RANKING.schema.set(0, pa.field("query_id", pa.dictionary(pa.int32(), pa.string())))  # ids once for many rows

LONG_NUMBER = re.compile(rb"[ \t][+-]?[0-9]{16,}[ \t]")  # a whole number that may be beyond 2^53

ranking_reader: Any
try:
    from ndcg_ab.sources.fast_reader import ranking_reader
except ImportError:  # there was no compiler
    ranking_reader = None


class WantedRows(NamedTuple):
    """What is kept. ids: of the queries of which the pass gives every row, a line feed after each."""

    places: WantedPlaces
    ids: bytes


def wanted_rows(places: WantedPlaces) -> WantedRows:
    """A query in which judged documents are counted is needed whole, whether it is kept so or not."""
    ids = (query_id.encode() + b"\n" for query_id in places.whole | places.judged.keys() if "\n" not in query_id)
    return WantedRows(places, b"".join(ids))


def reduce_text(text: bytes | bytearray, length: int, line_end: bytes, wanted: WantedRows) -> ReducedRanking:
    """What is kept of lines of text, each of which ends with line_end; NotPlainError where they are not plain."""
    found = make_reduced(ranking_reader.reduce(text, length, line_end, wanted.places.depth, wanted.ids), wanted)
    is_large = any(may_be_inexact(found.answers[name]) for name in ("lowest_score", "highest_score"))
    if is_large and LONG_NUMBER.search(text, 0, length):
        raise NotPlainError
    return found


def reduce_ranking(ranking: pa.Table, wanted: WantedRows) -> ReducedRanking:
    """Reduce the columns of a ranking; raise NotPlainError if they are not plain, or there is no compiled pass.

    The column of query ids may be a dictionary.
    """
    if ranking_reader is None:
        raise NotPlainError
    query_ids = ranking["query_id"].cast(pa.string())
    return reduce_columns(ranking.set_column(0, "query_id", query_ids).combine_chunks(), wanted)


def reduce_columns(ranking: pa.Table, wanted: WantedRows) -> ReducedRanking:
    """Reduce a ranking whose columns are one piece each; raise NotPlainError if it is not plain."""
    query_ids, doc_ids, score, rank = (column.chunk(0) for column in ranking.columns)
    has_ranks = not rank.null_count
    if any(each.null_count for each in (query_ids, doc_ids, score)) or rank.null_count not in (0, len(rank)):
        raise NotPlainError
    buffers = (*text_buffers(query_ids), *text_buffers(doc_ids), numbers(score), numbers(rank) if has_ranks else None)
    return make_reduced(ranking_reader.reduce_columns(*buffers, wanted.places.depth, wanted.ids), wanted, has_ranks)


def make_reduced(found: tuple[bytes, ...] | None, wanted: WantedRows, has_ranks: bool = True) -> ReducedRanking:
    """The rows that are kept, and the answers; NotPlainError where there is nothing, or a query comes twice."""
    if found is None:
        raise NotPlainError
    head_ends, heads, lengths, given_rows, kept_rows, first_ranks, highest, lowest, doc_ends, docs, scores, ranks = (
        found
    )
    query_ids = text_column(head_ends, heads)
    refuse_apart(query_ids)
    returned, given, kept, low = (
        np.frombuffer(each, np.int64) for each in (lengths, given_rows, kept_rows, first_ranks)
    )
    place = np.repeat(np.arange(len(given), dtype=np.int32), given)
    doc_ids, rank = text_column(doc_ends, docs), number_column(pa.int64(), ranks)
    columns = [doc_ids, number_column(pa.float64(), scores), rank if has_ranks else pa.nulls(len(place), pa.int64())]
    rows = pa.table([pa.DictionaryArray.from_arrays(pa.array(place), query_ids), *columns], schema=KEPT)
    met: list[int | None] = [None] * len(given)
    is_kept = np.ones(len(place), bool)
    starts = np.cumsum(given) - given
    for at in np.flatnonzero(given == returned).tolist():
        query_id, start = query_ids[at].as_py(), int(starts[at])
        if query_id in wanted.places.judged:
            own = doc_ids.slice(start, int(given[at]))
            met[at] = pc.sum(pc.is_in(own, value_set=wanted.places.judged[query_id])).as_py()
            if query_id not in wanted.places.whole:
                is_kept[start + kept[at] : start + given[at]] = False
    if not is_kept.all():
        rows = rows.filter(pa.array(is_kept))
    known_ranks = (low, low + returned - 1, np.ones(len(low), bool)) if has_ranks else (None, None, None)
    ends = (np.frombuffer(each, np.float64) for each in (lowest, highest))
    answers = make_table([query_ids, returned, *known_ranks, *ends, met], ANSWER)
    return ReducedRanking(rows, answers, int(returned.sum()))


def text_buffers(texts: pa.Array) -> tuple[pa.Buffer, pa.Buffer]:
    """Where each text begins and ends, and the bytes of all."""
    _, ends, content = texts.buffers()
    return ends.slice(4 * texts.offset, 4 * (len(texts) + 1)), content or pa.py_buffer(b"")


def numbers(values: pa.Array) -> pa.Buffer:
    return values.buffers()[1].slice(8 * values.offset, 8 * len(values))


def text_column(ends: bytes, content: bytes) -> pa.Array:
    """Texts of their bytes, and of where each begins and ends in them: nothing is copied."""
    count = len(ends) // 4 - 1
    return pa.StringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(content))


def number_column(kind: pa.DataType, content: bytes) -> pa.Array:
    return pa.Array.from_buffers(kind, len(content) // 8, [None, pa.py_buffer(content)])
