"""What spoils judgments from clicks, and what they are: remarks beside the grades."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.engines import Engine
from ndcg_ab.errors import format_value
from ndcg_ab.sources.base import Remark
from ndcg_ab.sources.tables.format_warnings import MOST_EXAMPLES

FEWEST_CLIENTS = 100  # of fewer nobody can say which number of events is usual
BOT_EVENTS, BOT_TIMES = (
    100,
    10,
)  # a client with so many events, and so many times those that 99 of 100 clients keep below
ONE_CLIENT_CLICKS = 5  # clicks of a document, of which more than half come from one client


def grade_counts(table: pa.Table) -> dict[float, int]:
    """Grade -> documents that have it, rising."""
    counted = {row["values"]: row["counts"] for row in pc.value_counts(table["grade"]).to_pylist()}
    return dict(sorted(counted.items()))


def grade_remark(table: pa.Table, documents: int, events: int, definition: str) -> Remark:
    """That grades come from clicks, and what they are."""
    counts = grade_counts(table)
    few = ", ".join(f"{grade:g}: {count:,}" for grade, count in counts.items())
    grades = few if len(counts) <= 10 else f"{len(counts):,} different ones"
    queries = pc.count_distinct(table["query_id"]).as_py()
    told = (
        f"grades come from {definition}: {table.num_rows:,} documents of {queries:,} queries from {events:,} events"
        f" ({grades}); {documents - table.num_rows:,} documents were shown too seldom for a grade, or only at places"
        " where nothing is ever clicked"
    )
    return Remark("click_grades", table.num_rows, (), told)


def event_remarks(engine: Engine, places: pa.Table) -> list[Remark]:
    """What is odd about the events; places: `click_rate`."""
    found = [*place_remarks(places), *movement_remarks(engine), *unlogged_remarks(engine)]
    clients = engine.read("client_count", order="client, query_id, doc_id")
    return [*found, *bot_remarks(clients), *one_client_remarks(clients)] if clients.num_rows else found


def place_remarks(places: pa.Table) -> list[Remark]:
    """Places that were never shown, between those that were."""
    shown = {*places.filter(pc.greater(places["impressions"], 0))["place"].to_pylist()}
    gaps = [place for place in range(1, max(shown, default=0)) if place not in shown]
    if not gaps:
        return []
    told = f"nothing was ever shown at {len(gaps)} of the places 1 to {max(shown)}, such as place {gaps[0]}"
    return [Remark("click_place_gap", len(gaps), tuple(f"place {place}" for place in gaps[:MOST_EXAMPLES]), told)]


def movement_remarks(engine: Engine) -> list[Remark]:
    """One ranking alone: no document was ever seen at another place."""
    counts = engine.read("click_count", ("query_id", "doc_id"))
    pairs = counts.group_by(["query_id", "doc_id"], use_threads=False).aggregate([([], "count_all")])
    if pairs.num_rows < counts.num_rows or pairs.num_rows < 2:
        return []
    told = (
        f"each of the {pairs.num_rows:,} documents was shown at one place only: one ranking is in the log, and what a"
        " document gains by its place cannot be told from what it is worth"
    )
    return [Remark("click_one_ranking", pairs.num_rows, (), told)]


def unlogged_remarks(engine: Engine) -> list[Remark]:
    """More clicks than impressions of a document at a place."""
    counts = engine.read("click_count", order="query_id, doc_id, place")
    odd = counts.filter(pc.greater(counts["click_events"], counts["shown_events"]))
    if not odd.num_rows:
        return []
    more = pc.sum(pc.subtract(odd["click_events"], odd["shown_events"])).as_py()
    told = f"{more:,} clicks or more have no impression beside them at their place: each counts as one shown, too"
    return [Remark("click_without_impression", more, tuple(map(document_text, odd.slice(0, 5).to_pylist())), told)]


def document_text(row: dict[str, object]) -> str:
    return f"query {format_value(row['query_id'])}, document {format_value(row['doc_id'])}, place {row['place']}"


def bot_remarks(clients: pa.Table) -> list[Remark]:
    """Clients with improbably many events."""
    totals = clients.group_by(["client"], use_threads=False).aggregate([("events", "sum")])
    events = totals["events_sum"].to_numpy()
    if len(events) < FEWEST_CLIENTS:
        return []
    usual = float(np.quantile(events, 0.99, method="inverted_cdf"))
    odd = totals.filter(
        pc.and_(pc.greater_equal(totals["events_sum"], BOT_EVENTS), pc.greater(totals["events_sum"], BOT_TIMES * usual))
    )
    if not odd.num_rows:
        return []
    rows = odd.sort_by([("events_sum", "descending"), ("client", "ascending")]).to_pylist()
    share = sum(row["events_sum"] for row in rows) / int(events.sum())
    told = (
        f"{len(rows)} of {len(events):,} clients make {share:.0%} of the events, each more than {BOT_TIMES} times the"
        f" {usual:.0f} that 99 of 100 clients keep to: programs, not people?"
    )
    examples = tuple(
        f"client {format_value(row['client'])}: {row['events_sum']:,} events" for row in rows[:MOST_EXAMPLES]
    )
    return [Remark("click_bot", len(rows), examples, told)]


def one_client_remarks(clients: pa.Table) -> list[Remark]:
    """Documents whose clicks come from one client."""
    keys = ["query_id", "doc_id"]
    found = clients.group_by(keys, use_threads=False).aggregate([("clicks", "sum"), ("clicks", "max")])
    many = pc.greater_equal(found["clicks_sum"], ONE_CLIENT_CLICKS)
    odd = found.filter(pc.and_(many, pc.greater(pc.multiply(found["clicks_max"], 2), found["clicks_sum"])))
    if not odd.num_rows:
        return []
    told = (
        f"more than half of the clicks of {odd.num_rows:,} documents (with {ONE_CLIENT_CLICKS} clicks or more) come"
        " from one client each"
    )
    rows = odd.sort_by([(name, "ascending") for name in keys]).slice(0, MOST_EXAMPLES).to_pylist()
    examples = tuple(
        f"query {format_value(row['query_id'])}, document {format_value(row['doc_id'])}: {row['clicks_max']} of"
        f" {row['clicks_sum']} clicks"
        for row in rows
    )
    return [Remark("click_one_client", odd.num_rows, examples, told)]
