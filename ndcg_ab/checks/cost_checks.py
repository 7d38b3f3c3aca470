"""Findings about what requests cost: times that are lower bounds, and costs that are not known."""

from collections.abc import Collection

from ndcg_ab.checks.examples import MOST
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import format_value
from ndcg_ab.finding_codes import CODES
from ndcg_ab.results.cost_records import Costs, CostValue, requests_text
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import queries_text
from ndcg_core.statistics.averages import MEAN


def check_costs(engine: Engine, costs: Costs | None, weighted: Collection[str] | None) -> list[Finding]:
    """weighted: the queries that have a weight, where queries are weighted; the others do not count."""
    found = []
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
            found.append(make_finding("failed_time", row, message, row.failed, query_ids))
        if row.missing:
            missing = engine.rows("missing_cost", ("query_id", "is_failed"), where=where, order="query_id")
            missing = [each for each in missing if weighted is None or each[0] in weighted]
            failures = sum(is_failed for _, is_failed in missing)
            because = f"; {requests_text(failures)} failed" if failures else ""
            message = (
                f"system {row.system_id}: no {row.cost} for {row.missing} of {queries_text(row.asked)} (such as"
                f" {format_value(missing[0][0])}{because}): left out for every system"
            )
            found.append(make_finding("missing_cost", row, message, row.missing, [query_id for query_id, _ in missing]))
    return found


def make_finding(code: str, row: CostValue, message: str, count: int, query_ids: list[str]) -> Finding:
    examples = tuple(f"query {format_value(query_id)}" for query_id in query_ids[:MOST])
    return Finding(code, CODES[code].severity, message, count, row.system_id, examples=examples)
