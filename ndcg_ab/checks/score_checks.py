"""Findings about metrics that score no query, and about how much of what a metric looks at is judged."""

from collections.abc import Sequence

from ndcg_ab.results.ledger import FEW_SCORED, ScoredShare, scored_text
from ndcg_ab.results.numbers import format_percent, percent_below
from ndcg_ab.results.outcome import Finding, SystemSummary
from ndcg_ab.results.wording import FEW_JUDGED
from ndcg_ab.scoring.metric_tables import EVERYTHING
from ndcg_core.measures.external_metric import make_metric

DIFFERS = 0.1  # a difference between two shares of judged results, as large as what is usually measured
SLACK = 1e-9
NO_GAIN = "no query can be scored: no judged document has a grade that gains anything; is the grade column right?"


def check_coverage(systems: Sequence[SystemSummary]) -> list[Finding]:
    """Warns where many results are unjudged: they count as not relevant, which may be untrue for one system."""
    found = []
    for summary in sorted(systems, key=lambda summary: metric_place(summary.metric)):
        if summary.judged is not None and summary.judged < FEW_JUDGED:
            message = (
                f"system {summary.system_id}: only {percent_below(summary.judged, FEW_JUDGED)} of the results that"
                f" {summary.metric} looks at have a judgment; the others count as not relevant"
            )
            row = (summary.queries, summary.system_id, summary.metric, summary.judged)
            found.append(Finding("few_judged", "warning", message, *row))
    return [*found, *check_difference(systems)]


def check_difference(systems: Sequence[SystemSummary]) -> list[Finding]:
    """Warns of each metric that looks at more judged results of one system than of another."""
    found = []
    for metric in sorted({summary.metric for summary in systems}, key=metric_place):
        rows = [row for row in systems if row.metric == metric and row.judged is not None]
        if len(rows) < 2:
            continue
        least, most = (pick(rows, key=lambda row: row.judged or 0.0) for pick in (min, max))
        gap = (most.judged or 0.0) - (least.judged or 0.0)
        if gap >= DIFFERS - SLACK:
            message = (
                f"{metric} looks at results of which {format_percent(most.judged)} are judged for"
                f" {most.system_id}, and {format_percent(least.judged)} for {least.system_id}: what nobody judged"
                f" counts against {least.system_id}"
            )
            found.append(Finding("judged_differs", "warning", message, least.queries, least.system_id, metric, gap))
    return found


def check_unscored(shares: Sequence[ScoredShare]) -> list[Finding]:
    """Return an error if no metric scores any query, or a warning for each metric that scores none or few."""
    if not any(row.scored for row in shares):
        return [Finding("nothing_scored", "error", NO_GAIN, 0)]
    found = []
    for row in shares:
        code = "few_scored" if row.scored else "nothing_scored"
        if row.share < FEW_SCORED:
            message = f"{row.metric}: {scored_text(row)} by this metric" + "; a gate on it fails" * (not row.scored)
            found.append(Finding(code, "warning", message, row.scored, metric=row.metric, value=row.share))
    return found


def metric_place(metric: str) -> tuple[int, str]:
    """Metrics that look less deep first, then by name: the order of what is told about them."""
    return make_metric(metric).cutoff or EVERYTHING, metric
