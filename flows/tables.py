"""What a person reads in the terminal: the tables of an evaluation, its findings, where its results are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from flows.outcome import GUARDRAILS, PRIMARY, Finding, Outcome, SystemSummary
from flows.wording import (
    change,
    family_text,
    interval,
    judged_label,
    level,
    percent,
    plain,
    probability,
    rows_of,
    sentence,
    signed,
    together,
    verdict_text,
    weighted_text,
    wins_ties_losses,
)
from ndcg_core.comparison import Comparison
from ndcg_core.metric import Metric

if TYPE_CHECKING:
    from flows.evaluation import Finished

VERDICT_WIDTH = 32  # columns that a verdict needs to be read
FIRST = ("rank_disagrees",)  # codes of findings that are shown before the numbers
SHOWN_EXTREMES = 3  # wins and losses of each candidate in the terminal; the page has more
SHOWN_PAIRS = 20  # pairs of systems in the terminal; the JSON has all
LEFT = ("system", "slice", "metric", "of two systems", "against")  # columns of text
COLOURS = {"improved": "green", "regressed": "red", "may be worse": "red", "identical": "dim"}
SEVERITY_COLOURS = {"error": "red", "warning": "yellow", "note": "dim"}


def system_cells(system: SystemSummary) -> list[str]:
    return [
        plain(system.mean),
        plain(system.median),
        str(system.queries),
        str(system.unanswered),
        percent(system.judged),
    ]


def test_cells(comparison: Comparison | None) -> list[str]:
    if comparison is None:
        return [""] * 5
    return [
        signed(comparison.difference),
        interval(comparison),
        probability(comparison.p_value),
        probability(comparison.p_adjusted),
        wins_ties_losses(comparison),
    ]


def verdict_cell(comparison: Comparison | None) -> str:
    if comparison is None:
        return "baseline"
    colour = next((colour for start, colour in COLOURS.items() if comparison.verdict.startswith(start)), "")
    verdict = escape(verdict_text(comparison))
    return f"[{colour}]{verdict}[/]" if colour else verdict


def print_outcome(console: Console, outcome: Outcome) -> None:
    """The tables of an evaluation, one for each metric (two where the terminal is narrow), then the findings.

    What questions every number stands above them.
    """
    grave = [finding for finding in outcome.findings if finding.code in FIRST]
    for finding in grave:
        console.print(f"[bold yellow]{finding.severity}: {escape(finding.message)}[/]\n", highlight=False)
    for metric in outcome.metrics:
        print_metric(console, outcome, metric)
    print_slices(console, outcome)
    print_pairs(console, outcome)
    if outcome.comparisons:
        for family in dict.fromkeys(row.family for row in outcome.comparisons):
            console.print(f"[dim]{escape(family_text(outcome, family))}[/]", highlight=False)
        if weighting := weighted_text(outcome):
            console.print(f"[dim]{weighting}[/]", highlight=False)
        preview = any(row.procedure.startswith("t,") for row in outcome.comparisons)
        flips = "a preview, without flips" if preview else f"{outcome.resamples} resamples, seed {outcome.seed}"
        console.print(
            f"[dim]alpha {outcome.alpha:g}, {flips};"
            f" {outcome.parity_queries} queries computed again by the Python core, and equal[/]",
            highlight=False,
        )
    print_findings(console, [finding for finding in outcome.findings if finding not in grave])


def print_metric(console: Console, outcome: Outcome, metric: Metric) -> None:
    """The systems on one metric, and each candidate against the baseline."""
    system_head = ["mean", "median", "queries", "unanswered", judged_label(metric)]
    pairs = list(rows_of(outcome, metric))
    family = next((row.family for _, row in pairs if row), PRIMARY)
    role = "" if family == PRIMARY else f", {family.removesuffix('s')}"
    title = f"[bold]{escape(metric.name)}[/]  [dim]definition {metric.hash}{role}[/]"
    p = ["one-sided p", "adjusted p"] if family == GUARDRAILS else ["p", "adjusted p"]
    test_head = ["difference", f"{level(outcome.alpha)} interval", *p, "wins/ties/losses"]
    head = ["system", *system_head, *test_head, "verdict"]
    rows = [[system.system_id, *system_cells(system), *test_cells(row), verdict_cell(row)] for system, row in pairs]
    if width_of(head, rows) <= console.width:
        console.print(table(title, head, rows))
    else:
        rows = [[system.system_id, *system_cells(system)] for system, _ in pairs]
        console.print(table(title, ["system", *system_head], rows))
        tested = [row for _, row in pairs if row]
        if tested:
            rows = [[row.candidate, *test_cells(row)] for row in tested]
            console.print(table(f"against {escape(outcome.baseline)}", ["system", *test_head], rows))
        for row in tested:
            console.print(f"{escape(row.candidate)}: {verdict_cell(row)}", highlight=False)
    if not any(system.queries for system, _ in pairs):
        console.print(f"[yellow]no query can be scored with {escape(metric.name)}: nothing judged gains anything[/]")
    console.print()


def print_slices(console: Console, outcome: Outcome) -> None:
    """One table for each attribute and metric."""
    groups = dict.fromkeys((row.attribute, row.metric) for row in outcome.slices)
    head = ["slice", "system", "queries", "baseline", "difference", f"{level(outcome.alpha)} interval", "adjusted p"]
    for attribute, metric in groups:
        rows = []
        for row in outcome.slices:
            if (row.attribute, row.metric) == (attribute, metric):
                cells = [escape(row.candidate), str(row.queries), plain(row.baseline_mean), signed(row.difference)]
                cells += [interval(row), probability(row.p_adjusted), wins_ties_losses(row), verdict_cell(row)]
                rows.append([row.slice or "", *cells])
        title = f"[bold]{escape(metric)}[/] [dim]by {escape(attribute or '')}, exploratory[/]"
        console.print(table(title, [*head, "wins/ties/losses", "verdict"], rows))


def print_pairs(console: Console, outcome: Outcome) -> None:
    """Every two systems, the smallest adjusted p first."""
    pairs = sorted(outcome.pairs, key=lambda row: (row.p_adjusted is None, row.p_adjusted or 0.0))
    if not pairs:
        return
    head = ["metric", "of two systems", "against", "difference", "adjusted p", "wins/ties/losses", "verdict"]
    rows = [
        [
            row.metric,
            escape(row.candidate),
            escape(row.baseline),
            signed(row.difference),
            probability(row.p_adjusted),
            wins_ties_losses(row),
            verdict_cell(row),
        ]
        for row in pairs[:SHOWN_PAIRS]
    ]
    console.print(table("[bold]all pairs[/] [dim]exploratory[/]", head, rows))
    if len(pairs) > SHOWN_PAIRS:
        console.print(f"[dim]… and {len(pairs) - SHOWN_PAIRS} more pairs, with larger p: --json has them[/]")
    console.print()


def print_details(console: Console, outcome: Outcome) -> None:
    """What describes the differences and decides nothing, one table and one list of queries for each metric."""
    weighted = weighted_text(outcome) is not None
    head = ["system", "relative change", "family's interval", "d_z", "changed", "P(> δ)", "P(|·| < δ)", "P(< −δ)"]
    head += ["t", "Wilcoxon", "sign", "top 1 %"] + ["unweighted"] * weighted
    for metric in outcome.metrics:
        described = [(row, row.descriptive) for row in outcome.main if row.metric == metric.name and row.descriptive]
        rows = []
        for row, found in described:
            size = "–" if found.effect_size is None else f"{found.effect_size:+.2f}"
            cells = [change(found), together(row), size, percent(found.changed), percent(found.above)]
            cells += [percent(found.within), percent(found.below), probability(found.p_t)]
            cells += [probability(found.p_wilcoxon), probability(found.p_sign), percent(found.top_share)]
            cells += [signed(row.unweighted_difference)] * weighted
            rows.append([row.candidate, *cells])
        if rows:
            title = f"[bold]{escape(metric.name)}[/] [dim]described (these columns decide nothing)[/]"
            console.print(table(title, head, rows))
        for row, found in described:
            carriers = ", ".join(f"{each.query_id} {percent(each.share)}" for each in found.carriers[:5])
            if carriers:
                console.print(
                    f"[dim]{escape(row.candidate)}: most of the sum on {escape(carriers)}[/]", highlight=False
                )
        if rows:
            console.print()


def print_findings(console: Console, findings: Sequence[Finding]) -> None:
    if not findings:
        console.print("[dim]data check: nothing to report[/]")
    for finding in findings:
        console.print(f"[{SEVERITY_COLOURS[finding.severity]}]{finding.severity}[/]: {escape(finding.message)}")


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table whose numbers never break; only verdicts may take several lines."""
    made = plain_table(title)
    for name in head:
        if name == "verdict":
            made.add_column(name, min_width=VERDICT_WIDTH)
        else:
            made.add_column(name, justify="left" if name in LEFT else "right", no_wrap=True)
    for first, *rest in rows:
        made.add_row(Text(first), *rest)
    return made


