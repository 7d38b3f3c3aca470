"""Find ids that match those of other tables only in another spelling, and write commands that convert ids.

A system whose document ids are spelt differently from the judged ones scores 0, and would appear as a regression.
"""

import dataclasses
import html
import json
import re
import shlex
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize
from urllib.parse import unquote

from ndcg_ab.checks.findings import MOST, make_finding, row_examples
from ndcg_ab.engines.base import Engine
from ndcg_ab.errors import format_value, shorten
from ndcg_ab.results.outcome import Finding
from ndcg_ab.results.wording import queries_text
from ndcg_ab.scoring.metric_tables import depth_of
from ndcg_ab.sources import Pulled
from ndcg_ab.sources.files.file import File
from ndcg_ab.sources.files.unpacking import filter_command
from ndcg_ab.sources.tables.on_disk import select_queries
from ndcg_core.measures.metric import Metric

LEAST, MOST_AFFIXES = 2, 3  # pairs of ids that an affix must make equal; affixes that are tried

Ids = Mapping[str, frozenset[str]]  # query_id -> document ids; "" -> query ids


class Spelling(NamedTuple):
    """A rule that rewrites ids, such as the removal of a prefix.

    Attributes
    ----------
    words : str
        Description of the rule, for messages.
    expression : str
        Python expression of the rule, with ``{}`` for the id.
    respell : callable
        Function that applies the rule to a text with one id per line.
    option : str
        Command-line option that applies the rule; "" if there is none.
    """

    words: str
    expression: str
    respell: Callable[[str], str]
    option: str = ""


class Pair(NamedTuple):
    """Two ids, one of each of two tables, that are equal in some spelling.

    Attributes
    ----------
    query_id : str
        Query of the two documents; "" if the two ids are query ids.
    own : str
        Id in the checked table.
    other : str
        Id in the table that it is compared with.
    """

    query_id: str
    own: str
    other: str


def make_remover(pattern: str) -> Callable[[str], str]:
    """Return a function that removes every match of a pattern from a text with one id per line."""
    return partial(re.compile(pattern, re.MULTILINE).sub, "")


ZEROS = "(?<![0-9.])0+(?=[0-9])"
# In the order of their use. Each is left out if the ids are equal without it, the last one first.
SPELLINGS: tuple[Spelling, ...] = (
    Spelling("percent escapes are decoded", "urllib.parse.unquote({})", unquote),
    Spelling("HTML escapes are decoded", "html.unescape({})", html.unescape),
    Spelling("their Unicode form is NFC", 'unicodedata.normalize("NFC", {})', partial(normalize, "NFC")),
    Spelling("their Unicode form is NFKC", 'unicodedata.normalize("NFKC", {})', partial(normalize, "NFKC")),
    Spelling("spaces and quotes around them are removed", '{}.strip(" \\x22\\x27")', make_remover("^[ \"']+|[ \"']+$")),
    Spelling("letters are compared without case", "{}.casefold()", str.casefold),
    Spelling("http:// and https:// are removed", 're.sub("https?://", "", {})', make_remover("https?://")),
    Spelling("'-' and spaces are replaced by '_'", 're.sub("[- ]", "_", {})', partial(re.compile("[- ]").sub, "_")),
    Spelling("leading zeros are removed", f're.sub("{ZEROS}", "", {{}})', make_remover(ZEROS)),
)
UNICODE_FORMS = frozenset(SPELLINGS[2:4])


def respell(text: str, spellings: Iterable[Spelling]) -> str:
    """Return a text after applying several spellings in order.

    text: one id, or several ids with one per line.
    """
    for spelling in spellings:
        text = spelling.respell(text)
    return text


def respell_all(ids: Collection[str], spellings: Sequence[Spelling]) -> dict[str, str]:
    """Return {id: the id after applying several spellings in order}."""
    respelled = respell("\n".join(ids), spellings).split("\n")  # at once, unless an id holds a line break
    if len(respelled) != len(ids):
        respelled = [respell(text, spellings) for text in ids]
    return dict(zip(ids, respelled, strict=True))


