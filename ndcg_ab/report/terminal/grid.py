"""Lay out tables that fit the terminal without breaking or dropping a number or a verdict.

If a table is too wide, its names are shortened; then it is split into several tables with equal names on the left; if
even these do not fit, each row becomes a block of lines. `draw_picture` makes an SVG of printed output, and
`format_printed` a text.
"""

import io
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, TerminalTheme
from rich.text import Text

from ndcg_ab.config.secrets.redaction import remove_known_secrets
from ndcg_ab.visible import printable_width, visible_record
from ndcg_core.statistics.verdicts.verdict import Tone

VERDICT_WIDTH = 32  # columns that a verdict needs to be read
NAME_WIDTHS = (10**6, 40, 24, 16)  # the longest names; shorter ones are tried where that saves a table
STYLES = {Tone.GOOD: "green", Tone.BAD: "red", Tone.OPEN: "yellow", Tone.DIM: "dim", Tone.PLAIN: ""}
MOST_TABLES = 3  # beyond, a block of lines for each row is easier to read


class Row(NamedTuple):
    """One row of a `Grid`.

    names: one text per name column. numbers: the formatted numbers, one per number column. verdict: a text of any
    length, or empty.
    """

    names: Sequence[str]
    numbers: Sequence[str | Text]
    verdict: Text = Text()


class Layout(NamedTuple):
    """The division of a `Grid` into tables below each other.

    name_width: largest width of a name in the name columns; longer names are shortened. tables: for each table, the
    indices of its columns. Indices count the number columns from 0; the index after the last number column is that of
    the verdict.
    """

    name_width: int
    tables: list[list[int]]


@dataclass(frozen=True)
class Grid:
    """A table for the terminal: names on the left, numbers on the right, then a verdict of any length."""

    names: Sequence[str]
    numbers: Sequence[str]
    rows: Sequence[Row]
    verdict_head: str = "verdict"

    def layout(self, width: int) -> Layout | None:
        """Return the division into the fewest tables that fit the width, with names as long as possible.

        None if a column does not fit beside the names, or if more than MOST_TABLES tables are needed.
        """
        layouts = [candidate for limit in NAME_WIDTHS if (candidate := self._tables(width, limit)) is not None]
        best = min(layouts, key=lambda layout: len(layout.tables), default=None)
        return best if best and len(best.tables) <= MOST_TABLES else None

    def print(self, console: Console, title: Text) -> None:
        """Print the title and the rows; print nothing if there are no rows."""
        if not self.rows:
            return
        console.print(title)
        layout = self.layout(console.width)
        if layout is None:
            self._print_blocks(console)
            return
        for indices in layout.tables:
            console.print(self._table(layout.name_width, indices))

    def _tables(self, width: int, limit: int) -> Layout | None:
        """Return the division into tables of at most `width` characters, with names shortened to `limit` characters.

        None if two names become equal, or if a column does not fit beside the names.
        """
        name_columns = zip(*(row.names for row in self.rows), strict=True)
        numbered = zip(*(row.numbers for row in self.rows), strict=True)
        names = [name_column_width(head, column, limit) for head, column in zip(self.names, name_columns, strict=True)]
        if None in names:
            return None
        used = sum(name + 3 for name in names if name is not None) - 1
        columns = [
            max(cell_len(str(cell)) for cell in (head, *column))
            for head, column in zip(self.numbers, numbered, strict=True)
        ]
        if verdict := max(cell_len(row.verdict.plain) for row in self.rows):
            columns.append(min(VERDICT_WIDTH, verdict))
        is_too_wide = any(column + 3 > width - used for column in columns)
        return None if is_too_wide else Layout(limit, divide_columns(columns, width - used)[0])

    def _table(self, name_width: int, indices: Sequence[int]) -> Table:
        table = plain_table("", self.names, text_heads=self.names, no_wrap=True)
        numbers = [index for index in indices if index < len(self.numbers)]
        for index in numbers:
            table.add_column(self.numbers[index], justify="right", no_wrap=True)
        with_verdict = len(numbers) < len(indices)
        if with_verdict:
            table.add_column(self.verdict_head)
        for row in self.rows:
            names = [Text(shorten_middle(name, name_width)) for name in row.names]
            cells = [Text.assemble(row.numbers[index]) for index in numbers]
            table.add_row(*names, *cells, *([row.verdict] if with_verdict else []))
        return table

    def _print_blocks(self, console: Console) -> None:
        for row in self.rows:
            about = ", ".join(f"{head} {name}" for head, name in zip(self.names, row.names, strict=True))
            console.print(Text(about, style="bold"))
            cells = zip(self.numbers, row.numbers, strict=True)
            items = [f"{head} {cell}" for head, cell in cells if cell]
            for line in wrap_items(items, console.width - 2):
                console.print(Text(f"  {line}"))
            if row.verdict.plain:
                console.print(Padding(row.verdict, (0, 0, 0, 2)))
        console.print()


