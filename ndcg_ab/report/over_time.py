"""Describe in a few lines the changes of systems since the previous evaluation, and the tests over all evaluations."""

from collections.abc import Iterator
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from ndcg_ab.comparing import since_last
from ndcg_ab.history.repeated_tests import Monitor, RepeatedTests
from ndcg_ab.report.terminal.grid import STYLES
from ndcg_ab.report.words import MARKS, comparison_mark, format_interval
from ndcg_ab.results.numbers import format_plain, format_probability, signed
from ndcg_core.statistics.verdicts.comparison import Comparison
from ndcg_core.statistics.verdicts.verdict import Verdict, format_distinct_effect

SHOWN_LOST = 3  # queries of a drop in the terminal and in Markdown; the page has all that are kept
INDENT = "  "  # of what adds to the line above
BOTH_BY_NEW = "both rankings by the new judgments"
NOT_ITS_OWN = "not the ranker's: its ranking is the same"


class ChangeLine(NamedTuple):
    """One line about a change since the previous evaluation.

    mark: the symbol of the verdict; empty for a line without a verdict. conclusion: the verdict that determines the
    colour; None for no colour. may_be_cut: whether the end of the text may be cut to fit the terminal.
    """

    mark: str
    text: str
    conclusion: Verdict | None = None
    may_be_cut: bool = False


def since_title(since: since_last.SinceLast) -> str:
    return f"since evaluation {since.ordinal} ({since.began[:16].replace('T', ' ')})"


def since_lines(since: since_last.SinceLast, most_lost: int = SHOWN_LOST) -> Iterator[ChangeLine]:
    """Yield the lines on what changed since the previous evaluation.

    New and changed systems come first, with one line per system and metric. If several causes changed a mean, or
    if it is a drop (the ranking got worse), the next line divides the change by cause. After a drop come the queries
    that lost most. Unchanged systems and notes on queries come last.
    most_lost: the largest number of queries for one system and metric.
    """
    for system in since.systems:
        if system.changed == (since_last.NEW_SYSTEM,):
            yield ChangeLine("", f"{system.system_id}: was not there")
        for row in since.comparisons_of(system.system_id):
            moved = since.moved_of(row.candidate, row.metric)
            yield ChangeLine(
                change_mark(row), format_row(row, system), None if since_last.is_note(row) else row.conclusion
            )
            if moved and (has_cause_besides_ranking(moved, system) or (row in since.dropped and moved.parts)):
                yield ChangeLine("", f"{INDENT}{format_mean_change(moved)}")
            if row in since.dropped:
                lost = [each for each in since.lost if (each.system_id, each.metric) == (row.candidate, row.metric)]
                for query in lost[:most_lost]:
                    query_text = f"{query.query_id} {query.text}" if query.text else query.query_id
                    text = f"{INDENT}{format_plain(query.before)} → {format_plain(query.now)}  {query_text}"
                    yield ChangeLine("", text, may_be_cut=True)
        if system.unknown:
            yield from unexplained_lines(since, system)
    if since.unchanged:
        everything = len(since.unchanged) == len(since.systems)
        yield ChangeLine("=", "nothing changed" if everything else f"unchanged: {', '.join(since.unchanged)}")
    if since.is_drawn and since.comparisons:
        yield ChangeLine("", "on the drawn queries alone: what changed on others is not known")
    if since.new_queries or since.gone_queries:
        yield ChangeLine(
            "", f"queries: {since.new_queries} new, {since.gone_queries} gone; only those of both are compared"
        )
    mixed = {system.system_id for system in since.systems if system.is_mixed}
    is_other_set = bool(since.new_queries or since.gone_queries)
    reasons = [row.unknown for row in since.moved if row.unknown and (is_other_set or row.system_id in mixed)]
    for reason in dict.fromkeys(reasons):
        yield ChangeLine("", f"what moved the means cannot be told: {reason}")


def change_mark(row: Comparison) -> str:
    """Return the mark, such as ▼, of a system's change since the previous evaluation; "" if it is only a note.

    It is only a note if the ranking is unchanged, or if a loss is shown to be smaller than the smallest effect.
    row: the comparison with the previous evaluation.
    """
    return "" if since_last.is_note(row) else comparison_mark(row)


def unexplained_lines(since: since_last.SinceLast, system: since_last.SystemSince) -> Iterator[ChangeLine]:
    """Yield, per metric, a line with the means of a system before and now, if the cause of the change is unknown."""
    for moved in since.moved:
        if moved.system_id == system.system_id:
            means = f"{format_plain(moved.before)} → {format_plain(moved.now)}"
            changed = ", ".join(system.changed)
            text = f"{moved.system_id}, {moved.metric}: {means}, changed: {changed}"
            yield ChangeLine("?", f"{text}; whether its ranking dropped cannot be told")


def has_cause_besides_ranking(moved: since_last.MeanChange, system: since_last.SystemSince) -> bool:
    """Return whether a cause other than the ranking contributed to the change of a system's mean.

    The result is False if the change could not be divided by cause.
    """
    return bool(moved.parts) and (system.is_mixed or set(moved.parts) != {since_last.RANKING})


