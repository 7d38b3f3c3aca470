"""Check scores: queries that no metric scores, judged shares, costs, and differences in a metric's unit."""

from collections.abc import Collection, Iterator, Sequence

from ndcg_ab.checks.findings import id_examples, make_finding
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import InputError, RuleError, format_value
from ndcg_ab.results.cost_records import Costs, requests_text
from ndcg_ab.results.ledger import FEW_SCORED, LedgerRow, scored_queries_text
from ndcg_ab.results.numbers import format_percent, format_percent_below
from ndcg_ab.results.outcome import Finding, SystemSummary
from ndcg_ab.results.wording import FEW_JUDGED, queries_text
from ndcg_ab.scoring.metric_tables import EVERYTHING
from ndcg_core.measures.notation import make_metric
from ndcg_core.statistics.averages import MEAN

DIFFERS = 0.1  # difference of two judged shares that is reported, as large as usual differences of systems
SLACK = 1e-9
NO_GAIN = "no query can be scored: no judged document has a grade that gains anything; is the grade column right?"


def check_coverage(systems: Sequence[SystemSummary]) -> Iterator[Finding]:
    """Yield warnings on low judged shares, and on judged shares that differ between systems."""
    for summary in sorted(systems, key=lambda summary: metric_sort_key(summary.metric)):
        if summary.judged is not None and summary.judged < FEW_JUDGED:
            message = (
                f"system {summary.system_id}: only {format_percent_below(summary.judged, FEW_JUDGED)} of the results"
                f" that {summary.metric} looks at have a judgment; the others count as not relevant"
            )
            row = (summary.queries, summary.system_id, summary.metric, summary.judged)
            yield make_finding("few_judged", message, *row)
    yield from check_judged_shares_differ(systems)


def check_judged_shares_differ(systems: Sequence[SystemSummary]) -> Iterator[Finding]:
    """Yield a warning for each metric whose judged shares in two systems differ by at least `DIFFERS`.

    The judged share is the share of the results within the metric's depth that have a judgment.
    """
    for metric in sorted({summary.metric for summary in systems}, key=metric_sort_key):
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
            yield make_finding("judged_differs", message, least.queries, least.system_id, metric, gap)


def no_gain_finding(evaluation: Evaluation) -> Finding:
    """Return the error finding that no query can be scored; its message names the file of the judgments, if any."""
    file = evaluation.judgments.file if evaluation.judgments else None
    is_file = file is not None and (evaluation.directory / file).is_file()
    return make_finding("nothing_scored", f"{file}: {NO_GAIN}" if is_file else NO_GAIN, 0)


def check_unscored(shares: Sequence[LedgerRow], evaluation: Evaluation) -> Iterator[Finding]:
    """Yield findings on metrics that score no query, or few queries.

    If no metric scores any query, the only finding is an error; otherwise the findings are warnings. shares: one row
    per metric, with the number and the share of scored queries.
    """
    if not any(row.used for row in shares):
        yield no_gain_finding(evaluation)
        return
    for row in shares:
        code = "few_scored" if row.used else "nothing_scored"
        if row.share < FEW_SCORED:
            message = f"{row.about}: {scored_queries_text(row)} by this metric"
            message += "; a gate on it fails" * (not row.used)
            yield make_finding(code, message, row.used, None, row.about, row.share, severity="warning")


def metric_sort_key(metric: str) -> tuple[int, str]:
    """Return a sort key that puts metrics with a smaller cutoff first, then sorts by name."""
    return make_metric(metric).cutoff or EVERYTHING, metric


def check_costs(engine: Engine, costs: Costs | None, weighted: Collection[str] | None) -> Iterator[Finding]:
    """Yield findings on failed requests and missing costs.

    weighted: ids of the queries with a weight, or None if queries are not weighted.
    """
    for row in (each for each in costs.values if each.statistic == MEAN) if costs else ():
        where = {"cost": row.cost, "system_id": row.system_id}
        if row.failed:
            failed = engine.rows("query_cost", ("query_id",), where=where | {"is_failed": True}, order="query_id")
            query_ids = [query_id for (query_id,) in failed if weighted is None or query_id in weighted]
            message = (
                f"system {row.system_id}: {row.failed} of {requests_text(row.queries)} failed (such as query"
                f" {format_value(query_ids[0])}): {row.cost} counts the time until they were given up, which is only a"
                " lower bound"
            )
            yield make_finding("failed_time", message, row.failed, row.system_id, examples=id_examples(query_ids))
        if row.missing:
            missing = engine.rows("missing_cost", ("query_id", "is_failed"), where=where, order="query_id")
            missing = [each for each in missing if weighted is None or each[0] in weighted]
            failures = sum(is_failed for _, is_failed in missing)
            because = f"; {requests_text(failures)} failed" if failures else ""
            message = (
                f"system {row.system_id}: no {row.cost} for {row.missing} of {queries_text(row.asked)} (such as"
                f" {format_value(missing[0][0])}{because}): left out for every system"
            )
            examples = id_examples([query_id for query_id, _ in missing])
            yield make_finding("missing_cost", message, row.missing, row.system_id, examples=examples)


def check_configured_differences(engine: Engine, evaluation: Evaluation) -> Iterator[Finding]:
    """Yield findings on configured differences of at least half of a metric's range.

    Configured differences are margins, smallest effects and thresholds. The range of dcg depends on the highest grade.
    A metric of another tool has the range of the metric of ndcg-ab with that name, unless its values spread wider.
    Metrics with an unknown range are not checked. Raises InputError if a difference is not smaller than the range.
    """
    differences = list(evaluation.named_differences())
    needs_grade = not evaluation.scores and any(evaluation.range_of(each.metric) is None for each in differences)
    grade = engine.rows("highest_grade", ("grade",))[0][0] if needs_grade else None
    spread = column_spreads(engine) if differences and evaluation.scores else {}
    for each in differences:
        width = spread.get(evaluation.metric_named(each.metric).hash, 0.0)
        limits = evaluation.range_of(each.metric, grade, width)
        try:
            each.refuse_if_beyond_range(limits)
        except RuleError as error:
            raise InputError(str(error)) from None
        if question := each.size_warning(limits):
            yield make_finding("large_difference", question, 1)


def column_spreads(engine: Engine) -> dict[str, float]:
    """Return {metric hash: highest minus lowest value of the metric}."""
    rows = engine.read("query_score", ("metric_id", "value"))
    least_most = rows.group_by("metric_id").aggregate([("value", "min"), ("value", "max")]).to_pylist()
    return {row["metric_id"]: row["value_max"] - row["value_min"] for row in least_most}