def divide_columns(widths: Sequence[int], room: int) -> tuple[list[list[int]], int]:
    """Divide columns among as few tables as possible, in order.

    Return the indices of the columns of each table, and the width that is free beside the last table. widths: of the
    columns, without the three characters between them. room: width for the columns of one table.
    """
    tables: list[list[int]] = [[]]
    free = room
    for index, width in enumerate(widths):
        if width + 3 > free and tables[-1]:
            tables.append([])
            free = room
        tables[-1].append(index)
        free -= width + 3
    return tables, free


def table_title(name: str, about: str) -> Text:
    return Text.assemble((name, "bold"), " ", (about, "dim"))


def print_dimmed(console: Console, text: str) -> None:
    console.print(Text(text, style="dim"))


def plain_table(title: str, heads: Sequence[str] = (), text_heads: Sequence[str] = (), **options: Any) -> Table:
    """Return an empty table with column heads.

    text_heads: the heads of left-aligned text columns. options: options of every column.
    """
    table = Table(
        title=title, title_justify="left", title_style="", header_style="bold", box=SIMPLE_HEAD, pad_edge=False
    )
    for head in heads:
        table.add_column(head, justify="left" if head in text_heads else "right", **options)
    return table


def name_column_width(head: str, names: Sequence[str], limit: int) -> int | None:
    """Return the width of a column with a head and names, each name shortened to `limit` characters.

    None if shortened names would be equal.
    """
    short = {name: shorten_middle(name, limit) for name in names}
    if len(set(short.values())) < len(short):
        return None
    return max(cell_len(text) for text in (head, *short.values()))


def shorten_middle(text: str, width: int) -> str:
    """Return the text in at most `width` columns.

    A longer text is shortened in its middle, after secrets in it are removed.
    """
    if cell_len(text) <= width:
        return text
    text = remove_known_secrets(text)
    head = width // 2
    return f"{set_cell_size(text, head)}…{set_cell_size(text[::-1], width - 1 - head)[::-1]}"


def shorten_names(names: Iterable[str], width: int) -> dict[str, str]:
    """Return a mapping of each name to a text of at most `width` columns.

    If two shortened names would be equal, each keeps the part in which they differ, as far as there is room.
    """
    short = {name: shorten_middle(name, width) for name in names}
    for text in set(short.values()):
        alike = [name for name in short if short[name] == text]
        if len(alike) < 2:
            continue
        plain = list(map(remove_known_secrets, alike))
        start = os.path.commonprefix(plain)  # noqa: RUF071
        end = os.path.commonprefix([each[len(start) :][::-1] for each in plain])[::-1]  # noqa: RUF071
        for name, each in zip(alike, plain, strict=True):
            core = shorten_middle(each[len(start) : len(each) - len(end)], width - 2)
            room = width - 2 - cell_len(core)
            head, tail = set_cell_size(start, room // 2), set_cell_size(end[::-1], room - room // 2)[::-1]
            short[name] = f"{head.rstrip()}…{core}…{tail.lstrip()}" if core else text
    return short


def wrap_items(items: Sequence[str], width: int) -> Iterator[str]:
    """Yield the items joined with commas, in lines of at most `width` columns that break only between items."""
    line = ""
    for index, item in enumerate(items):
        part = item + "," * (index < len(items) - 1)
        if line and cell_len(line) + 1 + cell_len(part) > width:
            yield line
            line = ""
        line = f"{line} {part}" if line else part
    if line:
        yield line


WIDTH = 130  # columns at most


def draw_picture(
    show: Callable[[Console], None], width: int = WIDTH, theme: TerminalTheme = DEFAULT_TERMINAL_THEME
) -> str:
    """Return an SVG of what `show` prints, as wide as the longest line."""
    console = Console(width=width, record=True, file=io.StringIO(), force_terminal=True, highlight=False, emoji=False)
    show(console)
    console.width = max((cell_len(line) for line in console.export_text(clear=False).splitlines()), default=1)
    picture = console.export_svg(title="ndcg-ab", theme=theme, unique_id="ndcg-ab")
    return re.sub(r"\s*@font-face \{.*?\}", "", picture, flags=re.DOTALL)


NO_TERMINAL = 200  # columns where there is no terminal, as for the commands


def wrap_preformatted(text: str) -> str:
    return f'<pre style="line-height: 1.25; overflow-x: auto; white-space: pre">{escape(text)}</pre>'


def format_printed(printer: Callable[..., None], *things: object) -> str:
    """Return the text that `printer` prints for `things`, without colours, at the width of the terminal."""
    page = io.StringIO()
    width = printable_width(shutil.get_terminal_size((NO_TERMINAL, 24)).columns)
    plain: dict[str, Any] = {"color_system": None, "force_jupyter": False, "force_terminal": False}
    console = Console(file=page, width=width, highlight=False, emoji=False, **plain)
    printer(console, *map(visible_record, things))
    return page.getvalue().rstrip()
