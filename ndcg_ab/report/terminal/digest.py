"""What `ndcg-ab history --since` prints: what dropped, what caused it, what is open."""

from rich.console import Console
from rich.text import Text

from ndcg_ab.comparing.since_last import STILL
from ndcg_ab.history.timeline.digest import Digest, Drop
from ndcg_ab.history.timeline.timeline import Timeline
from ndcg_ab.report.terminal.timeline import latest_decisions
from ndcg_ab.results.wording import signed


def print_digest(console: Console, digest: Digest, timeline: Timeline) -> None:
    night = f"{digest.evaluations} evaluation{'s' * (digest.evaluations != 1)}"
    same = f", {digest.reused} more in which nothing had changed" if digest.reused else ""
    console.print(Text.assemble((digest.name, "bold"), f", {digest.metric}, since {digest.since[:10]}: {night}{same}"))
    print_part(console, "dropped", [format_drop(drop) for drop in digest.drops])
    last = timeline.evaluations[-1]
    print_part(console, "open", open_lines(digest, last.ordinal))
    console.print(Text(f"now (the latest evaluation, {last.began[:10]})", style="bold"))
    for line in latest_decisions(last):
        console.print(line, highlight=False)


def print_part(console: Console, title: str, lines: list[str]) -> None:
    console.print(Text(title, style="bold"))
    for line in lines or ["nothing"]:
        console.print(Text(f"  {line}"), highlight=False)


def format_drop(drop: Drop) -> str:
    """``8  10-08  reranked -0.2804: -0.2820 ranking, -0.0074 judgments; improved again in 9``."""
    text = f"{drop.ordinal}  {drop.began[5:10]}  {drop.system_id} {signed(drop.difference)}: {format_cause(drop)}"
    if drop.acknowledged is not None:
        text += f"; acknowledged {drop.acknowledged[:10]}{f': {drop.note}' if drop.note else ''}"
    return text if drop.better_in is None else f"{text}; improved again in {drop.better_in}"


def format_cause(drop: Drop) -> str:
    """The parts of the change, the largest first, where they are known; else what had changed."""
    parts = sorted(((abs(part), part, cause) for cause, part in drop.moved.items()), reverse=True)
    told = ", ".join(f"{signed(part)} {cause}" for size, part, cause in parts if size > STILL)
    return told or f"changed: {', '.join(drop.changed)}"


def open_lines(digest: Digest, last: int) -> list[str]:
    lines = [
        f"{drop.system_id} dropped in {drop.ordinal} (known? --acknowledge {drop.ordinal})"
        for drop in digest.drops
        if drop.is_open
    ]
    lines += [
        f"gate failed: {found.gate}" + (f", since evaluation {found.since}" if found.since != last else "")
        for found in digest.failing
    ]
    if digest.pending:
        numbers = ", ".join(map(str, digest.pending))
        lines.append(f"logging is pending: {numbers} (ndcg-ab publish CONFIG)")
    return lines
