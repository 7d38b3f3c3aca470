"""What is to be judged next as a table, as CSV, as JSON Lines and in sentences."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from ndcg_ab.report.terminal.grid import Grid, Row
from ndcg_ab.results.decisions import describe_tipping, is_turned, measured_state
from ndcg_ab.results.wording import signed
from ndcg_ab.studies.judge_next import ToJudgeNext
from ndcg_ab.studies.to_judge import ToJudge
from ndcg_core.statistics.verdicts.comparison import Comparison

COLUMNS = (
    "place",
    "query_id",
    "doc_id",
    "text",
    "title",
    "url",
    "ranks",
    "effect",
    "lowest",
    "highest",
    "baseline",
    "candidate",
    "metric",
)
LOOP = "Put their grades into a file of judgments, and give it beside the others: --more-judgments FILE"


def print_to_judge(console: Console, rows: Sequence[ToJudge]) -> None:
    """A table for people: where each document stands in the rankings, and what its grade would do."""
    systems = list(dict.fromkeys(system for row in rows for system, _ in row.ranks))
    told = [
        Row(
            (row.query_id, row.doc_id),
            (
                *(str(dict(row.ranks).get(system, "–")) for system in systems),
                signed(row.effect),
                "–" if row.lowest is None else f"{signed(row.lowest)}…{signed(row.highest)}",
            ),
        )
        for row in rows
    ]
    title = Text.assemble(("to judge next", "bold"), ": ranks, expected effect of a grade, difference by that grade")
    Grid(("query", "document"), (*systems, "effect", "difference"), told, verdicts=False).print(console, title)


def to_csv(rows: Sequence[ToJudge]) -> str:
    """With a line of names; ranks as in JSON."""
    written = io.StringIO()
    lines = csv.DictWriter(written, COLUMNS, lineterminator="\n")
    lines.writeheader()
    lines.writerows({**row_record(row), "ranks": json.dumps(dict(row.ranks), ensure_ascii=False)} for row in rows)
    return written.getvalue()


def to_json_lines(rows: Sequence[ToJudge]) -> str:
    return "".join(json.dumps(row_record(row), ensure_ascii=False) + "\n" for row in rows)


def row_record(row: ToJudge) -> dict[str, Any]:
    """Column -> value, in the order of the columns."""
    return {name: getattr(row, name) for name in COLUMNS} | {"ranks": dict(row.ranks)}


def effect_sentences(found: ToJudgeNext) -> Iterator[str]:
    """What these grades can settle, what is taken of the others, and where the grades go."""
    if not found.rows:
        names = ", ".join(row.candidate for row in found.comparisons)
        yield f"There is nothing to judge: no grade of an unjudged document changes a difference ({names})."
        if found.drawn and any(row.unjudged and row.unjudged.low != row.unjudged.high for row in found.comparisons):
            yield "Queries that should show the same in every system differ: draw again, with ndcg-ab draw --kept."
        return
    if found.unjudged_queries:
        left, have = f"{found.unjudged_queries:,} of", "has" if found.unjudged_queries == 1 else "have"
        if found.unjudged_queries == found.drawn:
            left, have = "All", "have"
        yield f"{left} the {found.drawn:,} drawn queries {have} no judgment: their first results come first."
    listed, count = len(found.rows), sum(row.effect is not None for row in found.rows)
    for row in found.comparisons if count else ():
        yield format_standing(row)
    if listed < found.unjudged:
        more = f"{found.unjudged - listed} more unjudged documents {'could' if found.unjudged_queries else 'would'}"
        yield f"{more} move a difference; -n says how many are listed."
    yield LOOP


def format_standing(row: Comparison) -> str:
    """Return how a comparison stands: ``new against old, ndcg@10: improved; turns if unjudged results are …``."""
    head = f"{row.candidate} against {row.baseline}, {row.metric}: {row.short_verdict}"
    if measured_state(row).is_unsettled:
        return f"{head}; more queries settle it sooner than more grades."
    if row.unjudged is None or (row.unjudged.tipping_factor is None and not is_turned(row)):
        return f"{head}; no unjudged results turn it that are up to 5 times as good, or as bad, as judged ones."
    return f"{head}; {describe_tipping(row)}."
