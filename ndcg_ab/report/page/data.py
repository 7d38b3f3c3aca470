"""Collect the data of the report page and of its figures."""

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError
from ndcg_ab.history.repeated_tests import RepeatedTests
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
