"""Draws what the documentation shows of the code: docs/pipeline.md, packages in architecture.md, codes in findings.md,
forms in inputs.md.

python docs/draw.py          writes them (make docs)
"""

import ast
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from ndcg_ab.finding_codes import CODES
from ndcg_ab.report.terminal.pipeline_graph import render_pipeline_page
from ndcg_ab.sources.forms.recognition import list_forms

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
BEGIN, END = "<!-- drawn by make docs -->", "<!-- end of the drawing -->"
TREE, END_OF_TREE = "<!-- tree, drawn by make docs -->", "<!-- end of the tree -->"
WIDTH = 34  # of the names in the tree
FOLDERS = {"ndcg_core": "ndcg_core", "ndcg_ab": "ndcg_ab", "flows": "ndcg_ab.flows"}  # folder -> package


def package_of(module: str) -> str:
    """The package that a module's box stands for: ``ndcg_ab.sources`` for ``ndcg_ab.sources.files.file``."""
    parts = module.split(".")
    if parts[:2] == ["ndcg_ab", "flows"]:
        return "flows"
    return ".".join(parts[: 1 if parts[0] == "ndcg_ab" and len(parts) == 1 else 2])


def modules() -> Iterator[tuple[str, Path]]:
    for folder, package in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            inside = path.relative_to(ROOT / folder).with_suffix("").parts
            yield ".".join([package, *(part for part in inside if part != "__init__")]), path


def imported(module: str, path: Path) -> Iterator[str]:
    """Every module of ours that a module imports, at its top or inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("ndcg_"):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("ndcg_"))


def arrows() -> set[tuple[str, str]]:
    """(package, package that it imports)."""
    known = {name for name, _ in modules()}
    found = set()
    for module, path in modules():
        for name in imported(module, path):
            first, second = package_of(module), package_of(name if name in known else name.rpartition(".")[0])
            if first != second and "ndcg_ab" not in (first, second) and not second.startswith("ndcg_core."):
                found.add((first, second))
            elif second.startswith("ndcg_core.") and not first.startswith("ndcg_core") and first != "ndcg_ab":
                found.add((first, "ndcg_core"))
    return found


def reduced(found: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Without the arrows that a longer way says already."""

    def reaches(start: str, goal: str) -> bool:
        return any(second == goal or reaches(second, goal) for first, second in found if first == start)

    return sorted(
        (first, second)
        for first, second in found
        if not any(third != second and reaches(third, second) for start, third in found if start == first)
    )


def drawing() -> str:
    lines = ["```mermaid", "flowchart TD"]
    lines += [f"    {first} --> {second}" for first, second in reduced(arrows())]
    return "\n".join([*lines, "```"])


def codes() -> str:
    """An entry for each code of a finding."""
    entries = []
    for code, entry in CODES.items():
        always = ", always" if entry.is_fixed else ""
        told = textwrap.fill(f"{entry.means} *({entry.severity}{always})*", 120)
        entries.append(f"### `{code}`\n\n{told}\n\n{textwrap.fill(f'**What to do.** {entry.advice}', 120)}")
    return "\n\n".join(entries)


def tree() -> str:
    """Every package with the first line of its docstring."""
    lines = ["```"]
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("__init__.py")):
            place = path.parent.relative_to(ROOT)
            name = "  " * (len(place.parts) - 1) + f"{place.name}/"
            said = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()[0]
            lines += textwrap.wrap(f"{name:{WIDTH}}{said}", 118, subsequent_indent=" " * WIDTH)
    return "\n".join([*lines, "```"])


def with_drawing(page: str, drawn: str, begin: str = BEGIN, end: str = END) -> str:
    head, _, rest = page.partition(begin)
    _, _, tail = rest.partition(end)
    return f"{head}{begin}\n\n{drawn}\n\n{end}{tail}"


def pages() -> dict[Path, str]:
    """Every page that is drawn, as it should be."""
    architecture, findings, inputs = (DOCS / name for name in ("architecture.md", "findings.md", "inputs.md"))
    return {
        DOCS / "pipeline.md": render_pipeline_page(),
        architecture: with_drawing(
            with_drawing(architecture.read_text(encoding="utf-8"), drawing()), tree(), TREE, END_OF_TREE
        ),
        findings: with_drawing(findings.read_text(encoding="utf-8"), codes()),
        inputs: with_drawing(inputs.read_text(encoding="utf-8"), list_forms().rstrip()),
    }


def main() -> None:
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT), file=sys.stderr)


if __name__ == "__main__":
    main()
