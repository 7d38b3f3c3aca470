"""Plain Parquet: row groups, each held to the rules that the careful path has for tables, and what joins them."""

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as papq

from ndcg_ab.sources.files.unpacking import open_table
from ndcg_ab.sources.tables.columns import breaks_a_rule, cast_columns
from ndcg_ab.sources.tables.schema import RANKING
from ndcg_ab.sources.tables.top_places import NotPlainError, ReducedRanking, WantedPlaces, query_starts, reduce_rows

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
        """The rows of a group in pieces, held to the rules that the careful path has for tables."""
        if not hasattr(self.here, "file"):
            self.here.file = papq.ParquetFile(self.path, pre_buffer=False)
        columns = list(self.chosen.values())
        for batch in self.here.file.iter_batches(BATCH, row_groups=[place], columns=columns, use_threads=False):
            ranking = cast_columns(pa.Table.from_batches([batch]), RANKING, self.chosen, "").combine_chunks()
            if breaks_a_rule(ranking, spaces=False) or ranking["score"].null_count:
                raise NotPlainError
            if ranking.num_rows:
                yield ranking


class ReducedGroup(NamedTuple):
    """What is kept of a group, but for the rows at its ends, whose queries may go on in others.

    first: its first query, or all rows where the group has no more.  last: its last query, or None.
    """

    first: list[pa.Table]
    between: list[ReducedRanking]
    last: list[pa.Table] | None


def reduce_group(rankings: Iterable[pa.Table], wanted: WantedPlaces) -> ReducedGroup:
    """NotPlainError where a query between the first and the last is not plain."""
    first: list[pa.Table] | None = None
    between: list[ReducedRanking] = []
    waiting: list[pa.Table] = []  # a query that may go on, and others that ended with a piece
    for ranking in rankings:
        starts = query_starts(ranking["query_id"].chunk(0)).tolist()
        waiting.append(ranking.slice(0, starts[1] if len(starts) > 1 else None))
        refuse_many(waiting)
        if len(starts) == 1:
            continue
        if first is None:
            first = waiting
        else:
            between.append(reduce_rankings(waiting, wanted))
        if starts[1] < starts[-1]:
            between.append(reduce_rankings([ranking.slice(starts[1], starts[-1] - starts[1])], wanted))
        waiting = [ranking.slice(starts[-1])]
    return ReducedGroup(waiting, [], None) if first is None else ReducedGroup(first, between, waiting)


def join_groups(groups: Iterable[ReducedGroup], wanted: WantedPlaces) -> Iterator[ReducedRanking]:
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


def reduce_rankings(rankings: list[pa.Table], wanted: WantedPlaces) -> ReducedRanking:
    return reduce_rows(pa.concat_tables(rankings).combine_chunks(), wanted)


def refuse_many(rankings: list[pa.Table]) -> None:
    if sum(ranking.num_rows for ranking in rankings) > MOST_ROWS:
        raise NotPlainError
