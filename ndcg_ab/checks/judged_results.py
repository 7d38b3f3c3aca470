"""Findings about systems of whose results none is judged."""

from collections.abc import Collection, Mapping

from ndcg_ab.checks.examples import examples_of
from ndcg_ab.engines.base import Engine
from ndcg_ab.finding_codes import CODES
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import queries_text
from ndcg_ab.scoring.top_places import FIRST_QUERIES
from ndcg_ab.sources import Pulled

LEAST_RESULTS, LEAST_QUERIES = 50, 5  # of a system that is refused because none of its results is judged
EVERY_QUERY = 2**62


class WholeNeededError(Exception):
    """Rankings that were reduced must be read whole."""


def check_judged_results(
    engine: Engine, rankings: Mapping[str, Pulled], explained: Collection[str | None]
) -> list[Finding]:
    """Report systems of whose results none is judged; explained: systems of which another finding says why.

    Raises WholeNeededError if rankings were reduced and none of the first results is judged.
    """
    none = [name for name, (*_, met) in count_judged(engine, FIRST_QUERIES).items() if not met]
    none = [name for name in none if name not in explained]
    if not none:
        return []
    if any(pulled.reduced for pulled in rankings.values()):
        raise WholeNeededError
    found = []
    for name, (query_id, queries, returned, met) in count_judged(engine, EVERY_QUERY).items():
        if met or name not in none:
            continue
        is_many = returned >= LEAST_RESULTS and queries >= LEAST_QUERIES
        where = {"query_id": query_id}
        (own,) = engine.rows("ranking", ("doc_id",), where={**where, "system_id": name}, order="doc_id")[0]
        (judged,) = engine.rows("judgment", ("doc_id",), where=where, order="doc_id")[0]
        message = (
            f"system {name}: none of its {returned} results in {queries_text(queries, 'judged')} is judged (in query"
            f" {query_id!r} the first document id is {own!r}, the first judged one {judged!r}): its document ids"
            f" {'must be' if is_many else 'may not be'} those of the judgments"
        )
        severity = CODES["no_judged_result"].severity if is_many else "warning"
        examples = examples_of(rankings[name], [(query_id, own)])
        found.append(Finding("no_judged_result", severity, message, returned, name, examples=examples))
    return found


def count_judged(engine: Engine, queries: int) -> dict[str, tuple[str, int, int, int]]:
    """Return, for each system, its first judged query, the number of these, of its results, and of judged results."""
    found: dict[str, tuple[str, int, int, int]] = {}
    columns = ("system_id", "query_id", "returned", "met")
    for name, query_id, returned, met in engine.rows("met_query", columns, queries=queries):
        first, *counts = found.get(name, (query_id, 0, 0, 0))
        found[name] = (min(first, query_id), counts[0] + 1, counts[1] + returned, counts[2] + met)
    return found
