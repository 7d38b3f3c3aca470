"""Adapt pages for the site: links that leave docs/, and drawings, whose script would be fetched from elsewhere."""

import re
import shutil
from pathlib import Path
from typing import Any

OUTSIDE = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(((?:\.\./)+)([^)\s]+)\)")
DRAWING = re.compile(r"```mermaid\n(.*?)```", re.DOTALL)
ARROW = re.compile(r"^ *(\S+) --> (\S+)$", re.MULTILINE)
TERM = re.compile(r"^\*\*(.+?)\*\*(.*?): (?=\S)", re.MULTILINE)  # of the glossary
SHIM = re.compile(r"https://unpkg\.com/iframe-worker/shim")  # what the theme would fetch, so that the search works


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page with repository files as names, drawings as lists, and a heading for each glossary term."""
    depth = page.file.src_uri.count("/")
    if page.file.src_uri == "glossary.md":
        markdown = TERM.sub(name_term, markdown)
    return DRAWING.sub(
        lambda found: list_arrows(found[1]), OUTSIDE.sub(lambda found: name_outside(found, depth), markdown)
    )


def name_term(found: re.Match[str]) -> str:
    """Return a glossary term as a heading, so that the search finds it."""
    return f"### {(found[1] + found[2]).replace('*', '')}\n\n"


def name_outside(found: re.Match[str], depth: int) -> str:
    text, up, path = found[1], found[2], found[3].partition("#")[0]
    if up.count("../") <= depth:
        return found[0]
    return text if text.strip("`") == path.rpartition("/")[2] else f"{text} (`{path}`)"


def list_arrows(drawing: str) -> str:
    """Return a drawing as lines ``a → b, c``, one for each start."""
    ends: dict[str, list[str]] = {}
    for start, end in ARROW.findall(drawing):
        ends.setdefault(start, []).append(end)
    return "\n".join(f"- `{start}` → {', '.join(f'`{end}`' for end in found)}" for start, found in ends.items())


def on_post_page(output: str, page: Any, **_: Any) -> str:
    return SHIM.sub("../" * page.file.dest_uri.count("/") + "worker.js", output)


def on_post_template(output_content: str, **_: Any) -> str:
    return SHIM.sub("worker.js", output_content)


def on_post_build(config: Any, **_: Any) -> None:
    shutil.copy(Path(__file__).with_name("worker.js"), config["site_dir"])
