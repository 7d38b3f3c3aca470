"""Plain Parquet: batches cut into whole queries, each of which the compiled pass holds to the rules of tables."""

from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from ndcg_ab.sources.fast_reader.compiled_pass import WantedRows, reduce_ranking
from ndcg_ab.sources.files.unpacking import open_table, refuse_other_counts
from ndcg_ab.sources.tables.columns import cast_columns
from ndcg_ab.sources.tables.schema import RANKING
from ndcg_ab.sources.tables.top_places import NotPlainError, ReducedRanking

BATCH = 1 << 17  # rows
MOST_ROWS = 1 << 22  # of one query


def read_queries(path: Path, columns: dict[str, str]) -> Iterator[tuple[pa.Table, dict[str, str]]]:
    """Yield tables of whole queries, as long as the rows of each query are together, and field -> column."""
    waiting: list[pa.Table] = []
    with open_table(path) as file:
        chosen = RANKING.check_columns(str(path), file.schema_arrow.names, columns)
        names, rows = [*chosen.values()], 0
        if "score" not in chosen:
            raise NotPlainError
        for batch in file.iter_batches(BATCH, columns=names):
            if not batch.num_rows:
                continue
            rows += batch.num_rows
            table, query_ids = pa.Table.from_batches([batch]), batch.column(chosen["query_id"])
            cut = last_query_start(query_ids)
            if cut or not waiting or query_ids[0] != waiting[0][chosen["query_id"]][0]:
                whole = [*waiting, table.slice(0, cut)]
                if any(map(len, whole)):
                    yield pa.concat_tables(whole), chosen
                waiting = []
            waiting.append(table.slice(cut))
            if sum(map(len, waiting)) > MOST_ROWS:
                raise NotPlainError
        refuse_other_counts(path, file, rows, names)
    if waiting:
        yield pa.concat_tables(waiting), chosen


def last_query_start(query_ids: pa.Array) -> int:
    """Return the row at which the last query begins; a query whose rows are apart comes again in another table."""
    last = query_ids[-1]
    return bisect_left(range(len(query_ids)), True, key=lambda row: query_ids[row] == last)


def reduce_queries(table: pa.Table, chosen: dict[str, str], wanted: WantedRows) -> ReducedRanking:
    """Return what is kept of whole queries; raise NotPlainError if one is not plain."""
    ranking = cast_columns(table, RANKING, chosen, "", validate=False).combine_chunks()
    return reduce_ranking(ranking, wanted)
