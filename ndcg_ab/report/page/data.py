"""Collect the data of the report page and of its figures, and compress them for the page's script."""

import base64
import dataclasses
import gzip
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError
from ndcg_ab.history.repeated_tests import RepeatedTests
from ndcg_ab.report.answer import make_answer
from ndcg_ab.report.words import format_wins_ties_losses
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.sources.base import Source
from ndcg_ab.sources.queries import merge_documents, read_documents
from ndcg_ab.sources.tables.schema import DOCUMENT
from ndcg_core.measures.metric import Metric
from ndcg_core.statistics.verdicts.verdict import Tone, Verdict

SHOWN, MOST_SHOWN = 10, 20  # results of a ranking
MOST_MISSED = 10  # relevant documents of a query that a system does not show
VALUES = ("system_id", "query_id", "metric", "value")
RBO = pa.schema({"candidate": pa.string(), "query_id": pa.string(), "rbo": pa.float64()})
DOC_IDS = pa.schema({"doc_id": pa.string()})
MISSED = pa.schema(
    {"system_id": pa.string(), "query_id": pa.string(), "doc_id": pa.string(), "grade": pa.float64()}
    | {"rank": pa.int64(), "missed": pa.int64()}
)
SHOWN_RESULTS = pa.schema(
    {"system_id": pa.string(), "query_id": pa.string(), "rank": pa.int64(), "doc_id": pa.string()}
    | {"grade": pa.float64(), "gain": pa.float64()}
)
FULL = 2000  # queries that are drawn one by one; beyond, the figures draw groups of them
GROUPS = 1000  # bars that more queries are drawn with, about
CELLS = 40  # each way, of the grid that more queries are counted in
TIE = 1e-9
KINDS = {Tone.GOOD: "improved", Tone.BAD: "regressed"}


class MovedQuery(NamedTuple):
    """A query on which a candidate is better or worse than the baseline.

    Attributes
    ----------
    query_id : str
        Id of the query.
    text : str or None
        Text of the query; None if unknown.
    difference : float
        Candidate - baseline on one metric, in the metric's unit.
    """

    query_id: str
    text: str | None
    difference: float


@dataclasses.dataclass(frozen=True, eq=False)
class PageData:
    """The data of the report page.

    Attributes
    ----------
    outcome : Outcome
        The results of the evaluation.
    about : dict
        The content of bundle.json. For a comparison that is not stored: name, ordinal (or None), began (or None),
        finished, inputs, evaluation (or None) and, if known, gates, a list of {name, passed, message}.
    queries : pyarrow.Table
        Columns query_id and text (null if unknown).
    scores : pyarrow.Table
        Columns system_id, query_id, metric and value.
    rankings : pyarrow.Table
        The displayed results: system_id, query_id, rank, doc_id, grade (null if unjudged) and, if known, gain. The
        ranks are those of the first metric.
    timeline : pyarrow.Table or None
        All evaluations up to this one: ordinal, began, system_id, metric, mean, difference, low, high, verdict and
        conclusion. None without a history.
    missed : pyarrow.Table
        The relevant documents that are not displayed, the best first: system_id, query_id, doc_id, grade, rank (null if
        the system did not return the document) and missed (their number for this system and query).
    documents : pyarrow.Table or None
        Columns doc_id, title and url (null if unknown) of the displayed documents; None if no source has titles.
    trouble : str or None
        The reason why configured titles and addresses are missing; else None.
    rbo : pyarrow.Table
        Columns candidate, query_id and rbo, the rank-biased overlap with the baseline's top results (docs/changes.md);
        empty if it was not computed.
    over_nights : RepeatedTests or None
        The tests repeated over all evaluations; None without a history or a test.
    """

    outcome: Outcome
    about: dict[str, Any]
    queries: pa.Table
    scores: pa.Table
    rankings: pa.Table
    timeline: pa.Table | None = None
    missed: pa.Table = dataclasses.field(default_factory=MISSED.empty_table)
    documents: pa.Table | None = None
    trouble: str | None = None
    rbo: pa.Table = dataclasses.field(default_factory=RBO.empty_table)
    over_nights: RepeatedTests | None = None


def gather_page_data(
    engine: Engine,
    outcome: Outcome,
    about: dict[str, Any],
    timeline: pa.Table | None = None,
    documents: Source | None = None,
    *,
    scores: pa.Table | None = None,
    can_do_without: bool = False,
) -> PageData:
    """Return the data of the page from the tables of a scored evaluation.

    about: the content of bundle.json, as in `PageData`. timeline: the results of all evaluations; None without a
    history. documents: a source of titles and addresses; None without one. scores: the table `metric_value` if it was
    read already. Raise InputError if the source of titles fails; with `can_do_without`, return data without its titles
    instead.
    """
    rankings, missed = SHOWN_RESULTS.empty_table(), MISSED.empty_table()
    if not outcome.has_external_scores:
        engine.build("shown_result", depth=shown_depth(outcome.metrics[0]))
        rankings = engine.read("shown_result", order="query_id, system_id, rank")
        missed = engine.read("missed_document", MISSED.names, order="query_id, system_id, position", most=MOST_MISSED)
        missed = add_known_ranks(engine, missed)
    doc_ids = pa.concat_tables([table.select(["doc_id"]).cast(DOC_IDS) for table in (rankings, missed)])
    named, trouble = None if outcome.has_external_scores else documents_from_rankings(engine, doc_ids), None
    if documents:
        try:
            named = merge_documents(read_documents(documents, doc_ids["doc_id"]), named)
        except InputError as error:
            if not can_do_without:
                raise
            trouble = str(error)
    return PageData(
        outcome=outcome,
        about=about,
        queries=engine.read("shown_query", order="query_id"),
        scores=engine.read("metric_value", VALUES) if scores is None else scores.select(VALUES),
        rankings=rankings,
        timeline=timeline,
        missed=missed,
        documents=named,
        trouble=trouble,
        rbo=engine.read("query_change", RBO.names) if outcome.changes else RBO.empty_table(),
    )


