"""Ids that mean the same and are spelt differently: rankings that never meet the judgments, and what would mend it.

A system whose document ids carry a prefix, zeros or capitals that those of the judgments lack is judged nowhere, scores
0 in every query, and would be said to have regressed.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from ndcg_ab.checks.examples import MOST, examples_of
from ndcg_ab.checks.ids.respelling import meeting_ids, mend_command
from ndcg_ab.engines.base import Engine
from ndcg_ab.finding_codes import CODES
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import queries_text
from ndcg_ab.scoring.top_places import FIRST_QUERIES
from ndcg_ab.sources import Pulled

FEW_MEET = 0.1  # below this share of the documents that could be judged, another spelling is looked for
MOST_MEET = 0.5  # from this share on, another spelling is what was meant
EVERY_QUERY = 2**62
SAMPLE = 5000  # ids of each side in which another spelling is looked for
MOST_OWN = 100_000  # results that are looked at where a query has far more: the best ones
# Nothing judged by chance: a system of this many results in this many queries is refused.
LEAST_RESULTS, LEAST_QUERIES = 50, 5

Ids = Mapping[str, frozenset[str]]  # query_id -> ids; the ids of queries stand under one key
Respell = Callable[[str], str]


class WholeNeededError(Exception):
    """Rankings that were reduced must be read whole."""


class Spelling(NamedTuple):
    """One way to spell ids alike. words: when they meet. own, judged: what becomes of an id of each side."""

    words: str
    own: Respell
    judged: Respell


class MatchCounts(NamedTuple):
    """How many of a system's results are judged.

    queries: judged ones that it answers. returned: its results there. could: how many could be judged at most, as both
    sides have a number of documents. met: how many are.
    """

    queries: int = 0
    returned: int = 0
    could: int = 0
    met: int = 0

    def plus(self, returned: int, judged: int, met: int) -> "MatchCounts":
        return MatchCounts(
            self.queries + 1, self.returned + returned, self.could + min(returned, judged), self.met + met
        )


def check_documents(engine: Engine, judgments: Pulled, rankings: Mapping[str, Pulled]) -> list[Finding]:
    """Finds systems whose document ids are spelt otherwise than those of the judgments.

    An error where another spelling makes them meet, and where not one of many results is judged; a warning where not
    one of a few is.  Raises WholeNeededError where that cannot be told of reduced rankings.
    """
    rare = [name for name, met in count_matches(engine, FIRST_QUERIES).items() if is_rare(met)]
    if not rare:
        return []
    if any(pulled.reduced for pulled in rankings.values()):
        raise WholeNeededError
    everywhere = count_matches(engine, EVERY_QUERY)
    found = []
    for name in rare:
        met = everywhere[name]
        if not is_rare(met):
            continue
        own, judged = sample_ids(engine, name, rankings[name], judgments)
        spelling = find_spelling(own, judged)
        if met.met and spelling is None:
            continue
        few = "none" if met.met == 0 else f"only {met.met}"
        query_id = next(iter(own))
        message = (
            f"system {name}: {few} of its {met.returned} results in {queries_text(met.queries, 'judged')}"
            f" {'is' if met.met < 2 else 'are'} judged (in query {query_id!r} the first is {min(own[query_id])!r},"
            f" the first judged one {min(judged[query_id])!r}): "
        )
        code = "unmatched_document"
        if spelling:
            pair = meeting_ids(own, judged, spelling.own, spelling.judged)
            message += f"{spelling.words}; spell document ids alike in both"
            message += mend_command(*pair, rankings[name], judgments)
        elif met.returned >= LEAST_RESULTS and met.queries >= LEAST_QUERIES:
            message += "its document ids and those of the judgments must be the same"
        else:
            code = "no_judged_result"
            message += "it scores 0 in all of them; are its document ids those of the judgments?"
        places = [(query_id, doc_id) for query_id, ids in own.items() for doc_id in sorted(ids - judged[query_id])[:1]]
        examples = examples_of(rankings[name], places[:MOST])
        found.append(Finding(code, CODES[code].severity, message, met.returned, name, examples=examples))
    return found


def is_rare(met: MatchCounts) -> bool:
    """Whether so few results are judged that another spelling is looked for."""
    return met.met < FEW_MEET * met.could


def count_matches(engine: Engine, queries: int) -> dict[str, MatchCounts]:
    """Of each system that answers any judged query; queries: how many of them are looked at."""
    found: dict[str, MatchCounts] = {}
    columns = ("system_id", "returned", "judged", "met")
    for name, *counts in engine.rows("met_query", columns, queries=queries):
        found[name] = found.get(name, MatchCounts()).plus(*counts)
    return found


def sample_ids(engine: Engine, system_id: str, ranking: Pulled, judgments: Pulled) -> tuple[Ids, Ids]:
    """The document ids of the first queries in both tables, about `SAMPLE` of each side; of long answers the best."""
    own, judged = ranking.query_ids, judgments.query_ids
    each = max(ranking.count // len(own), judgments.count // len(judged), 1)
    chosen = sorted(set(own) & set(judged))[: max(SAMPLE // each, 1)]
    columns = ("query_id", "doc_id")
    where = {"query_id": chosen, "system_id": system_id}
    returned = best_results(engine.pieces("ranking", (*columns, "order_score"), where=where))
    return group_by_query(returned, chosen), group_by_query(
        engine.read("judgment", columns, where={"query_id": chosen}), chosen
    )


def best_results(pieces: Iterable[pa.Table]) -> pa.Table:
    """All results, or the `MOST_OWN` best of more, which are never in memory together."""
    best_first = [("order_score", "descending"), ("query_id", "ascending"), ("doc_id", "ascending")]
    waiting: list[pa.Table] = []
    count = 0
    for piece in pieces:
        waiting.append(piece)
        count += piece.num_rows
        if count > 2 * MOST_OWN:
            waiting = [pa.concat_tables(waiting).sort_by(best_first).slice(0, MOST_OWN).combine_chunks()]
            count = MOST_OWN
    found = pa.concat_tables(waiting)
    return found if count <= MOST_OWN else found.sort_by(best_first).slice(0, MOST_OWN)


def group_by_query(rows: pa.Table, chosen: Sequence[str]) -> Ids:
    """query_id -> document ids, in the order of the chosen queries."""
    found: dict[str, set[str]] = {query_id: set() for query_id in chosen}
    for query_id, doc_id in zip(rows["query_id"].to_pylist(), rows["doc_id"].to_pylist(), strict=True):
        found[query_id].add(doc_id)
    return {query_id: frozenset(ids) for query_id, ids in found.items()}


def query_spelling_hint(own: Iterable[str], judged: Iterable[str]) -> str:
    """``; they meet when …``, where another spelling makes query ids meet; else nothing."""
    spelling = find_spelling({"": frozenset(own)}, {"": frozenset(judged)})
    return f"; {spelling.words}" if spelling else ""


def unshared_queries_hint(ranking: Pulled, judgments: Pulled) -> str:
    """The same of a ranking, with the command that mends its file or that of the judgments, where one does."""
    own, judged = ({"": frozenset(pulled.query_ids)} for pulled in (ranking, judgments))
    spelling = find_spelling(own, judged)
    if spelling is None:
        return ""
    pair = meeting_ids(own, judged, spelling.own, spelling.judged)
    return f"; {spelling.words}" + mend_command(*pair, ranking, judgments, "query_id")


def find_spelling(own: Ids, judged: Ids) -> Spelling | None:
    """The spelling that makes most of the ids meet that do not meet as they stand; None without one."""
    plain = count_common(own, judged)
    could = sum(min(len(ids), len(judged.get(query_id, ()))) for query_id, ids in own.items())
    best: Spelling | None = None
    most = plain if plain == 0 else max(10 * plain, MOST_MEET * could)
    for spelling in possible_spellings(own, judged):
        number = count_common(respell_ids(own, spelling.own), respell_ids(judged, spelling.judged))
        if number > most:
            best, most = spelling, number
    return best


def count_common(own: Ids, judged: Ids) -> int:
    return sum(len(ids & judged.get(query_id, frozenset())) for query_id, ids in own.items())


def respell_ids(ids: Ids, respell: Respell) -> Ids:
    return {query_id: frozenset(map(respell, each)) for query_id, each in ids.items()}


def possible_spellings(own: Ids, judged: Ids) -> Iterator[Spelling]:
    """What people's tools do to ids: the simple ones first, and endings after each of them."""
    for words, respell in ALIKE:
        left, right = respell_ids(own, respell), respell_ids(judged, respell)
        if words and (left, right) == (own, judged):
            continue
        if words:
            yield Spelling(f"they meet when {words}", respell, respell)
        joined = f"{words} and " if words else ""
        for side, longer, shorter in (("its", left, right), ("the judgments'", right, left)):
            for kind, end in common_affixes(longer, shorter):
                taken = without_affix(respell, kind, end)
                both = (taken, respell) if side == "its" else (respell, taken)
                yield Spelling(f"they meet when {joined}the {kind} {end!r} is taken off {side} ids", *both)


