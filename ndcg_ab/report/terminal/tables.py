"""Print every number of an evaluation in tables, and its findings in full."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ndcg_ab.config.secrets.redaction import redact
from ndcg_ab.errors import shorten
from ndcg_ab.report import words
from ndcg_ab.report.sections import print_changes, print_costs, print_judges
from ndcg_ab.report.terminal.grid import STYLES, Grid, Row, print_dimmed, table_title, wrap_items
from ndcg_ab.results.numbers import format_percent, format_plain, format_probability, format_range, signed
from ndcg_ab.results.outcome import Finding, Outcome, Severity, SystemSummary
from ndcg_ab.results.wording import GUARDRAILS, PRIMARY, fully_judged_difference
from ndcg_core.measures.metric import Metric
from ndcg_core.statistics.verdicts.comparison import Comparison

LONGEST = 1000  # characters of a finding, and of each of its examples

SHOWN_PAIRS = 20  # pairs of systems in the terminal; the JSON has all
TESTED = ("difference", "interval", "p", "adjusted p", "wins/ties/losses")
ON_PART = ("baseline", "difference", "interval", "adjusted p", "wins/ties/losses")


def system_cells(system: SystemSummary) -> list[str]:
    return [
        format_plain(system.mean),
        format_plain(system.median),
        str(system.queries),
        *([] if system.unanswered is None else [str(system.unanswered), format_percent(system.judged)]),
    ]


def verdict_cell(comparison: Comparison, shared: str = "") -> Text:
    """Return the text of a comparison's verdict in its colour.

    shared: a text to add, such as the number of queries that both systems answered; empty for none.
    """
    colour = STYLES[comparison.conclusion.traits.tone]
    return Text(words.format_verdict(comparison) + (f"; {shared}" if shared else ""), style=colour)


def print_tables(console: Console, outcome: Outcome) -> None:
    """Print a table for each metric, then ledger, costs, slices, pairs, judges and further numbers."""
    for metric in outcome.metrics:
        print_metric(console, outcome, metric)
    print_ledger(console, outcome)
    print_costs(console, outcome)
    print_intended(console, outcome)
    print_leave_one_system_out(console, outcome)
    print_slices(console, outcome)
    print_pairs(console, outcome)
    print_judges(console, outcome)
    if outcome.comparisons:
        for family in dict.fromkeys(row.family for row in outcome.comparisons):
            print_dimmed(console, words.format_family(outcome, family))
        for sampled in filter(None, (words.format_weights(outcome), words.format_clusters(outcome))):
            print_dimmed(console, sampled)
        again = words.add_recomputed_count(outcome, "{} computed again by the Python core, and equal")
        flips = f"{outcome.resamples} resamples, seed {outcome.seed}"
        print_dimmed(console, f"alpha {outcome.alpha:g}, {flips}; {again}")
    print_descriptions(console, outcome)
    print_changes(console, outcome)


def print_metric(console: Console, outcome: Outcome, metric: Metric) -> None:
    """Print systems and comparisons on one metric, in one table or in two if the terminal is narrow."""
    system_head = ["mean", "median", "queries"]
    system_head += [] if outcome.has_external_scores else ["unanswered", words.judged_label(metric)]
    pairs = list(words.system_rows(outcome, metric))
    family = next((row.family for _, row in pairs if row), PRIMARY)
    title = table_title(
        metric.name, ", ".join([f" {words.metric_origin(metric)}", *words.describe_metric_role(outcome, metric.name)])
    )
    heads = words.comparison_heads(outcome, TESTED)
    test_head = ["one-sided p" if head == "p" and family == GUARDRAILS else head for head in heads]
    tested, rows = [], []
    for system, row in pairs:
        cells, verdict = [""] * len(TESTED), Text("baseline")
        if row:
            cells = words.comparison_cells(row, TESTED)
            verdict = verdict_cell(row, words.format_shared_queries(outcome, row))
            tested.append(Row([row.candidate], cells, verdict))
        rows.append(Row([system.system_id], system_cells(system) + cells, verdict))
    grid = Grid(["system"], system_head + test_head, rows)
    layout = grid.layout(console.width)
    if rows and layout and len(layout.tables) == 1:
        grid.print(console, title)
    elif rows:
        systems = [Row([system.system_id], system_cells(system)) for system, _ in pairs]
        Grid(["system"], system_head, systems).print(console, title)
        Grid(["system"], test_head, tested).print(console, Text(f"against {outcome.baseline}"))
    if not any(system.queries for system, _ in pairs):
        message = f"no query can be scored with {metric.name}: nothing judged gains anything"
        console.print(Text(message, style="yellow"))
    console.print()


def print_ledger(console: Console, outcome: Outcome) -> None:
    """Print how many rows or queries each stage read, used and left out."""
    rows = [
        Row([each.stage, each.about or ""], [str(each.read), str(each.used)], Text(each.reasons))
        for each in outcome.ledger
    ]
    title = table_title("ledger", "what was read and used")
    Grid(["stage", "of"], ["read", "used"], rows, verdict_head="left out").print(console, title)


def print_leave_one_system_out(console: Console, outcome: Outcome) -> None:
    """Print the primary comparisons, repeated without the judgments that one system alone contributed."""
    columns = ("queries", "difference", "interval")
    rows = [
        Row(
            [row.metric, row.candidate, each.system],
            [str(each.hidden), *words.comparison_cells(row, columns)],
            Text(row.conclusion.words, style=STYLES[row.conclusion.traits.tone]),
        )
        for each in outcome.left_out
        for row in each.comparisons
    ]
    head = ["judgments", *words.comparison_heads(outcome, columns)]
    title = table_title("left out", "what a system alone contributed to the judgments")
    Grid(["metric", "system", "without those of"], head, rows).print(console, title)


def print_intended(console: Console, outcome: Outcome) -> None:
    """Print a row for each candidate, primary metric and part of the queries (intended by the change, others)."""
    columns = ("queries", "moved", *ON_PART)
    rows = []
    for row in outcome.intended:
        names = [row.metric, row.candidate, row.slice or ""]
        rows.append(Row(names, words.comparison_cells(row, columns), Text(words.format_verdict(row))))
    title = table_title("the queries it was meant for", "(decides nothing)")
    Grid(["metric", "system", "queries"], words.comparison_heads(outcome, columns), rows).print(console, title)


def print_slices(console: Console, outcome: Outcome) -> None:
    """Print the comparisons on slices, one table per attribute and metric."""
    columns = ("queries", *ON_PART)
    for attribute, metric in dict.fromkeys((row.attribute, row.metric) for row in outcome.slices):
        rows = [
            Row([row.slice or "", row.candidate], words.comparison_cells(row, columns), verdict_cell(row))
            for row in outcome.slices
            if (row.attribute, row.metric) == (attribute, metric)
        ]
        title = table_title(metric, f"by {attribute or ''}, exploratory")
        Grid(["slice", "system"], words.comparison_heads(outcome, columns), rows).print(console, title)


def print_pairs(console: Console, outcome: Outcome) -> None:
    """Print the comparisons of every two systems: the SHOWN_PAIRS with the smallest adjusted p, and how many others."""
    pairs = sorted(outcome.pairs, key=lambda row: (row.p_adjusted is None, row.p_adjusted or 0.0))
    columns = ("difference", "adjusted p", "wins/ties/losses")
    rows = []
    for row in pairs[:SHOWN_PAIRS]:
        verdict = verdict_cell(row, words.format_shared_queries(outcome, row))
        rows.append(Row([row.metric, row.candidate, row.baseline], words.comparison_cells(row, columns), verdict))
    Grid(["metric", "of two systems", "against"], columns, rows).print(console, table_title("all pairs", "exploratory"))
    if (more := len(pairs) - SHOWN_PAIRS) > 0:
        print_dimmed(console, f"… and {more} more pair{'s' * (more > 1)}, with larger p: --json has them")


def print_descriptions(console: Console, outcome: Outcome) -> None:
    """Print, per metric, descriptive numbers of the differences and the queries that contribute most to them."""
    weighted = words.format_weights(outcome) is not None
    head = ["relative change", "own interval", "d_z", "changed", "t", "Wilcoxon", "top 1 %"]
    head += ["queries judged fully", "difference there"] * (not outcome.has_external_scores)
    head += ["unweighted"] * weighted
    for metric in outcome.metrics:
        described = [(row, row.descriptive) for row in words.order_comparisons(outcome, metric) if row.descriptive]
        rows = []
        for row, details in described:
            size = "–" if details.effect_size is None else f"{details.effect_size:+.2f}"
            cells = [
                words.format_relative_change(details),
                format_range(row.low, row.high),
                size,
                format_percent(details.changed),
                format_probability(details.p_t),
                format_probability(details.p_wilcoxon),
                format_percent(details.top_share),
            ]
            if not outcome.has_external_scores:
                cells += [str(row.labels.full_queries), fully_judged_difference(row.labels)] if row.labels else ["", ""]
            cells += [signed(row.unweighted_difference)] * weighted
            rows.append(Row([row.candidate], cells))
        title = table_title(metric.name, "described (these columns decide nothing)")
        Grid(["system"], head, rows).print(console, title)
        for row, details in described:
            carriers = [f"{each.query_id} {format_percent(each.share)}" for each in details.carriers[:5]]
            if carriers:
                carriers[0] = f"{row.candidate}: of the net sum, from which losses are taken, {carriers[0]}"
                print_dimmed(console, "\n".join(wrap_items(carriers, console.width)))
            if text := words.format_unjudged(row):
                print_dimmed(console, f"{row.candidate}: {text}")
        if rows:
            console.print()


def print_findings(console: Console, findings: Sequence[Finding], *, with_examples: bool = False) -> None:
    """Print each finding with its code in a line, or that there is nothing to report.

    with_examples: if True, print the examples of findings, too.
    """
    if not findings:
        console.print("[dim]data check: nothing to report[/]")
    for finding in findings:
        severity = (finding.severity, Severity(finding.severity).traits.colour)
        code = (f" [{finding.code}]", "dim")
        console.print(Text.assemble(severity, f": {shorten(redact(finding.message), LONGEST)}", code))
        for example in finding.examples if with_examples else ():
            print_dimmed(console, f"  {shorten(redact(example), LONGEST)}")
