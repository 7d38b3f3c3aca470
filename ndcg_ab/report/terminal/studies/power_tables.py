"""What `ndcg-ab power` prints: for each comparison its spread, the queries needed, and what numbers of queries show."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from ndcg_ab.report.terminal.grid import plain_table
from ndcg_ab.results.wording import signed
from ndcg_ab.studies.power import Asked, Plan, format_answer, format_figure, format_query_count

BAR = 40  # characters of the longest bar


def print_plans(console: Console, plans: Sequence[Plan], asked: Asked) -> None:
    for plan in plans:
        console.print(Text(plan.name, style="bold"), highlight=False)
        if plan.queries is not None:
            console.print(", ".join(plan_facts(plan)), highlight=False)
        if not plan.obstacle:
            print_plan(console, plan)
        for question in plan.questions:
            console.print(Text(question, style="yellow"), highlight=False)
        console.print(Text.assemble(("→", "bold"), f" {format_answer(plan, asked)}\n"), highlight=False)
    console.print(f"[dim]alpha {asked.alpha:g}, power {100 * asked.power:g} %, {asked.holds}[/]", highlight=False)


def plan_facts(plan: Plan) -> Iterator[str]:
    drawn = "drawn " if plan.is_drawn else ""
    yield f"{plan.queries:,} {drawn}quer{'y' if plan.queries == 1 else 'ies'} ({plan.differing:,} differing)"
    weighted = ""
    if plan.effective_queries is not None and not plan.is_drawn:
        weighted = "weighted "
        yield f"that settle as much as {plan.effective_queries:.0f} of equal weight"
    if plan.clusters is not None:
        yield f"in {plan.clusters:,} cluster{'s' * (plan.clusters != 1)}"
    yield f"{weighted}mean difference {'over the log ' if plan.is_drawn else ''}{signed(plan.difference)}"
    yield f"standard deviation {format_figure(plan.deviation)}"
    yield f"detectable now {format_figure(plan.mde)}"
    if plan.unpaired:
        yield f"{plan.unpaired:,} left out that only one of the systems has a value for"


def print_plan(console: Console, plan: Plan) -> None:
    needed = plain_table("")
    for name in ("effect", "queries needed"):
        needed.add_column(name, justify="right", no_wrap=True)
    for effect, queries in plan.needed:
        needed.add_row(f"{effect:g}", format_query_count(queries))
    console.print(needed)
    curve = plain_table("")
    for name in ("queries", "detectable effect"):
        curve.add_column(name, justify="right", no_wrap=True)
    curve.add_column("", no_wrap=True)
    longest = max(row.effect for row in plan.curve)
    here = " ← here"
    room = console.width - max(len(f"{row.n:,}") for row in plan.curve) - len("queries detectable effect" + here) - 8
    for row in plan.curve:
        bar = "█" * max(1, round(max(1, min(BAR, room)) * row.effect / longest))
        curve.add_row(f"{row.n:,}", format_figure(row.effect), bar + here * (row.n == plan.queries))
    console.print(curve)
