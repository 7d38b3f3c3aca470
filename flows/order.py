"""How far a value hangs on the order of equal scores, and on whether scores or ranks are believed."""

import dataclasses
from collections import defaultdict
from collections.abc import Mapping

from flows.outcome import Finding
from flows.rules import EVERYTHING, looks_beyond, rank_rule
from flows.warehouse import Value, Warehouse
from ndcg_core.metric import Metric
from ndcg_core.ndcg import Result, score_query, tie_bounds
from ndcg_core.summary import mean

WORTH_A_WARNING = 0.001  # how far ties may move a mean before it is more than a note

Key = tuple[str, str]  # system_id, query_id


@dataclasses.dataclass(frozen=True)
class _Sensitive:
    """One system's answer to one query that could have been ordered in another way."""

    results: list[Result]
    is_tied: bool
    is_disagreeing: bool


def check_order(warehouse: Warehouse, metric: Metric) -> list[Finding]:
    """Findings about one metric: places decided by ties, and ranks that disagree with the scores."""
    cutoff = metric.cutoff or EVERYTHING - 1
    rule: dict[str, Value] = {"cutoff": cutoff, "rank_rule": rank_rule(metric)}
    warehouse.build("tied_query", **rule)
    warehouse.build("disagreeing_query", **rule)
    tied = {(row[0], row[1]): row[2] for row in warehouse.rows("select system_id, query_id, places from tied_query")}
    disagreeing = warehouse.rows("select count(*) from disagreeing_query")[0][0] and metric.ties != "given"
    if not tied and not disagreeing:
        return []
    warehouse.build("sensitive_doc", everything=looks_beyond(metric), places=cutoff)
    answers = sensitive_answers(warehouse)
    values: dict[str, dict[str, float]] = defaultdict(dict)
    for system_id, query_id, value in warehouse.rows(
        "select system_id, query_id, value from query_score where metric_id = $metric_id", {"metric_id": metric.hash}
    ):
        values[system_id][query_id] = value
    grades, highest = grades_of(warehouse)
    found = []
    for (system_id,) in warehouse.rows("select system_id from system order by place"):
        mine = {key[1]: answer for key, answer in answers.items() if key[0] == system_id}
        known = values[system_id]
        if disagreeing:
            found += rank_finding(metric, system_id, known, mine, grades, highest)
        places = {query: count for (name, query), count in tied.items() if name == system_id}
        found += tie_finding(metric, system_id, known, mine, grades, highest, places)
    return found


def sensitive_answers(warehouse: Warehouse) -> dict[Key, _Sensitive]:
    found: dict[Key, _Sensitive] = {}
    for system_id, query_id, doc_id, score, rank_given, is_tied, is_disagreeing in warehouse.rows(
        "select system_id, query_id, doc_id, score, rank_given, is_tied, is_disagreeing from sensitive_doc"
    ):
        answer = found.setdefault((system_id, query_id), _Sensitive([], is_tied, is_disagreeing))
        answer.results.append(Result(doc_id, score, rank_given))
    return found


def grades_of(warehouse: Warehouse) -> tuple[Mapping[str, Mapping[str, float]], float]:
    grades: dict[str, dict[str, float]] = defaultdict(dict)
    for query_id, doc_id, grade in warehouse.rows(
        "select query_id, doc_id, grade from judgment where query_id in (select query_id from sensitive_doc)"
    ):
        grades[query_id][doc_id] = grade
    return grades, warehouse.rows("select max(grade) from judgment")[0][0]


def rank_finding(
    metric: Metric,
    system_id: str,
    known: Mapping[str, float],
    answers: Mapping[str, _Sensitive],
    grades: Mapping[str, Mapping[str, float]],
    highest: float,
) -> list[Finding]:
    """Says where the ranks that came with the scores order the results in another way."""
    queries = sorted(query for query, answer in answers.items() if answer.is_disagreeing and query in known)
    if not queries:
        return []
    by_rank = dataclasses.replace(metric, ties="given")
    moved = dict(known)
    for query in queries:
        moved[query] = score_query(by_rank, answers[query].results, grades[query], highest) or 0.0
    message = (
        f"system {system_id}: its rank column disagrees with its scores in {len(queries)} of {len(known)} queries"
        f" (such as {queries[0]!r}). Scores decide here: {metric.name} is {mean(list(known.values())):.4f}; by its"
        f" ranks it would be {mean(list(moved.values())):.4f}. If the ranks are right, ask for {by_rank.name}"
    )
    return [Finding("rank_disagrees", "warning", message, len(queries))]


def tie_finding(
    metric: Metric,
    system_id: str,
    known: Mapping[str, float],
    answers: Mapping[str, _Sensitive],
    grades: Mapping[str, Mapping[str, float]],
    highest: float,
    places: Mapping[str, int],
) -> list[Finding]:
    """Says how many places equal scores decide, and between which values their order could move the mean."""
    queries = sorted(query for query, answer in answers.items() if answer.is_tied and query in known)
    if not queries:
        return []
    worst, expected, best = dict(known), dict(known), dict(known)
    for query in queries:
        bounds = tie_bounds(metric, answers[query].results, grades[query], highest)
        worst[query], best[query] = bounds.worst, bounds.best
        expected[query] = known[query] if bounds.expected is None else bounds.expected
    low, high = mean(list(worst.values())) or 0.0, mean(list(best.values())) or 0.0
    decided = sum(places[query] for query in queries)
    where = f"top-{metric.cutoff} places" if metric.cutoff else "places"
    middle = "" if metric.measure in ("rr", "accuracy") else f", expected {mean(list(expected.values())):.4f}"
    message = (
        f"system {system_id}: equal scores decide {decided} {where} in {len(queries)} of {len(known)} queries (such as"
        f" {queries[0]!r}); over the orders of ties {metric.name} lies between {low:.4f} and {high:.4f}{middle}"
        f" (here {mean(list(known.values())):.4f})"
    )
    severity = "warning" if high - low > WORTH_A_WARNING else "note"
    return [Finding("tied_places", severity, message, decided)]
