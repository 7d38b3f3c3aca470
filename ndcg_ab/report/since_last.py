"""What became of every system since the evaluation before, in few lines for the terminal, Markdown and the page."""

from collections.abc import Iterator
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from ndcg_ab.evaluation.phrases import signed
from ndcg_ab.evaluation.since_last import NEW_SYSTEM, SAME_RANKING, SinceLast, SystemSince
from ndcg_ab.report.answer import mark
from ndcg_ab.report.escaping import escaped
from ndcg_ab.report.tables import COLOURS
from ndcg_ab.report.text import interval, plain
from ndcg_core.statistics.comparison import Comparison
from ndcg_core.statistics.verdict import Verdict

SHOWN_LOST = 3  # queries of a drop in the terminal and in Markdown; the page has all that are kept
INDENT = "  "  # of what adds to the line above
MIXED = "the difference mixes them"
NOT_ITS_OWN = "not the ranker's: its ranking is the same"


class Told(NamedTuple):
    """One line. mark: empty of a line that only adds; conclusion: for its colour, None without a test."""

    mark: str
    text: str
    conclusion: Verdict | None = None


def since_title(since: SinceLast) -> str:
    return f"since evaluation {since.ordinal} ({since.began[:16].replace('T', ' ')})"


def since_told(since: SinceLast, most_lost: int = SHOWN_LOST) -> Iterator[Told]:
    """A line for each system and metric for which something changed, the others in one, and what a drop lost most."""
    for system in since.systems:
        if system.changed == (NEW_SYSTEM,):
            yield Told("", f"{system.system_id}: was not there")
        for row in since.of(system.system_id):
            yield Told(mark(row), row_text(row, system), row.conclusion)
            if row in since.dropped:
                yield from lost_lines(since, row, most_lost)
    if since.unchanged:
        everything = len(since.unchanged) == len(since.systems)
        yield Told("=", "nothing changed" if everything else f"unchanged: {', '.join(since.unchanged)}")
    if since.new_queries or since.gone_queries:
        yield Told("", f"queries: {since.new_queries} new, {since.gone_queries} gone; only those of both are compared")


def row_text(row: Comparison, system: SystemSince) -> str:
    """``new, ndcg@10: -0.0412 (-0.0630 … -0.0201), regressed; changed: ranking``."""
    text = f"{row.candidate}, {row.metric}: {signed(row.difference)} ({interval(row)}), {row.verdict}"
    text += f"; changed: {', '.join(system.changed)}"
    if row.family == SAME_RANKING:
        return f"{text} ({NOT_ITS_OWN})"
    return f"{text} ({MIXED})" if system.is_mixed else text


def lost_lines(since: SinceLast, row: Comparison, most: int) -> Iterator[Told]:
    found = [lost for lost in since.lost if (lost.system_id, lost.metric) == (row.candidate, row.metric)]
    for lost in found[:most]:
        named = f"{lost.query_id} {lost.text}" if lost.text else lost.query_id
        yield Told("", f"{INDENT}{plain(lost.before)} → {plain(lost.now)}  {named}")


def print_since(console: Console, since: SinceLast | None) -> None:
    """One short block; nothing where there is no evaluation before."""
    if since is None:
        return
    lines = list(since_told(since))
    console.print()
    if [line.mark for line in lines] == ["="]:
        console.print(f"[dim]{since_title(since)}: {lines[0].text}[/]", highlight=False)
        return
    console.print(Text(since_title(since), style="bold"), highlight=False)
    for line in lines:
        colour = COLOURS.get(line.conclusion, "") if line.conclusion else ""
        told = Text.assemble((f"{line.mark:<2}", colour), line.text)
        if not line.mark:
            told.truncate(console.width, overflow="ellipsis")
        console.print(told, highlight=False)


def since_items(since: SinceLast | None) -> list[str]:
    """The same as Markdown: one paragraph, or nothing."""
    if since is None:
        return []
    lines = [f"- {escaped(f'{line.mark} {line.text}'.strip())}" for line in since_told(since)]
    return ["\n".join([f"**{escaped(since_title(since))}**", "", *lines])]
