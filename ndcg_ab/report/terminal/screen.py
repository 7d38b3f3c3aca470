"""What a person reads in the terminal: what to do, every comparison in a line, what the data check found."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from ndcg_ab.report.answer import Answer, make_answer
from ndcg_ab.report.explanations import explain_outcome
from ndcg_ab.report.over_time import print_since
from ndcg_ab.report.sections import changes_by_candidate, format_intended
from ndcg_ab.report.terminal.answer_table import (
    MOST_WARNINGS,
    print_answer_table,
    print_doubts,
    print_warnings,
    split_warnings,
)
from ndcg_ab.report.terminal.grid import STYLES, print_dimmed, shorten_middle
from ndcg_ab.report.terminal.tables import print_tables
from ndcg_ab.report.words import (
    common_scale,
    comparison_mark,
    describe_metric_role,
    draw_strip,
    format_labels,
    format_proxy_correction,
    format_tipping,
    order_comparisons,
    short_verdict,
    system_rows,
)
from ndcg_ab.results.numbers import format_percent, format_plain, signed
from ndcg_ab.results.outcome import Outcome, Severity, SystemSummary
from ndcg_ab.results.wording import queries_text
from ndcg_core.measures.metric import Metric

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
    """The first screen; of a single system its means."""
    answer = make_answer(outcome)
    if answer.candidates:
        print_answer_table(console, outcome)
        return
    doubts, warnings = split_warnings(answer)
    print_doubts(console, doubts)
    for metric in outcome.metrics:
        print_metric(console, outcome, metric)
    print_warnings(console, answer, warnings, MOST_WARNINGS - len(doubts))
    if outcome.systems:
        print_dimmed(console, "give a second ranking to compare it with; every number: --details")


def print_details(console: Console, outcome: Outcome) -> None:
    """What the first screen has no room for: whole reasons, every metric, what to keep in mind, all tables."""
    console.print()
    answer = make_answer(outcome)
    for doubt in answer.doubts:
        console.print(Text(f"! {doubt.sentence}", style="bold yellow"))
    print_decisions(console, answer)
    for metric in outcome.metrics if answer.candidates else ():
        print_metric(console, outcome, metric)
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


def print_decisions(console: Console, answer: Answer) -> None:
    """Every candidate with its decision and the whole reason."""
    words = max((cell_len(found.choice.words) for found in answer.candidates), default=0)
    names = max((cell_len(found.name) for found in answer.candidates), default=0)
    for found in answer.candidates:
        choice = found.choice
        head, name = f"{choice.mark} {choice.words:<{words}}", pad_name(found.name, min(names, NAMES[1]))
        line = Text.assemble((head, f"bold {STYLES[choice.traits.tone]}"), "  ", (name, "bold"), "  ")
        indent = cell_len(line.plain)
        reason = textwrap.wrap(found.reason, max(console.width - indent, NAMES[1]), break_on_hyphens=False)
        console.print(line.append(f"\n{' ' * indent}".join(reason)))


def print_metric(console: Console, outcome: Outcome, metric: Metric) -> None:
    """``ndcg@10 · 158 queries · baseline bm25 0.3764``, and a line for each candidate."""
    means = {system.system_id: system for system, _ in system_rows(outcome, metric)}
    rows = order_comparisons(outcome, metric)
    console.print()
    console.print(metric_headline(metric, means, describe_metric_role(outcome, metric.name), outcome.baseline))
    if not rows:
        for system in means.values():
            if system.system_id != outcome.baseline:
                console.print(Text(f"  {system.system_id}  {format_plain(system.mean)}"))
    if not any(system.queries for system in means.values()):
        nothing = f"no query can be scored with {metric.name}: nothing judged gains anything"
        console.print(Text(nothing, style="yellow"))
    if not rows:
        return
    values = [format_plain(means[row.candidate].mean) for row in rows]
    differences = [signed(row.difference) for row in rows]
    verdicts = [short_verdict(outcome, row) for row in rows]
    first, second, last = (max(map(cell_len, column)) for column in (values, differences, verdicts))
    left = console.width - 2 - first - 2 - second - 2 - 2 - last  # for names and strips
    names = min(max(cell_len(row.candidate) for row in rows), NAMES[1], max(NAMES[0], left - STRIPS[0] - 2))
    drawn = min(left - names - 2, STRIPS[1])
    scale = common_scale(rows) if drawn >= STRIPS[0] else None
    changed = changes_by_candidate(outcome) if metric == outcome.metrics[0] else {}
    for row, value, difference, verdict in zip(rows, values, differences, verdicts, strict=True):
        colour = STYLES[row.conclusion.traits.tone]
        line = Text.assemble((comparison_mark(row), colour), " ", pad_name(row.candidate, names))
        line.append(f"  {value:>{first}}  {difference:>{second}}  ")
        if scale is not None:
            line.append(f"{draw_strip(row, scale, drawn)}  ", style=colour)
        line.append(verdict, style=colour)
        line.truncate(console.width)
        console.print(line)
        if meant := format_intended(outcome, row.candidate, row.metric):
            lines = textwrap.fill(meant, console.width, initial_indent="    ", subsequent_indent="    ")
            console.print(Text(lines))
        labels = format_labels(row) if len(rows) <= WHOLE_REASONS else None
        told_labels = "; ".join(filter(None, (format_tipping(row), labels)))
        for told in filter(None, (told_labels, format_proxy_correction(row), changed.get(row.candidate))):
            print_dimmed(console, textwrap.fill(told, console.width, initial_indent="    ", subsequent_indent="    "))


def metric_headline(metric: Metric, means: dict[str, SystemSummary], about: Sequence[str], baseline: str) -> Text:
    known = means.get(baseline)
    parts = [f" · {queries_text(known.queries)}" if known else ""]
    parts += [f" · {told}" for told in about]
    if known:
        role = "baseline " if len(means) > 1 else ""
        parts.append(f" · {role}{shorten_middle(baseline, NAMES[1])} {format_plain(known.mean)}")
        parts.append("" if role else f" (median {format_plain(known.median)}, judged {format_percent(known.judged)})")
    return Text.assemble((metric.name, "bold"), "".join(parts))


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
    """Print what `run` ends with: who won, on which queries, where everything is."""
    assert run.outcome is not None
    print_outcome(console, run.outcome, details=details, explain=explain)
    print_since(console, run.since_last)
    print_extremes(console, run.outcome, bundle.extremes)
    console.print()
    if run.reused:
        console.print("same inputs and configuration as an earlier evaluation: its result is still valid")
    elif known := [f"{row['name']} ({row['read'][:10]})" for row in bundle.inputs if row.get("read")]:
        console.print(f"not read again, as unchanged since: {', '.join(known)}", markup=False)
    if delivered := run.published["delivered"]:
        console.print(f"also logged: {delivered} earlier evaluations that were pending")
    places: list[tuple[str, object]] = [("files", bundle.folder), ("report", bundle.folder / "report.html")]
    # the links are addresses of a server that need not run yet
    names = {"dashboard": "first start", "url": f"{tracker} run", "trend_url": "over time"}
    places += [(name, run.published[key]) for key, name in names.items() if run.published[key]]
    for name, place in places:
        console.print(f"{name:>11}  {place}", markup=False, soft_wrap=True)
