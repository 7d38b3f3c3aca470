"""Check docstrings with pydoclint: ``python docs/docstrings.py PATH …``, by the options in `pyproject.toml`.

pydoclint does not know all of numpydoc: types in words, names that share an entry (``low, high : float``), the
Parameters of a record, and errors that a called function raises. Findings that come from these alone are left out.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from pydoclint.parse_config import parseOneTomlFile
from pydoclint.visitor import Visitor

ROOT = Path(__file__).parents[1]
SHARED = re.compile(r"^( *)(\**\w+(?:, \**\w+)+) :(.*)$", re.MULTILINE)
RECORD = re.compile(r"\bdataclass\b|\bNamedTuple\b")
DOCUMENTED = (ast.ClassDef, ast.FunctionDef)
TYPE_IN_WORDS, RAISES_NOTHING, OTHER_ERRORS, ATTRIBUTES = 111, 502, 503, range(601, 606)


def separate_names(shared: re.Match[str]) -> str:
    """Return an entry of its own for each of the names that share an entry."""
    return "\n".join(f"{shared[1]}{name} :{shared[3]}" for name in shared[2].split(", "))


def is_record(node: ast.AST) -> bool:
    """Return whether a node defines a dataclass or a named tuple."""
    return isinstance(node, ast.ClassDef) and any(
        RECORD.search(ast.unparse(each)) for each in node.decorator_list + node.bases
    )


def find_violations(code: str) -> Iterator[str]:
    """Yield the rules that docstrings of a module break, each as ``LINE: RULE: message``."""
    tree = ast.parse(code)
    nodes = [node for node in ast.walk(tree) if isinstance(node, DOCUMENTED) and ast.get_docstring(node)]
    for node in nodes:
        docstring = node.body[0].value
        docstring.value = SHARED.sub(separate_names, docstring.value)
        if is_record(node):
            docstring.value = re.sub(r"\bParameters\n", "Attributes\n", docstring.value)
    others = {node.lineno for node in nodes if not is_record(node)}  # of their attributes not all are declared
    options = parseOneTomlFile(ROOT / "pyproject.toml").items()
    visitor = Visitor(**{re.sub(r"_(\w)", lambda found: found[1].upper(), name): value for name, value in options})
    visitor.visit(tree)
    for each in visitor.violations:
        documented, raised = (re.findall(r"'([A-Z]\w+)'", part) for part in f"{each.msgPostfix}. ".split(". ")[:2])
        if each.code in (TYPE_IN_WORDS, RAISES_NOTHING) or (each.code in ATTRIBUTES and each.line in others):
            continue
        if each.code != OTHER_ERRORS or not {*raised} <= {*documented}:
            yield f"{each.line}: {each}"


if __name__ == "__main__":
    files = [file for path in map(Path, sys.argv[1:]) for file in ([path] if path.is_file() else path.rglob("*.py"))]
    found = [f"{file}:{text}" for file in files for text in find_violations(file.read_text(encoding="utf-8"))]
    sys.exit("\n".join(found) or None)
