"""Print the results of `power`, `draw`, `sensitivity` and `explain`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ndcg_ab.report.terminal.grid import Grid, Row, plain_table
from ndcg_ab.report.terminal.tables import print_findings
from ndcg_ab.results.codec import json_text
from ndcg_ab.results.numbers import format_figure, signed
from ndcg_ab.results.wording import queries_text
from ndcg_ab.studies.draw import DrawStudy
from ndcg_ab.studies.explain import SystemExplanation
from ndcg_ab.studies.power import Plan, PowerSettings, format_answer, format_query_count
from ndcg_ab.studies.sensitivity import Sensitivity, comparison_matrix, format_summary, matrix_axes, verdict_kind
from ndcg_core.measures.explain import ExplainedRank, Explanation, Step
from ndcg_core.measures.metric import format_number

BAR = 40  # characters of the longest bar


def print_plans(console: Console, plans: Sequence[Plan], settings: PowerSettings) -> None:
    for plan in plans:
        console.print(Text(plan.name, style="bold"))
        if plan.queries is not None:
            console.print(", ".join(plan_phrases(plan)))
        if not plan.obstacle:
            print_plan(console, plan)
        for question in plan.questions:
            console.print(Text(question, style="yellow"))
        console.print(Text.assemble(("→", "bold"), f" {format_answer(plan, settings)}\n"))
    console.print(f"[dim]alpha {settings.alpha:g}, power {100 * settings.power:g} %, {settings.holds}[/]")


def plan_phrases(plan: Plan) -> Iterator[str]:
    adjective = "drawn " if plan.is_drawn else ""
    yield f"{plan.queries:,} {adjective}quer{'y' if plan.queries == 1 else 'ies'} ({plan.differing:,} differing)"
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
    needed = plain_table("", ("effect", "queries needed"), no_wrap=True)
    for effect, queries in plan.needed:
        needed.add_row(f"{effect:g}", format_query_count(queries))
    console.print(needed)
    curve = plain_table("", ("queries", "MDE", ""), text_heads=[""], no_wrap=True)
    longest = max(row.effect for row in plan.curve)
    mark = " ← here"
    room = console.width - max(len(f"{row.queries:,}") for row in plan.curve) - len("queries MDE" + mark) - 8
    for row in plan.curve:
        bar = "█" * max(1, round(max(1, min(BAR, room)) * row.effect / longest))
        curve.add_row(f"{row.queries:,}", format_figure(row.effect), bar + mark * (row.queries == plan.queries))
    console.print(curve)


def draw_sentences(study: DrawStudy, output: Path | None, *, is_command: bool = True) -> Iterator[str]:
    """Yield sentences about a draw of queries: the log, the sample, the plan and the next command.

    output: the file with the drawn queries. is_command: True if the reader uses the command line, so that options can
    be named.
    """
    unchanged = study.queries - study.changed
    top = "results" if study.depth is None else f"top {study.depth}"
    yield (
        f"{study.queries:,} queries: of {unchanged:,} every system shows the same {top}, {study.changed:,}"
        f" {'differs' if study.changed == 1 else 'differ'}"
    )
    yield ", ".join(drawn_counts(study))
    yield from plan_sentences(study)
    if study.left_out:
        option = "--slice" if is_command else "slices"
        yield f"columns of the log that are left out: {', '.join(study.left_out)} ({option} keeps one)"
    if not is_command:
        return
    if output is None:
        yield "keep them for the comparison: --output-file drawn.tsv"
    else:
        yield f"judge them, then: ndcg-ab compare JUDGMENTS BASELINE CANDIDATE --queries {output}"


def study_to_json(study: DrawStudy) -> str:
    """Return counts and plan of a draw as JSON, with the field names of `DrawStudy` and `DrawPlan`."""
    counts = {"queries": study.queries, "changed": study.changed, "drawn": len(study.drawn)}
    more = {"kept": study.kept, "gone": study.gone, "places": study.depth, "plan": study.plan._asdict()}
    return json_text(counts | more)


def drawn_counts(study: DrawStudy) -> Iterator[str]:
    every = len(study.drawn) == study.changed
    yield f"{len(study.drawn):,} drawn" + (": all that differ" if every else "")
    if study.kept:
        yield f"{study.kept:,} of them by the earlier draw"
    if study.gone:
        yield f"{study.gone:,} of that draw left out, which the log does not hold"


def plan_sentences(study: DrawStudy) -> Iterator[str]:
    plan = study.plan
    supposed = ", a guess: --deviation, --judgments" if plan.is_supposed else ""
    supposed = f", by {queries_text(plan.judged, 'judged')}" if plan.judged else supposed
    power = f"{100 * plan.power:g} % power"
    if plan.detected is not None:
        yield (
            f"they detect a difference of {format_figure(plan.detected)} ({power}, standard deviation over all queries"
            f" {format_figure(plan.deviation)}{supposed})"
        )
    count = f"more than the {study.changed:,} that differ" if plan.drawn is None else f"{plan.drawn:,} drawn queries"
    random = f"more than all {study.queries:,}" if plan.random is None else f"{plan.random:,}"
    yield f"a difference of {plan.effect:g} takes {count}; a random sample would need {random}"


SHORT = {"jarvelin_kekalainen": "järvelin-k."}
MARKS = {"improved": "▲", "regressed": "▼", "identical": "=", "not testable": "●", "undecided": "●"}
COLOURS = {"improved": "green", "regressed": "red"}


def print_sensitivity(console: Console, sensitivity: Sensitivity) -> None:
    definitions, columns = matrix_axes(sensitivity)
    heads = [f"{ideal} @{cutoff}" for ideal, cutoff in columns]
    for candidate in sensitivity.candidates:
        rows = [
            Row(
                (gain, SHORT.get(discount, discount)),
                [
                    Text(f"{signed(row.difference)} {MARKS[kind]}", COLOURS.get(kind, ""))
                    for row, kind in ((row, verdict_kind(row)) for row in found)
                ],
            )
            for (gain, discount), found in zip(definitions, comparison_matrix(sensitivity, candidate), strict=True)
        ]
        title = Text.assemble((candidate, "bold"), f" against {sensitivity.baseline}, nDCG")
        Grid(("gain", "discount"), heads, rows).print(console, title)
        console.print(escape(format_summary(sensitivity, candidate)))
        console.print()
    console.print("[dim]" + "  ".join(f"{mark} {word}" for word, mark in MARKS.items()) + "[/]")
    print_findings(console, sensitivity.findings)


NOTHING = {"zero": "nothing was returned", "condense": "nothing that is judged was returned"}
SHOWN = 30  # ranks displayed of a ranking without a cutoff


def print_explained(console: Console, explained: Sequence[SystemExplanation], query_id: str) -> None:
    for system in explained:
        for explanation in system.explanations:
            title = f"[bold]{escape(system.system_id)}[/], query '{escape(query_id)}', "
            title += f"[bold]{escape(explanation.metric.name)}[/]"
            if explanation.ranking:
                console.print(ranking_table(title, explanation))
            else:
                console.print(f"{title}: {NOTHING[explanation.metric.unjudged]}")
            if explanation.ideal:
                console.print(ideal_table(explanation))
            console.print(format_conclusion(explanation), markup=False)
            console.print()
        for steps in system.steps:
            console.print(steps_table(system.system_id, steps))


def ranking_table(title: str, explanation: Explanation) -> Table:
    heads = ("rank", "document", "score", "grade", "gain", "discount", "gain · discount", "sum")
    table = plain_table(title, heads, text_heads=["document"], overflow="fold")
    ranking_within_cutoff = explanation.ranking_within_cutoff[: explanation.metric.cutoff or SHOWN]
    for result in ranking_within_cutoff:
        score = "–" if result.score is None else format_number(result.score)
        table.add_row(str(result.rank), Text(result.doc_id or ""), score, format_grade(result), *format_result(result))
    if len(explanation.ranking) > len(ranking_within_cutoff):
        rest = len(explanation.ranking) - len(ranking_within_cutoff)
        beyond = "beyond the cutoff" if explanation.metric.cutoff else "that follow"
        table.add_row("…", f"[dim]{rest} documents {beyond}[/]", *[""] * 6)
    return table


def ideal_table(explanation: Explanation) -> Table:
    heads = ("rank", "document", "grade", "gain", "discount", "gain · discount", "sum")
    title = f"ideal = {explanation.metric.ideal}, best first"
    table = plain_table(title, heads, text_heads=["document"], overflow="fold")
    for result in explanation.ideal[:SHOWN]:
        document = Text("any of this grade", "dim") if result.doc_id is None else Text(result.doc_id)
        table.add_row(str(result.rank), document, format_grade(result), *format_result(result))
    if len(explanation.ideal) > SHOWN:
        last = explanation.ideal[-1]
        table.add_row(
            f"…{last.rank}", f"[dim]{len(explanation.ideal) - SHOWN} more[/]", "", "", "", "", f"{last.cumulated:.4f}"
        )
    return table


def format_grade(result: ExplainedRank) -> str:
    return "[dim]unjudged[/]" if result.grade is None else format_number(result.grade)


def format_result(result: ExplainedRank) -> list[str]:
    return [f"{result.gain:g}", f"{result.discount:.4f}", f"{result.contribution:.4f}", f"{result.cumulated:.4f}"]


def format_conclusion(explanation: Explanation) -> str:
    """Return the last line of an explanation: how the metric's value follows from the sums above."""
    metric, value = explanation.metric, explanation.value
    if value is None or explanation.because:
        return f"{metric.name}: {'left out' if value is None else f'{value:.6f}'}: {explanation.because}"
    return f"{metric.name} = {explanation.last_step}{value:.6f}, in SQL as in the Python core"


def steps_table(system_id: str, steps: Sequence[Step]) -> Table:
    first, last = steps[0].metric.name, steps[-1].metric.name
    title = f"[bold]{escape(system_id)}[/]: from {escape(first)} to {escape(last)}, a choice at a time"
    table = plain_table(title, ("change", "value", "moves it by"), text_heads=["change"])
    before: float | None = None
    for step in steps:
        value = "left out" if step.value is None else f"{step.value:.6f}"
        has_effect = step.choices and step.value is not None and before is not None
        moved = f"{(step.value or 0.0) - (before or 0.0):+.6f}" if has_effect else ""
        table.add_row(escape(step.choices) or f"[dim]{escape(first)}[/]", value, moved)
        before = step.value
    return table
