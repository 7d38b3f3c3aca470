"""Compress the data that the page's script draws, and leave out what exceeds the size limit."""

import base64
import gzip
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.report.answer import make_answer
from ndcg_ab.report.page.data import CELLS, FULL, GROUPS, PageData, shown_depth, timeline_rows
from ndcg_ab.report.words import format_wins_ties_losses

AT_ONCE = 2000  # queries whose rankings are taken out of a table together
DECIMALS = 10  # of values in the table of queries
LINK = re.compile(r"https?://[^\s\x00-\x1f]+", flags=re.IGNORECASE)
NOTHING = {"rankings": 0, "queries": 0}  # left out


def fit_block(data: PageData, limit: int) -> tuple[str, dict[str, int]]:
    """Return the data block in at most `limit` bytes, and the numbers of rankings and queries that were left out.

    Rankings are left out before queries. Queries with small differences on the first metric are left out first. The
    numbers are a dictionary {"rankings": int, "queries": int}. The block exceeds the limit if it is too large even
    without queries.
    """
    content = script_data(data)
    queries = content["queries"]["id"]
    encoded = () if content.get("given") else encode_rankings(data, content["systems"], queries)
    rankings = list(map(to_json, encoded))
    order = query_indices_by_difference(content)
    block = pack_content(content, rankings)
    if len(block) <= limit:
        return block, NOTHING
    without_rankings = pack_content(content)
    kept, bare = len(queries), len(without_rankings)
    if are_rankings_left_out := bare > 0.9 * limit:
        block, bare = without_rankings, 0
    while len(block) > limit and kept > 0:
        kept = max(0, int(kept * min(0.97, (limit - bare) / (len(block) - bare))))
        chosen = set(order[:kept])
        if are_rankings_left_out:
            block = pack_content(select_queries(content, sorted(chosen)))
        else:
            parts = [ranking if index in chosen else "null" for index, ranking in enumerate(rankings)]
            block = pack_content(content, parts)
    rest = len(queries) - kept
    return block, {"rankings": kept, "queries": rest} if are_rankings_left_out else {"rankings": rest, "queries": 0}


def select_queries(content: dict[str, Any], indices: Sequence[int]) -> dict[str, Any]:
    """Return the content of the data block with only the queries at `indices`."""
    queries = {name: [column[index] for index in indices] for name, column in content["queries"].items()}
    values = [[[column[index] for index in indices] for column in systems] for systems in content["values"]]
    return content | {"queries": queries, "values": values}


def query_indices_by_difference(content: dict[str, Any]) -> list[int]:
    """Return the indices of the queries, the largest absolute difference on the first metric first."""
    columns = content["values"][0]
    baseline = columns[content["baseline"]]

    def largest(index: int) -> float:
        values = [column[index] for column in columns if column[index] is not None]
        return 0.0 if baseline[index] is None else max((abs(value - baseline[index]) for value in values), default=0.0)

    return sorted(range(len(baseline)), key=lambda index: (-largest(index), index))


def pack_content(content: dict[str, Any], rankings: Sequence[str] = ()) -> str:
    """Return content and rankings (one JSON text per query) as compressed base64; equal content gives equal text."""
    text = f'{to_json(content)[:-1]},"rankings":[{",".join(rankings)}]}}'
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def to_json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def script_data(data: PageData) -> dict[str, Any]:
    """Return the data for the page's script without rankings; systems, metrics and queries are referred to by index."""
    outcome = data.outcome
    systems = list(dict.fromkeys([outcome.baseline, *(row.system_id for row in outcome.systems)]))
    ids, texts = (data.queries[name].to_pylist() for name in ("query_id", "text"))
    return {
        "systems": systems,
        "baseline": 0,
        "best": next((systems.index(each.name) for each in make_answer(outcome).candidates), None),
        "metrics": [metric.name for metric in outcome.metrics],
        "queries": {"id": ids, "text": texts},
        "values": value_columns(data, systems, {name: index for index, name in enumerate(ids)}),
        "given": outcome.has_external_scores,
        "gains": grade_gains(data),
        "depth": shown_depth(outcome.metrics[0]),
        "comparisons": [
            {"metric": row.metric, "candidate": row.candidate, "queries": row.queries, "difference": row.difference}
            | {"counts": format_wins_ties_losses(row)}
            for row in outcome.main
        ],
        "nights": timeline_rows(data),
        "limits": {"full": FULL, "groups": GROUPS, "cells": CELLS},
    }


def value_columns(data: PageData, systems: Sequence[str], indices: dict[str, int]) -> list[list[list[float | None]]]:
    """Return ``values[metric][system][query]``, with None for a query that is not scored.

    indices: query id -> index in the innermost lists.
    """
    metrics = [metric.name for metric in data.outcome.metrics]
    columns: dict[tuple[str, str], list[float | None]] = {
        (metric, system): [None] * len(indices) for metric in metrics for system in systems
    }
    parts = (data.scores[name].to_pylist() for name in ("metric", "system_id", "query_id", "value"))
    for metric, system, query, value in zip(*parts, strict=True):
        if (metric, system) in columns and query in indices:
            columns[metric, system][indices[query]] = round(value, DECIMALS)
    return [[columns[metric, system] for system in systems] for metric in metrics]