def find_matching_spellings(own: Ids, other: Ids) -> tuple[list[Spelling], dict[Pair, tuple[Spelling, ...]]]:
    """Find spellings that make unmatched ids of two tables equal.

    Returns the spellings in order of application, and a mapping from each pair of ids that become equal to the
    spellings that this pair needs.
    """
    every = frozenset[str]().union(*own.values(), *other.values())
    keys, spellings = respell_all(every, SPELLINGS), SPELLINGS
    pairs = list(equal_pairs(own, other, keys))
    matched = {(pair.query_id, text) for pair in pairs for text in (pair.own, pair.other)}
    if affixes := find_affixes(own, other, matched, {text: text for text in every}):
        spellings = (*affixes, *SPELLINGS)
    elif affixes := find_affixes(own, other, matched, keys):
        spellings = (*SPELLINGS, *affixes)
    if affixes:
        pairs = list(equal_pairs(own, other, respell_all(every, spellings)))
    needed = {pair: needed_spellings(pair, spellings) for pair in pairs}
    return [spelling for spelling in spellings if any(spelling in each for each in needed.values())], needed


def equal_pairs(own: Ids, other: Ids, keys: Mapping[str, str]) -> Iterator[Pair]:
    """Yield pairs of unmatched ids, one id of each table, whose keys are equal.

    keys: id -> the spelling in which ids are compared. An id has no pair if its key belongs to several ids of the other
    table, or to an id that is in both tables. A query is skipped if all its ids in one table are in the other table.
    """
    for query_id, ids in own.items():
        others = other.get(query_id, frozenset())
        if ids <= others or others <= ids:
            continue
        by_key = defaultdict(list)
        for each in others:
            by_key[keys[each]].append(each)
        for each in sorted(ids - others):
            matches = by_key.get(keys[each], ())
            if len(matches) == 1 and matches[0] not in ids:
                yield Pair(query_id, each, matches[0])


def needed_spellings(pair: Pair, spellings: tuple[Spelling, ...]) -> tuple[Spelling, ...]:
    """Return the spellings that are needed to make the ids of a pair equal.

    The spellings are tried from the last to the first, and each is dropped if the ids are equal without it.
    """
    needed = spellings
    for spelling in reversed(spellings):
        fewer = tuple(each for each in needed if each is not spelling)
        if respell(pair.own, fewer) == respell(pair.other, fewer):
            needed = fewer
    return needed


def find_affixes(own: Ids, other: Ids, matched: set[tuple[str, str]], keys: Mapping[str, str]) -> list[Spelling]:
    """Return spellings that remove a prefix or suffix and so make unmatched ids of two tables equal.

    At most `MOST_AFFIXES` spellings are returned, the one that matches most ids first. matched: (query_id, id) of ids
    that are equal already. keys: id -> the spelling in which ids are compared. An affix is skipped if ids in the table
    with the shorter ids have it, too: ids with and without it are then different documents, such as a section and its
    chapter.
    """
    scored = []
    for longer, shorter in ((own, other), (other, own)):
        affixes: dict[tuple[bool, str], list[str]] = defaultdict(list)
        for query_id, ids in longer.items():
            others = shorter.get(query_id, frozenset())
            shorter_keys, longer_keys = (
                {keys[text] for text in side if (query_id, text) not in matched}
                for side in (others - ids, ids - others)
            )
            for is_prefix, text in find_excess_texts(longer_keys, shorter_keys):
                seam = text[-1] if is_prefix else text[0]
                affixes[is_prefix, text if seam.isalnum() else seam].append(text)
        every = [keys[text] for ids in shorter.values() for text in ids] if affixes else []
        for (is_prefix, seam), texts in affixes.items():
            single = texts[0] if len(set(texts)) == 1 else ""
            has_affix = (str.startswith if is_prefix else str.endswith) if single else str.__contains__
            if len(texts) >= LEAST and not any(has_affix(each, single or seam) for each in every):
                scored.append((len(texts), affix_spelling(is_prefix, single) if single else cut_at(is_prefix, seam)))
    return [spelling for _, spelling in sorted(scored, key=lambda each: -each[0])[:MOST_AFFIXES]]


