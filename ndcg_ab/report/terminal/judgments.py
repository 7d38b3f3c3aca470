"""What `ndcg-ab judgments` prints: how two sets of judgments agree, and what each says of the systems."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ndcg_ab.report.terminal.grid import Grid, Row, plain_table
from ndcg_ab.report.terminal.tables import print_findings
from ndcg_ab.report.words.text import percent, plain
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import queries_text, signed
from ndcg_ab.studies.judgments import Agreement, ComparedJudgments, Order, SystemMeans, Verdicts

MOST_GRADES = 12  # of each set in the confusion table; more are in the JSON alone


def print_judgments(console: Console, compared: ComparedJudgments) -> None:
    for name, origin in (("first", compared.first), ("second", compared.second)):
        console.print(Text.assemble((f"{name:<8}", "bold"), origin), highlight=False)
    agreement = compared.agreement
    console.print(counts(agreement), highlight=False, markup=False)
    console.print()
    console.print(confusion(agreement), highlight=False)
    console.print(agreed(agreement), highlight=False, markup=False)
    for order in compared.orders:
        console.print()
        means(order).print(console, Text(order.metric, style="bold"))
        console.print(taus(order), highlight=False, markup=False)
    if compared.verdicts:
        console.print()
        verdicts(compared.verdicts).print(console, Text("verdicts"))
        console.print(changes(compared.verdicts), highlight=False, markup=False)
        first = warnings(compared.first_findings)
        second = [each for each in warnings(compared.second_findings) if about(each) not in map(about, first)]
        print_findings_of(console, "data check of the first", first)
        print_findings_of(console, "of the second, what it does not share with the first", second)


def counts(agreement: Agreement) -> str:
    pairs = f"{agreement.pairs} document{'s are' if agreement.pairs != 1 else ' is'} judged in both"
    alone = f"{agreement.only_first} in the first alone, {agreement.only_second} in the second alone"
    return f"{pairs}, of {queries_text(agreement.queries)}; {alone}."


def confusion(agreement: Agreement) -> Table | Text:
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


def agreed(agreement: Agreement) -> str:
    shares = (
        f"Equal grades {percent(agreement.equal)}; the second is higher in {percent(agreement.second_higher)},"
        f" lower in {percent(agreement.second_lower)}."
    )
    if agreement.cohen_kappa is None:
        return f"{shares} All grades are the same one: there is nothing that kappa and alpha could tell."
    weighted = f"linear {plain(agreement.cohen_kappa_linear)}, quadratic {plain(agreement.cohen_kappa_quadratic)}"
    return (
        f"{shares}\nCohen's kappa {plain(agreement.cohen_kappa)} (weighted: {weighted});"
        f" Krippendorff's alpha {plain(agreement.krippendorff_alpha)} (ordinal)."
    )


def means(order: Order) -> Grid:
    rows = [Row((row.system_id,), (plain(row.first), plain(row.second), change(row))) for row in order.systems]
    return Grid(("system",), ("first", "second", "change"), rows, verdicts=False)


def change(row: SystemMeans) -> str:
    return "–" if row.first is None or row.second is None else signed(row.second - row.first)


def taus(order: Order) -> str:
    if order.tau is None:
        return "The systems have no order under one of the sets: their means are equal, or no query can be scored."
    return f"Order of the systems: Kendall's tau {signed(order.tau)}, weighted to the top {signed(order.weighted_tau)}."


def verdicts(rows: Sequence[Verdicts]) -> Grid:
    """Two rows of each: a verdict is a sentence, and two of them do not stand beside each other."""
    found = []
    for row in rows:
        for name, each in (("first", row.first), ("second", row.second)):
            told = Text.assemble(each.verdict, ("; changes", "yellow") if row.changed and name == "second" else "")
            found.append(Row((row.metric, row.candidate, name), (signed(each.difference),), told))
    return Grid(("metric", "candidate", "judged by"), ("difference",), found)


def changes(rows: Sequence[Verdicts]) -> str:
    changed = sum(row.changed for row in rows)
    if not changed:
        return f"No verdict of {len(rows)} changes with the judgments."
    return f"{changed} verdict{'s' * (changed != 1)} of {len(rows)} change{'s' * (changed == 1)} with the judgments."


def warnings(findings: Sequence[Finding]) -> list[Finding]:
    """Those that question a number; notes are in the JSON."""
    return [each for each in findings if each.severity == "warning"]


def about(finding: Finding) -> tuple[str, str | None, str | None]:
    return finding.code, finding.system, finding.metric


def print_findings_of(console: Console, head: str, findings: Sequence[Finding]) -> None:
    if findings:
        console.print()
        console.print(f"[bold]{head}[/]", highlight=False)
        print_findings(console, findings)
