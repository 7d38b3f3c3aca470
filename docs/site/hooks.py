"""What the site shows otherwise than GitHub does: links out of docs/, and drawings, otherwise fetched from afar."""

import re
from typing import Any

OUTSIDE = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?:\.\./)+(?!docs/)([^)\s]+)\)")
DRAWING = re.compile(r"```mermaid\n(.*?)```", re.DOTALL)
ARROW = re.compile(r"^ *(\S+) --> (\S+)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to files of the repository become their names; a drawing of arrows becomes a list of them."""
    return DRAWING.sub(lambda found: list_arrows(found[1]), OUTSIDE.sub(name_outside, markdown))


def name_outside(found: re.Match[str]) -> str:
    text, path = found[1], found[2].partition("#")[0]
    return text if text.strip("`") == path.rpartition("/")[2] else f"{text} (`{path}`)"


def list_arrows(drawing: str) -> str:
    """``a → b, c``, a line for each beginning."""
    ends: dict[str, list[str]] = {}
    for start, end in ARROW.findall(drawing):
        ends.setdefault(start, []).append(end)
    return "\n".join(f"- `{start}` → {', '.join(f'`{end}`' for end in found)}" for start, found in ends.items())
