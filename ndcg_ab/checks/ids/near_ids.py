"""Some ids of a ranking that would meet those of the judgments if they were spelt otherwise.

Where hardly any meet, `unmatched_ids` reports it; here it is a part of them, as where two indexes were joined.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.checks.examples import MOST, examples_of
from ndcg_ab.checks.ids.respelling import mend_command
from ndcg_ab.checks.ids.unmatched_ids import is_seam
from ndcg_ab.engines.base import Engine
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import queries_text
from ndcg_ab.scoring.metric_tables import EVERYTHING, depth_of, rank_rule
from ndcg_ab.sources import Pulled
from ndcg_ab.sources.tables.on_disk import read_batches
from ndcg_core.measures.metric import Metric

LOOKED_AT = 100  # places of every query in which near misses are looked for; queries of which all ids are fetched
AFFIXED = 500  # queries in which prefixes and endings are looked for
LEAST_AFFIXED = 2  # results, or queries, that bear a prefix or an ending before it is taken for one
FEW = 1_000  # rows of rankings and judgments, of which it is soon told that no id is like another
MOST_IDS = 100_000  # ids of queries on each side, beyond which their near misses are not looked for

Texts = Callable[[], Iterator[pa.ChunkedArray]]
Pair = tuple[str, str]  # an id of the ranking, an id of the judgments


def strip_leading_zeros(text: str) -> str:
    return re.sub(r"(?<!\d)0+(?=\d)", "", text)


def strip_quotes(text: str) -> str:
    return text.strip().strip("\"'").strip()


ALIKE: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("surrounding spaces and quotes are taken off", strip_quotes),
    ("letters are compared without case", str.casefold),
    ("zeros in front of numbers are taken off", strip_leading_zeros),
    ("spaces, quotes, case and zeros are ignored", lambda text: strip_leading_zeros(strip_quotes(text).casefold())),
)


def check_documents_alike(
    engine: Engine,
    metrics: Sequence[Metric],
    judgments: Pulled,
    rankings: Mapping[str, Pulled],
    known: Sequence[Finding],
) -> list[Finding]:
    """Says which systems return unjudged documents near the top that would be judged in another spelling.

    known: findings so far; where hardly any id meets, that is reported.
    """
    whole = [metric for metric in metrics if metric.unjudged == "zero"]
    if not whole or has_none_alike(judgments, list(rankings.values())):
        return []
    deepest = max(whole, key=lambda metric: (metric.cutoff or EVERYTHING, metric.name))
    rule, looked_at = rank_rule(deepest), min(LOOKED_AT, depth_of(metrics) + 1)
    if not engine.count("near_pair", places=looked_at, affixed=AFFIXED, rank_rule=rule):
        return []
    pairs: dict[str, dict[Pair, list[str]]] = defaultdict(lambda: defaultdict(list))
    columns = ("system_id", "query_id", "doc_id", "judged_id")
    for system_id, query_id, own, judged in engine.rows(
        "near_document", columns, order="query_id, doc_id, judged_id", places=looked_at, rank_rule=rule
    ):
        pairs[system_id][own, judged].append(query_id)
    engine.release("near_pair")
    told = {finding.system for finding in known if finding.code in ("unmatched_document", "no_judged_result")}
    found = []
    for name, pulled in rankings.items():
        if name in told or name not in pairs:
            continue
        seen = {pair: len(queries) for pair, queries in pairs[name].items()}
        own_ids = document_ids_of(engine, pulled, "ranking", {"system_id": name})
        judged_ids = document_ids_of(engine, judgments, "judgment")
        for words, alike in group_by_spelling(seen, own_ids, judged_ids).items():
            places = [(query_id, own) for own, judged in alike for query_id in pairs[name][own, judged]]
            own, judged = alike[0]
            message = (
                f"system {name}: {len(places)} of its unjudged results would be judged if {words} (such as {own!r} in"
                f" query {places[0][0]!r}, where {judged!r} is judged)"
            ) + mend_command(own, judged, pulled, judgments)
            examples = examples_of(pulled, places[:MOST])
            found.append(Finding("near_document", "warning", message, len(places), name, examples=examples))
    return found


def has_none_alike(judgments: Pulled, rankings: Sequence[Pulled]) -> bool:
    """Whether few rows hold no pair that `near_pair` could find; False where that is not soon told."""
    every = [judgments, *rankings]
    if any(pulled.elsewhere for pulled in every) or sum(pulled.count for pulled in every) > FEW:
        return False
    judged, *returned = (ids_by_query(pulled) for pulled in every)
    if not all(doc_id.isascii() for found in (judged, *returned) for ids in found.values() for doc_id in ids):
        return False  # letters are compared without case, which DuckDB and Python take differently
    return not any(
        is_any_alike(ids - judged[query_id], judged[query_id])
        for found in returned
        for query_id, ids in found.items()
        if query_id in judged
    )


def is_any_alike(own: set[str], judged: set[str]) -> bool:
    """Whether `pairs_of` finds any."""
    return next(each_pair(own, judged), None) is not None


def ids_by_query(pulled: Pulled) -> dict[str, set[str]]:
    table = pulled.at_hand if isinstance(pulled.at_hand, pa.Table) else pulled.table
    found: dict[str, set[str]] = defaultdict(set)
    for query_id, doc_id in zip(table["query_id"].to_pylist(), table["doc_id"].to_pylist(), strict=True):
        found[query_id].add(doc_id)
    return found


def document_ids_of(engine: Engine, pulled: Pulled, table: str, where: Mapping[str, str] | None = None) -> Texts:
    """All document ids of a table; of one that stays on a cluster, of its first queries."""
    if not pulled.elsewhere:
        return texts_of(pulled, "doc_id")
    chosen = {**(where or {}), "query_id": pulled.query_ids[:LOOKED_AT]}
    return lambda: iter([engine.read(table, ("doc_id",), where=chosen)["doc_id"]])


def check_queries_alike(judgments: Pulled, rankings: Mapping[str, Pulled]) -> list[Finding]:
    """Says which systems leave judged queries unanswered that they answer in another spelling."""
    judged = set(judgments.query_ids)
    found = []
    for name, pulled in rankings.items():
        own = set(pulled.query_ids)
        left, unmet = own - judged, judged - own
        if not left or not unmet or max(len(left), len(unmet)) > MOST_IDS:
            continue
        texts = (partial(in_one_array, own), partial(in_one_array, judged))
        for words, alike in group_by_spelling(dict.fromkeys(pairs_of(left, unmet), 1), *texts).items():
            message = (
                f"system {name}: {queries_text(len(alike), 'judged')} would be answered if {words} (such as"
                f" {alike[0][1]!r}, which its ranking spells {alike[0][0]!r})"
            ) + mend_command(*alike[0], pulled, judgments, "query_id")
            examples = examples_of(pulled, [(query_id, "") for query_id, _ in alike[:MOST]])
            found.append(Finding("near_query", "warning", message, len(alike), name, examples=examples))
    return found


def texts_of(pulled: Pulled, name: str) -> Texts:
    """All texts of a column, some at a time, as often as they are asked for."""
    return lambda: (batch[name].cast(pa.string()) for batch in read_batches(pulled.table, [name]))


def pairs_of(own: Collection[str], judged: Collection[str]) -> list[Pair]:
    """Ids that could be one: alike without case, zeros, quotes and spaces, or one is where another ends or begins."""
    return list(each_pair(own, judged))


def each_pair(own: Collection[str], judged: Collection[str]) -> Iterator[Pair]:
    """The same one after the other."""
    by_key: dict[str, list[str]] = defaultdict(list)
    for other in judged:
        by_key[comparable_id(other)].append(other)
    for each in sorted(own):
        for other in sorted(by_key.get(comparable_id(each), ())):
            yield each, other
    for longer, shorter, is_own in ((sorted(own), set(judged), True), (sorted(judged), set(own), False)):
        lengths = {len(each) for each in shorter}
        for text in longer:
            for place in range(1, len(text)):
                for part in (text[place:], text[:place]):
                    if len(part) in lengths and part in shorter:
                        yield (text, part) if is_own else (part, text)


def comparable_id(text: str) -> str:
    return re.sub("[0\"']", "", text.strip().casefold())


def in_one_array(ids: Iterable[str]) -> Iterator[pa.ChunkedArray]:
    yield pa.chunked_array([sorted(ids)], pa.string())


def group_by_spelling(pairs: Mapping[Pair, int], own_ids: Texts, judged_ids: Texts) -> dict[str, list[Pair]]:
    """What makes ids meet -> the pairs that it does so for, each by the simplest way.

    pairs: how often each is seen. own_ids, judged_ids: all ids of both sides. Where the side whose ids are shorter has
    others with such a prefix or ending, the two are different documents, as a chapter and its sections are.
    """
    found: dict[str, list[Pair]] = defaultdict(list)
    affixed: dict[Affix, list[Pair]] = defaultdict(list)
    for own, judged in pairs:
        words = next((words for words, respell in ALIKE if respell(own) == respell(judged)), None)
        if words:
            found[words].append((own, judged))
        elif affix := affix_of(own, judged):
            affixed[affix].append((own, judged))
    cuts: dict[tuple[str, str, str], list[Affix]] = defaultdict(list)
    for affix in affixed:
        cuts[affix.whose, affix.side, affix.seam].append(affix)
    shorter = {"its": judged_ids, "the judgments'": own_ids}
    cuts = {key: affixes for key, affixes in cuts.items() if not has_affix(shorter[key[0]], affixes)}
    alike = {
        affixes[0].words if len(affixes) == 1 else affixes[0].cut: [pair for each in affixes for pair in affixed[each]]
        for affixes in cuts.values()
    }
    numbers = Counter({words: sum(pairs[pair] for pair in each) for words, each in alike.items()})
    found |= {words: alike[words] for words, number in numbers.most_common(3) if number >= LEAST_AFFIXED}
    return found


def has_affix(ids: Texts, affixes: Sequence["Affix"]) -> bool:
    """Whether some of the ids have the one prefix or ending, or the character at which several begin or end."""
    first = affixes[0]
    if len(affixes) > 1:
        return any(pc.any(pc.match_substring(texts, first.seam)).as_py() for texts in ids())
    has = pc.starts_with if first.side == "prefix" else pc.ends_with
    return any(pc.any(has(texts, first.text)).as_py() for texts in ids())


class Affix(NamedTuple):
    """What one id has more than another. whose: its ids, or the judgments'. side: prefix or ending."""

    whose: str
    side: str
    text: str

    @property
    def seam(self) -> str:
        """The character at which it begins, or ends as a prefix."""
        return self.text[-1] if self.side == "prefix" else self.text[0]

    @property
    def words(self) -> str:
        return f"the {self.side} {self.text!r} is taken off {self.whose} ids"

    @property
    def cut(self) -> str:
        """The same of several that begin, or end, with one character."""
        where = "goes before" if self.side == "prefix" else "follows"
        return f"{self.whose} ids are cut at {self.seam!r}, and what {where} it taken off"


def affix_of(own: str, judged: str) -> Affix | None:
    """What to take off one id to have the other; None where that is not all."""
    for longer, shorter, whose in ((own, judged, "its"), (judged, own, "the judgments'")):
        place = len(longer) - len(shorter)
        if place <= 0 or not shorter:
            continue
        if longer.endswith(shorter) and is_seam(longer[place - 1], longer[place]):
            return Affix(whose, "prefix", longer[:place])
        if longer.startswith(shorter) and not longer[len(shorter)].isalnum():
            return Affix(whose, "ending", longer[len(shorter) :])
    return None
