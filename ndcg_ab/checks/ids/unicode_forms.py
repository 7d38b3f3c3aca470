"""Ids of one file that differ from those of another by their Unicode form alone: é as one character, or as two."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from unicodedata import normalize

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.checks.examples import MOST, examples_of
from ndcg_ab.errors import format_value
from ndcg_ab.finding_codes import CODES
from ndcg_ab.results.outcome import Finding
from ndcg_ab.sources import Pulled
from ndcg_ab.sources.files.file import format_by_name
from ndcg_ab.sources.files.hints import filter_command
from ndcg_ab.sources.tables.on_disk import read_batches

EVERY = "NFKC"  # ids that any Unicode form makes one are one in it
TEXTS = ("trec", "csv", "tsv")  # in JSON a character may be written as its number
IDS = {"query_id": "query ids", "doc_id": "document ids"}
Spellings = Mapping[tuple[str, str], set[str]]  # (query_id, id), both normalized -> how files spell the id
Pair = tuple[str, str, str]  # query_id, an id, the id in the other file


def check_unicode_forms(judgments: Pulled | None, rankings: Mapping[str, Pulled]) -> list[Finding]:
    """Report files whose ids an earlier file has in another Unicode form, the files of judgments being the first."""
    parts = getattr(judgments.source, "parts", (judgments,)) if judgments else ()
    tables = {f"judgments {part.origin}": part for part in parts}
    systems = {f"system {name}": name for name in rankings}
    tables |= {words: rankings[name] for words, name in systems.items()}
    found = []
    for field, ids in IDS.items():
        here = {words: each for words, each in tables.items() if not each.elsewhere}
        unusual = set().union(*(unusual_ids(batch) for each in here.values() for batch in id_batches(each, field)))
        known: dict[str, Spellings] = {}
        for words, each in here.items() if unusual else ():
            own = gather_spellings(id_batches(each, field), unusual)
            other, pairs = next(((name, pairs) for name in known if (pairs := differing(own, known[name]))), ("", []))
            if not pairs:
                known[words] = own
                continue
            message = describe_pairs(words, other, ids, pairs) + respell_commands(each, tables[other], pairs)
            places = [(query or own_id, own_id if query else "") for query, own_id, _ in pairs[:MOST]]
            examples, severity = examples_of(each, places), CODES["unicode_form"].severity
            found.append(Finding("unicode_form", severity, message, len(pairs), systems.get(words), examples=examples))
    return found


def id_batches(pulled: Pulled, field: str) -> Iterator[pa.Table]:
    """Yield the ids of a field, each with its query; a query id has no other query."""
    if field == "query_id":
        yield pa.table({"query": pa.nulls(len(pulled.query_ids), pa.string()).fill_null(""), "id": pulled.query_ids})
        return
    for batch in read_batches(pulled.at_hand, ["query_id", "doc_id"]):
        yield pa.table({"query": batch["query_id"], "id": batch["doc_id"].cast(pa.string())})


def unusual_ids(batch: pa.Table) -> set[str]:
    """Return the normalized form of every id that is not normalized."""
    texts = pc.unique(batch["id"].filter(pc.invert(pc.string_is_ascii(batch["id"]))))
    forms = pc.utf8_normalize(texts, EVERY)
    return set(forms.filter(pc.not_equal(forms, texts)).to_pylist())


def gather_spellings(batches: Iterable[pa.Table], unusual: set[str]) -> Spellings:
    """Return how ids are spelt, of those that any file spells in an unusual way."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    wanted = pa.array(sorted(unusual), pa.string())
    for batch in batches:
        chosen = batch.filter(pc.is_in(pc.utf8_normalize(batch["id"], EVERY), value_set=wanted))
        for query_id, text in zip(chosen["query"].to_pylist(), chosen["id"].to_pylist(), strict=True):
            found[normalize(EVERY, query_id), normalize(EVERY, text)].add(text)
    return found


def differing(own: Spellings, other: Spellings) -> list[Pair]:
    """Return the ids that the other file has, and not in this spelling."""
    keys = sorted(key for key in own if key in other)
    return [(key[0], text, min(other[key])) for key in keys for text in sorted(own[key] - other[key])]


def describe_pairs(words: str, other: str, ids: str, pairs: list[Pair]) -> str:
    """Return the sentence; ids are written in ASCII, since their spellings look alike."""
    query_id, own, there = pairs[0]
    where = f" in query {format_value(query_id)}" if query_id else ""
    return (
        f"{words}: {len(pairs)} of its {ids} are in another Unicode form than in {other} (such as {own!a}{where},"
        f" there {there!a}), so that they do not meet; write all ids in {common_form(pairs)}"
    )


def common_form(pairs: list[Pair]) -> str:
    """Return the plainest form in which the ids of all pairs meet."""
    return "NFC" if all(normalize("NFC", own) == normalize("NFC", there) for _, own, there in pairs) else EVERY


def respell_commands(own: Pulled, other: Pulled, pairs: list[Pair]) -> str:
    """Return the commands that write text files in the common form, of those whose ids are not in it."""
    form, commands = common_form(pairs), []
    for pulled, ids in ((own, [pair[1] for pair in pairs]), (other, [pair[2] for pair in pairs])):
        path = Path(pulled.origin)
        if any(text != normalize(form, text) for text in ids) and path.is_file() and format_by_name(path) in TEXTS:
            lines = f'(unicodedata.normalize("{form}", line) for line in fileinput.input(encoding="utf-8"))'
            script = f'import fileinput, unicodedata; print(*{lines}, sep="", end="")'
            commands.append(filter_command(path, f"python3 -c '{script}'"))
    return "".join(f" → {command}" for command in commands)
