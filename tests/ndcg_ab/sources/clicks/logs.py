"""Small logs in the schema of User Behavior Insights."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def search(
    search_id: str, text: str, shown: Sequence[str | None], *, clicked: Sequence[str] = (), client: str | None = None
) -> list[dict[str, Any]]:
    """The events of one search: an impression of each document in its place, None for none, and the clicks."""
    found = []
    for action, documents in (("impression", [each for each in shown if each]), ("click", clicked)):
        for document in documents:
            attributes = {"object": {"object_id": document}, "position": {"ordinal": list(shown).index(document)}}
            event = {"action_name": action, "user_query": text, "query_id": search_id, "event_attributes": attributes}
            found.append(event | ({"client_id": client} if client else {}))
    return found


def click_log(path: Path, searches: Iterable[list[dict[str, Any]]]) -> Path:
    """The events of searches as a file of JSON Lines."""
    path.write_text("".join(json.dumps(event) + "\n" for events in searches for event in events), encoding="utf-8")
    return path
