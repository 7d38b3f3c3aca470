"""What a query is put together from: selects with names."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

PREFIX = "ndcg_ab_"  # of the name of every select in a query; inside a select it is read without
READ = re.compile(r"\b(from|join) (\w+)( as \w+)?")


@dataclass(frozen=True)
class Step:
    """A select with a name.

    comment: its grain or what it holds. body: its lines.
    """

    name: str
    comment: str
    body: str


def unused_prefix(places: Iterable[str]) -> str:
    """What the names of all selects begin with, so that none of them is that of a table (as it is in the query)."""
    prefix, named = PREFIX, " ".join(places).lower()
    while prefix in named:
        prefix += "x_"
    return prefix


def chain_steps(given: Sequence[Step], steps: Sequence[Step], final: str, prefix: str) -> str:
    """The query; its selects are named with a prefix, so that none hides a table.

    given: those that read tables, and no other select.  steps, final: those that read selects, and no table.
    """
    known = {step.name for step in [*given, *steps]}

    def prefixed(found: re.Match[str]) -> str:
        word, name, alias = found.groups()
        return f"{word} {prefix}{name}{alias or f' as {name}'}" if name in known else found[0]

    bodies = [(step, step.body) for step in given] + [(step, READ.sub(prefixed, step.body)) for step in steps]
    texts = [
        f"{prefix}{step.name} as (\n    -- {step.comment}\n{textwrap.indent(body, '    ')}\n)" for step, body in bodies
    ]
    return f"with {f',{chr(10) * 2}'.join(texts)}\n\n{READ.sub(prefixed, final)}\n"


def select_columns(columns: list[str], *rest: str) -> str:
    return "\n".join(["select", ",\n".join(columns), *rest])


def indent_lines(lines: list[str]) -> str:
    return "\n    ".join(lines)
