"""What a person reads: tables for the terminal, and the page `report.html`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from flows.outcome import Finding, Outcome, SystemSummary
from ndcg_core.comparison import Comparison
from ndcg_core.metric import Metric

if TYPE_CHECKING:
    from flows.evaluation import Finished

VERDICT_WIDTH = 32  # columns that a verdict needs to be read
FIRST = ("rank_disagrees",)  # codes of findings that are shown before the numbers
SHOWN_EXTREMES = 3  # wins and losses of each candidate in the terminal; the page has more
COLOURS = {"improved": "green", "regressed": "red", "identical": "dim"}
SEVERITY_COLOURS = {"error": "red", "warning": "yellow", "note": "dim"}


def signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.4f}"


def plain(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def probability(value: float | None) -> str:
    """Four digits; a p-value is never 0."""
    if value is None:
        return "–"
    return f"{value:.4f}" if value >= 0.0001 else f"{value:.1g}"


def interval(comparison: Comparison) -> str:
    if comparison.low is None or comparison.high is None:
        return "–"
    return f"{comparison.low:+.4f} … {comparison.high:+.4f}"


def wins_ties_losses(comparison: Comparison) -> str:
    return f"{comparison.wins}/{comparison.ties}/{comparison.losses}"


def judged_label(metric: Metric) -> str:
    return f"judged@{metric.cutoff}" if metric.cutoff else "judged"


def level(alpha: float) -> str:
    return f"{100 * (1 - alpha):g} %"


def verdict_text(comparison: Comparison) -> str:
    return comparison.verdict + "".join(f"; {note}" for note in comparison.notes)


def sentence(comparison: Comparison, alpha: float) -> str:
    """One comparison in words: who, against whom, by how much, how sure."""
    head = f"{comparison.candidate} against {comparison.baseline}, {comparison.metric}: {comparison.verdict}"
    if comparison.difference is None or comparison.verdict == "identical":
        return head
    tail = f"difference {signed(comparison.difference)}"
    if comparison.low is not None:
        tail += f", {level(alpha)} interval {interval(comparison)}"
    if comparison.p_adjusted is not None:
        tail += f", adjusted p {probability(comparison.p_adjusted)}"
    return f"{head} ({tail})"


def rows_of(outcome: Outcome, metric: Metric) -> Iterator[tuple[SystemSummary, Comparison | None]]:
    """Systems in the order given, each with its comparison (the baseline has none)."""
    found = {row.candidate: row for row in outcome.comparisons if row.metric == metric.name}
    for system in outcome.systems:
        if system.metric == metric.name:
            yield system, found.get(system.system_id)


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
    if outcome.comparisons:
        row = outcome.comparisons[0]
        console.print(
            f"[dim]{row.family_size} comparison{'s' * (row.family_size != 1)} in one family, {escape(row.procedure)},"
            f" alpha {outcome.alpha:g}, {outcome.resamples} resamples, seed {outcome.seed};"
            f" {outcome.parity_queries} queries computed again by the Python core, and equal[/]",
            highlight=False,
        )
    print_findings(console, [finding for finding in outcome.findings if finding not in grave])


def print_metric(console: Console, outcome: Outcome, metric: Metric) -> None:
    """The systems on one metric, and each candidate against the baseline."""
    system_head = ["mean", "median", "queries", "unanswered", judged_label(metric)]
    test_head = ["difference", f"{level(outcome.alpha)} interval", "p", "adjusted p", "wins/ties/losses"]
    title = f"[bold]{escape(metric.name)}[/]  [dim]definition {metric.hash}[/]"
    pairs = list(rows_of(outcome, metric))
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
            made.add_column(name, justify="left" if name == "system" else "right", no_wrap=True)
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


def write_page(path: Path, outcome: Outcome, extremes: Sequence[dict[str, Any]], about: dict[str, Any]) -> None:
    """`report.html`: one file that needs nothing else; every text from data is escaped."""
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"signed": signed, "plain": plain, "percent": percent, "probability": probability}
    page = environment.get_template("report.html").render(
        outcome=outcome,
        about=about,
        extremes=extremes,
        interval=interval,
        level=level(outcome.alpha),
        judged_label=judged_label,
        rows_of=rows_of,
        sentence=sentence,
        verdict_text=verdict_text,
        wins_ties_losses=wins_ties_losses,
    )
    path.write_text(page, encoding="utf-8")


def comparison_table(outcome: Outcome) -> dict[str, list[Any]]:
    """The comparisons as MLflow shows tables ({"columns", "data"}); p-values as text, since it rounds numbers."""
    columns = ["candidate", "metric", "difference", "low", "high", "p", "adjusted p", "wins/ties/losses", "verdict"]
    data = [
        [
            row.candidate,
            row.metric,
            row.difference,
            row.low,
            row.high,
            probability(row.p_value),
            probability(row.p_adjusted),
            wins_ties_losses(row),
            verdict_text(row),
        ]
        for row in outcome.comparisons
    ]
    return {"columns": columns, "data": data}


def note(outcome: Outcome) -> str:
    """The comparison as Markdown, for the description of a tracker's run."""
    first = outcome.metrics[0].name
    lines = [f"- {cell_text(sentence(row, outcome.alpha))}" for row in outcome.comparisons if row.metric == first]
    lines += ["", f"Baseline {cell_text(outcome.baseline)}, alpha {outcome.alpha:g}; page: artifact `report.html`.", ""]
    for metric in outcome.metrics:
        lines += [f"#### {metric.name} (definition {metric.hash})", ""]
        lines += [
            f"| system | mean | queries | {judged_label(metric)} | difference | interval | adjusted p | verdict |"
        ]
        lines += ["|---|---|---|---|---|---|---|---|"]
        for system, row in rows_of(outcome, metric):
            cells = [cell_text(system.system_id), plain(system.mean), str(system.queries), percent(system.judged)]
            if row is None:
                cells += ["", "", "", "baseline"]
            else:
                cells += [signed(row.difference), interval(row), probability(row.p_adjusted), verdict_text(row)]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    lines += [f"- {finding.severity}: {cell_text(finding.message)}" for finding in outcome.findings]
    return "\n".join(lines)


def cell_text(text: str) -> str:
    """Text that stays inside its cell of a Markdown table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def print_run(console: Console, finished: "Finished") -> None:
    """What `run` ends with: who won, on which queries, where everything is."""
    print_outcome(console, finished.outcome)
    print_extremes(console, finished.outcome, finished.extremes)
    for row in finished.outcome.comparisons:
        if row.metric == finished.outcome.metrics[0].name:
            console.print(f"[bold]→[/] {escape(sentence(row, finished.outcome.alpha))}", highlight=False)
    places: list[tuple[str, object]] = [("files", finished.bundle), ("report", finished.bundle / "report.html")]
    if finished.url:
        places.append(("MLflow run", finished.url))
        places.append(("over time", finished.trend_url))
    if finished.dashboard:
        places.append(("open with", finished.dashboard))
    for name, place in places:
        console.print(f"{name:>10}  {place}", highlight=False, markup=False, soft_wrap=True)
