"""Commands that write ids in another spelling, printed only if the spelling makes the sampled ids equal."""

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ndcg_ab.checks.ids.spellings import UNICODE_FORMS, Ids, Spelling, respell
from ndcg_ab.sources import Pulled
from ndcg_ab.sources.files.file import File
from ndcg_ab.sources.files.hints import filter_command

LINES = ("delimited",)  # formats in which a Unicode form of the whole line is one of each id


class IdTable(NamedTuple):
    """Judgments or a ranking, and some of its ids. name: in messages. files: what it was read from.

    read: makes the (query_id, doc_id) of some queries.
    """

    name: str
    pulled: Pulled
    files: Sequence[Pulled]
    read: Callable[[Sequence[str]], Iterable[tuple[str, str]]]
    system: str | None = None
    ids: Ids = MappingProxyType({})


def describe_remedy(
    own: IdTable,
    other: IdTable,
    rankings: Sequence[IdTable],
    spellings: Sequence[Spelling],
    pairs: int,
    field: str,
) -> str:
    """Return the commands that make pairs of ids equal, or what to do if no command does.

    rankings: their ids must change as well if those of the judgments do. pairs: how many ids become equal.
    """
    expected = count_equal(own.ids, other.ids) + pairs
    for changed in ((own,), (other,), (own, other)):
        respelled = [respell_ids(table.ids, spellings) if table in changed else table.ids for table in (own, other)]
        if None in respelled or count_equal(*respelled) < expected:  # type: ignore[arg-type]
            continue
        more = [each for each in rankings if each.name not in (own.name, other.name)] if other in changed else []
        tables = [table for table in (*changed, *more) if respell_ids(table.ids, spellings) != table.ids]
        files = [
            (part, table.ids)
            for table in sorted(tables, key=lambda table: (bool(table.system), table.name))
            for part in table.files
        ]
        commands = [
            write_command(*each, spellings, field, str(at) * (len(files) > 1)) for at, each in enumerate(files, 1)
        ]
        if all(commands):
            return "".join(f" → {command}" for command in commands)
        return "; write them alike in all files"
    return "; correct them where they are made, since this change of all ids would make different ids equal"


def count_equal(own: Ids, other: Ids) -> int:
    """Return the number of ids that two tables share, query by query."""
    return sum(len(ids & other.get(query_id, frozenset())) for query_id, ids in own.items())


def respell_ids(ids: Ids, spellings: Sequence[Spelling]) -> Ids | None:
    """Return ids in another spelling, or None if different ids of a query become equal."""
    found = {query_id: frozenset(respell(text, spellings) for text in each) for query_id, each in ids.items()}
    return found if all(len(each) == len(ids[query_id]) for query_id, each in found.items()) else None


def write_command(pulled: Pulled, ids: Ids, spellings: Sequence[Spelling], field: str, number: str) -> str | None:
    """Return the command that writes the ids of a text file in another spelling, or None if there is none.

    number: of the new file, if there are several.
    """
    path = Path(pulled.origin)
    if not isinstance(pulled.source, File) or not path.is_file():
        return None
    expression = "t"
    for spelling in spellings:
        expression = spelling.expression.format(expression)
    function = f"f = lambda t: {expression}"
    lines = 'fileinput.input(encoding="utf-8-sig")'
    reading = pulled.source.reading(path, pulled.layout)
    if reading.format in LINES and UNICODE_FORMS.issuperset(spellings):
        work = f'print(*map(f, {lines}), sep="", end="")'
    elif reading.format == "trec" and not any(
        is_broken(respell(text, spellings)) for each in ids.values() for text in each
    ):
        at = reading.names.index(field)
        fields = ("f(p[0])", "*p[1:]") if at == 0 else (f"*p[:{at}]", f"f(p[{at}])", f"*p[{at + 1}:]")
        work = f"[print({', '.join(fields)}) for p in map(str.split, {lines}) if len(p) == {len(reading.names)}]"
    else:
        return None
    modules = sorted({"fileinput", *re.findall(r"\b(html|re|unicodedata|urllib\.parse)\.", expression)})
    script = f"import {', '.join(modules)}; {function}; {work}"
    return filter_command(path, f"python3 -c {shlex.quote(script)}", number)


def is_broken(text: str) -> bool:
    """Return whether a text is no field of a TREC line, or begins a comment."""
    return text.split() != [text] or text.startswith("#")
