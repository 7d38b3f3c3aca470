"""What `ndcg-ab clicks` prints: how often each place is clicked, and the grades that come of it."""

from rich.console import Console
from rich.text import Text

from ndcg_ab.report.terminal.grid import Grid, Row
from ndcg_ab.report.terminal.tables import print_findings
from ndcg_ab.report.words.text import format_percent
from ndcg_ab.results.wording import queries_text
from ndcg_ab.sources.clicks.findings import grade_counts
from ndcg_ab.studies.clicks import ClickStudy

MOST_PLACES, MOST_GRADES = 10, 10


def print_clicks(console: Console, study: ClickStudy) -> None:
    found = study.found
    graded = f"{found.table.num_rows:,} of {found.documents:,} documents have a grade, of {queries_text(found.queries)}"
    console.print(f"{graded} ({study.described.definition})", highlight=False, markup=False)
    console.print()
    places = found.places.to_pylist()
    rows = [
        Row([str(row["place"])], [f"{row['impressions']:,}", f"{row['clicks']:,}", format_percent(row["rate"])])
        for row in places[:MOST_PLACES]
    ]
    Grid(["place"], ["shown", "clicked", "rate"], rows, verdicts=False).print(console, Text("places", style="bold"))
    if len(places) > MOST_PLACES:
        console.print(f"{len(places) - MOST_PLACES} deeper places: --json", style="dim", highlight=False)
    counts = grade_counts(found.table)
    if len(counts) <= MOST_GRADES:
        rows = [Row([f"{grade:g}"], [f"{count:,}"]) for grade, count in counts.items()]
        Grid(["grade"], ["documents"], rows, verdicts=False).print(console, Text("grades", style="bold"))
    print_findings(console, [finding for finding in study.findings if finding.code != "click_grades"])
