"""The steps of an evaluation as plain functions: `compare` calls them in a row, the flow one task each."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from flows.checks import by_severity, check, check_coverage, check_queries, check_scored, refuse_missing_gains
from flows.config import Evaluation
from flows.families import check_slices, families, weights_of
from flows.order import check_order
from flows.outcome import Finding, Outcome, SystemSummary, replacing
from flows.parity import verify
from flows.rules import depth_of, metric_tables
from flows.sources import JUDGMENT, RANKING, Pulled, Queries, pull, pull_queries
from flows.warehouse import Warehouse
from flows.wording import queries_text
from ndcg_core.metric import Metric
from ndcg_core.summary import mean, median, weighted_mean

Say = Callable[[str], None]


def evaluate(evaluation: Evaluation, warehouse: Warehouse, say: Say = lambda step: None) -> Outcome:
    """Every step of one evaluation, in the tables of `warehouse`.

    say: told what begins.  Raises InputError, ParityError.
    """
    findings, parity_queries = score_all(evaluation, warehouse, say)
    return conclude(warehouse, evaluation, findings, parity_queries)


def score_all(evaluation: Evaluation, warehouse: Warehouse, say: Say) -> tuple[list[Finding], int]:
    """Everything before the tests: the data check's findings, and how many queries were computed twice."""
    judgments, queries, rankings = pull_all(evaluation, say)
    say("checking the data")
    load(warehouse, judgments, queries, rankings, evaluation)
    findings = check(warehouse, judgments, rankings, evaluation.metric_list)
    say("scoring")
    score(warehouse, evaluation.metric_list)
    say("recomputing a sample")
    parity_queries = verify(warehouse, evaluation.metric_list)
    say("testing the differences")
    return findings, parity_queries


def pull_all(evaluation: Evaluation, say: Say) -> tuple[Pulled, Queries, dict[str, Pulled]]:
    """Judgments, queries and every system's ranking, in that order."""
    say("reading judgments")
    judgments = pull(evaluation.judgments, JUDGMENT, evaluation.directory)
    queries = pull_queries(evaluation)
    rankings = {}
    for system in evaluation.systems:
        say(f"reading {system.name}")
        rankings[system.name] = pull(system.source, RANKING, evaluation.directory, queries.texts)
    return judgments, queries, rankings


def load(
    warehouse: Warehouse,
    judgments: Pulled,
    queries: Queries,
    rankings: Mapping[str, Pulled],
    evaluation: Evaluation,
) -> None:
    """Puts what was pulled, and the metrics, where the SQL finds them (sql/0x)."""
    warehouse.put("pulled_judgment", judgments.table)
    warehouse.put("pulled_query", queries.text_table())
    warehouse.put("pulled_attribute", queries.attribute_table())
    warehouse.put("pulled_ranking", pa.concat_tables(named(name, pulled) for name, pulled in rankings.items()))
    systems = {"system_id": list(rankings), "place": list(range(len(rankings)))}
    warehouse.put("pulled_system", pa.table(systems, schema=SYSTEM_SCHEMA))
    for name, table in metric_tables(evaluation.metric_list).items():
        warehouse.put(name, table)
    tables = ("judgment", "query", "system", "ranking", "metric", "rank_rule", "query_attribute")
    warehouse.build(*tables, baseline=evaluation.baseline_name)


SYSTEM_SCHEMA = pa.schema([("system_id", pa.string()), ("place", pa.int64())])


def named(system_id: str, pulled: Pulled) -> pa.Table:
    """A system's ranking with its name in every row (kept once)."""
    table = pulled.table
    index = pa.array(np.zeros(table.num_rows, dtype=np.int8))
    query_ids = table["query_id"].cast(pa.dictionary(pa.int32(), pa.string()))
    return pa.table(
        {
            "system_id": pa.DictionaryArray.from_arrays(index, [system_id]),
            "query_id": query_ids,
            "doc_id": table["doc_id"],
            "score": table["score"],
            "rank_given": table["rank"],
        }
    )


def score(warehouse: Warehouse, metrics: Sequence[Metric]) -> None:
    """Ranks, grades and scores every metric at once (sql/2x to sql/4x)."""
    # One place more than any metric counts shows whether the last one is tied.
    warehouse.build("ranked_doc", depth=depth_of(metrics) + 1)
    warehouse.build("returned", "graded_doc", "gain", "placed_gain")
    refuse_missing_gains(warehouse, metrics)
    deepest, judged = warehouse.rows(
        "select (select coalesce(max(rank), 0) from ranked_doc), (select max(judged) from query)"
    )[0]
    filled = max((metric.cutoff or 0 for metric in metrics if metric.ideal == "max"), default=0)
    places = np.arange(1, max(deepest, judged, filled) + 1)
    warehouse.put("pulled_place", pa.table({"rank": pa.array(places)}))
    warehouse.build("discount")
    warehouse.build("dcg_by_rank", "ideal_by_rank", "own_ideal_by_rank", "max_ideal_by_rank")
    warehouse.build("scored_query", "query_dcg", "query_ideal", "query_score")
    warehouse.build("coverage", "system_summary", "paired_difference", "slice_difference")


