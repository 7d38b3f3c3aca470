"""Recognise and read user events in User Behavior Insights format: JSON Lines, or the bulk format of search engines.

In bulk format, a line names the target index of the next line. Lines of queries, which have the query texts, may be
between the lines of events.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.forms.form import EVENTS, Form, Reading
from ndcg_ab.sources.forms.nested import is_object, sample_value
from ndcg_ab.sources.forms.plausible import bare_name
from ndcg_ab.sources.forms.sample import Sample

ACTIONS = ("index", "create")  # of a bulk file
ACTION, QUERY, TEXT = "action_name", "query_id", "user_query"


def sniff(sample: Sample) -> Reading | None:
    return Reading(EVENTS, "jsonl") if are_events(sample.objects or sample_value(sample)) else None


def are_events(rows: Any) -> bool:
    """Return whether values are the JSON objects of a file of user events.

    In the bulk format of search engines, action lines and lines of queries may be between the events. The beginning of
    a bulk file counts as events even if it has lines of queries only.
    """
    if not isinstance(rows, Sequence) or not all(map(is_object, rows)):
        return False
    events = [row for row in rows if not is_bulk_action(row)]
    is_bulk = 0 < len(events) < len(rows)
    return any(is_event(row) for row in events) or (is_bulk and all(is_query(row) for row in events))


def is_bulk_action(row: Mapping[str, Any]) -> bool:
    """Return whether an object is an action line of the bulk format: ``{"index": {"_index": "ubi_events"}}``."""
    return len(row) == 1 and next(iter(row)) in ACTIONS and is_object(next(iter(row.values())))


def is_event(row: Mapping[str, Any]) -> bool:
    return any(bare_name(str(name)) == bare_name(ACTION) for name in row)


def is_query(row: Mapping[str, Any]) -> bool:
    """Return whether an object is a line of a query (id and text) and not an event."""
    return not is_event(row) and {QUERY, TEXT} <= row.keys() and "event_attributes" not in row


def is_mixed(sample: Sample) -> bool:
    """Return whether a file of events also has action lines of the bulk format or lines of queries."""
    return are_events(sample.objects) and any(is_bulk_action(row) or is_query(row) for row in sample.objects)


def query_texts(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    """Return the mapping query_id -> text from the lines of queries; raise InputError if a query has two texts.

    rows: (location, object) pairs.
    """
    texts: dict[str, str] = {}
    for location, row in rows:
        if is_query(row) and row[TEXT] not in (None, ""):
            query_id, text = str(row[QUERY]), row[TEXT]
            if texts.setdefault(query_id, text) != text:
                both = f"{format_value(texts[query_id])} and {format_value(text)}"
                raise InputError(
                    f"{location}: query_id {format_value(query_id)} has two texts, {both}: give each query one id"
                )
    return texts


FORM = Form(
    "events of users (UBI)",
    EVENTS,
    '{"index": {"_index": "ubi_queries"}}\n{"query_id": "x1", "user_query": "red shoes"}\n'
    '{"index": {"_index": "ubi_events"}}\n{"action_name": "click", "query_id": "x1", "event_attributes": {"object":'
    ' {"object_id": "d1"}, "position": {"ordinal": 0}}}\n',
    sniff,
)
