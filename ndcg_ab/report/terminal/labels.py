"""Print the results of `judge-next`, `judgments` and `clicks`."""

import csv
import dataclasses
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ndcg_ab.report.terminal.grid import MOST_TABLES, Grid, Row, plain_table, print_dimmed
from ndcg_ab.report.terminal.tables import print_findings
from ndcg_ab.results.codec import json_text
from ndcg_ab.results.decisions import can_be_reversed, describe_tipping, measured_state
from ndcg_ab.results.numbers import format_percent, format_plain, signed
from ndcg_ab.results.wording import queries_text
from ndcg_ab.sources.clicks.click_judgments import grade_counts
from ndcg_ab.studies.clicks import ClickStudy
from ndcg_ab.studies.judge_next import ToJudge, ToJudgeNext
from ndcg_ab.studies.judgments import Agreement, ComparedJudgments, VerdictPair
from ndcg_core.statistics.verdicts.comparison import Comparison

TO_JUDGE_LINES, HEAD_LINES = 30, 4  # of the screen for the documents; of them around the rows of each table
LOOP = "Put their grades into a file of judgments, and give it beside the others: --more-judgments FILE"


def print_to_judge(console: Console, rows: Sequence[ToJudge]) -> None:
    """Print the first documents to judge next, with their ranks and the effect of their grades, on one screen."""
    systems = list(dict.fromkeys(system for row in rows for system, _ in row.ranks))
    grid_rows = [
        Row(
            (row.query_id, row.doc_id),
            (
                *(str(dict(row.ranks).get(system, "–")) for system in systems),
                signed(row.effect),
                "–" if row.lowest is None else f"{signed(row.lowest)}…{signed(row.highest)}",
            ),
        )
        for row in rows
    ]
    title = Text.assemble(("to judge next", "bold"), ": ranks, expected effect of a grade, difference by that grade")
    grid = Grid(("query", "document"), (*systems, "effect", "difference"), grid_rows)
    layout = grid.layout(console.width)
    shown = TO_JUDGE_LINES // (len(layout.tables) if layout else MOST_TABLES) - HEAD_LINES
    dataclasses.replace(grid, rows=grid_rows[:shown]).print(console, title)
    if len(rows) > shown:
        print_dimmed(console, f"and {len(rows) - shown} more: --csv FILE, --json FILE, or --sheet FILE to judge in")


def to_csv(rows: Sequence[ToJudge]) -> str:
    """Return the documents to judge as CSV with a header; the ranks by system are JSON in one column."""
    file = io.StringIO()
    names = [field.name for field in dataclasses.fields(ToJudge)]
    lines = csv.DictWriter(file, names, lineterminator="\n")
    lines.writeheader()
    lines.writerows({**row_to_dict(row), "ranks": json.dumps(dict(row.ranks), ensure_ascii=False)} for row in rows)
    return file.getvalue()


def to_json(rows: Sequence[ToJudge]) -> str:
    return json_text({"documents": [*map(row_to_dict, rows)]})


def row_to_dict(row: ToJudge) -> dict[str, Any]:
    """Return the fields of a row by name, with the ranks as system -> rank."""
    return dataclasses.asdict(row) | {"ranks": dict(row.ranks)}


def effect_sentences(listing: ToJudgeNext) -> Iterator[str]:
    """Yield sentences on how further grades would affect the comparisons, and where to put the grades."""
    if not listing.rows:
        names = ", ".join(row.candidate for row in listing.comparisons)
        yield f"There is nothing to judge: no grade of an unjudged document changes a difference ({names})."
        if listing.drawn and any(row.unjudged and row.unjudged.low != row.unjudged.high for row in listing.comparisons):
            yield "Queries that should show the same in every system differ: draw again, with ndcg-ab draw --kept."
        return
    if listing.unjudged_queries:
        count_text, have = f"{listing.unjudged_queries:,} of", "has" if listing.unjudged_queries == 1 else "have"
        if listing.unjudged_queries == listing.drawn:
            count_text, have = "All", "have"
        yield f"{count_text} the {listing.drawn:,} drawn queries {have} no judgment: their first results come first."
    listed, count = len(listing.rows), sum(row.effect is not None for row in listing.rows)
    for row in listing.comparisons if count else ():
        yield format_standing(row)
    if listed < listing.unjudged:
        more = f"{listing.unjudged - listed} more unjudged documents {'could' if listing.unjudged_queries else 'would'}"
        yield f"{more} move a difference; -n says how many are listed."
    yield LOOP


def format_standing(row: Comparison) -> str:
    """Return the state of a comparison: ``new against old, ndcg@10: improved; turns if unjudged results are …``."""
    head = f"{row.candidate} against {row.baseline}, {row.metric}: {row.verdict}"
    if measured_state(row).is_undecided:
        return f"{head}; open by queries: grades alone may not settle it."
    if row.unjudged and row.unjudged.is_declared:
        return f"{head}; unjudged results are declared not relevant."
    if row.unjudged and row.unjudged.tipping_factor is None and not can_be_reversed(row):
        return f"{head}; no unjudged results turn it that are up to 5 times as good, or as bad, as judged ones."
    return f"{head}; {describe_tipping(row)}."


MOST_GRADES = 12  # of each set in the confusion table; more are in the JSON alone


