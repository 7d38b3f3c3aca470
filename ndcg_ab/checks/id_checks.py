"""Find ids that match those of other tables only in another spelling.

A system whose document ids are spelt differently from the judged ones scores 0, and would appear as a regression.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

from ndcg_ab.checks.findings import MOST, make_finding, row_examples
from ndcg_ab.checks.id_spellings import (
    UNICODE_FORMS,
    Ids,
    IdTable,
    Pair,
    Spelling,
    count_equal,
    describe_remedy,
    find_matching_spellings,
    respell,
    respell_ids,
)
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import format_value, shorten
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import queries_text
from ndcg_ab.scoring.metric_tables import depth_of
from ndcg_ab.sources import Pulled
from ndcg_ab.sources.tables.on_disk import select_queries
from ndcg_core.measures.metric import Metric

LOOKED_AT = 100  # ranks of each query whose ids are compared
SAMPLE = 5_000  # ids of each table that are compared, about
HARDLY_ANY = 0.1  # share of ids below which unchanged ids, or another spelling, count as not matching
IDS = ("query_id", "doc_id")


class Difference(NamedTuple):
    """The spelling difference between the ids of two tables.

    Attributes
    ----------
    words : str
        Condition under which ids match, with an example: ``if … (such as …)``.
    spellings : sequence of Spelling
        Spellings that make ids equal, in the order of application.
    pairs : sequence of Pair
        Pairs of ids that become equal.
    is_whole : bool
        True if hardly any id matches without the spellings, or if the ids differ only in their Unicode form.
    """

    words: str
    spellings: Sequence[Spelling]
    pairs: Sequence[Pair]
    is_whole: bool


def check_spellings(
    engine: Engine, metrics: Sequence[Metric], judgments: Pulled | None, rankings: Mapping[str, Pulled]
) -> Iterator[Finding]:
    """Yield findings on tables whose ids match those of the judgments only in another spelling.

    Without judgments, rankings are compared with the first ranking.
    """
    depth = min(LOOKED_AT, depth_of(metrics) + 1)
    parts: Sequence[Pulled] = getattr(judgments.source, "parts", (judgments,)) if judgments else ()
    files = [IdTable(f"judgments {part.origin}", part, [part], cache(partial(judgment_ids, part))) for part in parts]
    systems = [
        IdTable(f"system {name}", pulled, [pulled], cache(partial(read_ranking, engine, name, depth)), name)
        for name, pulled in rankings.items()
    ]
    first = systems[0]
    if judgments:
        read_judgments = cache(lambda query_ids: engine.rows("judgment", IDS, where={IDS[0]: query_ids}))
        first = IdTable("the judgments", judgments, parts, read_judgments)
    table_pairs = [(each, files[0]) for each in files[1:] if not each.pulled.remote_table and not parts[0].remote_table]
    table_pairs += [(each, first) for each in systems if each is not first]

    @cache  # systems mostly share their queries
    def changed_rankings(shared: tuple[str, ...], field: str, spellings: tuple[Spelling, ...]) -> list[IdTable]:
        sampled = (sample_ids(system, shared, field) for system in systems)
        return [table for table in sampled if respell_ids(table.ids, spellings) != table.ids]

    for own, other in table_pairs:
        shared = sorted(set(own.pulled.query_ids).intersection(other.pulled.query_ids))
        yield from compare_tables(own, other, changed_rankings, shared, "query_id")
        if shared:
            each = max(depth, other.pulled.count // len(other.pulled.query_ids))
            step = -(-len(shared) * each // SAMPLE)
            yield from compare_tables(own, other, changed_rankings, shared[::step], "doc_id")


def read_ranking(engine: Engine, system_id: str, depth: int, query_ids: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Return the (query_id, doc_id) pairs at the top ranks of a ranking, for the given queries."""
    where = {"system_id": system_id, "query_id": query_ids}
    return engine.rows("leading_result", IDS, where=where, depth=depth)


