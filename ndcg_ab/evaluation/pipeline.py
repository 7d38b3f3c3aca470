"""The steps of an evaluation as plain functions: `compare` calls them in a row, the flow one task each."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ndcg_ab.config.model import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.evaluation.data_checks import check, check_queries, check_scored, refuse_missing_gains
from ndcg_ab.evaluation.families import check_heavy_queries, check_slices, families, weights_of
from ndcg_ab.evaluation.given_scores import FAILED, SYSTEM_SCHEMA, load_scores, settled_by
from ndcg_ab.evaluation.metric_tables import deepest_cutoff, depth_of, metric_tables
from ndcg_ab.evaluation.order_checks import check_order
from ndcg_ab.evaluation.outcome import Finding, Outcome, SystemSummary
from ndcg_ab.evaluation.parity import verify
from ndcg_ab.evaluation.phrases import queries_text
from ndcg_ab.evaluation.reduced import Reduced, give_answers, known_ranks
from ndcg_ab.evaluation.score_checks import check_coverage
from ndcg_ab.evaluation.secret_checks import check_secrets
from ndcg_ab.evaluation.severities import refuse_errors, settled
from ndcg_ab.files import replacing
from ndcg_ab.sources import JUDGMENT, RANKING, Pulled, Queries, pull, pull_queries
from ndcg_ab.sources.documents import documents_of
from ndcg_ab.sources.schema import DOCUMENT
from ndcg_ab.sources.scores import PULLED
from ndcg_core.measures.metric import Metric
from ndcg_core.statistics.averages import mean, median, weighted_mean

Say = Callable[[str], None]


class Read(NamedTuple):
    """The inputs of an evaluation as they were read.

    judgments, rankings (by the names of the systems): None and none where another tool computed the scores.
    """

    judgments: Pulled | None
    queries: Queries
    rankings: dict[str, Pulled]
    scores: tuple[Pulled, ...] = ()


WhenRead = Callable[[Read], None]


def run_pipeline(
    evaluation: Evaluation,
    engine: Engine,
    say: Say = lambda step: None,
    when_read: WhenRead = lambda read: None,
) -> Outcome:
    """Every step of one evaluation, in the tables of `engine`.

    say: told what begins.  when_read: given the inputs as they were read.  Raises InputError, ParityError.
    """
    if evaluation.scores:
        settled, findings = take_scores(evaluation, engine, say, when_read)
        return conclude(engine, settled, findings, None)
    findings, parity_queries = score_all(evaluation, engine, say, when_read)
    return conclude(engine, evaluation, findings, parity_queries)


def take_scores(
    evaluation: Evaluation,
    engine: Engine,
    say: Say,
    when_read: WhenRead = lambda read: None,
) -> tuple[Evaluation, list[Finding]]:
    """Scores of another tool in the tables of `engine`: the evaluation with what they settle, and the findings."""
    say("reading scores")
    pulled = tuple(pull(each, PULLED, evaluation.directory) for each in evaluation.scores)
    queries = pull_queries(evaluation)
    when_read(Read(None, queries, {}, pulled))
    say("checking the data")
    settled = settled_by(evaluation, pulled)
    findings = load_scores(engine, settled, pulled, queries)
    say("testing the differences")
    return settled, findings


def score_all(
    evaluation: Evaluation,
    engine: Engine,
    say: Say,
    when_read: WhenRead = lambda read: None,
) -> tuple[list[Finding], int]:
    """Everything before the tests: the data check's findings, and how many queries were computed twice."""
    judgments, queries, rankings = pull_all(evaluation, say)
    when_read(Read(judgments, queries, rankings))
    say("checking the data")
    load(engine, judgments, queries, rankings, evaluation)
    findings = check(engine, judgments, rankings, evaluation)
    say("scoring")
    score(engine, evaluation.metric_list)
    say("recomputing a sample")
    parity_queries = verify(engine, evaluation.metric_list)
    say("testing the differences")
    return findings, parity_queries


