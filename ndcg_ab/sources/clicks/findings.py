"""Make remarks on judgments from clicks: how the grades were computed, and why they may be unreliable.

Functions that return a list of remarks return an empty one if there is nothing to remark.
"""

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.engines import Engine
from ndcg_ab.errors import format_value
from ndcg_ab.sources.base import Remark
from ndcg_ab.sources.forms.nested import ids_text
from ndcg_ab.sources.tables.format_warnings import MOST_EXAMPLES
from ndcg_core.statistics.estimates.click_positions import IntArray, JoinedFit

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
    if odd.num_rows:
        message = (
            f"more than half of the clicks of {odd.num_rows:,} documents (with {CLIENT_RULES['one_client_clicks']}"
            " clicks or more) come from one client each"
        )
        examples = tuple(
            f"{ids_text(row['query_id'], row['doc_id'])}: {row['amount']} of {row['total']} clicks"
            for row in odd.slice(0, MOST_EXAMPLES).to_pylist()
        )
        yield Remark("click_one_client", odd.num_rows, examples, message)