def find_excess_texts(longer: Iterable[str], shorter: Collection[str]) -> Iterator[tuple[bool, str]]:
    """Yield each prefix or suffix that an id of `longer` has in addition to an id of `shorter`.

    Each item is (True, prefix) or (False, suffix). A suffix must begin with a sign other than a letter or digit. A
    prefix must end with such a sign, or with a letter if a digit follows.
    """
    lengths = sorted({len(text) for text in shorter} - {0})  # a cut anywhere else gives no shorter id
    for text in longer if lengths else ():
        for length in lengths[: bisect_left(lengths, len(text))]:
            index = len(text) - length
            # An id begins after a sign, or if digits follow letters.
            before, after = text[index - 1], text[index]
            if text[index:] in shorter and (not before.isalnum() or (before.isalpha() and after.isdigit())):
                yield True, text[:index]
            if text[:length] in shorter and not text[length].isalnum():
                yield False, text[length:]


@cache  # equal spellings have the same function
def affix_spelling(is_prefix: bool, text: str) -> Spelling:
    """Return the spelling that removes a text at the start of ids (is_prefix), or at the end."""
    kind, pattern = ("prefix", f"^{re.escape(text)}") if is_prefix else ("suffix", f"{re.escape(text)}$")
    expression = f"{{}}.remove{kind}({template_literal(text)})"
    return Spelling(f"the {kind} {text!r} is removed", expression, make_remover(pattern))


@cache
def cut_at(is_prefix: bool, sign: str) -> Spelling:
    """Return the spelling that removes a sign and the part of an id before it, or after it.

    is_prefix: True to remove the part up to the last `sign`; False to remove the part from the first `sign` on.
    """
    if is_prefix:
        expression = f"{{}}.rpartition({template_literal(sign)})[2]"
        return Spelling(f"all up to the last {sign!r} is removed", expression, make_remover(f".*{re.escape(sign)}"))
    expression = f"{{}}.partition({template_literal(sign)})[0]"
    option = f"--document-prefix {shlex.quote(sign)} (in a configuration documents: {{prefix: {sign!r}}})"
    return Spelling(f"all from {sign!r} on is removed", expression, make_remover(f"{re.escape(sign)}.*"), option)


def template_literal(text: str) -> str:
    """Return a text as a Python literal in double quotes, for a template of `str.format`."""
    return json.dumps(text).replace("{", "{{").replace("}", "}}")


@dataclasses.dataclass(frozen=True, eq=False)
class IdTable:
    """A table of judgments or of one ranking, with a sample of ids.

    Attributes
    ----------
    name : str
        Name of the table in messages.
    pulled : Pulled
        The table as it was read.
    files : sequence of Pulled
        The files that the table consists of.
    read : callable
        Function that returns the (query_id, doc_id) pairs of the queries passed to it; of a ranking the top results.
    system : str or None
        Name of the system of a ranking; None for judgments.
    ids : mapping of str to frozenset of str
        Query_id -> sampled document ids, or "" -> sampled query ids.
    """

    name: str
    pulled: Pulled
    files: Sequence[Pulled]
    read: Callable[[Sequence[str]], Iterable[tuple[str, str]]]
    system: str | None = None
    ids: Ids = dataclasses.field(default_factory=dict)


def describe_remedy(
    own: IdTable, other: IdTable, rankings: Sequence[IdTable], spellings: Sequence[Spelling], pairs: int, field: str
) -> str:
    """Return an ending of a message: commands that make pairs of ids equal, or other advice.

    rankings: all rankings, in which ids change as well if those of `other` must. pairs: number of pairs of ids that
    become equal. field: "query_id" or "doc_id".
    """
    expected = count_equal(own.ids, other.ids) + pairs
    respelled = {table.name: respell_ids(table.ids, spellings) for table in (own, other)}
    for changed in ((own.name,), (other.name,), (own.name, other.name)):
        sides = [respelled[table.name] if table.name in changed else table.ids for table in (own, other)]
        if None in sides or count_equal(*sides) < expected:  # type: ignore[arg-type]
            continue
        tables = [table for table in (own, other) if table.name in changed and respelled[table.name] != table.ids]
        if other.name in changed:  # then the other rankings must change as well
            others = (table for table in rankings if table.name not in respelled)
            tables += [table for table in others if respell_ids(table.ids, spellings) != table.ids]
        tables.sort(key=lambda table: (bool(table.system), table.name))
        files = [(part, table.ids) for table in tables for part in table.files]
        commands = [
            respell_command(part, ids, spellings, field, str(number) * (len(files) > 1))
            for number, (part, ids) in enumerate(files, start=1)
        ]
        if all(commands):
            return "".join(f" → {command}" for command in commands)
        return "; write them alike in all files"
    return "; correct them where they are made, since this change of all ids would make different ids equal"


