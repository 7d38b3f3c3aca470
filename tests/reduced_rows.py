"""Rankings reduced by numpy: the second implementation that the compiled pass is compared with."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.sources.tables.reduced_ranking import (
    ANSWER,
    NeededResults,
    NotPlainError,
    Real,
    ReducedRanking,
    Whole,
    make_table,
    query_starts,
    refuse_scattered_queries,
)
from ndcg_ab.sources.tables.schema import RANKING

NEAR = 2e-6  # of a score: what lies no further below it is kept like a tie
LARGEST_SCORE = 1e38  # beyond the largest 32-bit float scores tie that are far apart
LARGEST_RANK = 10**12  # beyond which `answered_query` takes no ranks for plain ones
LONGEST_ID = 512  # bytes of a document's id
SPREAD = np.uint64(0x9E3779B97F4A7C15)
MASKS = np.array([(1 << 8 * count) - 1 for count in range(9)], dtype=np.uint64)
Words = npt.NDArray[np.uint64]


def reduce_rows(table: pa.Table, wanted: NeededResults) -> ReducedRanking:
    """Whole queries one after the other, in the columns of a ranking and one piece each: what is kept of them.

    The rank may be a real number, or null.  NotPlainError where a query's rows do not stand together, scores rise,
    ranks do not rise by 1, or a document comes twice.
    """
    query_ids, doc_ids, score, rank = (column.chunk(0) for column in table.columns)
    scores = score.to_numpy()
    starts = query_starts(query_ids)
    heads = query_ids.take(pa.array(starts))
    refuse_scattered_queries(heads)  # before any work is done for each of the runs: there may be one for each row
    lengths = np.diff(np.append(starts, len(scores)))
    lasts = starts + lengths - 1
    refuse_rising(scores, starts, lasts)
    refuse_twice(doc_ids, np.repeat(np.arange(len(starts), dtype=np.uint64), lengths))
    kept = np.minimum(lengths, wanted.depth)
    met: list[int | None] = [None] * len(heads)
    for place, query_id in enumerate(heads.to_pylist()):
        if query_id in wanted.judged:
            own = doc_ids.slice(starts[place], lengths[place])
            met[place] = pc.sum(pc.is_in(own, value_set=wanted.judged[query_id])).as_py()
    for place in tied_queries(scores, starts, lengths, kept):
        kept[place] += count_ties_below(scores[starts[place] : lasts[place] + 1], int(kept[place]))
    places = np.repeat(starts - np.cumsum(kept) + kept, kept) + np.arange(kept.sum())
    low = high = is_plain = None
    if not rank.null_count:
        ranks = rank.to_numpy()
        refuse_other_ranks(ranks, starts)
        low, high, is_plain = ranks[starts].astype(np.int64), ranks[lasts].astype(np.int64), np.ones(len(starts), bool)
    answers = [heads, lengths, low, high, is_plain, scores[lasts], scores[starts], met]
    rows = table.take(pa.array(places)).cast(RANKING.schema)
    return ReducedRanking(rows, make_table(answers, ANSWER), len(scores))


def refuse_other_ranks(ranks: npt.NDArray[Any], starts: Whole) -> None:
    """Ranks that do not rise by 1 within a query, or that `answered_query` would not take for plain ones."""
    rises = ranks[1:] - ranks[:-1] == 1
    rises[starts[1:] - 1] = True
    firsts = ranks[starts]
    if not (rises.all() and (np.abs(firsts) <= LARGEST_RANK - len(ranks)).all() and (firsts == np.floor(firsts)).all()):
        raise NotPlainError


def refuse_rising(scores: Real, starts: Whole, lasts: Whole) -> None:
    """Scores that rise within a query, that are no numbers, or that no 32-bit float comes near."""
    falls = scores[1:] <= scores[:-1]
    falls[starts[1:] - 1] = True
    if not (falls.all() and (scores[starts] <= LARGEST_SCORE).all() and (scores[lasts] >= -LARGEST_SCORE).all()):
        raise NotPlainError


def refuse_twice(doc_ids: pa.Array, queries: Words) -> None:
    """A document that comes twice in a query; where two keys of 64 bits are the same, the ids are compared."""
    keys = queries * SPREAD
    for words in text_words(doc_ids):
        keys ^= words
        keys *= SPREAD
        keys ^= keys >> np.uint64(32)
    keys.sort()
    if (keys[1:] == keys[:-1]).any():
        pairs = pa.table({"query": pa.array(queries), "doc_id": doc_ids})
        if pairs.group_by(["query", "doc_id"]).aggregate([]).num_rows < len(queries):
            raise NotPlainError


def text_words(texts: pa.Array) -> Iterator[Words]:
    """Each text as numbers of eight bytes, the last filled up with zeros."""
    _, place, content = texts.buffers()
    offsets = np.frombuffer(place, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    first, end = int(offsets[0]), int(offsets[-1])
    text = np.empty(end - first + 8, dtype=np.uint8)  # eight bytes can be looked at from anywhere
    text[:-8] = np.frombuffer(content, dtype=np.uint8)[first:end]
    eights: Words = np.ndarray((len(text) - 7,), dtype="<u8", buffer=text, strides=(1,))
    starts, lengths = offsets[:-1] - first, offsets[1:] - offsets[:-1]
    longest = int(lengths.max())
    if longest > LONGEST_ID:
        raise NotPlainError
    for at in range(0, longest, 8):
        left = lengths - at
        places = np.minimum(starts + at, len(eights) - 1) if at else starts
        yield eights[places] & MASKS[np.clip(left, 0, 8)]


def tied_queries(scores: Real, starts: Whole, lengths: Whole, kept: Whole) -> Whole:
    """The queries whose next row may tie with the last that is kept."""
    longer = np.flatnonzero(kept < lengths)
    after = starts[longer] + kept[longer]
    last, following = scores[after - 1], scores[after]
    is_near = (following >= last - NEAR * np.abs(last)) | (following.astype(np.float32) == last.astype(np.float32))
    found: Whole = longer[is_near]
    return found


def count_ties_below(scores: Real, kept: int) -> int:
    """How many of a query's rows tie with the last that is kept, or nearly so."""
    last, below = scores[kept - 1], scores[kept:]
    is_near = (below >= last - NEAR * abs(last)) | (below.astype(np.float32) == np.float32(last))
    return int(is_near.sum())
