"""What requests cost, in words and as a table: one for terminal, page, comment and notes."""

from collections.abc import Iterator

from rich.console import Console

from ndcg_ab.report.terminal.grid import Grid, Row, print_dimmed, table_title
from ndcg_ab.report.words.text import format_confidence_level
from ndcg_ab.results.cost_records import CostDifference, Costs, CostValue, plain_cost, requests_text
from ndcg_ab.results.outcome import Outcome
from ndcg_ab.results.wording import queries_text
from ndcg_core.statistics.averages import MEAN

SHOWN_FIRST = "p95"  # where no guardrail says which statistic matters


def shown_first(costs: Costs | None, candidate: str) -> tuple[CostDifference, ...]:
    """What is shown of a candidate beside its metrics: its guardrails; without one p95 of the first cost."""
    if costs is None:
        return ()
    own = [row for row in costs.differences if row.candidate == candidate]
    guarded = [row for row in own if row.margin is not None]
    return tuple(guarded or [row for row in own if (row.cost, row.statistic) == (costs.names[0], SHOWN_FIRST)])


def cost_pairs(costs: Costs) -> Iterator[tuple[CostValue, CostDifference | None]]:
    """Every value with its difference from the baseline's, where it is a candidate's."""
    found = {(row.candidate, row.cost, row.statistic): row for row in costs.differences}
    for statistic in dict.fromkeys((row.cost, row.statistic) for row in costs.values):
        for row in costs.values:
            if (row.cost, row.statistic) == statistic:
                yield row, found.get((row.system_id, row.cost, row.statistic))


def cost_interval(row: CostValue) -> str:
    """``[40.2, 71.3]``; an end for which there are too few queries is ``?``."""
    return f"[{', '.join('?' if end is None else plain_cost(end) for end in (row.low, row.high))}]"


def cost_cells(value: CostValue, row: CostDifference | None) -> list[str]:
    """Statistic, system, value, its interval, difference with interval, and what is said of a guardrail."""
    verdict = f"{row.mark} {row.verdict}" if row and row.verdict else ""
    numbers = row.numbers if row else ""
    name = f"{value.cost}@{value.statistic}"
    return [name, value.system_id, value.number, cost_interval(value), numbers, verdict]


def cost_head(outcome: Outcome) -> list[str]:
    level = format_confidence_level(outcome.alpha)
    return ["cost", "system", "value", f"{level} interval", f"difference [{level} interval]", "guardrail"]


def cost_notes(costs: Costs) -> list[str]:
    """How the costs were measured, of each way once; what was cold, failed or is missing; what an unknown end means."""
    ways: dict[str, list[str]] = {}
    for row in costs.values:
        ways.setdefault(row.measured, []).append(row.system_id)
    systems = {row.system_id for row in costs.values}
    found = []
    for way, names in ways.items():
        own = list(dict.fromkeys(names))
        whose = "" if len(own) == len(systems) else f"{', '.join(own)}: "
        found.append(f"{whose}{way}")
    if len(systems) > 1 and any("random order" in way and "by turns" not in way for way in ways):
        found.append("systems were asked one after another")
    for row in costs.values:
        if row.statistic != MEAN:
            continue
        about = f"{row.system_id} {row.cost}:"
        if row.cold_requests:
            cold = requests_text(row.cold_requests)
            found.append(f"{about} {cold.replace(' ', ' cold ')}, mean {plain_cost(row.cold_mean)}, not counted")
        if row.failed:
            failed = f"{row.failed} of {requests_text(row.queries)} failed"
            found.append(f"{about} {failed}; the time until one was given up is a lower bound (≥)")
        if row.missing:
            found.append(f"{about} missing for {row.missing} of {queries_text(row.asked)}")
    if any(row.high is None for row in costs.values):
        failed = ", or requests failed" if any(row.failed for row in costs.values) else ""
        found.append(f"? of an interval: too few queries for this end{failed}")
    return found


def counted_queries(costs: Costs) -> str:
    """``120 queries``; where a cost is not known of all of them ``latency_ms 120, price 66 of 120 queries``."""
    counts = {row.cost: row.queries for row in costs.values}
    asked = max((max(row.asked, row.queries) for row in costs.values), default=0)
    if all(count == asked for count in counts.values()):
        return queries_text(asked)
    each = [f"{cost} {count}" if len(counts) > 1 else str(count) for cost, count in counts.items()]
    return f"{', '.join(each)} of {queries_text(asked)}"


def print_costs(console: Console, outcome: Outcome) -> None:
    """Every statistic of every system, and how they were measured."""
    if outcome.costs is None:
        return
    head = cost_head(outcome)
    rows = [cost_cells(*pair) for pair in cost_pairs(outcome.costs)]
    title = table_title("what requests cost", counted_queries(outcome.costs))
    lines = [Row(cells[:2], [*cells[2:4], f"{cells[5][:1]} {cells[4]}".strip()]) for cells in rows]
    Grid(head[:2], head[2:5], lines).print(console, title)
    for note in cost_notes(outcome.costs):
        print_dimmed(console, note)
    console.print()
