"""What `ndcg-ab judgments` prints: how two sets of judgments agree, and what each says of the systems."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ndcg_ab.report.terminal.grid import Grid, Row, plain_table
from ndcg_ab.report.terminal.tables import print_findings
from ndcg_ab.report.words.text import format_percent, format_plain
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import queries_text, signed
from ndcg_ab.studies.judgments import Agreement, ComparedJudgments, Order, SystemMeans, Verdicts

MOST_GRADES = 12  # of each set in the confusion table; more are in the JSON alone


def print_judgments(console: Console, compared: ComparedJudgments) -> None:
    for name, origin in (("first", compared.first), ("second", compared.second)):
        console.print(Text.assemble((f"{name:<8}", "bold"), origin), highlight=False)
    agreement = compared.agreement
    console.print(format_pair_counts(agreement), highlight=False, markup=False)
    console.print()
    console.print(confusion_table(agreement), highlight=False)
    console.print(format_agreement(agreement), highlight=False, markup=False)
    for order in compared.orders:
        console.print()
        means_grid(order).print(console, Text(order.metric, style="bold"))
        console.print(format_rank_correlations(order), highlight=False, markup=False)
    if compared.verdicts:
        console.print()
        verdicts_grid(compared.verdicts).print(console, Text("verdicts"))
        console.print(format_verdict_changes(compared.verdicts), highlight=False, markup=False)
        first = select_warnings(compared.first_findings)
        second = [
            each
            for each in select_warnings(compared.second_findings)
            if finding_identity(each) not in map(finding_identity, first)
        ]
        print_findings_of(console, "data check of the first", first)
        print_findings_of(console, "of the second, what it does not share with the first", second)


def format_pair_counts(agreement: Agreement) -> str:
    pairs = f"{agreement.pairs} document{'s are' if agreement.pairs != 1 else ' is'} judged in both"
    alone = f"{agreement.only_first} in the first alone, {agreement.only_second} in the second alone"
    return f"{pairs}, of {queries_text(agreement.queries)}; {alone}."


def confusion_table(agreement: Agreement) -> Table | Text:
    """Grades of the first set down, of the second across."""
    found = {(cell.first, cell.second): cell.count for cell in agreement.cells}
    rows, columns = (sorted({cell[place] for cell in found}) for place in (0, 1))
    if max(len(rows), len(columns)) > MOST_GRADES:
        return Text(f"{len(rows)} and {len(columns)} grades: the table of them is in --json.", style="dim")
    made = plain_table("documents by their grades")
    made.add_column("first \\ second", justify="right")
    for column in columns:
        made.add_column(f"{column:g}", justify="right")
    for row in rows:
        cells = [(found.get((row, column), 0), "bold" if row == column else "") for column in columns]
        made.add_row(f"{row:g}", *(Text(str(count), style if count else "dim") for count, style in cells))
    return made


def format_agreement(agreement: Agreement) -> str:
    shares = (
        f"Equal grades {format_percent(agreement.equal)}; the second is higher in"
        f" {format_percent(agreement.second_higher)},"
        f" lower in {format_percent(agreement.second_lower)}."
    )
    if agreement.cohen_kappa is None:
        return f"{shares} All grades are the same one: there is nothing that kappa and alpha could tell."
    linear, quadratic = format_plain(agreement.cohen_kappa_linear), format_plain(agreement.cohen_kappa_quadratic)
    weighted = f"linear {linear}, quadratic {quadratic}"
    return (
        f"{shares}\nCohen's kappa {format_plain(agreement.cohen_kappa)} (weighted: {weighted});"
        f" Krippendorff's alpha {format_plain(agreement.krippendorff_alpha)} (ordinal)."
    )


def means_grid(order: Order) -> Grid:
    rows = [
        Row((row.system_id,), (format_plain(row.first), format_plain(row.second), format_mean_change(row)))
        for row in order.systems
    ]
    return Grid(("system",), ("first", "second", "change"), rows, verdicts=False)


def format_mean_change(row: SystemMeans) -> str:
    return "–" if row.first is None or row.second is None else signed(row.second - row.first)


def format_rank_correlations(order: Order) -> str:
    if order.tau is None:
        return "The systems have no order under one of the sets: their means are equal, or no query can be scored."
    return f"Order of the systems: Kendall's tau {signed(order.tau)}, weighted to the top {signed(order.weighted_tau)}."


def verdicts_grid(rows: Sequence[Verdicts]) -> Grid:
    """Two rows of each: a verdict is a sentence, and two of them are not beside each other."""
    found = []
    for row in rows:
        for name, each in (("first", row.first), ("second", row.second)):
            told = Text.assemble(each.verdict, ("; changes", "yellow") if row.changed and name == "second" else "")
            found.append(Row((row.metric, row.candidate, name), (signed(each.difference),), told))
    return Grid(("metric", "candidate", "judged by"), ("difference",), found)


def format_verdict_changes(rows: Sequence[Verdicts]) -> str:
    changed = sum(row.changed for row in rows)
    if not changed:
        return f"No verdict of {len(rows)} changes with the judgments."
    return f"{changed} verdict{'s' * (changed != 1)} of {len(rows)} change{'s' * (changed == 1)} with the judgments."


def select_warnings(findings: Sequence[Finding]) -> list[Finding]:
    """Those that question a number; notes are in the JSON."""
    return [each for each in findings if each.severity == "warning"]


def finding_identity(finding: Finding) -> tuple[str, str | None, str | None]:
    return finding.code, finding.system, finding.metric


def print_findings_of(console: Console, head: str, findings: Sequence[Finding]) -> None:
    if findings:
        console.print()
        console.print(f"[bold]{head}[/]", highlight=False)
        print_findings(console, findings)
