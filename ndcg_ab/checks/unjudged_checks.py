"""Check rankings without judgments."""

from collections.abc import Callable, Iterator

import pyarrow as pa

from ndcg_ab.checks.data_checks import check_duplicates, refuse_missing_ranks
from ndcg_ab.checks.findings import apply_severities, make_finding, query_examples, refuse_errors
from ndcg_ab.checks.id_checks import check_spellings
from ndcg_ab.checks.ranking_checks import check_depths, check_rankings, read_notices
from ndcg_ab.config.model.evaluation import Evaluation
from ndcg_ab.engines.base import Engine
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import queries_text
from ndcg_ab.scoring import loading
from ndcg_ab.scoring.metric_tables import EVERYTHING, deepest_cutoff, rank_rule
from ndcg_ab.sources import JUDGMENT, RANKING, Pulled, Queries, pull_source
from ndcg_ab.sources.tables.document_rules import document_rules
from ndcg_core.measures.metric import Metric

NOT_CHECKED = (
    "not checked, because there are no judgments: grades, whether ids meet, how much is judged, what ties can move"
)


def check_rankings_alone(
    evaluation: Evaluation, engine: Engine, say: Callable[[str], object]
) -> tuple[list[Finding], str]:
    """Read and check the rankings of an evaluation without judgments; return findings and a summary text.

    say: receives progress messages. Raises InputError if a finding has severity error.
    """
    rankings = {}
    for system in evaluation.systems:
        say(f"pull {system.name}")
        rules = document_rules(evaluation, system)
        rankings[system.name] = pull_source(
            system.source, RANKING, evaluation.directory, system=system.name, rules=rules
        )
    say("check the data")
    every = sorted({query_id for pulled in rankings.values() for query_id in pulled.query_ids})
    rows = {"query_id": every, "doc_id": [""] * len(every), "grade": [1.0] * len(every)}
    source = next(iter(rankings.values())).source
    placeholders = Pulled(pa.table(rows, schema=JUDGMENT.schema), JUDGMENT, source)
    loading.load_tables(engine, placeholders, Queries(), rankings, evaluation)
    metrics = evaluation.metric_list
    refuse_missing_ranks(rankings, metrics)
    findings = check_duplicates(engine, rankings, metrics)
    findings += check_rankings(engine, read_notices(engine), rankings)
    findings += check_spellings(engine, metrics, None, rankings)
    findings += check_depths(engine, metrics)
    for metric in metrics:
        findings += check_order(engine, metric)
    refuse_errors(findings, evaluation, {name: pulled.origin for name, pulled in rankings.items()})
    results = ", ".join(f"{name} {pulled.count} results" for name, pulled in rankings.items())
    names = ", ".join(metric.name for metric in metrics)
    return apply_severities(findings, evaluation), f"{results}; metrics {names}\n{NOT_CHECKED}"


def check_order(engine: Engine, metric: Metric) -> Iterator[Finding]:
    """Yield findings on ties within a metric's depth, and on rank columns that disagree with the scores there.

    Nothing is yielded for a metric with ties = given or unjudged = condense.
    """
    if metric.ties == "given":
        return
    cutoff, rule = deepest_cutoff([metric]), rank_rule(metric)
    if metric.unjudged == "condense":  # what stays in the ranking is not known
        return
    engine.build("tied_query", cutoff=cutoff, rank_rule=rule)
    engine.build("suspicious_query", cutoff=cutoff, rank_rule=rule)
    engine.build("disagreeing_query", cutoff=cutoff)
    columns = ("system_id", "query_id", "ranks")
    where = f"top-{metric.cutoff} " if (metric.cutoff or EVERYTHING) < EVERYTHING else ""
    for (name,) in engine.rows("system", ("system_id",), order="position"):
        other, tied = (
            [row[1:] for row in engine.rows(table, columns, where={"system_id": name}, order="query_id")]
            for table in ("disagreeing_query", "tied_query")
        )
        for code, severity, rows, observation in (
            ("rank_disagrees", "warning", other, "its rank column disagrees with its scores, of which scores decide"),
            ("tied_places", "note", tied, f"equal scores decide {sum(row[1] for row in tied)} {where}places"),
        ):
            if rows:
                message = f"system {name}: {observation}, in {queries_text(len(rows))} (such as {rows[0][0]!r})"
                examples = query_examples([query_id for query_id, _ in rows])
                count = len(rows) if code == "rank_disagrees" else sum(row[1] for row in rows)
                yield make_finding(code, message, count, name, metric.name, None, examples, severity)
