"""Which query an event belongs to: UBI's `query_id` is one search of one user, its `user_query` what they typed."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.base import Remark
from ndcg_ab.sources.clicks.events import ReadEvents
from ndcg_ab.sources.tables.format_warnings import MOST_EXAMPLES

TEXTS = pa.schema([("text", pa.string()), ("query_id", pa.string()), ("is_asked", pa.bool_())])
OTHER = "\t"  # before the text of a search that is no query of ours: no query_id has such a character


def folded(text: str) -> str:
    """Without what people type differently: case, and white space around and between words."""
    return " ".join(text.casefold().split())


def match_texts(events: ReadEvents, queries: Mapping[str, str]) -> tuple[pa.Table, list[Remark]]:
    """One row for each text and query that it stands for, and what is to be said of texts that stand for none.

    queries: query_id -> text. A text stands for the queries with this very text; where there is none, for those whose
    texts differ in case and white space alone. Without queries a text is its own query_id. is_asked: whether grades
    are wanted of it.
    """
    counted = pc.value_counts(events.table["text"])
    counts = {row["values"]: row["counts"] for row in counted.to_pylist()}
    if not queries:
        return pa.Table.from_pylist([make_row(text, text) for text in counts], schema=TEXTS), []
    exact, alike = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for query_id, text in queries.items():
        exact[text].append(query_id)
        alike[folded(text)].append(query_id)
    found = {text: exact.get(text) or alike.get(folded(text), []) for text in counts}
    lacking = sorted((text for text in counts if not found[text]), key=lambda text: (-counts[text], text))
    if len(lacking) == len(counts):
        raise InputError(
            f"{events.origin}: none of its {len(counts):,} texts (such as {format_value(lacking[0])}) is the text of a"
            f" query (such as {format_value(next(iter(queries.values())))}): give the queries that users typed"
        )
    remarks = []
    if lacking:
        told = (
            f"{sum(counts[text] for text in lacking):,} of {events.table.num_rows:,} events have a text that no query"
            f" has ({len(lacking):,} texts): they only tell how often each place is clicked"
        )
        examples = tuple(f"{format_value(text)}: {counts[text]:,} events" for text in lacking[:MOST_EXAMPLES])
        remarks.append(Remark("click_unmatched_query", sum(counts[text] for text in lacking), examples, told))
    rows = [make_row(text, query_id) for text, ids in found.items() for query_id in ids]
    rows += [make_row(text, OTHER + text, is_asked=False) for text in lacking]
    return pa.Table.from_pylist(rows, schema=TEXTS), remarks


def make_row(text: str, query_id: str, *, is_asked: bool = True) -> dict[str, Any]:
    return {"text": text, "query_id": query_id, "is_asked": is_asked}