def format_mean_change(moved: since_last.MeanChange) -> str:
    """Return a changed mean with its parts by cause: ``0.8120 → 0.8000 (-0.0120): -0.0150 from 214 new …``."""
    assert moved.before is not None and moved.now is not None
    parts = [f"{signed(part)} from {format_cause(moved, cause)}" for cause, part in moved.parts.items()]
    means = f"{format_plain(moved.before)} → {format_plain(moved.now)} ({signed(moved.now - moved.before)})"
    return f"{means}: {', '.join(parts)}"


def format_cause(moved: since_last.MeanChange, cause: str) -> str:
    """Return the words for a cause: ``the ranking``, ``the queries``, ``3 new and 12 changed judgments``."""
    if cause != since_last.JUDGMENTS:
        return f"the {cause}"
    counts = {"new": moved.new_judgments, "changed": moved.changed_judgments}
    counts_text = [f"{count} {word}" for word, count in counts.items() if count]
    total = sum(count or 0 for count in counts.values())
    return f"{' and '.join(counts_text)} judgment{'s' * (total != 1)}" if counts_text else "the judgments"


class ChangePart(NamedTuple):
    """The part of a changed mean that is due to one cause, with the queries that contributed most to it.

    part: the contribution of the cause, in the unit of the metric.
    """

    moved: since_last.MeanChange
    cause: str
    part: float
    queries: list[since_last.ChangedMeanQuery]

    @property
    def words(self) -> str:
        return format_cause(self.moved, self.cause)


def parts_of_changes(since: since_last.SinceLast | None) -> list[ChangePart]:
    """Return the changed means divided by cause: one part for each mean and cause.

    Means that changed only because the ranking changed are left out. Empty if `since` is None.
    """
    systems = {system.system_id: system for system in since.systems} if since else {}
    return [
        ChangePart(row, cause, part, [query for query in row.behind if query.part == cause])
        for row in (since.moved if since else ())
        if has_cause_besides_ranking(row, systems[row.system_id])
        for cause, part in row.parts.items()
    ]


def format_row(row: Comparison, system: since_last.SystemSince) -> str:
    """Return a comparison with the previous evaluation: ``new, ndcg@10: -0.0412 [-0.0630, -0.0201], regressed; …``."""
    text = f"{row.candidate}, {row.metric}: {signed(row.difference)} {format_interval(row)}, {row.verdict}"
    text += f"; changed: {', '.join(system.changed)}"
    if row.family == since_last.SAME_RANKING:
        return f"{text} ({NOT_ITS_OWN})"
    return f"{text} ({BOTH_BY_NEW})" if since_last.JUDGMENTS in system.changed else text


def print_since(console: Console, since: since_last.SinceLast | None) -> None:
    """Print the changes since the previous evaluation; print nothing if `since` is None."""
    if since is None:
        return
    lines = list(since_lines(since))
    console.print()
    if [line.mark for line in lines] == ["="]:
        console.print(f"[dim]{since_title(since)}: {lines[0].text}[/]")
        return
    console.print(Text(since_title(since), style="bold"))
    for line in lines:
        colour = STYLES[line.conclusion.traits.tone] if line.conclusion else ""
        text = Text.assemble((f"{line.mark:<2}", colour), line.text)
        if line.may_be_cut:
            text.truncate(console.width, overflow="ellipsis")
        console.print(text)


def format_monitor(monitor: Monitor) -> str:
    """Return the state of the tests of one candidate and metric over all evaluations.

    ``new, ndcg@10: undecided so far; tested 37 times, now at level 2e-05 …``
    """
    times = f"tested {monitor.looks} times" if monitor.looks != 1 else "tested once"
    level = f"now at level {monitor.latest.level:.2g} (p {format_probability(monitor.latest.p_value)})"
    text = f"{monitor.candidate}, {monitor.metric}: {format_conclusion(monitor)}; {times}, {level}"
    if not monitor.has_range:
        promise = f"at most {monitor.alpha:g} does not hold without the range of {monitor.metric}"
        text += f"; {promise}: give it with statistics.ranges"
    if monitor.mde_alone is None:
        return text
    if monitor.mde is None:
        return f"{text}; on so few queries no difference would be enough"
    alone = format_distinct_effect(monitor.mde_alone)
    return f"{text}; can detect {format_distinct_effect(monitor.mde)} (a single evaluation: {alone})"


def format_conclusion(monitor: Monitor) -> str:
    if not monitor.detected:
        return "undecided so far"
    first = monitor.detected[0]
    since = f"evaluation {first.ordinal}, {first.began[:10]}"
    if not monitor.latest.conclusion.is_detected:
        return f"undecided now ({first.conclusion} first in {since})"
    return f"{monitor.latest.conclusion} over all evaluations (first: {first.conclusion} in {since})"


def repeated_tests_lines(nights: RepeatedTests | None) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield a title, and the lines (mark, text) of the tests repeated over all evaluations.

    Yield nothing if nothing was tested.
    """
    if nights is None:
        return
    monitors = [(MARKS.get(found.latest.conclusion, " "), format_monitor(found)) for found in nights.monitors]
    yield f"monitor (false alarms of a system: at most {nights.alpha:g} over all evaluations)", monitors


def print_repeated_tests(console: Console, nights: RepeatedTests | None) -> None:
    for title, lines in repeated_tests_lines(nights):
        console.print(Text(title, style="bold"))
        for mark, text in lines:
            console.print(Text(f"{mark} {text}"))
