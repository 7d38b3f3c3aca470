"""A source of judgments that are computed from clicks.

Events are matched with queries (the `query_id` of UBI is one search of one user, its `user_query` the typed text), and
graded by the SQL files of `sql/8_clicks` and the position-based click model. `benchmarks/click_models.py` computes the
grades independently in plain Python; `tests/sql/test_clicks.py` compares the two.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.config.model.inputs.judgments import Clicks, ClicksSource
from ndcg_ab.config.model.operation import Resources
from ndcg_ab.engines import Engine, open_engine
from ndcg_ab.engines.sql_files import click_files
from ndcg_ab.errors import InputError, format_value
from ndcg_ab.memory import release_freed_memory
from ndcg_ab.sources.base import MOST_EXAMPLES, PullRequest, PullResult, Remark, RemarkCounter, Source, with_remarks
from ndcg_ab.sources.clicks.events import EVENTS, ReadEvents, read_events
from ndcg_ab.sources.forms.nested import ids_text
from ndcg_ab.sources.registry import make_source
from ndcg_ab.sources.tables.on_disk import IN_MEMORY, TableWriter, read_batches, table_or_file
from ndcg_ab.sources.tables.schema import JUDGMENT, Layout
from ndcg_core.statistics.estimates.click_positions import ClickCounts, IntArray, JoinedFit, fit_joined

ATTRACTION = pa.schema([("document", pa.int64()), ("attraction", pa.float64())])
EXAMINATION = pa.schema([("place", pa.int64()), ("examination", pa.float64()), ("doubt", pa.float64())])
ORDER = "query_id, doc_id"
Z = 1.959963984540054  # of a 95 % interval: the .975 quantile of the normal distribution
SMALLEST_CHANGE = 1e-6  # of a probability: a step that moves none further says that the likelihood is the greatest


class GradedClicks(NamedTuple):
    """The grades that a click model gives, with the rates and counts behind them.

    Attributes
    ----------
    table : pyarrow.Table
        One row per graded document, sorted by ids: query_id, doc_id, grade, impressions, clicks, value, low, high.
    rates : pyarrow.Table
        One row per rank (place): place, impressions, clicks and rate.
    documents : int
        Number of documents with events, graded or not.
    queries : int
        Number of queries with events.
    change : float
        For the position-based model, the largest change of a probability by one more step of expectation maximisation;
        0 for other models.
    remarks : tuple of Remark
        Findings about the events and grades.
    """

    table: pa.Table
    rates: pa.Table
    documents: int
    queries: int
    change: float
    remarks: tuple[Remark, ...]


def grade_clicks(engine: Engine, events: ReadEvents, described: Clicks, queries: Mapping[str, str]) -> GradedClicks:
    """Grade documents by the click model that the configuration `described` names.

    engine: an engine that was opened with the SQL files `click_files` and has no tables yet. queries: query_id -> text;
    if empty, the text of a search is its query_id. Raise InputError if no search has the text of a query, or if no
    document has enough impressions.
    """
    texts, unmatched = match_texts(events, queries)
    scale, boundaries = described.rule_and_boundaries
    engine.expect_rows(events.table.num_rows)
    engine.set_defaults(model=described.model, z=Z, floor=described.least_impressions, scale=scale, **CLIENT_RULES)
    columns = {name: name for name in EVENTS.names}
    engine.put_files("pulled_click_event", columns, [(table_or_file(events.table), {})])
    engine.put("pulled_click_text", texts)
    engine.put("pulled_click_cut", pa.table({"cut": pa.array(boundaries, pa.float64())}))
    change, left_out = fit_model(engine, described.model)
    table = engine.read("click_grade", order=ORDER)
    rates = engine.read("click_rate", ("place", "impressions", "clicks", "rate"), order="place")
    documents, queries_there = 0, set[str]()
    for piece in engine.pieces("click_document", ("query_id",), where={"is_asked": True}):
        documents += piece.num_rows
        queries_there.update(pc.unique(piece["query_id"]).to_pylist())
    if not table.num_rows:
        pieces = engine.pieces("click_value", ("impressions",), where={"is_asked": True})
        most = max((pc.max(piece["impressions"]).as_py() or 0 for piece in pieces), default=0)
        where = " at places that can be compared" if left_out else ""
        raise InputError(
            f"{events.origin}: no document has {described.least_impressions} impressions or more{where} (the most is"
            f" {most}): give more events, or set a lower floor, such as --floor {most}"
        )
    definition = described.definition
    if change > SMALLEST_CHANGE:
        definition += f", of which a step of expectation maximisation still moved a probability by {change:.1g}"
    remark = grade_remark(table, documents, events.read, definition)
    remarks = (remark, *left_out, *events.remarks, *unmatched, *value_remarks(table), *event_remarks(engine, rates))
    return GradedClicks(table, rates, documents, len(queries_there), change, remarks)


def fit_model(engine: Engine, model: str) -> tuple[float, list[Remark]]:
    """Fit the position-based click model, and put its probabilities into tables of the engine.

    For another `model`, the tables are empty. Return (change, remarks). The change is the largest change of a
    probability by one more step of expectation maximisation in SQL; it is about 0 if the maximum of the likelihood was
    found, and 0 for another model. The list has a remark if some documents cannot be compared; else it is empty.
    """
    if model != "position":
        engine.put("pulled_attraction", ATTRACTION.empty_table())
        engine.put("pulled_examination", EXAMINATION.empty_table())
        return 0.0, []
    documents, distinct_ranks, counts = read_click_counts(engine)
    fit = fit_joined(counts)
    fitted, ranks, top = documents[fit.document], distinct_ranks[fit.rank], fit.examination.max(initial=1.0)
    doubt = fit.doubt if fit.is_identified else [None] * len(ranks)

    def put(scale: float) -> None:
        engine.put("pulled_attraction", pa.table([fitted, fit.attraction * scale], schema=ATTRACTION))
        engine.put("pulled_examination", pa.table([ranks, fit.examination / scale, doubt], schema=EXAMINATION))

    put(top)  # a step moves nothing at its bounds, which are 1
    attracted = engine.read("attraction", ATTRACTION.names, order="document")["attraction"].to_numpy()
    examined = engine.read("examination", ("place", "examination"), order="place")["examination"].to_numpy()
    put(1.0)
    change = max(np.abs(attracted - fit.attraction * top).max(), np.abs(examined - fit.examination / top).max())
    return float(change), rank_remarks(fit, len(documents), ranks)


def read_click_counts(engine: Engine) -> tuple[IntArray, IntArray, ClickCounts]:
    """Return the documents, the ranks, and the impressions and clicks of each pair of document and rank.

    The documents are integers. Documents and ranks are sorted arrays without duplicates, to which the counts refer by
    index. Pairs without impressions are left out.
    """
    rows = engine.read("click_count", ("document", "place", "impressions", "clicks"), order="document, place")
    rows = rows.filter(pc.greater(rows["impressions"], 0))
    documents, document = np.unique(rows["document"].to_numpy(), return_inverse=True)
    ranks, rank = np.unique(rows["place"].to_numpy(), return_inverse=True)
    columns = (rows[name].to_numpy().astype(np.float64) for name in ("impressions", "clicks"))
    return documents, ranks, ClickCounts(document, rank, *columns)


TEXTS = pa.schema([("text", pa.string()), ("query_id", pa.string()), ("is_asked", pa.bool_())])
OTHER = "\t"  # before the text of a search that is no query of ours: no query_id has such a character


def fold_text(text: str) -> str:
    """Return the text in lower case with single spaces, so that texts typed differently compare equal."""
    return " ".join(text.casefold().split())


def match_texts(events: ReadEvents, queries: Mapping[str, str]) -> tuple[pa.Table, list[Remark]]:
    """Match the texts of searches with the queries, and return a table of pairs and a list of remarks.

    The table has one row for each search text and query that match. A text that matches no query has one row, too, and
    a remark counts such texts. A text matches the queries with exactly this text; without such a query, it matches
    those whose texts differ only in case and white space. The column is_asked is true if the text matches a query, so
    that documents are to be graded for it. queries: query_id -> text; if empty, each text is its own query_id. Raise
    InputError if no text matches a query.
    """
    counts = Counter[str]()
    for piece in read_batches(events.table, ["text"]):
        for row in pc.value_counts(piece["text"]).to_pylist():
            counts[row["values"]] += row["counts"]
    ids_by_text = {text: [text] for text in counts}
    exact, alike = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for query_id, text in queries.items():
        exact[text].append(query_id)
        alike[fold_text(text)].append(query_id)
    if queries:
        ids_by_text = {text: exact.get(text) or alike.get(fold_text(text), []) for text in counts}
    lacking = sorted((text for text in counts if not ids_by_text[text]), key=lambda text: (-counts[text], text))
    if lacking and len(lacking) == len(counts):
        raise InputError(
            f"{events.origin}: none of its {len(counts):,} texts (such as {format_value(lacking[0])}) is the text of a"
            f" query (such as {format_value(next(iter(queries.values())))}): give the queries that users typed"
        )
    remarks = []
    if lacking:
        message = (
            f"{sum(counts[text] for text in lacking):,} of {events.table.num_rows:,} events have a text that no query"
            f" has ({len(lacking):,} text{'s' * (len(lacking) != 1)}): they only tell how often each place is clicked"
        )
        examples = tuple(f"{format_value(text)}: {counts[text]:,} events" for text in lacking[:MOST_EXAMPLES])
        remarks.append(Remark("click_unmatched_query", sum(counts[text] for text in lacking), examples, message))
    pairs = [(text, query_id) for text, ids in ids_by_text.items() for query_id in ids]
    rows = [*pairs, *((text, OTHER + text) for text in lacking)]
    columns = [text for text, _ in rows], [query_id for _, query_id in rows], np.arange(len(rows)) < len(pairs)
    return pa.table(columns, schema=TEXTS), remarks


class ClickJudgments(Source):
    """A source of judgments that are computed from a click log."""

    limits_key = "click log"

    def __init__(self, described: ClicksSource, directory: Path) -> None:
        self.described = described.clicks
        self.directory = directory
        self.events = make_source(self.described.source, directory)
        self.origin = f"{self.events.origin} ({self.described.definition})"

    def answer(self, layout: Layout, pull: PullRequest) -> PullResult:
        """Grade documents from the click log and return them as a judgment table.

        Only searches with the texts of the requested queries count; without texts, the text of a search is its
        query_id.
        """
        graded = self.grade(pull.texts, pull.resources)
        columns = {
            field.name: graded.table[field.name]
            if field in JUDGMENT.fields
            else pa.nulls(graded.table.num_rows, field.type)
            for field in layout.fields
        }
        return PullResult(with_remarks(pa.table(columns, schema=layout.schema), graded.remarks))

    def grade(self, queries: Mapping[str, str], allowed: Resources | None = None) -> GradedClicks:
        """Grade documents from the click log and return the grades with the counts behind them.

        queries: query_id -> text; if empty, the text of a search is its query_id. allowed: threads and memory that may
        be used; None for no limit. Raise InputError if the log cannot be read, or if no document can be graded.
        """
        limits = allowed or Resources()
        with open_engine(limits.threads, limits.memory_limit, limits.spill, files=click_files()) as engine:
            memory, writer = engine.memory, IN_MEMORY
            if memory is not None and memory.folder is not None:  # more than a few events go into a file
                writer = TableWriter(memory.folder / "click_event.parquet", memory)
            events = read_events(self.described, self.events, self.directory, writer)
            release_freed_memory()
            return grade_clicks(engine, events, self.described, queries)


# ---- remarks on the grades


CLIENT_RULES: Mapping[str, int | float] = {  # parameters of client_finding
    "fewest_clients": 100,  # with fewer nobody can say which number of events is usual
    "usual_share": 0.99,  # of the clients, who have the usual number of events or fewer
    "bot_times": 10,  # a bot has more than so many times the usual number,
    "bot_events": 100,  # and at least so many
    "one_client_clicks": 5,  # of a document, more than half of them by one client
}


def grade_counts(table: pa.Table) -> dict[float, int]:
    """Return the mapping grade -> number of documents, sorted by grade."""
    counts = {row["values"]: row["counts"] for row in pc.value_counts(table["grade"]).to_pylist()}
    return dict(sorted(counts.items()))


def grade_remark(table: pa.Table, documents: int, events: int, definition: str) -> Remark:
    """Return the remark that grades come from clicks, with their definition and counts.

    table: the graded documents. documents, events: the numbers of documents and events in the log. definition: the
    definition of the grades, in words.
    """
    counts = grade_counts(table)
    few = ", ".join(f"{grade:g}: {count:,}" for grade, count in counts.items())
    grades = few if len(counts) <= 10 else f"{len(counts):,} different ones"
    queries = pc.count_distinct(table["query_id"]).as_py()
    message = (
        f"grades come from {definition}: {table.num_rows:,} documents of {queries:,} queries from {events:,} events"
        f" ({grades}); {documents - table.num_rows:,} documents were shown too seldom for a grade"
    )
    return Remark("click_grades", table.num_rows, (), message, events)


def value_remarks(table: pa.Table) -> list[Remark]:
    """Return a list with a remark if all graded documents have the same value; else an empty list.

    Such grades cannot distinguish rankings.
    """
    if table.num_rows < 2 or pc.count_distinct(table["value"]).as_py() > 1:
        return []
    message = f"the {table.num_rows:,} documents with a grade all have the value {table['value'][0].as_py():.3g}"
    return [Remark("click_one_value", table.num_rows, (), message)]


def rank_remarks(fit: JoinedFit, documents: int, ranks: IntArray) -> list[Remark]:
    """Return a list with a remark if clicks at some ranks cannot be compared with the others; else an empty list.

    Clicks at two ranks can be compared if enough documents were displayed at both. fit: the fit to the largest set of
    ranks that can be compared. documents: number of documents in the log. ranks: the ranks in this set.
    """
    if not fit.left_out:
        return []
    outside, share = documents - len(fit.document), f"{100 * fit.left_out:.2g} %"
    most = ", ".join(map(str, ranks[:MOST_EXAMPLES])) + ", …" * (len(ranks) > MOST_EXAMPLES)
    message = (
        f"{outside:,} of {documents:,} documents have no grade, and {share} of the impressions do not count:"
        f" too few documents were shown both at {'place' if len(ranks) == 1 else 'one of the places'} {most} and at"
        " another place to compare their clicks"
    )
    return [Remark("click_not_joined", outside, (), message)]


def event_remarks(engine: Engine, rates: pa.Table) -> Iterator[Remark]:
    """Yield the remarks on events that make grades doubtful.

    These are ranks without impressions, a single ranking, clicks without impressions, bots, and documents that a single
    client clicked. rates: the table `click_rate`.
    """
    ranks = {*rates.filter(pc.greater(rates["impressions"], 0))["place"].to_pylist()}
    gaps = [rank for rank in range(1, max(ranks, default=0)) if rank not in ranks]
    if gaps:
        message = f"nothing was ever shown at {len(gaps)} of the places 1 to {max(ranks)}"
        examples = tuple(f"place {rank}" for rank in gaps[:MOST_EXAMPLES])
        yield Remark("click_place_gap", len(gaps), examples, message)
    documents = engine.count("click_document")
    if documents >= max(2, engine.count("click_count")):
        message = (
            f"each of the {documents:,} documents was shown at one place only: one ranking is in the log, and what a"
            " document gains by its place cannot be told from what it is worth"
        )
        yield Remark("click_one_ranking", documents, (), message)
    pieces = engine.pieces("click_count", ("document", "place", "shown_events", "click_events"))
    odd = pa.concat_tables(piece.filter(pc.greater(piece["click_events"], piece["shown_events"])) for piece in pieces)
    if odd.num_rows:
        more = pc.sum(pc.subtract(odd["click_events"], odd["shown_events"])).as_py()
        first = odd.sort_by([("document", "ascending"), ("place", "ascending")]).slice(0, MOST_EXAMPLES).to_pylist()
        examples = tuple(f"{document_text(engine, row['document'])}, place {row['place']}" for row in first)
        message = (
            f"{more:,} clicks or more have no impression beside them at their place: each counts as one shown, too"
        )
        yield Remark("click_without_impression", more, examples, message)
    yield from client_remarks(engine)


def document_text(engine: Engine, document: int) -> str:
    """Return the query and the document of a row of `click_document`, as text."""
    ((query_id, doc_id),) = engine.rows("click_document", ("query_id", "doc_id"), where={"document": document})
    return ids_text(query_id, doc_id)


def client_remarks(engine: Engine) -> Iterator[Remark]:
    """Yield the remarks on clients that may be programs, and on documents most of whose clicks one client made."""
    bots = engine.read("client_finding", where={"code": "click_bot"}, order="amount desc, client")
    if bots.num_rows:
        rows = bots.slice(0, MOST_EXAMPLES).to_pylist()
        share = pc.sum(bots["amount"]).as_py() / rows[0]["total"]
        message = (
            f"{bots.num_rows} of {rows[0]['clients']:,} clients make {share:.0%} of the events, each more than"
            f" {CLIENT_RULES['bot_times']} times the {rows[0]['usual']} that 99 of 100 clients keep to: programs, not"
            " people?"
        )
        examples = tuple(f"client {format_value(row['client'])}: {row['amount']:,} events" for row in rows)
        yield Remark("click_bot", bots.num_rows, examples, message)
    odd = engine.read("client_finding", where={"code": "click_one_client"}, order="query_id, doc_id")
    one_client = RemarkCounter("click_one_client")
    one_client.add_rows(
        odd, lambda row: f"{ids_text(row['query_id'], row['doc_id'])}: {row['amount']} of {row['total']} clicks"
    )
    yield from one_client.remarks(
        f"more than half of the clicks of {odd.num_rows:,} documents (with {CLIENT_RULES['one_client_clicks']} clicks"
        " or more) come from one client each"
    )