def count_equal(own: Ids, other: Ids) -> int:
    """Return the number of ids that two tables share, summed over the queries."""
    return sum(len(ids & other.get(query_id, frozenset())) for query_id, ids in own.items())


def respell_ids(ids: Ids, spellings: Sequence[Spelling]) -> Ids | None:
    """Return the ids of a table in another spelling, or None if different ids of a query become equal."""
    respelled = respell_all(frozenset[str]().union(*ids.values()), spellings)
    result = {query_id: frozenset(map(respelled.__getitem__, each)) for query_id, each in ids.items()}
    return result if all(len(each) == len(ids[query_id]) for query_id, each in result.items()) else None


def respell_command(pulled: Pulled, ids: Ids, spellings: Sequence[Spelling], field: str, number: str) -> str | None:
    """Return the shell command that writes a file with its ids in another spelling, or None.

    None if the source is no file, or if its format does not allow the change by a short command. field: the column to
    change, query_id or doc_id. number: a number for the name of the new file; "" if there is one new file.
    """
    path = Path(pulled.origin)
    if not isinstance(pulled.source, File) or not path.is_file():
        return None
    expression = "t"
    for spelling in spellings:
        expression = spelling.expression.format(expression)
    function = f"f = lambda t: {expression}"
    lines = 'fileinput.input(encoding="utf-8-sig")'
    reading = pulled.source.reading_of(path, pulled.layout)
    if reading.format == "delimited" and UNICODE_FORMS.issuperset(spellings):  # the form of a line is that of each id
        work = f'print(*map(f, {lines}), sep="", end="")'
    elif reading.format == "trec" and not any(  # in a TREC line no id is empty, has white space or begins with #
        text.split() != [text] or text.startswith("#")
        for text in respell_all(frozenset[str]().union(*ids.values()), spellings).values()
    ):
        index = reading.names.index(field)
        fields = ("f(p[0])", "*p[1:]") if index == 0 else (f"*p[:{index}]", f"f(p[{index}])", f"*p[{index + 1}:]")
        work = f"[print({', '.join(fields)}) for p in map(str.split, {lines}) if len(p) == {len(reading.names)}]"
    else:
        return None
    modules = sorted({"fileinput", *re.findall(r"\b(html|re|unicodedata|urllib\.parse)\.", expression)})
    script = f"import {', '.join(modules)}; {function}; {work}"
    return filter_command(path, f"python3 -c {shlex.quote(script)}", number)


# ---- findings


MOST_RANKS = 100  # ranks of each query whose ids are compared
SAMPLE = 5_000  # ids of each table that are compared, about
HARDLY_ANY = 0.1  # share of ids below which unchanged ids, or another spelling, count as not matching
IDS = ("query_id", "doc_id")


