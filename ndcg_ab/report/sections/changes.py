"""What a candidate changed in the first places, and whether it did what it was meant to do, in words and as tables."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console

from ndcg_ab.comparing.intended import rows_of_candidate
from ndcg_ab.report.terminal.grid import Grid, Row, print_dimmed, shorten_middle, table_title
from ndcg_ab.report.words.text import (
    format_interval,
)
from ndcg_ab.results.change_records import ChangedQuery, Changes, TopDocument
from ndcg_ab.results.numbers import format_share, signed
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import INTENDED, OTHERS, queries_text
from ndcg_core.statistics.verdicts.comparison import Comparison

MOST_TOLD = 8  # candidates with a sentence each; of more the tables tell
SIDE_BY_SIDE = 4  # candidates whose largest changes stand side by side
COLUMNS = (20, 40)  # of a document, at least and at most


def format_changes(found: Changes) -> str:
    """``top 10 changed on 131 of 158 queries (ndcg@10 on 120): 412 documents added (57 relevant, …), …``"""
    if not found.changed:
        return f"top {found.depth} unchanged on {queries_text(found.queries)}"
    moved = (
        f"{found.entered} document{'s' * (found.entered != 1)} added"
        f" ({found.entered_relevant} relevant, {found.entered_unjudged} unjudged),"
        f" {found.left} dropped ({found.left_relevant} relevant, {found.left_unjudged} unjudged)"
    )
    if not found.entered and not found.left:
        moved = "no document added or dropped"
    head = f"top {found.depth} changed on {found.changed} of {queries_text(found.queries)}"
    return f"{head} ({found.metric} on {found.metric_changed}): {moved}"


def changes_by_candidate(outcome: Outcome) -> dict[str, str]:
    """Candidate -> its sentence; none where there are many candidates."""
    return {row.candidate: format_changes(row) for row in outcome.changes} if len(outcome.changes) <= MOST_TOLD else {}


def print_changes(console: Console, outcome: Outcome) -> None:
    """A table over all candidates, the documents that moved by grade, and the largest changes side by side."""
    if not outcome.changes:
        return
    first = outcome.changes[0]
    head = ["changed", first.metric, "overlap", "median", "RBO", "median", "came in", "relevant", "unjudged"]
    head += ["went", "relevant", "unjudged"]
    rows = []
    for found in outcome.changes:
        counts = [found.entered, found.entered_relevant, found.entered_unjudged]
        counts += [found.left, found.left_relevant, found.left_unjudged]
        cells = [f"{found.changed} of {found.queries}", str(found.metric_changed), format_share(found.overlap)]
        cells += [
            format_share(found.overlap_median),
            format_share(found.rbo),
            format_share(found.rbo_median),
            *map(str, counts),
        ]
        rows.append(Row([found.candidate], cells))
    title = table_title(f"what changed in the top {first.depth}", "(decides nothing)")
    Grid(["system"], head, rows).print(console, title)
    for found in outcome.changes[:SIDE_BY_SIDE]:
        if found.grades:
            each = ", ".join(f"{format_grade(row.grade)}: {row.entered} in, {row.left} out" for row in found.grades)
            print_dimmed(console, f"{found.candidate}, by grade: {each}")
        for query in found.largest:
            for line in format_side_by_side(found, query, console.width):
                print_dimmed(console, line)
    console.print()


def format_grade(grade: float | None) -> str:
    return "unjudged" if grade is None else f"grade {grade:g}"


def format_side_by_side(found: Changes, query: ChangedQuery, width: int) -> Iterator[str]:
    """One query with the first places of both, ✕ at those that went and + at those that came."""
    yield (
        f"{found.candidate}, {query.query_id}: {signed(query.difference)} on {found.metric},"
        f" overlap {format_share(query.overlap)}, RBO {format_share(query.rbo)}"
    )
    room = min(COLUMNS[1], max(COLUMNS[0], (width - 9) // 2))
    left, right = (
        [format_document(row, "✕" if is_baseline else "+", room) for row in rows]
        for is_baseline, rows in ((True, query.baseline), (False, query.candidate))
    )
    for place in range(max(len(left), len(right))):
        yield f"  {place + 1:>3}  {format_cell(left, place, room)}  {format_cell(right, place, room)}".rstrip()


def format_cell(shown: Sequence[str], place: int, room: int) -> str:
    text = shown[place] if place < len(shown) else ""
    return text + " " * (room - cell_len(text))


def format_document(row: TopDocument, mark: str, room: int) -> str:
    """``+ d17 (2)``: whether it came or went, the document, its grade."""
    grade = "–" if row.grade is None else f"{row.grade:g}"
    tail = f" ({grade})"
    return f"{mark if row.other_rank is None else ' '} {shorten_middle(row.doc_id, room - 2 - len(tail))}{tail}"


def format_intended(outcome: Outcome, candidate: str, metric: str) -> str | None:
    """``moved 31 of the 40 queries it was meant for: +0.0312 (…), improved; and 212 of 300 others: …``

    None where no queries are named, and on other metrics than the primary ones.
    """
    parts = rows_of_candidate(outcome.intended, candidate, metric)
    if not parts:
        return None
    meant, others = parts.get(INTENDED), parts.get(OTHERS)
    told = []
    if meant:
        told.append(
            f"moved {meant.differing} of the {queries_text(meant.queries)} it was meant for{format_part(meant)}"
        )
    if others:
        head = f"{others.differing} of {others.queries} other{'s' * (others.queries != 1)}"
        told.append(f"{'and' if meant else 'moved'} {head}{format_part(others)}")
    return "; ".join(told)


def format_part(row: Comparison) -> str:
    between = f" {format_interval(row)}" if row.low is not None else ""
    return f": {signed(row.difference)}{between}, {row.short_verdict}"
