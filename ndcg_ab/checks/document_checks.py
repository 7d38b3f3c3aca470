"""Findings about documents that are none, or are not searched for: placeholders, and the query itself."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.checks.examples import MOST
from ndcg_ab.finding_codes import CODES
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import queries_text
from ndcg_ab.sources import Pulled
from ndcg_ab.sources.tables.document_rules import codes_of, first_rows
from ndcg_ab.sources.tables.on_disk import read_batches

SAMPLE = 200_000  # rows of a ranking that are looked at
PLACEHOLDERS = ("none", "nan", "null", "no_result", "n/a", "")
LEAST_OWN, OWN_SHARE = 3, 0.1  # queries that return themselves first
LEAST_QUERIES, MOST_QUERIES = 10, 0.5  # queries that one unjudged document is in


def check_odd_documents(judgments: Pulled, rankings: Mapping[str, Pulled]) -> list[Finding]:
    """Find systems that return placeholders, or the query itself in the first place."""
    if judgments.elsewhere:
        return []
    found = []
    judged = pc.unique(judgments.table["doc_id"])
    for name, pulled in rankings.items():
        if pulled.elsewhere:
            continue
        rows = next(read_batches(pulled.at_hand, ["query_id", "doc_id", "score", "rank"])).slice(0, SAMPLE)
        queries = len(pc.unique(rows["query_id"]))
        counted = pc.value_counts(rows["doc_id"]).flatten()
        words = pc.is_in(pc.utf8_lower(counted[0]), value_set=pa.array(PLACEHOLDERS))
        unjudged = pc.invert(pc.is_in(counted[0], value_set=judged))
        often = pc.and_(unjudged, pc.greater(counted[1], max(MOST_QUERIES * queries, LEAST_QUERIES - 1)))
        is_one = pc.sum(often).as_py() == 1  # several are what a popular ranking returns
        odd = pc.and_(unjudged, pc.or_(words, often) if is_one else words)
        if texts := counted[0].filter(odd).to_pylist():
            count = pc.sum(counted[1].filter(odd)).as_py()
            message = f"system {name}: {count} results look like placeholders (such as document {texts[0]!r})"
            found.append(make_finding("placeholder_document", message, count, name, texts))
        zeros = np.zeros(rows.num_rows, dtype=np.int64)
        first = rows.take(first_rows(rows, codes_of(rows["query_id"]), zeros, zeros == 0))
        own = first.filter(pc.equal(first["query_id"].cast(pa.string()), first["doc_id"]))
        own_ids = own["doc_id"].filter(pc.invert(pc.is_in(own["doc_id"], value_set=judged))).to_pylist()
        if len(own_ids) >= max(LEAST_OWN, OWN_SHARE * queries):
            message = f"system {name}: {queries_text(len(own_ids))} of {queries:,} return themselves first, unjudged"
            message += f" (such as {own_ids[0]!r}): leave them out with --own drop (documents: {{own: drop}})"
            found.append(make_finding("own_document", message, len(own_ids), name, own_ids))
    return found


def make_finding(code: str, message: str, count: int, system: str, doc_ids: Sequence[str]) -> Finding:
    examples = tuple(f"document {each!r}" for each in doc_ids[:MOST])
    return Finding(code, CODES[code].severity, message, count, system, examples=examples)
