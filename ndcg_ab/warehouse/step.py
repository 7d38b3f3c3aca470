"""What a query is put together from: selects with names."""

import textwrap
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """A select with a name.

    comment: its grain or what it holds. body: its lines.
    """

    name: str
    comment: str
    body: str

    def __str__(self) -> str:
        return f"{self.name} as (\n    -- {self.comment}\n{textwrap.indent(self.body, '    ')}\n)"


def select(columns: list[str], *rest: str) -> str:
    return "\n".join(["select", ",\n".join(columns), *rest])


def indented(lines: list[str]) -> str:
    return "\n    ".join(lines)