def pull_all(evaluation: Evaluation, say: Say) -> tuple[Pulled, Queries, dict[str, Pulled]]:
    """Judgments, queries and every system's ranking, in that order."""
    say("reading judgments")
    judgments = pull(evaluation.judgments_source, JUDGMENT, evaluation.directory)
    queries = pull_queries(evaluation)
    rankings = {}
    for system in evaluation.systems:
        say(f"reading {system.name}")
        source = system.source
        rankings[system.name] = pull(
            source, RANKING, evaluation.directory, queries.texts, attributes=attributes_for(source, queries)
        )
    return judgments, queries, rankings


def attributes_for(source: Any, queries: Queries) -> Mapping[str, Mapping[str, str]]:
    """query_id -> {column: value}, where the requests to a source name columns of the queries."""
    return queries.records if getattr(source, "attributes", ()) else {}


def load(
    engine: Engine,
    judgments: Pulled,
    queries: Queries,
    rankings: Mapping[str, Pulled],
    evaluation: Evaluation,
    known: Mapping[str, Reduced] | None = None,
) -> None:
    """Puts what was pulled, and the metrics, where the SQL finds them (sql/0x).

    known: of rankings whose tables are reduced, what is known of the rest.
    """
    if documents := documents_of(evaluation):
        documents.check()
    engine.put("pulled_judgment", judgments.table)
    engine.put("pulled_query", queries.text_table())
    engine.put("pulled_attribute", queries.attribute_table())
    engine.put("pulled_ranking", pa.concat_tables(named(name, pulled) for name, pulled in rankings.items()))
    engine.put("pulled_failed_query", failed_table(rankings))
    engine.put("pulled_document", document_table(rankings))
    engine.put("pulled_known_rank", known_ranks(known or {}))
    systems = {"system_id": list(rankings), "place": list(range(len(rankings)))}
    engine.put("pulled_system", pa.table(systems, schema=SYSTEM_SCHEMA))
    for name, table in metric_tables(evaluation.metric_list).items():
        engine.put(name, table)
    metrics = evaluation.metric_list
    # One place more than any metric counts shows whether the last one is tied.
    engine.set(baseline=evaluation.baseline_name, cutoff=deepest_cutoff(metrics), depth=depth_of(metrics) + 1)
    give_answers(engine, known or {})


def failed_table(rankings: Mapping[str, Pulled]) -> pa.Table:
    """The queries that each system's place failed on."""
    rows = [(name, query_id) for name, pulled in rankings.items() for query_id in pulled.failed]
    return pa.table([[row[0] for row in rows], [row[1] for row in rows]], schema=FAILED)


def document_table(rankings: Mapping[str, Pulled]) -> pa.Table:
    """Titles and addresses that came along with rankings: a row for each document, of the first system that has it."""
    known: dict[str, dict[str, Any]] = {}
    for pulled in rankings.values():
        for row in pulled.documents.to_pylist() if pulled.documents is not None else ():
            known.setdefault(row["doc_id"], row)
    return pa.Table.from_pylist(list(known.values()), schema=DOCUMENT.schema)


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


def score(engine: Engine, metrics: Sequence[Metric]) -> None:
    """Ranks, grades and scores every metric at once."""
    refuse_missing_gains(engine, metrics)
    engine.build("dcg_by_rank", "own_ideal_by_rank")
    engine.release("graded_doc")
    engine.build("query_score", "coverage")
    engine.release("dcg_by_rank", "ideal_by_rank", "own_ideal_by_rank", "query_dcg", "query_ideal")
    engine.build("system_summary", "paired_difference")


def conclude(
    engine: Engine, evaluation: Evaluation, findings: Sequence[Finding], parity_queries: int | None
) -> Outcome:
    """Summaries and tests (ndcg_core) over the tables of sql/5x; what rankings show is looked at where there are some.

    parity_queries: None where another tool computed the scores.
    """
    statistics = evaluation.statistics
    metrics = evaluation.metric_list
    weights = weights_of(engine, evaluation)
    systems = summaries(engine, weights)
    compared = families(engine, evaluation, weights)
    noticed = [*findings, *check_secrets(evaluation), *check_queries(engine, evaluation)]
    if evaluation.scores:
        systems = [replace(row, unanswered=None) for row in systems]
    else:
        noticed += [*check_order(engine, metrics, weights), *check_scored(engine, metrics), *check_coverage(systems)]
    noticed += check_slices(compared)
    noticed += check_heavy_queries(compared)
    refuse_errors(noticed, evaluation)
    return Outcome(
        baseline=evaluation.baseline_name,
        metrics=tuple(metrics),
        systems=tuple(systems),
        comparisons=tuple(compared),
        findings=tuple(settled(noticed, evaluation)),
        alpha=statistics.alpha,
        seed=statistics.seed,
        resamples=statistics.resamples,
        parity_queries=parity_queries,
    )


