"""Draw the documentation's views of the code: docs/pipeline.md, packages in architecture.md, codes in findings.md,
forms in inputs.md, and the glossary that `ndcg-ab help terms` prints.

python docs/draw.py          writes them (make docs)
"""

import ast
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from ndcg_ab.engines.sql_files import CLICKS, SqlFile, sql_files
from ndcg_ab.finding_codes import CODES
from ndcg_ab.report.terminal.reference import TERMS
from ndcg_ab.sources.forms.recognition import FORMS, OPTIONS

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
BEGIN, END = "<!-- drawn by make docs -->", "<!-- end of the drawing -->"
TREE, END_OF_TREE = "<!-- tree, drawn by make docs -->", "<!-- end of the tree -->"
WIDTH = 18  # of the names in the tree
FOLDERS = {"ndcg_core": "ndcg_core", "ndcg_ab": "ndcg_ab", "flows": "ndcg_ab.flows"}  # folder -> package
INTRODUCTION = (
    "`make docs` makes this page from the first lines of the files in `sql/`. Each file is one select and makes the",
    "table of its name; its header says what one row is and which tables it reads. The engine makes a table with all",
    "that it reads, in the order of the numbers.",
    "",
)
STAGES = {  # the hundreds of the file numbers
    0: ("load", "what was pulled, in tables of one shape"),
    1: ("check", "what makes scores meaningless, or is worth knowing before they are believed"),
    2: ("rank", "results in the order that each metric asks for"),
    3: ("grade", "grades and gains at the ranks"),
    4: ("score", "sums, ideals, and the value of every query"),
    5: ("pair", "systems side by side, query by query"),
    6: ("diagnose", "how far a value depends on ties, on ranks, on what a metric counts"),
    7: ("show", "what reports read"),
    8: ("clicks", "judgments from clicks (docs/clicks.md), before anything is loaded"),
    9: ("history", "what is asked of past evaluations"),
}


def render_pipeline_page() -> str:
    """Return docs/pipeline.md, Markdown with Mermaid."""
    return "\n".join(page_lines()) + "\n"


