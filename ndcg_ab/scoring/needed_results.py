"""Decide which part of a ranking an evaluation needs, and reduce rankings to that part."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.scoring.metric_tables import depth_of, reads_below_cutoff
from ndcg_ab.scoring.parity import sample_queries
from ndcg_ab.sources import NeededResults, Pulled
from ndcg_ab.sources.fast_reader.reduce import group_rows, reduce_ranking
from ndcg_ab.sources.tables.on_disk import TableOnDisk, select_queries
from ndcg_ab.sources.tables.reduced_ranking import KNOWN_RANK, ReducedRanking, query_starts
from ndcg_core.measures.metric import Metric

FIRST_QUERIES = 200  # queries that are enough to see whether ids match
LOOKED_AT = FIRST_QUERIES + 100  # judged queries whose documents are looked up; some may not be answered


def find_needed_results(metrics: Sequence[Metric], judgments: Pulled, systems: int) -> NeededResults | None:
    """Return which part of each ranking the metrics and the checks need.

    None if all of each ranking is needed, or if the judgments are on a cluster. The part has one rank more than any
    metric counts, to detect ties at the last rank. It also has the judged documents of some queries, to detect document
    ids that never match. systems: number of compared systems.
    """
    if judgments.remote_table or any(reads_below_cutoff(metric) or metric.depth is None for metric in metrics):
        return None
    judged = sorted(judgments.query_ids)
    sample = frozenset(sample_queries(judged, systems))
    return NeededResults(depth_of(metrics) + 1, sample, judged_documents(judgments, judged[:LOOKED_AT]))


def judged_documents(judgments: Pulled, query_ids: Sequence[str]) -> dict[str, pa.Array]:
    """Return query_id -> ids of the judged documents, for the given queries that have judgments."""
    rows = select_queries(judgments.table, query_ids).select(["query_id", "doc_id"])
    rows = rows.cast(pa.schema([("query_id", pa.string()), ("doc_id", pa.string())])).sort_by("query_id")
    rows = rows.combine_chunks()
    if not rows.num_rows:
        return {}
    ids, documents = rows["query_id"].chunk(0), rows["doc_id"].chunk(0)
    starts = query_starts(ids).tolist()
    return {
        ids[start].as_py(): documents.slice(start, end - start)
        for start, end in zip(starts, [*starts[1:], len(ids)], strict=True)
    }


def covers_enough_queries(pulled: Pulled, judgments: Pulled) -> bool:
    """Return whether a ranking answers enough judged queries to check that document ids match the judgments.

    Enough are `FIRST_QUERIES` of the first `LOOKED_AT` judged queries. The result is True if there are no more judged
    queries than `LOOKED_AT`.
    """
    judged = sorted(judgments.query_ids)
    if len(judged) <= LOOKED_AT:
        return True
    return len(set(judged[:LOOKED_AT]).intersection(pulled.query_ids)) >= FIRST_QUERIES


def reduce_pulled(pulled: Pulled, judgments: Pulled, metrics: Sequence[Metric], systems: int) -> ReducedRanking | None:
    """Return the part of a ranking that the metrics need, with the ranks of relevant documents by the first metric.

    None if all of the ranking is needed, if it is not in memory, if the fast reader cannot read its rows, or if it
    answers too few judged queries for the check of document ids. systems: number of compared systems.
    """
    needed = find_needed_results(metrics, judgments, systems)
    if needed is None or pulled.remote_table or isinstance(pulled.table, TableOnDisk):
        return None
    table = group_rows(pulled.table)
    reduced = reduce_ranking(table, needed)
    if reduced is None or not covers_enough_queries(pulled, judgments):
        return None
    return dataclasses.replace(reduced, ranks=relevant_ranks(table, judgments.table, metrics[0]))


def relevant_ranks(table: pa.Table, judgments: pa.Table, metric: Metric) -> pa.Table:
    """Return rows (query_id, doc_id, rank) of the relevant documents of a ranking, ranked by a metric's rules.

    table: the ranking, sorted by query and falling score, with one chunk per column. judgments: query_id, doc_id,
        grade. Documents with a grade above 0 are relevant.
    """
    keys = ["query_id", "doc_id"]
    relevant = judgments.filter(pc.greater(judgments["grade"], 0)).select(keys).group_by(keys).aggregate([])
    documents = table.select(keys).append_column("index", pa.array(np.arange(len(table))))
    documents = documents.filter(pc.is_in(documents["doc_id"], value_set=relevant["doc_id"].combine_chunks()))
    ranked = documents.join(relevant, keys, join_type="inner").sort_by("index")
    doc_ids, scores = table["doc_id"].chunk(0), table["score"].to_numpy()
    if metric.score_precision == "float32":
        scores = scores.astype(np.float32)
    starts = query_starts(table["query_id"].chunk(0))
    begins = np.concatenate([[True], scores[1:] != scores[:-1]])
    if metric.ties == "given":
        begins[:] = True
    begins[starts] = True
    runs = np.append(np.flatnonzero(begins), len(table))
    index = ranked["index"].to_numpy()
    at = np.searchsorted(runs, index, side="right") - 1
    ranks = runs[at] - starts[np.searchsorted(starts, index, side="right") - 1] + 1
    is_before = pc.less if metric.ties == "doc_id_asc" else pc.greater
    for row in np.flatnonzero(runs[at + 1] - runs[at] > 1):
        first, end = int(runs[at[row]]), int(runs[at[row] + 1])
        ranks[row] += pc.sum(is_before(doc_ids.slice(first, end - first), doc_ids[int(index[row])])).as_py()
    return pa.table([ranked["query_id"], ranked["doc_id"], pa.array(ranks)], schema=KNOWN_RANK)