def add_known_ranks(engine: Engine, missed: pa.Table) -> pa.Table:
    """Return a table of relevant documents that are not displayed, with missing ranks filled in from `known_rank`.

    The ranks are missing if rankings were reduced to their top results. missed: in the columns of `MISSED`.
    """
    known_ranks = engine.read("known_rank")
    if known_ranks.num_rows == 0:
        return missed
    keys, column = ["system_id", "query_id", "doc_id"], missed.schema.get_field_index("rank")
    numbered = missed.select(keys).append_column("row", pa.array(range(len(missed)), pa.int64()))
    joined = numbered.join(known_ranks.rename_columns([*keys, "known"]), keys, join_type="left outer").sort_by("row")
    ranks = pc.coalesce(joined["known"].cast(missed["rank"].type), missed["rank"])
    return missed.set_column(column, missed.schema.field(column), ranks)


def documents_from_rankings(engine: Engine, documents: pa.Table) -> pa.Table | None:
    """Return the titles and addresses that the sources of rankings gave for documents; None if they gave none.

    documents: a table with the column doc_id.
    """
    all_documents = engine.read("named_document", DOCUMENT.schema.names, order="doc_id")
    selected = all_documents.filter(pc.is_in(all_documents["doc_id"], pc.unique(documents["doc_id"])))
    return selected if selected.num_rows else None


def about_unstored(evaluation: Evaluation, inputs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return name, time and inputs of a comparison that is not stored in a history, by the keys of bundle.json."""
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    return {"name": evaluation.name, "ordinal": None, "began": None, "finished": finished, "inputs": inputs}


def shown_depth(metric: Metric) -> int:
    """Return how many results of a ranking the page displays: the metric's cutoff, between SHOWN and MOST_SHOWN."""
    return min(MOST_SHOWN, max(SHOWN, metric.cutoff or SHOWN))


def largest_moves(data: PageData, metric: str, candidate: str, count: int, *, wins: bool = False) -> list[MovedQuery]:
    """Return the queries on which a candidate loses most against the baseline, the largest loss first.

    count: the largest number of queries. wins: if True, the queries on which the candidate wins most instead.
    """
    of_metric = pc.equal(data.scores["metric"], metric)
    before, after = (
        dict(zip(*(found[column].to_pylist() for column in ("query_id", "value")), strict=True))
        for name in (data.outcome.baseline, candidate)
        for found in [data.scores.filter(pc.and_(of_metric, pc.equal(data.scores["system_id"], name)))]
    )
    sign = -1 if wins else 1
    moved = sorted((sign * (after[query] - before[query]), query) for query in before.keys() & after.keys())[:count]
    texts = dict(zip(data.queries["query_id"].to_pylist(), data.queries["text"].to_pylist(), strict=True))
    return [MovedQuery(query, texts.get(query) or None, sign * value) for value, query in moved if value < -TIE]


def verdict_colour(conclusion: Verdict | None) -> str:
    """Return the colour class of a verdict: improved, regressed, or other (also for None)."""
    return KINDS.get(conclusion.traits.tone, "other") if conclusion else "other"


def timeline_rows(data: PageData) -> list[dict[str, Any]]:
    """Return the rows of the figure over all evaluations, in order of time; empty without a history.

    There is one row per evaluation, metric and system. Keys: ordinal, metric, mean, verdict, system, night and
    regressed. `night` is the date of the evaluation in UTC, with the time if several evaluations share a date.
    """
    rows = [] if data.timeline is None else data.timeline.to_pylist()
    nights = sorted(rows, key=lambda row: (to_utc(row["began"]), row["ordinal"]))
    times = {row["ordinal"]: to_utc(row["began"]) for row in nights}
    dates = [f"{time:%Y-%m-%d}" for time in times.values()]
    form = "%Y-%m-%d" if len(set(dates)) == len(dates) else "%Y-%m-%d %H:%M:%S"
    return [
        {
            **{name: row[name] for name in ("ordinal", "metric", "mean", "verdict")},
            "system": row["system_id"],
            "night": f"{times[row['ordinal']]:{form}}",
            "regressed": row["conclusion"] == Verdict.REGRESSED,
        }
        for row in nights
    ]


def to_utc(time: str | datetime) -> datetime:
    read = datetime.fromisoformat(time) if isinstance(time, str) else time
    return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)


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