def summaries(engine: Engine, weights: Mapping[str, float] | None = None) -> list[SystemSummary]:
    """One row per metric and system, in the order asked for; weights: query_id -> weight of the mean."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    weighing: dict[tuple[str, str], list[float]] = defaultdict(list)
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    for metric_id, system_id, query_id, value, share in engine.each(
        "covered_score", ("metric_id", "system_id", "query_id", "value", "judged")
    ):
        values[metric_id, system_id].append(value)
        if weights is not None:
            weighing[metric_id, system_id].append(weights[query_id])
        if share is not None:
            shares[metric_id, system_id].append(share)
    found = []
    columns = ("metric_id", "metric", "system_id", "queries", "unanswered")
    for metric_id, name, system_id, queries, unanswered in engine.rows(
        "system_summary", columns, order="metric_place, system_place"
    ):
        key = (metric_id, system_id)
        plain = mean(values[key])
        compared = plain if weights is None else weighted_mean(values[key], weighing[key])
        row = (compared, median(values[key]), queries, unanswered, mean(shares[key]))
        found.append(SystemSummary(system_id, name, *row, None if weights is None else plain))
    return found


def query_scores(engine: Engine) -> pa.Table:
    """One row per (system_id, query_id, metric) with its value and its hash, in the order of systems and metrics."""
    columns = ("system_id", "query_id", "metric", "value", "metric_hash")
    return engine.read("metric_value", columns, order="system_place, metric_place, query_id")


def write_query_scores(engine: Engine, path: Path) -> None:
    """The same as a file: CSV or Parquet by the name."""
    import pyarrow.csv as pacsv
    import pyarrow.parquet as papq

    table = query_scores(engine)
    with replacing(path) as partial:
        if path.suffix.lower() in (".parquet", ".pq"):
            papq.write_table(table, partial)
        else:
            pacsv.write_csv(table, partial)


def check_only(evaluation: Evaluation, engine: Engine, say: Say = lambda step: None) -> tuple[list[Finding], str]:
    """Reads and checks everything, scores nothing: the findings, and a sentence that counts what is there."""
    if evaluation.scores:
        evaluation, findings = take_scores(evaluation, engine, say)
        findings = [*findings, *check_secrets(evaluation), *check_queries(engine, evaluation)]
        refuse_errors(findings, evaluation)
        findings = settled(findings, evaluation)
        systems = ", ".join(system.name for system in evaluation.systems)
        counted = f"{queries_text(len(engine.rows('shown_query')), 'scored')}; systems {systems}"
        return findings, f"{counted}; metrics {', '.join(evaluation.metrics)}"
    judgments, queries, rankings = pull_all(evaluation, say)
    say("checking the data")
    load(engine, judgments, queries, rankings, evaluation)
    findings = check(engine, judgments, rankings, evaluation)
    findings = [*findings, *check_secrets(evaluation), *check_queries(engine, evaluation)]
    refuse_errors(findings, evaluation)
    findings = settled(findings, evaluation)
    counts = [count for (count,) in engine.rows("query", ("judged",), where={"is_judged": True})]
    judged, pairs = len(counts), sum(counts)
    results = ", ".join(f"{name} {pulled.table.num_rows} results" for name, pulled in rankings.items())
    counted = f"{queries_text(judged, 'judged')}, {pairs} judgment{'s' * (pairs != 1)}"
    return findings, f"{counted}; {results}; metrics {', '.join(evaluation.metrics)}"


def extremes(engine: Engine, places: int = 5) -> list[dict[str, Any]]:
    """The queries that each candidate wins and loses most, `places` of each, in the order of metrics and systems."""
    found: list[dict[str, Any]] = engine.read(
        "extreme_difference",
        ("candidate", "metric", "direction", "place", "query_id", "text", "difference"),
        order="metric_place, system_place, direction desc, place",
        places=places,
    ).to_pylist()
    return found
