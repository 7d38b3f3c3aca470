"""Print the result of an evaluation in the terminal: the answer, comparisons and findings."""

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from ndcg_ab.config.secrets.redaction import redact
from ndcg_ab.errors import shorten
from ndcg_ab.report.answer import format_headline, make_answer
from ndcg_ab.report.explanations import explain_outcome
from ndcg_ab.report.over_time import print_since
from ndcg_ab.report.sections import notes_on_metric
from ndcg_ab.report.terminal.answer_table import print_answer_table
from ndcg_ab.report.terminal.grid import print_dimmed
from ndcg_ab.report.terminal.tables import LONGEST, print_findings, print_tables
from ndcg_ab.results.outcome import Outcome

if TYPE_CHECKING:
    from ndcg_ab.history.bundle import Bundle
    from ndcg_ab.pipeline.context import Context

INDENT = "  "


def print_outcome(
    console: Console,
    outcome: Outcome,
    *,
    details: bool = False,
    explain: bool = False,
    remedies: Mapping[str, str] | None = None,
) -> None:
    """Print the answer of an evaluation: decisions, the matrix of systems and metrics, and warnings.

    details: print the answer uncut, with all notes and tables below. explain: print an explanation in plain words, too.
    remedies: the command of a warning -> the same command with the user's files, to print instead.
    """
    print_answer_table(console, outcome, in_full=details, remedies=remedies)
    if explain:
        print_plain_words(console, outcome)
    if details:
        print_details(console, outcome)


def print_details(console: Console, outcome: Outcome) -> None:
    """Print what the first screen leaves out: further findings, notes about comparisons, and all tables."""
    console.print()
    answer = make_answer(outcome)
    further = [("  also: ", line) for warned in answer.warnings for line in warned.more]
    for mark, line in [*further, *(("i ", line) for line in answer.notes)]:
        code = (f" [{line.code}]" if line.code else "", "dim")
        console.print(Text.assemble((mark, "dim"), shorten(redact(line.text), LONGEST), code))
    if answer.is_clean:
        print_findings(console, [])
    for metric in outcome.metrics:
        for note in notes_on_metric(outcome, metric, has_tables=True):
            print_dimmed(console, textwrap.fill(note, console.width, subsequent_indent=INDENT))
    console.print()
    print_tables(console, outcome)


def print_plain_words(console: Console, outcome: Outcome) -> None:
    """Print the explanation of each candidate in plain words."""
    for candidate, words in explain_outcome(outcome).items():
        console.print()
        console.print(Text(f"{candidate}, in plain words", style="bold"))
        for title, sentences in words.items():
            if sentences:
                console.print(Text(title), style="dim")
            for sentence in sentences:
                lines = textwrap.wrap(sentence, console.width - len(INDENT), break_on_hyphens=False)
                console.print(Text("\n".join(f"{INDENT}{line}" for line in lines)))


def print_answer_and_gates(console: Console, outcome: Outcome) -> None:
    """Print the first screen, then each gate with its reason."""
    print_answer_table(console, outcome)
    for gate in outcome.gates:
        colour, word = ("green", "passed") if gate.passed else ("red", "failed")
        console.print(Text.assemble("gate ", (word, colour), f": {gate.name}: {gate.message}"))


def print_run(
    console: Console, run: "Context", bundle: "Bundle", tracker: str, *, details: bool = False, **shown: Any
) -> None:
    """Print the answer of a stored evaluation, the changes since the previous one, and where the results are.

    If the evaluation was reused because nothing changed, this is printed instead of the changes. tracker: name of the
    tracker, to print before the address of its run. details, shown: options of `print_outcome`.
    """
    assert run.outcome is not None
    print_outcome(console, run.outcome, details=details, **shown)
    if not run.reused:
        print_since(console, run.since_last)
    console.print()
    if run.reused:
        console.print("same inputs and configuration as an earlier evaluation: its result is still valid")
    elif details and (names := [f"{row['name']} ({row['read'][:10]})" for row in bundle.inputs if row.get("read")]):
        console.print(f"not read again, as unchanged since: {', '.join(names)}", markup=False)
    if delivered := run.published["delivered"]:
        console.print(f"also logged: {delivered} earlier evaluations that were pending")
    locations: dict[str, object] = {"files": bundle.folder} if details else {}
    locations |= {"decision": format_headline(run.outcome), "page": bundle.folder / "report.html"}
    # the links are addresses of a server that need not run yet
    locations |= {"first start": run.published["dashboard"], f"{tracker} run": run.published["url"]}
    locations |= {"over time": run.published["trend_url"]} if details else {}
    for name, location in locations.items():
        if location:
            console.print(f"{name:>11}  {location}", markup=False, soft_wrap=True)