def encode_rankings(data: PageData, systems: Sequence[str], ids: Sequence[str]) -> Iterator[list[Any] | None]:
    """Yield the rankings of each query as a list of five items; None for a query whose rows stay on a cluster.

    1. The documents, each as an id or as [id, title, address].
    2. The grades of these documents; null if unjudged.
    3. Per system, the displayed ranking as indices into the documents.
    4. Per system, [count, [[index, rank], …]]: the number of relevant documents that are not displayed, and a list of
    the best of these documents. The index is that of the document in the first item. The rank is the one at which the
    system returned the document; null if it did not return it.
    5. Per system, the rank-biased overlap with the baseline; null if unknown.
    """
    has_some_alone = bool(((data.about.get("evaluation") or {}).get("engine") or {}).get("spark"))
    titled = known_documents(data)
    rankings = rows_by_query(data.rankings, ids, ("system_id", "rank", "doc_id", "grade"))
    left_out = rows_by_query(data.missed, ids, ("system_id", "doc_id", "grade", "rank", "missed"))
    agreeing = rows_by_query(data.rbo, ids, ("candidate", "rbo"))
    for results, others_of, agreement in zip(rankings, left_out, agreeing, strict=True):
        if has_some_alone and not (results or others_of):
            yield None
            continue
        ranked: dict[str, list[tuple[int, str]]] = {}
        missed: dict[str, list[tuple[str, int | None]]] = {}
        counts: dict[str, int] = {}
        grades: dict[str, float | None] = {}
        for system, rank, doc, grade in results:
            ranked.setdefault(system, []).append((rank, doc))
            grades[doc] = grade
        for system, doc, grade, rank, count in others_of:
            missed.setdefault(system, []).append((doc, rank))
            counts[system] = count
            grades[doc] = grade
        in_order = [[doc for _, doc in sorted(ranked.get(system, []))] for system in systems]
        missed_ranks = [missed.get(system, []) for system in systems]
        docs = [*itertools.chain(*in_order), *(doc for rows in missed_ranks for doc, _ in rows)]
        index = {doc: number for number, doc in enumerate(dict.fromkeys(docs))}
        known = [int(grade) if grade is not None and grade == int(grade) else grade for grade in map(grades.get, index)]
        ranks = [[index[doc] for doc in ranking] for ranking in in_order]
        others = [
            [counts.get(system, 0), [[index[doc], rank] for doc, rank in rows]]
            for system, rows in zip(systems, missed_ranks, strict=True)
        ]
        rbo = {system: round(value, 4) for system, value in agreement}
        yield [[titled.get(doc, doc) for doc in index], known, ranks, others, [rbo.get(system) for system in systems]]


def rows_by_query(table: pa.Table, ids: Sequence[str], columns: Sequence[str]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of each query in the order of `ids`; the rows of one query keep the order of the table.

    Only `AT_ONCE` queries are converted at a time.
    """
    indices = pc.index_in(table["query_id"], value_set=pa.array(ids, pa.string())).to_numpy(zero_copy_only=False)
    order = np.argsort(indices, kind="stable")
    ends = np.searchsorted(indices[order], np.arange(len(ids) + 1))
    chosen = table.select(columns)
    for first in range(0, len(ids), AT_ONCE):
        last = min(first + AT_ONCE, len(ids))
        part = chosen.take(pa.array(order[ends[first] : ends[last]]))
        rows = list(zip(*(column.to_pylist() for column in part.columns), strict=True))
        for index in range(first, last):
            yield rows[ends[index] - ends[first] : ends[index + 1] - ends[first]]


def known_documents(data: PageData) -> dict[str, list[str | None]]:
    """Return doc_id -> [id, title, address] for documents that have a title or an address.

    Addresses other than http and https are left out.
    """
    rows = data.documents.to_pylist() if data.documents else []
    documents = {row["doc_id"]: [row["doc_id"], row["title"], safe_link(row["url"])] for row in rows}
    return {doc_id: row for doc_id, row in documents.items() if row[1:] != [None, None]}


def safe_link(url: str | None) -> str | None:
    return url if url and LINK.fullmatch(url) else None


def grade_gains(data: PageData) -> list[list[float]]:
    """Return the pairs of a grade and its gain on the first metric; empty if the rankings have no gains."""
    if "gain" not in data.rankings.column_names:
        return []
    pairs = data.rankings.select(["grade", "gain"]).group_by(["grade", "gain"]).aggregate([]).to_pylist()
    rows = [[row["grade"], row["gain"]] for row in pairs if row["grade"] is not None and row["gain"] is not None]
    return sorted(rows)