def judgment_ids(part: Pulled, query_ids: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Return the (query_id, doc_id) pairs of one file of judgments, for the given queries."""
    rows = select_queries(part.table, query_ids)
    return list(zip(*(rows[name].to_pylist() for name in IDS), strict=True))


def sample_ids(table: IdTable, shared: Sequence[str], field: str) -> IdTable:
    """Return the table with a sample of its ids.

    shared: ids of the queries that are in this table and in the table to compare. field: "query_id" to sample up to
    `SAMPLE` of the shared query ids and up to `SAMPLE` others; "doc_id" to take the document ids of the shared queries.
    """
    if field == "query_id":
        shared_ids = set(shared)
        other_ids = sorted(query_id for query_id in table.pulled.query_ids if query_id not in shared_ids)
        return table._replace(ids={"": frozenset([*shared[:SAMPLE], *other_ids[:SAMPLE]])})
    sampled: dict[str, set[str]] = defaultdict(set)
    for query_id, doc_id in table.read(tuple(shared)):
        sampled[query_id].add(doc_id)
    return table._replace(ids={query_id: frozenset(ids) for query_id, ids in sorted(sampled.items())})


def compare_tables(
    first: IdTable, other: IdTable, changed_rankings: Callable[..., list[IdTable]], shared: Sequence[str], field: str
) -> Iterator[Finding]:
    """Yield a finding if ids of one table match those of another only in another spelling.

    changed_rankings: a function of (shared, field, spellings) that
    returns the rankings in which the spellings change an id. shared: ids of the queries that both tables have. field:
    "query_id" to compare query ids, or "doc_id" to compare the document ids of the shared queries.
    """
    first, other = (sample_ids(table, shared, field) for table in (first, other))
    difference = find_difference(first.ids, other.ids)
    if difference is None:
        return
    words, spellings, pairs, is_whole = difference
    unmatched = sum(map(len, first.ids.values())) - count_equal(first.ids, other.ids)
    kind = "query ids" if field == "query_id" else f"document ids in {queries_text(len(shared))}"
    message = f"{first.name}: {len(pairs)} of its {unmatched} unmatched {kind} match those of {other.name} {words}"
    is_cut = len(spellings) == 1 and all(respell(pair.own, spellings) == pair.other for pair in pairs)
    if first.system and field == "doc_id" and is_cut and spellings[0].option:
        message += f" → {spellings[0].option}"
    else:
        rankings = partial(changed_rankings, tuple(shared), field)
        message += describe_remedy(first, other, rankings, spellings, len(pairs), field)
    locations = [(pair.query_id, pair.own) if pair.query_id else (pair.own, "") for pair in pairs[:MOST]]
    severity = None if is_whole else "warning"
    examples = row_examples(first.pulled, locations)
    yield make_finding("id_spelling", message, len(pairs), first.system, examples=examples, severity=severity)


def find_difference(ids_by_query: Ids, other: Ids) -> Difference | None:
    """Return the spelling difference between the ids of two tables, or None if there is none.

    There is a spelling difference if some unmatched ids match in another spelling. If only one of several unmatched ids
    does, there is none, unless the ids differ only in their Unicode form.
    """
    spellings, needed = find_matching_spellings(ids_by_query, other)
    is_form = UNICODE_FORMS.issuperset(spellings)
    both = [(ids, other.get(query_id, frozenset())) for query_id, ids in ids_by_query.items()]
    possible = sum(min(len(ids - others), len(others - ids)) for ids, others in both)
    if not needed or (len(needed) == 1 and possible > 2 and not is_form):
        return None
    matched = count_equal(ids_by_query, other)
    is_whole = matched < HARDLY_ANY * (matched + len(needed)) and len(needed) >= HARDLY_ANY * possible
    counts = Counter(spelling for each in needed.values() for spelling in each)
    words = " and ".join(
        each.words + (f" ({counts[each]})" if counts[each] < len(needed) else "") for each in spellings
    )
    pair = next(iter(needed))
    where = f" in query {format_value(pair.query_id)}" if pair.query_id else ""
    texts = (pair.own, pair.other)
    one, two = map(format_value, texts)
    if not UNICODE_FORMS.isdisjoint(needed[pair]):  # escapes, since the two look alike
        one, two = (shorten(ascii(text)) for text in texts)
    return Difference(f"if {words} (such as {one}{where}, there {two})", spellings, list(needed), is_form or is_whole)


def query_spelling_hint(query_ids: Iterable[str], judged: Iterable[str]) -> str:
    """Return ``; they match if …`` if query ids match judged ones only in another spelling, else ""."""
    difference = find_difference({"": frozenset(query_ids)}, {"": frozenset(judged)})
    return f"; they match {difference.words}" if difference else ""
