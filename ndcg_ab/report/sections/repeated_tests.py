"""What all the nights say together, in few lines for the terminal and the page."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from ndcg_ab.history.timeline.repeated_tests import Monitor, RepeatedTests
from ndcg_ab.report.answer.marks import MARKS
from ndcg_ab.report.words.text import format_probability
from ndcg_core.statistics.verdicts.verdict import readable


def format_monitor(found: Monitor) -> str:
    """``new, ndcg@10: nothing so far; tested 37 times, now at level 2e-05 (p 0.0031); can detect 0.031 (…)``."""
    times = f"tested {found.looks} times" if found.looks != 1 else "tested once"
    level = f"now at level {found.latest.level:.2g} (p {format_probability(found.latest.p_value)})"
    text = f"{found.candidate}, {found.metric}: {format_conclusion(found)}; {times}, {level}{format_doubt(found)}"
    if found.mde_alone is None:
        return text
    if found.mde is None:
        return f"{text}; on so few queries no difference would be enough"
    return f"{text}; can detect {readable(found.mde)} (a single evaluation: {readable(found.mde_alone)})"


def format_doubt(found: Monitor) -> str:
    """Return why the promise on false alarms does not hold, and what to do; empty if the metric's range is known."""
    if found.has_range:
        return ""
    name = found.metric
    return f"; at most {found.alpha:g} does not hold without the range of {name}: give it with statistics.ranges"


def format_conclusion(found: Monitor) -> str:
    if not found.detected:
        return "nothing so far"
    first = found.detected[0]
    since = f"evaluation {first.ordinal}, {first.began[:10]}"
    if not found.latest.conclusion.is_detected:
        return f"nothing now ({first.conclusion} first in {since})"
    return f"{found.latest.conclusion} over all evaluations (first: {first.conclusion} in {since})"


def repeated_tests_lines(nights: RepeatedTests | None) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """A title with its lines, each a mark and words."""
    if nights is None:
        return
    monitors = [(MARKS.get(found.latest.conclusion, " "), format_monitor(found)) for found in nights.monitors]
    yield f"monitor (false alarms of a system: at most {nights.alpha:g} over all evaluations)", monitors


def print_repeated_tests(console: Console, nights: RepeatedTests | None) -> None:
    for title, lines in repeated_tests_lines(nights):
        console.print(Text(title, style="bold"), highlight=False)
        for mark, text in lines:
            console.print(Text(f"{mark} {text}"), highlight=False)
