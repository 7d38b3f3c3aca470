"""Plain Parquet: batches of whole queries, held to the rules that the careful path has for tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as papq

from ndcg_ab.sources.columns import breaks_a_rule, typed
from ndcg_ab.sources.reduced import NotPlainError, Reduced, Wanted, reduce_rows
from ndcg_ab.sources.schema import RANKING

BATCH = 1 << 17  # rows
MOST_ROWS = 1 << 22  # of one query


@contextmanager
def row_batches(path: Path, columns: dict[str, str]) -> Iterator[Iterator[pa.Table]]:
    """The file in tables of whole queries, as long as each one's rows stand together."""
    with papq.ParquetFile(path) as file:
        chosen = RANKING.check_columns(str(path), file.schema_arrow.names, columns)
        if "score" not in chosen:
            raise NotPlainError
        yield whole_queries(file.iter_batches(BATCH, columns=list(chosen.values())), chosen["query_id"])


def whole_queries(batches: Iterator[pa.RecordBatch], query_id: str) -> Iterator[pa.Table]:
    rest: pa.Table | None = None
    for batch in batches:
        table = pa.Table.from_batches([batch])
        if rest is not None and rest.num_rows:
            table = pa.concat_tables([rest, table]).combine_chunks()
        if not table.num_rows:
            continue
        cut = last_query(table[query_id])
        if cut:
            yield table.slice(0, cut)
        rest = table.slice(cut)
        if rest.num_rows > MOST_ROWS:
            raise NotPlainError
    if rest is not None and rest.num_rows:
        yield rest


def last_query(query_ids: pa.ChunkedArray) -> int:
    """Where the rows of the last query begin."""
    ids = query_ids.combine_chunks() if query_ids.num_chunks > 1 else query_ids.chunk(0)
    if ids.null_count:
        raise NotPlainError
    differs = np.flatnonzero(pc.not_equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False))
    return int(differs[-1]) + 1 if len(differs) else 0


def reduce_batch(table: pa.Table, columns: dict[str, str], wanted: Wanted) -> Reduced:
    """A batch's rows that are kept, and its answers; NotPlainError where it breaks a rule."""
    chosen = RANKING.check_columns("", table.column_names, columns)
    ranking = typed(table, RANKING, chosen, "").combine_chunks()
    if breaks_a_rule(ranking, spaces=False) or ranking["score"].null_count:
        raise NotPlainError
    return reduce_rows(ranking, wanted)
