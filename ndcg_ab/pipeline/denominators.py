"""The rows of the ledger, from counts of the sources, the data check and the tables."""

from collections.abc import Iterable, Sequence

import pyarrow.compute as pc

from ndcg_ab.engines import Engine
from ndcg_ab.results.ledger import ANSWERED, CLICKS, DRAWN, JUDGMENTS, RANKING, SCORED, LedgerRow, make_row
from ndcg_ab.results.outcome import Finding
from ndcg_ab.scoring.scoring import PulledInputs
from ndcg_ab.sources import Pulled
from ndcg_ab.sources.tables.document_rules import CHUNK, COPY, OWN

COMMENT, UNRATED, REPEATED = "comment_line", "unrated_row", "repeated_judgment"  # codes of findings
CLICK_GRADES = "click_grades"
CLICK_REASONS = {
    "click_other_action": "of another action",
    "click_incomplete": "incomplete",
    "click_deep_place": "at a place too deep",
    "click_unmatched_query": "of other queries",
}


def count_inputs(engine: Engine, read: PulledInputs, findings: Iterable[Finding]) -> tuple[LedgerRow, ...]:
    """Return the rows about judgments, click logs, rankings and answered queries, once the data are checked."""
    judged = {query_id: count for query_id, count in engine.rows("query", ("query_id", "judged")) if count}
    repeated = sum(finding.count for finding in findings if finding.code == REPEATED)
    parts = [*read.files, *([read.by_function] if read.by_function else [])]
    return (
        *count_clicks(parts),
        count_judgments(parts, repeated, sum(judged.values())),
        *count_rankings(engine, read.rankings, judged),
    )


def count_judgments(parts: Sequence[Pulled], repeated: int, used: int) -> LedgerRow:
    """Return the row of the judgments of all files; used: documents with a grade."""
    comments, unrated = (sum(remarked(part, code) for part in parts) for code in (COMMENT, UNRATED))
    rows = sum(part.count for part in parts)
    left_out = {
        "comments": comments,
        "without a grade": unrated,
        "repeated": repeated,
        "in another file or by another judge": rows - repeated - used,
    }
    return make_row(JUDGMENTS, None, rows + comments + unrated, left_out)


def count_clicks(parts: Iterable[Pulled]) -> Iterable[LedgerRow]:
    """Yield the row of each click log that judgments were made from."""
    for part in parts:
        for remark in part.remarks:
            if remark.code == CLICK_GRADES and remark.total is not None:
                left_out = {reason: remarked(part, code) for code, reason in CLICK_REASONS.items()}
                yield make_row(CLICKS, None, remark.total, left_out)


def count_rankings(engine: Engine, rankings: dict[str, Pulled], judged: dict[str, int]) -> Iterable[LedgerRow]:
    """Yield the rows of each system: its results, and the judged queries that it answers."""
    columns = ("system_id", "results", "unjudged_results", "judged")
    counted = {name: row for name, *row in engine.rows("answering_system", columns)}
    for name, pulled in rankings.items():
        results, unjudged, answered = counted.get(name, (0, 0, 0))
        comments, chunks, copies, own = (remarked(pulled, code) for code in (COMMENT, CHUNK, COPY, OWN))
        left_out = {
            "comments": comments,
            "chunks of the same document": chunks,
            "repeated documents": copies + pulled.count - results,
            "the query's own document": own,
            "of unjudged queries": unjudged,
        }
        yield make_row(RANKING, name, pulled.count + comments + chunks + copies + own, left_out)
        failed = len(judged.keys() & {*pulled.failed})
        left_out = {"failed": failed, "unanswered": len(judged) - failed - answered}
        yield make_row(ANSWERED, name, len(judged), left_out)


def count_scored(engine: Engine) -> Iterable[LedgerRow]:
    """Yield the row of the judged queries, and that of each metric: the queries whose value depends on the ranking."""
    drawn = [is_drawn for (is_drawn,) in engine.rows("query", ("is_drawn",), where={"is_judged": True})]
    gaining = engine.read("scored_query", ("metric_id",), where={"is_relevant": True})["metric_id"]
    possible = {row["values"]: row["counts"] for row in pc.value_counts(gaining).to_pylist()}
    yield make_row(DRAWN, None, len(drawn), {"not drawn": drawn.count(False)})
    most: dict[tuple[str, str], int] = {}
    columns = ("metric_id", "metric", "relevant_queries")
    for metric_id, name, count in engine.rows("system_summary", columns, order="metric_place, system_place"):
        most[metric_id, name] = max(count, most.get((metric_id, name), 0))
    for (metric_id, name), count in most.items():
        relevant = possible.get(metric_id, 0)
        left_out = {"without a gain or value": drawn.count(True) - relevant, "without an answer": relevant - count}
        yield make_row(SCORED, name, drawn.count(True), left_out)


def remarked(pulled: Pulled, code: str) -> int:
    """Return the count of a source's remark with this code; 0 without one."""
    return sum(remark.count for remark in pulled.remarks if remark.code == code)