def conclude(warehouse: Warehouse, evaluation: Evaluation, findings: Sequence[Finding], parity_queries: int) -> Outcome:
    """Summaries and tests (ndcg_core) over the tables of sql/5x."""
    statistics = evaluation.statistics
    metrics = evaluation.metric_list
    weights = weights_of(warehouse, evaluation)
    systems = summaries(warehouse, weights)
    compared = families(warehouse, evaluation, weights)
    noticed = [*findings, *check_queries(warehouse, evaluation), *check_order(warehouse, metrics, weights)]
    noticed += [*check_scored(warehouse, metrics), *check_coverage(systems), *check_slices(compared)]
    return Outcome(
        baseline=evaluation.baseline_name,
        metrics=tuple(metrics),
        systems=tuple(systems),
        comparisons=tuple(compared),
        findings=tuple(by_severity(noticed)),
        alpha=statistics.alpha,
        seed=statistics.seed,
        resamples=statistics.resamples,
        parity_queries=parity_queries,
    )


def summaries(warehouse: Warehouse, weights: Mapping[str, float] | None = None) -> list[SystemSummary]:
    """One row per metric and system, in the order asked for; weights: query_id -> weight of the mean."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    weighing: dict[tuple[str, str], list[float]] = defaultdict(list)
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    columns = warehouse.arrow(
        "select query_score.metric_id, query_score.system_id, query_id, query_score.value, coverage.judged"
        " from query_score left join coverage using (system_id, query_id, metric_id)"
    ).columns
    for metric_id, system_id, query_id, value, share in zip(*(column.to_pylist() for column in columns), strict=True):
        values[metric_id, system_id].append(value)
        if weights is not None:
            weighing[metric_id, system_id].append(weights[query_id])
        if share is not None:
            shares[metric_id, system_id].append(share)
    found = []
    for metric_id, name, system_id, queries, unanswered in warehouse.rows(
        "select metric_id, metric.name, system_id, coalesce(queries, 0), coalesce(system_summary.unanswered, 0)"
        " from metric cross join system left join system_summary using (metric_id, system_id)"
        " order by metric.place, system.place"
    ):
        key = (metric_id, system_id)
        plain = mean(values[key])
        compared = plain if weights is None else weighted_mean(values[key], weighing[key])
        row = (compared, median(values[key]), queries, unanswered, mean(shares[key]))
        found.append(SystemSummary(system_id, name, *row, None if weights is None else plain))
    return found


def write_query_scores(warehouse: Warehouse, path: Path) -> None:
    """One row per (system_id, query_id, metric) with its value and its hash: CSV or Parquet by the name."""
    import pyarrow.csv as pacsv
    import pyarrow.parquet as papq

    table = warehouse.arrow(
        "select query_score.system_id, query_score.query_id, metric.name as metric, query_score.value,"
        " query_score.metric_id as metric_hash"
        " from query_score"
        " inner join metric using (metric_id)"
        " inner join system using (system_id)"
        " order by system.place, metric.place, query_score.query_id"
    )
    with replacing(path) as partial:
        if path.suffix.lower() in (".parquet", ".pq"):
            papq.write_table(table, partial)
        else:
            pacsv.write_csv(table, partial)


def check_only(evaluation: Evaluation, warehouse: Warehouse, say: Say = lambda step: None) -> tuple[list[Finding], str]:
    """Reads and checks everything, scores nothing: the findings, and a sentence that counts what is there."""
    judgments, queries, rankings = pull_all(evaluation, say)
    say("checking the data")
    load(warehouse, judgments, queries, rankings, evaluation)
    findings = check(warehouse, judgments, rankings, evaluation.metric_list)
    findings = by_severity([*findings, *check_queries(warehouse, evaluation)])
    judged, pairs = warehouse.rows("select count(*) filter (where is_judged), sum(judged) from query")[0]
    results = ", ".join(f"{name} {pulled.table.num_rows} results" for name, pulled in rankings.items())
    counted = f"{queries_text(judged, 'judged')}, {pairs} judgment{'s' * (pairs != 1)}"
    return findings, f"{counted}; {results}; metrics {', '.join(evaluation.metrics)}"


def extremes(warehouse: Warehouse, places: int = 5) -> list[dict[str, Any]]:
    """The queries that each candidate wins and loses most, `places` of each, in the order of metrics and systems."""
    warehouse.build("extreme_difference", places=places)
    found: list[dict[str, Any]] = warehouse.arrow(
        "select x.candidate, metric.name as metric, x.direction, x.place, x.query_id, x.text, x.difference"
        " from extreme_difference as x"
        " inner join metric using (metric_id)"
        " inner join system on system.system_id = x.candidate"
        " order by metric.place, system.place, x.direction desc, x.place"
    ).to_pylist()
    return found