def width_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Columns of a terminal that the table needs, with room for verdicts in two lines."""
    numbers = [max(map(cell_len, cells)) for cells in zip(head[:-1], *(row[:-1] for row in rows), strict=True)]
    return sum(numbers) + VERDICT_WIDTH + 3 * len(head)


def plain_table(title: str) -> Table:
    return Table(
        title=title, title_justify="left", title_style="", header_style="bold", box=SIMPLE_HEAD, pad_edge=False
    )


def print_extremes(console: Console, outcome: Outcome, extremes: Sequence[dict[str, Any]]) -> None:
    """The queries with the largest wins and losses of each candidate, on the first metric."""
    metric = outcome.metrics[0]
    shown = [row for row in extremes if row["metric"] == metric.name and row["place"] <= SHOWN_EXTREMES]
    if not shown:
        return
    made = plain_table(f"[bold]largest wins and losses[/], {escape(metric.name)}")
    for name in ("system", "", "query", "difference"):
        made.add_column(name, justify="right" if name == "difference" else "left")
    for row in shown:
        text = f"{row['query_id']}  {row['text']}" if row["text"] else row["query_id"]
        made.add_row(escape(row["candidate"]), row["direction"], escape(text), signed(row["difference"]))
    console.print(made)


def print_run(console: Console, finished: "Finished") -> None:
    """What `run` ends with: who won, on which queries, where everything is."""
    print_outcome(console, finished.outcome)
    print_extremes(console, finished.outcome, finished.extremes)
    for row in finished.outcome.main:
        if row.metric == finished.outcome.metrics[0].name:
            console.print(f"[bold]→[/] {escape(sentence(row, finished.outcome.alpha))}", highlight=False)
    for gate in finished.outcome.gates:
        colour, word = ("green", "passed") if gate.passed else ("red", "failed")
        console.print(f"gate [{colour}]{word}[/]: {escape(gate.name)}: {escape(gate.message)}", highlight=False)
    console.print(f"[dim]comparisons so far on these queries: {finished.comparisons_so_far}[/]", highlight=False)
    if finished.reused:
        console.print(
            "same inputs and configuration as an earlier evaluation: its result stands (--force computes anew)",
            highlight=False,
        )
    if finished.delivered:
        console.print(f"also logged: {finished.delivered} earlier evaluations that were pending", highlight=False)
    places: list[tuple[str, object]] = [("files", finished.bundle), ("report", finished.bundle / "report.html")]
    if finished.url:
        places.append(("MLflow run", finished.url))
        places.append(("over time", finished.trend_url))
    if finished.dashboard:
        places.append(("open with", finished.dashboard))
    for name, place in places:
        console.print(f"{name:>10}  {place}", highlight=False, markup=False, soft_wrap=True)
