"""What the terminal shows, as a picture (SVG) that fetches no font."""

import io
import re
from collections.abc import Callable
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, TerminalTheme

from ndcg_ab.files import write_text

WIDTH = 130  # columns at most


def save_picture(path: Path, show: Callable[[Console], None]) -> None:
    """Write what a function prints as an SVG, whole or not at all."""
    write_text(path, draw_picture(show))


def draw_picture(
    show: Callable[[Console], None], width: int = WIDTH, theme: TerminalTheme = DEFAULT_TERMINAL_THEME
) -> str:
    """Return what a function prints as an SVG that is as wide as its longest line."""
    console = Console(width=width, record=True, file=io.StringIO(), force_terminal=True, highlight=False, emoji=False)
    show(console)
    console.width = max((cell_len(line) for line in console.export_text(clear=False).splitlines()), default=1)
    drawn = console.export_svg(title="ndcg-ab", theme=theme, unique_id="ndcg-ab")
    return re.sub(r"\s*@font-face \{.*?\}", "", drawn, flags=re.DOTALL)
