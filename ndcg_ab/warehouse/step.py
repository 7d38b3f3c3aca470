"""Combine named selects into one query."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

PREFIX = "ndcg_ab_"  # of the name of every select in a query; inside a select it is read without
READ = re.compile(r"\b(from|join) (\w+)( as \w+)?")


@dataclass(frozen=True)
class Step:
    """A named select, one part of a query.

    Attributes
    ----------
    name : str
        Name of the select, by which later selects read it.
    comment : str
        What one row of the select stands for.
    body : str
        The SQL.
    """

    name: str
    comment: str
    body: str


def unused_prefix(table_names: Iterable[str]) -> str:
    """Return a prefix for the names of selects that occurs in no table name, ignoring case."""
    prefix, joined_names = PREFIX, " ".join(table_names).lower()
    while prefix in joined_names:
        prefix += "x_"
    return prefix


def chain_steps(sources: Sequence[Step], steps: Sequence[Step], final: str, prefix: str) -> str:
    """Return one query that chains selects with ``with``.

    sources: selects that read only tables.
    steps: selects that read only other selects.
    final: the SQL of the last select.
    prefix: text that is put before the name of every select, so that no select hides a table.
    """
    names = {step.name for step in [*sources, *steps]}

    def prefixed(match: re.Match[str]) -> str:
        word, name, alias = match.groups()
        return f"{word} {prefix}{name}{alias or f' as {name}'}" if name in names else match[0]

    bodies = [(step, step.body) for step in sources] + [(step, READ.sub(prefixed, step.body)) for step in steps]
    texts = [
        f"{prefix}{step.name} as (\n    -- {step.comment}\n{textwrap.indent(body, '    ')}\n)" for step, body in bodies
    ]
    return f"with {f',{chr(10) * 2}'.join(texts)}\n\n{READ.sub(prefixed, final)}\n"


def select_columns(columns: list[str], *rest: str) -> str:
    return "\n".join(["select", ",\n".join(columns), *rest])


def indent_lines(lines: list[str]) -> str:
    return "\n    ".join(lines)
