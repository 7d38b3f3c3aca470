"""Events of users, and their counts in plain Python, against which the SQL is held."""

from collections.abc import Iterable
from typing import NamedTuple

from click_models import ClickCount


class Event(NamedTuple):
    """How often a document was shown at a place for a query, and clicked.

    place: from 1. search_id: None where none is known. shown, clicked: 0 or more.
    """

    query_id: str
    doc_id: str
    place: int
    search_id: str | None
    shown: int
    clicked: int


def count_clicks(events: Iterable[Event]) -> list[ClickCount]:
    """One row for each query, document and place, in their order.

    What one search repeats counts once, and a click says that the document was shown; events without a search count as
    they are.
    """
    at_place: dict[tuple[str, str, int], list[Event]] = {}
    for event in events:
        at_place.setdefault((event.query_id, event.doc_id, event.place), []).append(event)
    found = []
    for (query_id, doc_id, place), rows in sorted(at_place.items()):
        searches = {row.search_id for row in rows} - {None}
        clicking = {row.search_id for row in rows if row.clicked} - {None}
        alone = [row for row in rows if row.search_id is None]
        clicked = sum(row.clicked for row in alone)
        impressions = len(searches) + max(sum(row.shown for row in alone), clicked)
        logged = (sum(row.shown for row in rows), sum(row.clicked for row in rows))
        found.append(ClickCount(query_id, doc_id, place, impressions, len(clicking) + clicked, *logged))
    return found