def print_judgments(console: Console, compared: ComparedJudgments) -> None:
    for name, origin in (("first", compared.first), ("second", compared.second)):
        console.print(Text.assemble((f"{name:<8}", "bold"), origin))
    agreement = compared.agreement
    pairs = f"{agreement.pairs} document{'s are' if agreement.pairs != 1 else ' is'} judged in both"
    only_text = f"{agreement.only_first} in the first alone, {agreement.only_second} in the second alone"
    console.print(f"{pairs}, of {queries_text(agreement.queries)}; {only_text}.", markup=False)
    console.print()
    console.print(confusion_table(agreement))
    console.print(format_agreement(agreement), markup=False)
    for order in compared.orders:
        console.print()
        rows = []
        for row in order.systems:
            change = None if row.first is None or row.second is None else row.second - row.first
            rows.append(Row((row.system_id,), (format_plain(row.first), format_plain(row.second), signed(change))))
        Grid(("system",), ("first", "second", "change"), rows).print(console, Text(order.metric, style="bold"))
        text = "The systems have no order under one of the sets: their means are equal, or no query can be scored."
        if order.tau is not None:
            weighted = f"weighted to the top {signed(order.weighted_tau)}"
            text = f"Order of the systems: Kendall's tau {signed(order.tau)}, {weighted}."
        console.print(text, markup=False)
    if compared.verdicts:
        console.print()
        verdicts_grid(compared.verdicts).print(console, Text("verdicts"))
        count, changed = len(compared.verdicts), sum(row.changed for row in compared.verdicts)
        changes = f"{changed} verdict{'s' * (changed != 1)} of {count} change{'s' * (changed == 1)}"
        console.print(f"{changes if changed else f'No verdict of {count} changes'} with the judgments.", markup=False)
        # Warnings question a number; notes are in the JSON.
        first, second = (
            [each for each in findings if each.severity == "warning"]
            for findings in (compared.first_findings, compared.second_findings)
        )
        shared = {(each.code, each.system, each.metric) for each in first}
        second = [each for each in second if (each.code, each.system, each.metric) not in shared]
        heads = ("data check of the first", "of the second, what it does not share with the first")
        for head, findings in zip(heads, (first, second), strict=True):
            if findings:
                console.print(f"\n[bold]{head}[/]")
                print_findings(console, findings)


def confusion_table(agreement: Agreement) -> Table | Text:
    """Return a table of the numbers of documents by grade in two judgment sets.

    Rows are grades in the first set, columns grades in the second. A sentence instead if there are more than
    MOST_GRADES grades.
    """
    counts = {(cell.first, cell.second): cell.count for cell in agreement.cells}
    rows, columns = (sorted({cell[axis] for cell in counts}) for axis in (0, 1))
    if max(len(rows), len(columns)) > MOST_GRADES:
        return Text(f"{len(rows)} and {len(columns)} grades: the table of them is in --json.", style="dim")
    table = plain_table("documents by their grades", ["first \\ second", *(f"{column:g}" for column in columns)])
    for row in rows:
        cells = [(counts.get((row, column), 0), "bold" if row == column else "") for column in columns]
        table.add_row(f"{row:g}", *(Text(str(count), style if count else "dim") for count, style in cells))
    return table


def format_agreement(agreement: Agreement) -> str:
    higher, lower = format_percent(agreement.second_higher), format_percent(agreement.second_lower)
    shares = f"Equal grades {format_percent(agreement.equal)}; the second is higher in {higher}, lower in {lower}."
    if agreement.cohen_kappa is None:
        return f"{shares} All grades are the same one: there is nothing that kappa and alpha could tell."
    linear, quadratic = format_plain(agreement.cohen_kappa_linear), format_plain(agreement.cohen_kappa_quadratic)
    weighted = f"linear {linear}, quadratic {quadratic}"
    return (
        f"{shares}\nCohen's kappa {format_plain(agreement.cohen_kappa)} (weighted: {weighted});"
        f" Krippendorff's alpha {format_plain(agreement.krippendorff_alpha)} (ordinal)."
    )


def verdicts_grid(rows: Sequence[VerdictPair]) -> Grid:
    """Return the table of verdicts, with one row per comparison and judgment set."""
    grid_rows = []
    for row in rows:
        for name, each in (("first", row.first), ("second", row.second)):
            verdict = Text.assemble(each.verdict, ("; changes", "yellow") if row.changed and name == "second" else "")
            grid_rows.append(Row((row.metric, row.candidate, name), (signed(each.difference),), verdict))
    return Grid(("metric", "candidate", "judged by"), ("difference",), grid_rows)


MOST_LISTED = 10  # ranks, and grades of clicks


def print_clicks(console: Console, study: ClickStudy) -> None:
    facts = study.judgments
    graded = f"{facts.table.num_rows:,} of {facts.documents:,} documents have a grade, of {queries_text(facts.queries)}"
    console.print(f"{graded} ({study.described.definition})", markup=False)
    console.print()
    rates = facts.rates.to_pylist()
    rows = [
        Row([str(row["place"])], [f"{row['impressions']:,}", f"{row['clicks']:,}", format_percent(row["rate"])])
        for row in rates[:MOST_LISTED]
    ]
    Grid(["place"], ["shown", "clicked", "rate"], rows).print(console, Text("places", style="bold"))
    if len(rates) > MOST_LISTED:
        console.print(f"{len(rates) - MOST_LISTED} deeper places: --json", style="dim")
    counts = grade_counts(facts.table)
    if len(counts) <= MOST_LISTED:
        rows = [Row([f"{grade:g}"], [f"{count:,}"]) for grade, count in counts.items()]
        Grid(["grade"], ["documents"], rows).print(console, Text("grades", style="bold"))
    print_findings(console, [finding for finding in study.findings if finding.code != "click_grades"])
