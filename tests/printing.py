"""What is printed on a terminal, as a text."""

import io
from collections.abc import Callable
from typing import Any

from rich.console import Console


def print_to_text(show: Callable[..., None], *things: Any, width: int = 100, **options: Any) -> str:
    """Return what a function prints on a console of a width."""
    text = io.StringIO()
    show(Console(file=text, width=width, emoji=False), *things, **options)
    return text.getvalue()
