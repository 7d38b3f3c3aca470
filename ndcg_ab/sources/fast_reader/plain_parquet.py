"""Plain Parquet: row groups, each held to the rules that the careful path has for tables, and what joins them."""

import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as papq

from ndcg_ab.sources.fast_reader.compiled_pass import WantedRows, reduce_ranking
from ndcg_ab.sources.files.unpacking import open_table
from ndcg_ab.sources.tables.columns import cast_columns
from ndcg_ab.sources.tables.schema import RANKING
from ndcg_ab.sources.tables.top_places import NotPlainError, ReducedRanking

BATCH = 1 << 17  # rows
MOST_ROWS = 1 << 22  # of one query


class RowGroups:
    """The row groups of a file, each of which a thread reads by itself; NotPlainError where there are no scores."""

    def __init__(self, path: Path, columns: dict[str, str]) -> None:
        self.path = path
        self.here = threading.local()
        with open_table(path) as file:
            self.chosen = RANKING.check_columns(str(path), file.schema_arrow.names, columns)
            self.count = file.metadata.num_row_groups
        if "score" not in self.chosen:
            raise NotPlainError

    def rankings(self, place: int) -> Iterator[pa.Table]:
        """Yield the rows of a group in pieces; the compiled pass holds them to the rules of tables."""
        if not hasattr(self.here, "file"):
            self.here.file = papq.ParquetFile(self.path, pre_buffer=False, page_checksum_verification=True)
        columns, rows = list(self.chosen.values()), 0
        for batch in self.here.file.iter_batches(BATCH, row_groups=[place], columns=columns, use_threads=False):
            table = pa.Table.from_batches([batch])
            ranking = cast_columns(table, RANKING, self.chosen, "", validate=False).combine_chunks()
            if ranking["score"].null_count:
                raise NotPlainError
            rows += ranking.num_rows
            if ranking.num_rows:
                yield ranking
        if rows != self.here.file.metadata.row_group(place).num_rows:
            raise NotPlainError


class ReducedGroup(NamedTuple):
    """What is kept of a group, but for the rows at its ends, whose queries may go on in others.

    first: its first query, or all rows where the group has no more.  last: its last query, or None.
    """

    first: list[pa.Table]
    between: list[ReducedRanking]
    last: list[pa.Table] | None


def reduce_group(rankings: Iterable[pa.Table], wanted: WantedRows) -> ReducedGroup:
    """NotPlainError where a query between the first and the last is not plain."""
    first: list[pa.Table] | None = None
    between: list[ReducedRanking] = []
    waiting: list[pa.Table] = []  # a query that may go on, and others that ended with a piece
    for ranking in rankings:
        end_of_first, last = query_ends(ranking["query_id"].chunk(0))
        waiting.append(ranking.slice(0, end_of_first))
        refuse_many(waiting)
        if end_of_first == ranking.num_rows:
            continue
        if first is None:
            first = waiting
        else:
            between.append(reduce_rankings(waiting, wanted))
        if end_of_first < last:
            between.append(reduce_rankings([ranking.slice(end_of_first, last - end_of_first)], wanted))
        waiting = [ranking.slice(last)]
    return ReducedGroup(waiting, [], None) if first is None else ReducedGroup(first, between, waiting)


def query_ends(query_ids: pa.Array) -> tuple[int, int]:
    """Where the first query's rows end, and the last one's begin, as long as each one's rows stand together.

    Where they do not, the query comes again in what is cut off there.
    """
    first, last = query_ids[0], query_ids[-1]
    rows = range(len(query_ids))
    end = bisect_left(rows, True, key=lambda row: query_ids[row] != first)
    return end, bisect_left(rows, True, lo=min(end, rows[-1]), key=lambda row: query_ids[row] == last)


def join_groups(groups: Iterable[ReducedGroup], wanted: WantedRows) -> Iterator[ReducedRanking]:
    """What is kept of all groups, in order; NotPlainError where a query at the end of one is not plain."""
    waiting: list[pa.Table] = []
    for group in groups:
        waiting += group.first
        refuse_many(waiting)
        if group.last is not None:
            yield reduce_rankings(waiting, wanted)
            yield from group.between
            waiting = group.last
    if waiting:
        yield reduce_rankings(waiting, wanted)


def reduce_rankings(rankings: list[pa.Table], wanted: WantedRows) -> ReducedRanking:
    return reduce_ranking(pa.concat_tables(rankings).combine_chunks(), wanted)


def refuse_many(rankings: list[pa.Table]) -> None:
    if sum(ranking.num_rows for ranking in rankings) > MOST_ROWS:
        raise NotPlainError
