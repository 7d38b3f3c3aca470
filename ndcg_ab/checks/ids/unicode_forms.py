"""Ids of one file that differ from those of another by their Unicode form alone: é as one character, or as two."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal
from unicodedata import normalize

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_ab.checks.examples import examples_of
from ndcg_ab.errors import format_value
from ndcg_ab.finding_codes import CODES
from ndcg_ab.results.outcome import Finding
from ndcg_ab.sources import Pulled
from ndcg_ab.sources.files.hints import filter_command
from ndcg_ab.sources.forms.recognition import format_by_name
from ndcg_ab.sources.tables.on_disk import read_batches

EVERY: Final = "NFKC"  # ids that any Unicode form makes one are one in it
TEXTS = ("trec", "csv", "tsv")  # in JSON a character may be written as its number
IDS = {"query_id": "query ids", "doc_id": "document ids"}
Spellings = Mapping[tuple[str, str], set[str]]  # (query_id, id), both normalized -> how files spell the id
Pair = tuple[str, str, str]  # query_id, an id, the id in the other file


def check_unicode_forms(judgments: Pulled | None, rankings: Mapping[str, Pulled]) -> list[Finding]:
    """Report files whose ids an earlier file has in another Unicode form, the files of judgments being the first."""
    parts = getattr(judgments.source, "parts", (judgments,)) if judgments else ()
    tables = {f"judgments {part.origin}": part for part in parts}
    tables |= {f"system {name}": pulled for name, pulled in rankings.items()}
    found = []
    for field in IDS:
        here = {words: pulled for words, pulled in tables.items() if not pulled.elsewhere}
        unusual = set().union(*(unusual_ids(pulled, field) for pulled in here.values()))
        known: dict[str, Spellings] = {}
        for words, pulled in here.items() if unusual else ():
            own = gather_spellings(pulled, field, unusual)
            other, pairs = next(((name, pairs) for name in known if (pairs := differing(own, known[name]))), ("", []))
            if not pairs:
                known[words] = own
                continue
            message = f"{words}: {len(pairs)} of its {describe_pairs(other, field, pairs, pulled, here[other])}"
            examples = examples_of(pulled, [(query or own_id, own_id if query else "") for query, own_id, _ in pairs])
            system = words.removeprefix("system ") if words.startswith("system ") else None
            severity = CODES["unicode_form"].severity
            found.append(Finding("unicode_form", severity, message, len(pairs), system, examples=examples))
    return found


def id_batches(pulled: Pulled, field: str) -> Iterator[tuple[pa.ChunkedArray, pa.ChunkedArray]]:
    """Yield the queries and the ids of some rows at a time."""
    for batch in read_batches(pulled.at_hand, list(IDS)):
        yield batch["query_id"], batch[field].cast(pa.string())


def unusual_ids(pulled: Pulled, field: str) -> set[str]:
    """Return the normalized form of every id that is not normalized."""
    found: set[str] = set()
    for _, ids in id_batches(pulled, field):
        texts = pc.unique(ids.filter(pc.invert(pc.string_is_ascii(ids))))
        forms = pc.utf8_normalize(texts, EVERY)
        found |= set(forms.filter(pc.not_equal(forms, texts)).to_pylist())
    return found


def gather_spellings(pulled: Pulled, field: str, unusual: set[str]) -> Spellings:
    """Return how ids are spelt, of those that any file spells in an unusual way; the query of a query id is empty."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for queries, ids in id_batches(pulled, field):
        chosen = pc.is_in(pc.utf8_normalize(ids, EVERY), value_set=pa.array(sorted(unusual), pa.string()))
        for query_id, text in zip(queries.filter(chosen).to_pylist(), ids.filter(chosen).to_pylist(), strict=True):
            found["" if field == "query_id" else normalize(EVERY, query_id), normalize(EVERY, text)].add(text)
    return found


def differing(own: Spellings, other: Spellings) -> list[Pair]:
    """Return the ids that the other file has, and not in this spelling."""
    keys = sorted(key for key in own if key in other)
    return [(key[0], text, min(other[key])) for key in keys for text in sorted(own[key] - other[key])]


def describe_pairs(other: str, field: str, pairs: list[Pair], pulled: Pulled, earlier: Pulled) -> str:
    """Return what is wrong with ids, written in ASCII since they look alike, and the commands that mend text files."""
    query_id, own, there = pairs[0]
    where = f" in query {format_value(query_id)}" if query_id else ""
    is_plain = all(normalize("NFC", one) == normalize("NFC", two) for _, one, two in pairs)
    form: Literal["NFC", "NFKC"] = "NFC" if is_plain else EVERY
    lines = f'(unicodedata.normalize("{form}", line) for line in fileinput.input(encoding="utf-8"))'
    script = f'python3 -c \'import fileinput, unicodedata; print(*{lines}, sep="", end="")\''
    told = (
        f"{IDS[field]} are in another Unicode form than in {other} (such as {own!a}{where}, there {there!a}), so that"
    )
    told += f" they do not meet; write all ids in {form}"
    for at, table in ((1, pulled), (2, earlier)):
        path = Path(table.origin)
        is_other = any(pair[at] != normalize(form, pair[at]) for pair in pairs)
        if is_other and path.is_file() and format_by_name(path) in TEXTS:
            told += f" → {filter_command(path, script)}"
    return told