def page_lines() -> Iterator[str]:
    files = list(sql_files().values())
    yield "# The pipeline"
    yield ""
    yield from INTRODUCTION
    yield from overview_lines(files)
    for number, (stage, about) in STAGES.items():
        members = [file for file in files if file.number // 100 == number]
        yield from ("", f"## {stage.capitalize()}", "", f"{about[0].upper()}{about[1:]}.", "")
        yield from (format_entry(file) for file in members)


def overview_lines(files: Sequence[SqlFile]) -> Iterator[str]:
    """Yield a Mermaid diagram of the stages; an arrow that a longer way implies is left out."""
    stage_of = {file.name: file.number // 100 for file in files if file.number < CLICKS}
    needs: dict[int, set[int]] = {stage: set() for stage in stage_of.values()}
    for file in files:
        if file.name in stage_of:
            needs[stage_of[file.name]] |= {stage_of[read] for read in file.reads if read in stage_of}
    yield from ("```mermaid", "flowchart LR")
    for stage, earlier in needs.items():
        earlier -= {stage}
        longer = {first for second in earlier for first in reachable_stages(needs, second)}
        yield from (f"    {STAGES[first][0]} --> {STAGES[stage][0]}" for first in sorted(earlier - longer))
    yield "```"


def reachable_stages(needs: dict[int, set[int]], stage: int) -> set[int]:
    """Return the stages that a stage needs, directly or through others."""
    direct = needs[stage] - {stage}
    return direct | {first for second in direct for first in reachable_stages(needs, second)}


def format_entry(file: SqlFile) -> str:
    """Return a list entry: the file, and what it holds."""
    first = file.text.splitlines()[0].removeprefix(f"-- {file.name}: ")
    return f"- [`{file.path.name}`](../{file.display_path}): {first}"


def package_of(module: str) -> str:
    """Return the package whose box stands for a module: ``ndcg_ab.sources`` for ``ndcg_ab.sources.files.file``."""
    parts = module.split(".")
    if parts[:2] == ["ndcg_ab", "flows"]:
        return "flows"
    return ".".join(parts[: 1 if parts[0] == "ndcg_ab" and len(parts) == 1 else 2])


def modules() -> Iterator[tuple[str, Path]]:
    for folder, package in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            inside = path.relative_to(ROOT / folder).with_suffix("").parts
            yield ".".join([package, *(part for part in inside if part != "__init__")]), path


def imported_modules(module: str, path: Path) -> Iterator[str]:
    """Yield every module of the project that a module imports, at its top or inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("ndcg_"):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("ndcg_"))


def find_package_imports() -> set[tuple[str, str]]:
    """Return the pairs (package, package that it imports)."""
    known = {name for name, _ in modules()}
    found = set()
    for module, path in modules():
        for name in imported_modules(module, path):
            first, second = package_of(module), package_of(name if name in known else name.rpartition(".")[0])
            if first != second and "ndcg_ab" not in (first, second) and not second.startswith("ndcg_core."):
                found.add((first, second))
            elif second.startswith("ndcg_core.") and not first.startswith("ndcg_core") and first != "ndcg_ab":
                found.add((first, "ndcg_core"))
    return found


def drop_implied_arrows(found: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the arrows in order, without those that a longer way implies."""

    def reaches(start: str, goal: str) -> bool:
        return any(second == goal or reaches(second, goal) for first, second in found if first == start)

    return sorted(
        (first, second)
        for first, second in found
        if not any(third != second and reaches(third, second) for start, third in found if start == first)
    )


def draw_packages() -> str:
    lines = ["```mermaid", "flowchart TD"]
    lines += [f"    {first} --> {second}" for first, second in drop_implied_arrows(find_package_imports())]
    return "\n".join([*lines, "```"])


def list_codes() -> str:
    """Return an entry for each code of a finding: what it means, its severity, and after an arrow what to do."""
    entries = []
    for code, entry in CODES.items():
        always = ", always" if entry.is_fixed else ""
        lines = [f"{entry.means} *({entry.severity}{always})*"]
        if entry.advice != "Nothing.":
            lines.append(f"→ {entry.advice}")
        entries.append("\n\n".join([f"### `{code}`", *(textwrap.fill(line, 120) for line in lines)]))
    return "\n\n".join(entries)


def list_forms() -> str:
    """Return the names of all forms of files, a list for each kind."""
    lines = []
    for kind, option in OPTIONS.items():
        named = "; ".join(form.words for form in FORMS if form.kind == kind)
        lines.append(textwrap.fill(f"- {kind.capitalize()} (`{option}`): {named}.", 120, subsequent_indent="  "))
    return "\n".join(lines)


def draw_tree() -> str:
    """Return every top folder and the packages in it, each with the first line of its docstring."""
    lines = ["```"]
    for folder in FOLDERS:
        for path in [ROOT / folder / "__init__.py", *sorted((ROOT / folder).glob("*/__init__.py"))]:
            name = f"{'' if path.parent.name == folder else '  '}{path.parent.name}/"
            said = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()[0]
            lines += textwrap.wrap(f"{name:{WIDTH}}{said}", 118, subsequent_indent=" " * WIDTH)
    return "\n".join([*lines, "```"])


def insert_drawing(page: str, drawn: str, begin: str = BEGIN, end: str = END) -> str:
    head, _, rest = page.partition(begin)
    _, _, tail = rest.partition(end)
    return f"{head}{begin}\n\n{drawn}\n\n{end}{tail}"


def render_pages() -> dict[Path, str]:
    """Return the path and the up-to-date text of every drawn page."""
    architecture, findings, inputs = (DOCS / name for name in ("architecture.md", "findings.md", "inputs.md"))
    return {
        DOCS / "pipeline.md": render_pipeline_page(),
        DOCS / "glossary.md": TERMS.read_text(encoding="utf-8"),
        architecture: insert_drawing(
            insert_drawing(architecture.read_text(encoding="utf-8"), draw_packages()), draw_tree(), TREE, END_OF_TREE
        ),
        findings: insert_drawing(findings.read_text(encoding="utf-8"), list_codes()),
        inputs: insert_drawing(inputs.read_text(encoding="utf-8"), list_forms()),
    }


def main() -> None:
    for path, text in render_pages().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT), file=sys.stderr)


if __name__ == "__main__":
    main()
