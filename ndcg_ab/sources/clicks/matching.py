"""Which query an event belongs to: UBI's `query_id` is one search of one user, its `user_query` what they typed."""

from collections import Counter, defaultdict
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.errors import InputError, format_value
from ndcg_ab.sources.base import Remark
from ndcg_ab.sources.clicks.events import ReadEvents
from ndcg_ab.sources.tables.format_warnings import MOST_EXAMPLES
from ndcg_ab.sources.tables.on_disk import read_batches

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
    counts = Counter[str]()
    for piece in read_batches(events.table, ["text"]):
        for row in pc.value_counts(piece["text"]).to_pylist():
            counts[row["values"]] += row["counts"]
    if not queries:
        return text_table([*counts], [*counts]), []
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
            f" has ({len(lacking):,} text{'s' * (len(lacking) != 1)}): they only tell how often each place is clicked"
        )
        examples = tuple(f"{format_value(text)}: {counts[text]:,} events" for text in lacking[:MOST_EXAMPLES])
        remarks.append(Remark("click_unmatched_query", sum(counts[text] for text in lacking), examples, told))
    asked = [(text, query_id) for text, ids in found.items() for query_id in ids]
    rows = [*asked, *((text, OTHER + text) for text in lacking)]
    return text_table([text for text, _ in rows], [query_id for _, query_id in rows], len(asked)), remarks


def text_table(texts: list[str], query_ids: list[str], asked: int | None = None) -> pa.Table:
    """asked: how many of them, from the first on, are asked for; None: all."""
    is_asked = np.arange(len(texts)) < (len(texts) if asked is None else asked)
    return pa.table([texts, query_ids, is_asked], schema=TEXTS)
