"""Draw conclusions from scored systems: summaries, comparisons, findings, changes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.checks.data_checks import check_query_ids, find_uncounted_queries
from ndcg_ab.checks.findings import apply_severities, refuse_errors
from ndcg_ab.checks.order_checks import check_order
from ndcg_ab.checks.plausibility_checks import check_clusters
from ndcg_ab.checks.score_checks import check_configured_differences, check_costs, check_coverage, check_unscored
from ndcg_ab.comparing.changes import check_intended, find_changes, intended_comparisons
from ndcg_ab.comparing.costs import compare_costs
from ndcg_ab.comparing.families import (
    check_heavy_queries,
    check_slices,
    compare_as_primary,
    make_families,
    metric_columns,
    other_decisions,
)
from ndcg_ab.comparing.sampling import Sampling, add_drawn_findings, limit_queries_needed, read_sampling
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines import Engine
from ndcg_ab.labels.proxy_judgments import add_proxy_corrections
from ndcg_ab.labels.unjudged import add_judged_shares, add_unjudged, check_completeness, check_judged_shares
from ndcg_ab.pipeline.context import Context
from ndcg_ab.results.decisions import Decision
from ndcg_ab.results.ledger import ANSWERED, CLICKS, DRAWN, JUDGMENTS, RANKING, SCORED, LedgerRow, make_row, scored_rows
from ndcg_ab.results.outcome import Finding, Outcome, SystemSummary
from ndcg_ab.scoring.loading import read_by_system
from ndcg_ab.scoring.metric_tables import own_metrics
from ndcg_ab.scoring.scoring import PulledInputs
from ndcg_ab.sources import Pulled
from ndcg_ab.sources.tables.document_rules import CHUNK, COPY, OWN
from ndcg_core.statistics.averages import mean, median, weighted_mean
from ndcg_core.statistics.verdicts.comparison import Comparison

SHOWN_QUERIES = 300  # queries whose results are fetched from a cluster for the page
COMMENT, UNRATED, REPEATED = "comment_line", "unrated_row", "repeated_judgment"  # codes of findings
CLICK_GRADES = "click_grades"
CLICK_REASONS = {
    "click_other_action": "of another action",
    "click_incomplete": "incomplete",
    "click_deep_place": "at a place too deep",
    "click_unmatched_query": "of other queries",
}


def make_outcome(engine: Engine, context: Context) -> Outcome:
    """Make the outcome of an evaluation from its scored tables.

    context: the state of the evaluation; its findings, ledger, and comparisons by other judgments go into the outcome.
    Raises InputError if a finding has severity error.
    """
    evaluation = context.evaluation
    sampling = read_sampling(engine, evaluation)
    systems = list(read_summaries(engine, sampling.weights))
    ledger = (*context.ledger, *scored_ledger_rows(engine))
    all_findings = [*context.findings, *check_configuration(engine, evaluation)]
    compared, if_all_decided = compare_systems(engine, evaluation, sampling, systems)
    changes = find_changes(engine, evaluation)
    if evaluation.scores:
        systems = [replace(row, unanswered=None) for row in systems]
    else:
        ours = own_metrics(evaluation.metric_list)
        all_findings += [*check_unscored(scored_rows(ledger), evaluation), *check_order(engine, ours, sampling.weights)]
        all_findings += [*find_uncounted_queries(engine, ours), *check_coverage(systems)]
        all_findings += [
            *check_judged_shares(compared, context.left_out),
            *check_completeness(engine, evaluation, systems),
        ]
        if not changes and own_metrics(evaluation.metric_list[:1]) and len(evaluation.systems) > 1:
            message = "what changed in the first places was left out: they are too many"
            all_findings.append(Finding("not_asked", "note", message, 1))
    engine.declare_needed_queries(lambda: queries_on_page(engine))
    all_findings = [*add_drawn_findings(all_findings, engine, evaluation, sampling.log), *check_slices(compared)]
    costs = compare_costs(engine, evaluation, sampling)
    all_findings += [*check_heavy_queries(compared), *check_costs(engine, costs, sampling.for_whole_log().weights)]
    if context.proxy is not None:
        compared, of_sample = add_proxy_corrections(engine, evaluation, compared, context.proxy)
        all_findings += of_sample
    refuse_errors(all_findings, evaluation)
    return Outcome(
        baseline=evaluation.baseline_name,
        metrics=tuple(evaluation.metric_list),
        systems=tuple(systems),
        comparisons=tuple(compared),
        findings=tuple(apply_severities(all_findings, evaluation)),
        alpha=evaluation.statistics.alpha,
        seed=evaluation.statistics.seed,
        resamples=evaluation.statistics.resamples,
        parity_queries=context.parity_queries,
        judges=context.judges,
        changes=changes,
        costs=costs,
        ledger=ledger,
        left_out=context.left_out,
        if_all_decided=if_all_decided,
    )


def compare_systems(
    engine: Engine, evaluation: Evaluation, sampling: Sampling, systems: Sequence[SystemSummary]
) -> tuple[list[Comparison], tuple[Decision, ...]]:
    """Return the comparisons of all families, and the decisions that would be different if every metric decided.

    A family is a set of comparisons that are adjusted together. The last one is on the queries that a change is meant
    to improve. Comparisons over all queries include the possible effect of unjudged results, and the judged shares.
    """
    columns = metric_columns(engine, evaluation, sampling)
    compared = limit_queries_needed(make_families(engine, evaluation, sampling, columns), sampling.log)
    together = compare_as_primary(columns, evaluation)
    every = add_unjudged(engine, evaluation, sampling, columns, [*compared, *together])
    compared, together = every[: len(compared)], every[len(compared) :]
    compared = add_judged_shares(engine, evaluation, sampling, systems, compared)
    return compared + intended_comparisons(engine, evaluation, sampling), other_decisions(compared, together)


def read_summaries(engine: Engine, weights: Mapping[str, float] | None = None) -> Iterator[SystemSummary]:
    """Yield one summary per metric and system, in configured order.

    weights: query_id -> weight; None: equal weights.
    """
    names = ("metric_id", "query_id", "value", "judged")
    scores, without = read_by_system(engine, "covered_score", names), pa.table({name: [] for name in names})
    columns = ("metric_id", "metric", "system_id", "queries", "unanswered")
    for metric_id, name, system_id, queries, unanswered in engine.rows(
        "system_summary", columns, order="metric_position, system_position"
    ):
        of_system = scores.get(system_id, without)
        rows = of_system.filter(pc.equal(of_system["metric_id"], metric_id))
        values = rows["value"].to_pylist()
        plain = compared = mean(values)
        if weights is not None:
            compared = weighted_mean(values, [weights[query_id] for query_id in rows["query_id"].to_pylist()])
        row = (compared, median(values), queries, unanswered, mean(rows["judged"].drop_null().to_pylist()))
        yield SystemSummary(system_id, name, *row, None if weights is None else plain)


def read_query_scores(engine: Engine) -> pa.Table:
    """Return a table with one row per (system_id, query_id, metric), with the value and the hash of the metric.

    Rows are sorted by system, then by metric, then by query.
    """
    columns = ("system_id", "query_id", "metric", "value", "metric_hash")
    return engine.read("metric_value", columns, order="system_position, metric_position, query_id")


def check_configuration(engine: Engine, evaluation: Evaluation) -> list[Finding]:
    """Return findings on margins and smallest effects that seem too large, on queries, and on clusters.

    Raises InputError if a margin, smallest effect or threshold is not smaller than the range of its metric, or if no
    query that the change is meant for is judged.
    """
    checks = (check_configured_differences, check_query_ids, check_intended, check_clusters)
    return [finding for check in checks for finding in check(engine, evaluation)]


def queries_on_page(engine: Engine) -> list[str]:
    """Return the ids of the queries to display on the page, at most `SHOWN_QUERIES`.

    The queries with the largest differences come first.
    """
    largest = [row["query_id"] for row in extreme_queries(engine)]
    scored = [query_id for (query_id,) in engine.rows("shown_query", ("query_id",), order="query_id")]
    return list(dict.fromkeys([*largest, *scored]))[:SHOWN_QUERIES]


def extreme_queries(engine: Engine, most: int = 5) -> list[dict[str, Any]]:
    """Return the queries with the largest gains and losses, as one dict per query, candidate and metric.

    The dicts have the keys candidate, metric, direction, place, query_id, text and difference. They are in the order of
    metrics, then of systems.
    most: the largest number of gains, and of losses, for each candidate and metric.
    """
    rows: list[dict[str, Any]] = engine.read(
        "extreme_difference",
        ("candidate", "metric", "direction", "place", "query_id", "text", "difference"),
        order="metric_position, system_position, direction desc, place",
        most=most,
    ).to_pylist()
    return rows


def count_inputs(engine: Engine, read: PulledInputs, findings: Iterable[Finding]) -> tuple[LedgerRow, ...]:
    """Return the ledger rows of all inputs: numbers of rows read, used and left out.

    The inputs are click logs, judgments, rankings and answered queries.
    findings: the findings of the data check.
    """
    judged = {query_id: count for query_id, count in engine.rows("query", ("query_id", "judged")) if count}
    repeated = sum(finding.count for finding in findings if finding.code == REPEATED)
    parts = [*read.files, *([read.by_function] if read.by_function else [])]
    return (
        *click_ledger_rows(parts),
        judgment_ledger_row(parts, repeated, sum(judged.values())),
        *ranking_ledger_rows(engine, read.rankings, judged),
    )


def judgment_ledger_row(parts: Sequence[Pulled], repeated: int, used_count: int) -> LedgerRow:
    """Return one ledger row on the judgments of all files: numbers of rows read, used and left out.

    repeated: number of judgments that repeat another one. used_count: number of pairs of query and document with a
    grade.
    """
    comments, unrated = (sum(count_remarked(part, code) for part in parts) for code in (COMMENT, UNRATED))
    rows = sum(part.count for part in parts)
    left_out = {
        "comments": comments,
        "without a grade": unrated,
        "repeated": repeated,
        "in another file or by another judge": rows - repeated - used_count,
    }
    return make_row(JUDGMENTS, None, rows + comments + unrated, left_out)


def click_ledger_rows(parts: Iterable[Pulled]) -> Iterable[LedgerRow]:
    """Yield one ledger row per click log from which judgments were made: events read, used and left out."""
    for part in parts:
        for remark in part.remarks:
            if remark.code == CLICK_GRADES and remark.total is not None:
                left_out = {reason: count_remarked(part, code) for code, reason in CLICK_REASONS.items()}
                yield make_row(CLICKS, None, remark.total, left_out)


def ranking_ledger_rows(engine: Engine, rankings: dict[str, Pulled], judged: dict[str, int]) -> Iterable[LedgerRow]:
    """Yield two ledger rows per system: numbers of rows read, used and left out, and why.

    The first counts the results of the system, the second the judged queries that it answers.
    judged: query_id -> number of judged documents.
    """
    columns = ("system_id", "results", "unjudged_results", "judged")
    counted = {name: row for name, *row in engine.rows("answering_system", columns)}
    for name, pulled in rankings.items():
        results, unjudged, answered = counted.get(name, (0, 0, 0))
        comments, chunks, copies, dropped = (count_remarked(pulled, code) for code in (COMMENT, CHUNK, COPY, OWN))
        left_out = {
            "comments": comments,
            "chunks of the same document": chunks,
            "repeated documents": copies + pulled.count - results,
            "the query's own document": dropped,
            "of unjudged queries": unjudged,
        }
        yield make_row(RANKING, name, pulled.count + comments + chunks + copies + dropped, left_out)
        failed = len(judged.keys() & {*pulled.failed})
        left_out = {"failed": failed, "unanswered": len(judged) - failed - answered}
        yield make_row(ANSWERED, name, len(judged), left_out)


def scored_ledger_rows(engine: Engine) -> Iterable[LedgerRow]:
    """Yield ledger rows with the number of drawn queries, and of the queries that each metric scores.

    The first row is about the drawn queries. One row per metric follows, with reasons for the queries that the metric
    does not score. A query counts as scored if the metric's value depends on the ranking.
    """
    flags = [is_drawn for (is_drawn,) in engine.rows("query", ("is_drawn",), where={"is_judged": True})]
    gaining = engine.read("scored_query", ("metric_id",), where={"is_relevant": True})["metric_id"]
    possible = {row["values"]: row["counts"] for row in pc.value_counts(gaining).to_pylist()}
    yield make_row(DRAWN, None, len(flags), {"not drawn": flags.count(False)})
    most: dict[tuple[str, str], int] = {}
    columns = ("metric_id", "metric", "relevant_queries")
    for metric_id, name, count in engine.rows("system_summary", columns, order="metric_position, system_position"):
        most[metric_id, name] = max(count, most.get((metric_id, name), 0))
    for (metric_id, name), count in most.items():
        relevant = possible.get(metric_id, 0)
        left_out = {"without a gain or value": flags.count(True) - relevant, "without an answer": relevant - count}
        yield make_row(SCORED, name, flags.count(True), left_out)


def count_remarked(pulled: Pulled, code: str) -> int:
    """Return the sum of the counts of a source's remarks with this code; 0 if there is no such remark."""
    return sum(remark.count for remark in pulled.remarks if remark.code == code)