ALIKE: tuple[tuple[str, Respell], ...] = (
    ("", str),
    ("surrounding spaces are taken off", str.strip),
    ("letters are compared without case", str.casefold),
    ("leading zeros are taken off", lambda text: text.lstrip("0") or text),
    ("spaces are taken off and letters compared without case", lambda text: text.strip().casefold()),
)


def without_affix(respell: Respell, kind: str, end: str) -> Respell:
    def respelling(text: str) -> str:
        text = respell(text)
        return text.removeprefix(end) if kind == "prefix" else text.removesuffix(end)

    return respelling


def common_affixes(longer: Ids, shorter: Ids) -> Iterator[tuple[str, str]]:
    """The prefix and the ending that most of the longer ids have beyond one of the shorter, if nearly all have them."""
    prefixes: Counter[str] = Counter()
    endings: Counter[str] = Counter()
    for query_id, ids in longer.items():
        known = shorter.get(query_id, frozenset())
        lengths = sorted({len(text) for text in known} - {0})  # a cut anywhere else meets nothing
        for text in ids:
            for length in lengths[: bisect_left(lengths, len(text))]:
                place = len(text) - length
                if text[place:] in known and is_seam(text[place - 1], text[place]):
                    prefixes[text[:place]] += 1
                if text[:length] in known and not text[length].isalnum():
                    endings[text[length:]] += 1
    unmet = [text for query_id, ids in longer.items() for text in ids - shorter.get(query_id, frozenset())]
    for kind, counted, has in (("prefix", prefixes, str.startswith), ("ending", endings, str.endswith)):
        for end, _ in counted.most_common(3):
            if sum(has(text, end) for text in unmet) >= (1 - FEW_MEET) * len(unmet):
                yield kind, end


def is_seam(before: str, after: str) -> bool:
    """Whether an id can begin between two characters: after a sign, or where digits follow letters."""
    return not before.isalnum() or (bool(re.match(r"[^\W\d]", before)) and after.isdigit())
