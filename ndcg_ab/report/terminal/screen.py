"""What a person reads in the terminal: what to do, every comparison in a line, what the data check found."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from ndcg_ab.report.answer import format_headline, make_answer
from ndcg_ab.report.explanations import explain_outcome
from ndcg_ab.report.over_time import print_since
from ndcg_ab.report.sections import notes_on_metric
from ndcg_ab.report.terminal.answer_table import (
    decision_lines,
    print_answer_table,
)
from ndcg_ab.report.terminal.grid import print_dimmed, shorten_middle
from ndcg_ab.report.terminal.tables import print_tables
from ndcg_ab.report.words import (
    order_comparisons,
)
from ndcg_ab.results.numbers import signed
from ndcg_ab.results.outcome import Outcome, Severity

if TYPE_CHECKING:
    from ndcg_ab.history.bundle import Bundle
    from ndcg_ab.pipeline import Context

WHOLE_REASONS = 3  # candidates of which it is said how far they are judged
NAMES = (8, 28)  # columns of the names: at least, at most
STRIPS = (9, 25)  # of the strips
INDENT = "  "
SHOWN_EXTREMES = 3  # wins and losses of each candidate in the terminal; the page has more
EXTREME_CANDIDATES = 4  # candidates whose wins and losses are shown


def print_outcome(console: Console, outcome: Outcome, *, details: bool = False, explain: bool = False) -> None:
    """The answer; explained also in plain words, with details also everything else."""
    print_answer(console, outcome)
    if explain:
        print_plain_words(console, outcome)
    if details:
        print_details(console, outcome)


def print_answer(console: Console, outcome: Outcome) -> None:
    """Print the first screen."""
    print_answer_table(console, outcome)
    if outcome.systems and not outcome.candidates:
        print_dimmed(console, "give a second ranking to compare it with")


def print_details(console: Console, outcome: Outcome) -> None:
    """Print what the first screen has no room for: whole reasons, notes about every comparison, all tables."""
    console.print()
    answer = make_answer(outcome)
    for doubt in answer.doubts:
        console.print(Text(f"! {doubt.sentence}", style="bold yellow"))
    for line in decision_lines(answer, console.width, is_whole=True):
        console.print(line)
    for metric in outcome.metrics:
        for told in notes_on_metric(outcome, metric):
            print_dimmed(console, textwrap.fill(told, console.width, subsequent_indent=INDENT))
    notes = [line.text for line in answer.findings if line.severity == "note"]
    for text in [*notes, *answer.notes]:
        traits = Severity.NOTE.traits
        console.print(Text.assemble((traits.mark, traits.colour), f" {text}"))
    console.print()
    print_tables(console, outcome)


def print_plain_words(console: Console, outcome: Outcome) -> None:
    """A page of sentences for each candidate."""
    for words in explain_outcome(outcome):
        console.print()
        console.print(Text(f"{words.candidate}, in plain words", style="bold"))
        for title, sentences in words.parts:
            if sentences:
                console.print(Text(title), style="dim")
            for sentence in sentences:
                told = textwrap.wrap(sentence, console.width - len(INDENT), break_on_hyphens=False)
                console.print(Text("\n".join(f"{INDENT}{line}" for line in told)))


def pad_name(name: str, width: int) -> str:
    return set_cell_size(shorten_middle(name, width), width)


def print_extremes(console: Console, outcome: Outcome, extremes: Sequence[dict[str, Any]]) -> None:
    """The queries that each candidate wins and loses most on the first metric, a line for each."""
    metric = outcome.metrics[0]
    candidates = [row.candidate for row in order_comparisons(outcome, metric)][:EXTREME_CANDIDATES]
    shown = [row for row in extremes if row["metric"] == metric.name and row["place"] <= SHOWN_EXTREMES]
    shown = sorted(
        (row for row in shown if row["candidate"] in candidates), key=lambda row: candidates.index(row["candidate"])
    )
    if not shown:
        return
    console.print()
    console.print(Text.assemble(("largest wins and losses", "bold"), f", {metric.name}"))
    names = min(max(cell_len(row["candidate"]) for row in shown), NAMES[1])
    previous = None
    for row in shown:
        name = "" if row["candidate"] == previous else row["candidate"]
        previous = row["candidate"]
        line = Text(f"{pad_name(name, names)}  {signed(row['difference'])}  ")
        line.append(f"{row['query_id']}  {row['text']}" if row["text"] else row["query_id"])
        line.truncate(console.width, overflow="ellipsis")
        console.print(line)


def print_gates(console: Console, outcome: Outcome) -> None:
    for gate in outcome.gates:
        colour, word = ("green", "passed") if gate.passed else ("red", "failed")
        console.print(Text.assemble("gate ", (word, colour), f": {gate.name}: {gate.message}"))


def print_run(
    console: Console, run: "Context", bundle: "Bundle", tracker: str, *, details: bool = False, explain: bool = False
) -> None:
    """Print who won, on which queries, and at the end three lines: decision, page, and link."""
    assert run.outcome is not None
    print_outcome(console, run.outcome, details=details, explain=explain)
    print_since(console, run.since_last)
    print_extremes(console, run.outcome, bundle.extremes)
    console.print()
    if run.reused:
        console.print("same inputs and configuration as an earlier evaluation: its result is still valid")
    elif details and (known := [f"{row['name']} ({row['read'][:10]})" for row in bundle.inputs if row.get("read")]):
        console.print(f"not read again, as unchanged since: {', '.join(known)}", markup=False)
    if delivered := run.published["delivered"]:
        console.print(f"also logged: {delivered} earlier evaluations that were pending")
    places: dict[str, object] = {"files": bundle.folder} if details else {}
    places |= {"decision": format_headline(run.outcome), "page": bundle.folder / "report.html"}
    # the links are addresses of a server that need not run yet
    places |= {"first start": run.published["dashboard"], f"{tracker} run": run.published["url"]}
    places |= {"over time": run.published["trend_url"]} if details else {}
    for name, place in places.items():
        if place:
            console.print(f"{name:>11}  {place}", markup=False, soft_wrap=True)