def check_spellings(
    engine: Engine, metrics: Sequence[Metric], judgments: Pulled | None, rankings: Mapping[str, Pulled]
) -> Iterator[Finding]:
    """Yield findings on tables whose ids match those of the judgments only in another spelling.

    Without judgments, rankings are compared with the first ranking.
    """
    depth = min(MOST_RANKS, depth_of(metrics) + 1)
    parts: Sequence[Pulled] = getattr(judgments.source, "parts", (judgments,)) if judgments else ()
    files = [IdTable(f"judgments {part.origin}", part, [part], partial(judgment_ids, part)) for part in parts]
    systems = [
        IdTable(f"system {name}", pulled, [pulled], partial(read_ranking, engine, name, depth), name)
        for name, pulled in rankings.items()
    ]
    first = systems[0]
    if judgments:
        first = IdTable(
            "the judgments", judgments, parts, lambda ids: engine.rows("judgment", IDS, where={"query_id": ids})
        )
    table_pairs = [(each, files[0]) for each in files[1:] if not each.pulled.remote_table and not parts[0].remote_table]
    table_pairs += [(each, first) for each in systems if each is not first]
    sample = cache(sample_ids)  # systems mostly share their queries

    for own, other in table_pairs:
        shared = tuple(sorted(set(own.pulled.query_ids).intersection(other.pulled.query_ids)))
        yield from compare_tables(own, other, systems, sample, shared, "query_id")
        if shared:
            ids_per_query = max(depth, other.pulled.count // len(other.pulled.query_ids))
            step = -(-len(shared) * ids_per_query // SAMPLE)
            yield from compare_tables(own, other, systems, sample, shared[::step], "doc_id")


def read_ranking(engine: Engine, system_id: str, depth: int, query_ids: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Return the (query_id, doc_id) pairs at the top ranks of a ranking, for the given queries."""
    return engine.rows("leading_result", IDS, where={"system_id": system_id, "query_id": query_ids}, depth=depth)


def judgment_ids(part: Pulled, query_ids: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Return the (query_id, doc_id) pairs of one file of judgments, for the given queries."""
    rows = select_queries(part.table, query_ids)
    return list(zip(*(rows[name].to_pylist() for name in IDS), strict=True))


def sample_ids(table: IdTable, shared: tuple[str, ...], field: str) -> IdTable:
    """Return the table with a sample of its ids.

    shared: ids of the queries that are in this table and in the table to compare. field: "query_id" to sample up to
    `SAMPLE` of the shared query ids and up to `SAMPLE` others; "doc_id" to take the document ids of the shared queries.
    """
    if field == "query_id":
        shared_ids = set(shared)
        other_ids = sorted(query_id for query_id in table.pulled.query_ids if query_id not in shared_ids)
        return dataclasses.replace(table, ids={"": frozenset([*shared[:SAMPLE], *other_ids[:SAMPLE]])})
    sampled: dict[str, set[str]] = defaultdict(set)
    for query_id, doc_id in table.read(shared):
        sampled[query_id].add(doc_id)
    return dataclasses.replace(table, ids={query_id: frozenset(ids) for query_id, ids in sorted(sampled.items())})


def compare_tables(
    own: IdTable,
    other: IdTable,
    systems: Sequence[IdTable],
    sample: Callable[[IdTable, tuple[str, ...], str], IdTable],
    shared: tuple[str, ...],
    field: str,
) -> Iterator[Finding]:
    """Yield a finding if ids of one table match those of another only in another spelling.

    systems: the rankings, in which ids may have to change as well. sample: `sample_ids`. shared: ids of the queries
    that both tables have. field: "query_id" to compare query ids, or "doc_id" to compare the document ids of the shared
    queries.
    """
    own, other = (sample(table, shared, field) for table in (own, other))
    difference = find_difference(own.ids, other.ids)
    if difference is None:
        return
    words, spellings, pairs, is_whole = difference
    unmatched = sum(map(len, own.ids.values())) - count_equal(own.ids, other.ids)
    kind = "query ids" if field == "query_id" else f"document ids in {queries_text(len(shared))}"
    message = f"{own.name}: {len(pairs)} of its {unmatched} unmatched {kind} match those of {other.name} {words}"
    is_cut = len(spellings) == 1 and all(respell(pair.own, spellings) == pair.other for pair in pairs)
    if own.system and field == "doc_id" and is_cut and spellings[0].option:
        message += f" → {spellings[0].option}"
    else:
        rankings = [sample(system, shared, field) for system in systems]
        message += describe_remedy(own, other, rankings, spellings, len(pairs), field)
    locations = [(pair.query_id, pair.own) if pair.query_id else (pair.own, "") for pair in pairs[:MOST]]
    severity = None if is_whole else "warning"
    examples = row_examples(own.pulled, locations)
    yield make_finding("id_spelling", message, len(pairs), own.system, examples=examples, severity=severity)


def find_difference(ids_by_query: Ids, other: Ids) -> tuple[str, Sequence[Spelling], Sequence[Pair], bool] | None:
    """Return the spelling difference between the ids of two tables, or None if there is none.

    The result is (words, spellings, pairs, is_whole). words: the condition under which ids match, with an example:
    ``if … (such as …)``. spellings: those that make ids equal, in the order of application. pairs: the pairs of ids
    that become equal. is_whole: True if hardly any id matches without the spellings, or if the ids differ only in their
    Unicode form.

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
    return f"if {words} (such as {one}{where}, there {two})", spellings, list(needed), is_form or is_whole


def query_spelling_hint(query_ids: Iterable[str], judged: Iterable[str]) -> str:
    """Return ``; they match if …`` if query ids match judged ones only in another spelling, else ""."""
    difference = find_difference({"": frozenset(query_ids)}, {"": frozenset(judged)})
    return f"; they match {difference[0]}" if difference else ""
